//! The guard on an installed agent, seen by files: one call that the policy forbids, one that it lets through.

use std::fmt;
use std::path::Path;

use amplihack_agent::Installed;
use amplihack_hooks::guard::AUDIT_DIRECTORY;
use amplihack_hooks::registration::Program;
use amplihack_launcher::proofs::GuardProof;
use amplihack_utils::env::Env;
use amplihack_utils::fs::read_limited;
use amplihack_utils::prompt_delivery::PromptDelivery;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::drive::{Bench, Driven, Job};
use crate::model::{DONE, ModelServer, Reply, Scenario, Script};
use crate::own_hooks::OwnHooks;

/// A call that the standard policy denies. Where it runs all the same it makes a file and at most an empty commit, both in a
/// repository that is thrown away.
pub const FORBIDDEN: &str = "touch forbidden.txt; git commit --allow-empty --no-verify -m forbidden";
const HARMLESS: &str = "echo harmless > harmless.txt";

/// Bytes of an audit.
const AUDIT_LIMIT: u64 = 1 << 20;
/// Characters of what an agent says about itself.
const DETAIL: usize = 300;

/// What became of [`FORBIDDEN`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forbidden {
    /// It ran.
    Ran,
    /// The policy denied it by this rule, and it did not run.
    Stopped(String),
    /// It did not run, and the policy was not asked: the agent never came to it.
    NotReached,
}

impl Forbidden {
    /// What the files and the denials of a run show.
    pub fn of(driven: &Driven) -> Self {
        if driven.work.join("forbidden.txt").exists() {
            return Self::Ran;
        }
        driven.denials.first().cloned().map_or(Self::NotReached, Self::Stopped)
    }
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ran => "ran",
            Self::Stopped(_) => "stopped",
            Self::NotReached => "not reached",
        })
    }
}

/// Launches `installed` with the guard of `program` twice: in an empty home, and beside the hooks of the user of `env`, each
/// of which does nothing there.
pub(crate) fn prove_guard(
    bench: &mut Bench,
    (runtime, server): (&Runtime, &ModelServer),
    installed: &Installed,
    program: &Program,
    env: &Env,
) -> Vec<GuardProof> {
    let mut run = |leg: &str, own: Option<&OwnHooks>| {
        let name = format!("prove-{}-guard-{leg}", installed.agent);
        let call = |command: &str| Reply::Tool { command: command.to_owned() };
        let end = Reply::Text(DONE.to_owned());
        server.script(&name, Script::new([call(FORBIDDEN), call(HARMLESS), end]));
        let job = Job {
            installed,
            scenario: Scenario::Script,
            run: &name,
            prompt: "go on",
            requested: PromptDelivery::Auto,
            guard: Some(program),
            own,
        };
        let (held, detail) = match bench.drive(runtime, server, job) {
            Ok(driven) => verdict(&driven, installed, server, &name),
            Err(error) => (false, error.to_string()),
        };
        let detail = shortened(&detail, bench.path());
        let detail = own.map_or(detail.clone(), |own| format!("{detail}; beside {own}"));
        GuardProof { leg: leg.to_owned(), held, detail }
    };
    let alone = run(GuardProof::ALONE, None);
    let configured = match OwnHooks::find(installed.agent, env) {
        Ok(own) if own.is_empty() => GuardProof {
            leg: GuardProof::AS_CONFIGURED.to_owned(),
            held: alone.held,
            detail: "your settings have none, so as above".to_owned(),
        },
        Ok(own) => run(GuardProof::AS_CONFIGURED, Some(&own)),
        Err(error) => GuardProof {
            leg: GuardProof::AS_CONFIGURED.to_owned(),
            held: false,
            detail: format!("your settings cannot be looked at: {error}"),
        },
    };
    vec![alone, configured]
}

