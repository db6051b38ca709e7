//! Which command prints which JSON, and when: one row for each document that our programs print.

/// A document, or a series of them, that a command prints.
#[derive(Debug, Clone, Copy)]
pub struct PrintedJson {
    /// The program.
    pub program: &'static str,
    /// The command: the words behind the program.
    pub words: &'static [&'static str],
    /// The arguments that ask for it.
    pub asked: JsonRequest,
    /// The arguments that ask for something else in its place.
    pub unless: &'static [&'static str],
    /// One document or a series.
    pub form: Cardinality,
    /// The stream that carries it.
    pub stream: PrintedOn,
    /// The schema, by its name in `docs/reference/schemas`.
    pub schema: &'static str,
}

/// The arguments that ask for JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonRequest {
    /// None: the command prints nothing else.
    Always,
    /// This flag.
    Flag(&'static str),
    /// One of these options with one of these values.
    Value(&'static [&'static str], &'static [&'static str]),
}

/// The number of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cardinality {
    /// At most one, and one more that reports a failure.
    Document,
    /// One on each line, as they come.
    Lines,
}

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedOn {
    /// Where data goes.
    Stdout,
    /// Where progress goes.
    Stderr,
}

const JSON: JsonRequest = JsonRequest::Flag("--json");
const OUTPUT: &[&str] = &["--output"];
const FORMAT: &[&str] = &["--format", "-f"];

const fn row(words: &'static [&'static str], asked: JsonRequest, schema: &'static str) -> PrintedJson {
    PrintedJson {
        program: "amplihack",
        words,
        asked,
        unless: &[],
        form: Cardinality::Document,
        stream: PrintedOn::Stdout,
        schema,
    }
}

const fn lines(words: &'static [&'static str], asked: JsonRequest, schema: &'static str) -> PrintedJson {
    PrintedJson { form: Cardinality::Lines, ..row(words, asked, schema) }
}

/// What a launch prints with `--output json`.
const fn report(words: &'static [&'static str]) -> PrintedJson {
    PrintedJson {
        unless: &["--dry-run", "--auto"],
        ..row(words, JsonRequest::Value(OUTPUT, &["json"]), "report")
    }
}

/// What a launch prints with `--output stream-json`.
const fn events(words: &'static [&'static str]) -> PrintedJson {
    PrintedJson {
        unless: &["--dry-run", "--auto"],
        ..lines(words, JsonRequest::Value(OUTPUT, &["stream-json"]), "event")
    }
}

