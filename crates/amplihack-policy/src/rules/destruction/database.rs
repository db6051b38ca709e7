//! Commands of database clients that drop or empty something.

use super::super::{RuleContext, RuleHit};

const CLIENTS: [&str; 15] = [
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "sqlcmd",
    "clickhouse-client",
    "cqlsh",
    "duckdb",
    "mongosh",
    "mongo",
    "sqlplus",
    "cockroach",
    "usql",
    "pgcli",
];

pub(super) fn check_database(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let drops = match call.program.as_str() {
        "dropdb" | "dropuser" => !call.has_any(&["--help"]),
        "redis-cli" | "valkey-cli" => call
            .args
            .iter()
            .any(|arg| matches!(arg.text().to_ascii_uppercase().as_str(), "FLUSHALL" | "FLUSHDB")),
        "mysqladmin" => call.has_any(&["drop"]),
        program if CLIENTS.contains(&program) => {
            call.args.iter().any(|arg| loses_rows(arg.text()))
                || call.redirects.iter().any(|(_, arg)| loses_rows(arg.text()))
                || ctx.script.fed_text(call).is_some_and(loses_rows)
                || ctx.script.upstream_calls(call).iter().any(|source| {
                    source.is_any_of(&["echo", "printf"])
                        && source.args.iter().any(|arg| loses_rows(arg.text()))
                })
        }
        _ => false,
    };
    drops.then(|| {
        ctx.ask("would drop or empty a database or table; make a backup and let a person confirm it")
    })?
}

fn loses_rows(sql: &str) -> bool {
    sql.split(';').any(|statement| {
        let words: Vec<String> = statement
            .split(|ch: char| !ch.is_alphanumeric() && ch != '_')
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_uppercase)
            .collect();
        let has = |word: &str| words.iter().any(|other| other == word);
        let pair = |first: &str, second: &[&str]| {
            words.windows(2).any(|pair| pair[0] == first && second.contains(&pair[1].as_str()))
        };
        pair("DROP", &["DATABASE", "TABLE", "SCHEMA", "KEYSPACE", "OWNED"])
            || words.first().is_some_and(|word| word == "TRUNCATE")
            || (pair("DELETE", &["FROM"]) && !has("WHERE"))
            || has("DROPDATABASE")
    })
}