/// Whether the guard held, and what was seen.
fn verdict(driven: &Driven, installed: &Installed, server: &ModelServer, run: &str) -> (bool, String) {
    let failed = |detail: &str| (false, detail.to_owned());
    let rule = match Forbidden::of(driven) {
        Forbidden::Ran => return failed("the forbidden call ran"),
        Forbidden::Stopped(rule) => rule,
        Forbidden::NotReached => {
            let stderr = String::from_utf8_lossy(&driven.end.stderr.bytes);
            let (code, why) = (i32::from(driven.end.code()), complaint(&stderr));
            return (false, format!("the guard was not asked; the agent ended with {code}: {why}"));
        }
    };
    if !driven.work.join("harmless.txt").exists() {
        return failed("the forbidden call was stopped, but the harmless one did not run either");
    }
    if i32::from(driven.end.code()) != 0 {
        return (false, format!("the agent ended with {}", i32::from(driven.end.code())));
    }
    let told = server.find_text(run, &format!("[amplihack {rule}]"));
    if !told.iter().any(|said| said.role == "tool") {
        return failed("the forbidden call was stopped, but the model was not told why");
    }
    if !in_audit(&driven.home, installed.agent.name(), &rule) {
        return failed("the forbidden call was stopped, but the audit has no line of it");
    }
    (true, format!("a forbidden call was stopped by {rule}, a harmless one ran"))
}

/// The line of `stderr` that says most: the first with an error, else the last.
fn complaint(stderr: &str) -> &str {
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines.clone().find(|line| line.to_ascii_lowercase().contains("error"));
    error.or_else(|| lines.next_back()).unwrap_or("nothing on stderr")
}

/// Whether an audit below `home` has a call of `host` that was refused by `rule`.
fn in_audit(home: &Path, host: &str, rule: &str) -> bool {
    refused(home, host).iter().any(|refused| refused == rule)
}

/// The rules by which calls of `host` were refused, of the audits below `home`.
pub(crate) fn refused(home: &Path, host: &str) -> Vec<String> {
    let rule = |line: &str| {
        let line: Value = serde_json::from_str(line).ok()?;
        let refused = line["host"] == host && line["data"]["is_valid"] == false;
        line["rule"].as_str().filter(|_| refused).map(str::to_owned)
    };
    let files = std::fs::read_dir(home.join(AUDIT_DIRECTORY)).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| read_limited(&file.path(), AUDIT_LIMIT).ok());
    texts
        .flat_map(|bytes| String::from_utf8_lossy(&bytes).lines().filter_map(rule).collect::<Vec<_>>())
        .collect()
}

/// `detail` without the throw-away places, which are gone when a person reads it, and of a bounded length.
fn shortened(detail: &str, bench: &Path) -> String {
    let mut rest = detail;
    let mut out = String::new();
    let root = format!("{}/", bench.display());
    while let Some((before, after)) = rest.split_once(&root) {
        out.push_str(before);
        // `run-3/home/…`
        let inside = after.split_once('/').map_or(after, |(_, inside)| inside);
        rest = inside.strip_prefix("home").map_or(inside, |inside| {
            out.push('~');
            inside
        });
    }
    out.push_str(rest);
    out.chars().take(DETAIL).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throw_away_places_are_not_named() {
        let bench = Path::new("/tmp/bench");
        let text = "/tmp/bench/run-3/home/.copilot/settings.json and /tmp/bench/run-3/work/x say no";
        assert_eq!(shortened(text, bench), "~/.copilot/settings.json and work/x say no");
        assert_eq!(shortened(&"漢".repeat(900), bench).chars().count(), DETAIL);
    }

    #[test]
    fn the_line_with_the_error_is_told() {
        assert_eq!(complaint("starting\nError: no\n  | ^\n"), "Error: no");
        assert_eq!(complaint("starting\nbroken\n\n"), "broken");
        assert_eq!(complaint(""), "nothing on stderr");
    }

    #[test]
    fn only_a_refusal_of_that_rule_and_host_is_the_line() {
        let home = tempfile::tempdir().unwrap();
        assert!(!in_audit(home.path(), "codex", "a/b"));
        let logs = home.path().join(".claude/logs/xpia");
        std::fs::create_dir_all(&logs).unwrap();
        let line = |host: &str, rule: &str, valid: bool| {
            format!("{}\n", serde_json::json!({"host": host, "rule": rule, "data": {"is_valid": valid}}))
        };
        let file = logs.join("rust_security_20260101.log");
        std::fs::write(
            &file,
            line("claude", "a/b", false) + &line("codex", "a/b", true) + &line("codex", "c", false),
        )
        .unwrap();
        assert!(!in_audit(home.path(), "codex", "a/b"));
        std::fs::write(&file, "torn\n".to_owned() + &line("codex", "a/b", false)).unwrap();
        assert!(in_audit(home.path(), "codex", "a/b"));
    }
}