const fn program(program: &'static str, words: &'static [&'static str], schema: &'static str) -> PrintedJson {
    PrintedJson { program, ..row(words, JsonRequest::Always, schema) }
}

/// Every document. The schemas' page is made from this table, and a test holds it to `--help`.
pub const ROWS: &[PrintedJson] = &[
    report(&["claude"]),
    report(&["copilot"]),
    report(&["codex"]),
    report(&["amplifier"]),
    report(&["amp"]),
    report(&["gemini"]),
    report(&["launch"]),
    report(&["sessions", "resume"]),
    events(&["claude"]),
    events(&["copilot"]),
    events(&["codex"]),
    events(&["amplifier"]),
    events(&["amp"]),
    events(&["gemini"]),
    events(&["launch"]),
    events(&["sessions", "resume"]),
    row(&["copilot", "normalize"], JSON, "copilot-normalize"),
    row(&["amp", "permissions", "test"], JSON, "amp-permissions-test"),
    row(&["which"], JSON, "which"),
    row(&["doctor"], JSON, "doctor"),
    row(&["install"], JSON, "install"),
    row(&["uninstall"], JSON, "install"),
    row(&["recipe", "run"], JsonRequest::Value(FORMAT, &["json"]), "recipe-run"),
    PrintedJson {
        stream: PrintedOn::Stderr,
        ..lines(&["recipe", "run"], JsonRequest::Value(&["--progress"], &["jsonl"]), "recipe-progress")
    },
    row(&["recipe", "list"], JSON, "recipe-list"),
    row(&["recipe", "validate"], JSON, "recipe-validate"),
    row(&["recipe", "runs", "list"], JSON, "recipe-runs-list"),
    row(&["recipe", "runs", "show"], JSON, "recipe-runs-show"),
    lines(&["auto"], JSON, "auto"),
    lines(&["parallel"], JSON, "parallel"),
    row(&["remote", "exec"], JSON, "remote-exec"),
    row(&["remote", "start"], JSON, "remote-start"),
    row(&["remote", "list"], JSON, "remote-list"),
    PrintedJson { unless: &["--follow", "--setup"], ..row(&["remote", "output"], JSON, "remote-output") },
    row(&["remote", "kill"], JSON, "remote-kill"),
    row(&["remote", "status"], JSON, "remote-status"),
    row(&["remote", "wait"], JSON, "remote-wait"),
    row(&["remote", "pull"], JSON, "remote-pull"),
    row(&["remote", "pool", "list"], JSON, "remote-pool-list"),
    row(&["remote", "pool", "drain"], JSON, "remote-pool-drain"),
    row(&["remote", "pool", "gc"], JSON, "remote-pool-gc"),
    row(&["remote", "doctor"], JSON, "remote-doctor"),
    row(&["sessions", "list"], JSON, "sessions-list"),
    row(&["sessions", "show"], JSON, "sessions-show"),
    row(&["sessions", "apply"], JSON, "sessions-apply"),
    row(&["sessions", "commit"], JSON, "sessions-commit"),
    row(&["sessions", "merge"], JSON, "sessions-merge"),
    row(&["sessions", "discard"], JSON, "sessions-discard"),
    lines(&["sessions", "search"], JSON, "sessions-search"),
    lines(&["sessions", "tail"], JsonRequest::Always, "sessions-tail"),
    row(&["sessions", "export"], JsonRequest::Flag("--otel"), "sessions-export-otel"),
    row(&["sessions", "cost"], JSON, "sessions-cost"),
    lines(&["stream", "decode"], JsonRequest::Always, "event"),
    row(&["config", "show"], JSON, "config-show"),
    PrintedJson { unless: &["--batch"], ..row(&["policy", "check"], JSON, "policy-check") },
    lines(&["policy", "check"], JsonRequest::Flag("--batch"), "policy-check-batch"),
    row(&["policy", "explain"], JSON, "policy-explain"),
    row(&["policy", "test"], JSON, "policy-test"),
    row(&["policy", "list"], JSON, "policy-list"),
    row(&["policy", "export"], JSON, "policy-export"),
    PrintedJson { unless: &["--follow"], ..row(&["audit", "show"], JSON, "audit-show") },
    row(&["audit", "verify"], JSON, "audit-verify"),
    program("amplihack", &["hook"], "hook"),
    program("amplihack-hooks", &[], "hook"),
    PrintedJson {
        asked: JsonRequest::Value(&["--output-format"], &["json"]),
        unless: &["--validate-only", "--explain", "list", "update"],
        ..program("recipe-runner-rs", &[], "recipe-run")
    },
    program("xpia-defend", &["validate-content"], "xpia-defend"),
    program("xpia-defend", &["validate-bash"], "xpia-defend"),
    program("xpia-defend", &["validate-webfetch"], "xpia-defend"),
    program("xpia-defend", &["validate-agent"], "xpia-defend"),
    program("xpia-defend", &["health"], "xpia-defend-health"),
    program("xpia-defend", &["patterns"], "xpia-defend-patterns"),
    program("xpia-defend", &["config"], "xpia-defend-config"),
];

impl PrintedJson {
    /// The command as it is written.
    pub fn name(&self) -> String {
        std::iter::once(&self.program).chain(self.words).copied().collect::<Vec<_>>().join(" ")
    }

    /// The arguments that ask for it, as they are written; empty where there are none.
    pub fn option(&self) -> String {
        match self.asked {
            JsonRequest::Always => String::new(),
            JsonRequest::Flag(flag) => flag.to_owned(),
            JsonRequest::Value(names, values) => format!("{} {}", names[0], values.join("|")),
        }
    }

    /// Whether `program` with `args` prints it.
    pub(super) fn is_asked(&self, program: &str, args: &[&str]) -> bool {
        let own = args.split(|arg| *arg == "--").next().unwrap_or_default();
        let own = without_global_options(own);
        let is_this = |row: &Self| row.program == program && own.starts_with(row.words);
        let deepest = ROWS.iter().filter(|row| is_this(row)).map(|row| row.words.len()).max();
        let has = |flag: &str| {
            own.iter().any(|arg| {
                arg.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            })
        };
        is_this(self)
            && deepest == Some(self.words.len())
            && !["--help", "-h", "--version", "-V"].into_iter().any(has)
            && !self.unless.iter().copied().any(has)
            && match self.asked {
                JsonRequest::Always => true,
                JsonRequest::Flag(flag) => has(flag),
                JsonRequest::Value(names, values) => {
                    option_value(own, names).is_some_and(|value| values.contains(&value))
                }
            }
    }
}

/// `args` without the options that every command has.
fn without_global_options<'a, 'b>(mut args: &'b [&'a str]) -> &'b [&'a str] {
    loop {
        args = match args {
            ["--log-level" | "--log-file", _, rest @ ..] => rest,
            [first, rest @ ..] if first.starts_with("--log-level=") || first.starts_with("--log-file=") => {
                rest
            }
            _ => return args,
        }
    }
}

/// The value of the last option of `names` in `args`: in the next word, behind `=`, or behind a letter.
fn option_value<'a>(args: &[&'a str], names: &[&str]) -> Option<&'a str> {
    let mut found = None;
    for (at, arg) in args.iter().enumerate() {
        for name in names {
            match arg.strip_prefix(name) {
                Some("") => found = args.get(at + 1).copied(),
                Some(rest) if rest.starts_with('=') => found = rest.strip_prefix('='),
                Some(rest) if !name.starts_with("--") => found = Some(rest),
                _ => {}
            }
        }
    }
    found
}
