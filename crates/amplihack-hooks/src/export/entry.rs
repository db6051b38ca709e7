//! Entries of an export before they are put into an agent's words, and the proof of each against the policy.

use std::path::Path;

use amplihack_policy::rules::ExampleWorld;
use amplihack_policy::{Event, Policy};
use amplihack_shell::Limits;
use amplihack_verdict::{Decision, RuleId, Verdict};

use super::candidates::{COMMANDS, HOSTS, READS, REMOVAL, REMOVED, WRITES};

/// The subject of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportSubject {
    /// Commands that are these words, and nothing behind them.
    Exactly(Vec<String>),
    /// Commands that begin with these words.
    Words(Vec<String>),
    /// Commands whose text begins like this, the last word cut off.
    Text(String),
    /// A file that is read. `~/` is the home, `/**` at the end everything below.
    Read(String),
    /// A file that is written, in the same form.
    Write(String),
    /// A host that is fetched from.
    Fetch(String),
}

/// A kind of call that the policy stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportEntry {
    /// The subject of the entry.
    pub what: ExportSubject,
    /// Deny or ask.
    pub decision: Decision,
    /// The rule behind it.
    pub rule: RuleId,
}

/// Everything that the policy, asked for each, stops.
pub(super) fn collect_entries(policy: &Policy) -> Vec<ExportEntry> {
    let mut found = Vec::new();
    let removals =
        REMOVAL.iter().flat_map(|removal| REMOVED.iter().map(move |what| format!("{removal} {what} *")));
    for pattern in removals.chain(COMMANDS.iter().map(|pattern| (*pattern).to_owned())) {
        let (pattern, tail) = pattern.split_once(" # ").unwrap_or((&pattern, "x"));
        found.extend(command_entry(policy, pattern, tail));
    }
    for path in READS {
        found.extend(proved_entry(policy, ExportSubject::Read((*path).to_owned()), &[path]));
    }
    for path in WRITES {
        found.extend(proved_entry(policy, ExportSubject::Write((*path).to_owned()), &[path]));
    }
    for host in HOSTS {
        found.extend(proved_entry(policy, ExportSubject::Fetch((*host).to_owned()), &[host]));
    }
    found.extend(user_entries(policy));
    found
}

/// `words *` is about commands that begin with the words, `text*` about text that does, anything else about one command.
fn command_entry(policy: &Policy, pattern: &str, tail: &str) -> Option<ExportEntry> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    if let Some(begin) = pattern.strip_suffix(" *") {
        return proved_entry(
            policy,
            ExportSubject::Words(words(begin)),
            &[begin, &format!("{begin} {tail}")],
        );
    }
    match pattern.strip_suffix('*') {
        Some(begin) => {
            proved_entry(policy, ExportSubject::Text(begin.to_owned()), &[&format!("{begin}{tail}")])
        }
        None => proved_entry(policy, ExportSubject::Exactly(words(pattern)), &[pattern]),
    }
}

/// The entry for `what`, if the policy stops every sample of it; as strict as the mildest.
fn proved_entry(policy: &Policy, what: ExportSubject, samples: &[&str]) -> Option<ExportEntry> {
    let verdicts = samples.iter().map(|sample| judge_sample(policy, &what, sample));
    let mildest = verdicts.min_by_key(|verdict| verdict.decision)?;
    let rule = mildest.rule.filter(|_| mildest.decision >= Decision::Ask)?;
    Some(ExportEntry { what, decision: mildest.decision, rule })
}

fn judge_sample(policy: &Policy, what: &ExportSubject, sample: &str) -> Verdict {
    let cwd = Path::new(ExampleWorld::CWD);
    let sample = match sample.strip_prefix("~/") {
        Some(rest) if !matches!(what, ExportSubject::Text(_)) => format!("{}/{rest}", ExampleWorld::HOME),
        _ => sample.to_owned(),
    };
    let path = sample.replace("/**", "/x");
    let url = format!("http://{sample}/");
    let event = match what {
        ExportSubject::Exactly(_) | ExportSubject::Words(_) | ExportSubject::Text(_) => {
            Event::Shell { script: sample.as_bytes(), cwd }
        }
        ExportSubject::Read(_) => Event::Read { path: Path::new(&path), cwd },
        ExportSubject::Write(_) => Event::Write { path: Path::new(&path), cwd },
        ExportSubject::Fetch(_) => Event::Fetch { url: &url, cwd },
    };
    policy.judge(&event, &ExampleWorld::default(), &Limits::default())
}

/// The user's own rules, as far as they are plain: a program with its first arguments, a path, a host.
fn user_entries(policy: &Policy) -> Vec<ExportEntry> {
    let plain = |text: &&String| !text.contains(['*', '?', '[', '{', ' ', '"', '\'', '\\', '(', ')']);
    let mut found = Vec::new();
    for rule in policy.user_rules().filter(|rule| rule.decision >= Decision::Ask) {
        let bare = rule.programs.is_empty() && rule.args.is_empty();
        if rule.paths.is_empty() && rule.hosts.is_empty() && rule.args.iter().all(|arg| plain(&arg)) {
            for program in rule.programs.iter().filter(plain) {
                let words: Vec<&str> =
                    std::iter::once(program).chain(rule.args).map(String::as_str).collect();
                found.extend(command_entry(policy, &format!("{} *", words.join(" ")), "x"));
            }
        } else if bare && rule.hosts.is_empty() {
            for path in rule.paths {
                let fixed = path.strip_suffix("/**").unwrap_or(path).to_owned();
                if plain(&&fixed) {
                    found.extend(proved_entry(policy, ExportSubject::Read(path.clone()), &[path]));
                    found.extend(proved_entry(policy, ExportSubject::Write(path.clone()), &[path]));
                }
            }
        } else if bare && rule.paths.is_empty() {
            for host in rule.hosts.iter().filter(plain) {
                found.extend(proved_entry(policy, ExportSubject::Fetch(host.clone()), &[host]));
            }
        }
    }
    found
}
