//! What an export says before it is put into an agent's words, and the proof of each entry against the policy.

use std::path::Path;

use amplihack_policy::rules::ExampleWorld;
use amplihack_policy::{Decision, Event, Limits, Policy, RuleId, Verdict};

use super::candidates::{COMMANDS, HOSTS, READS, REMOVAL, REMOVED, WRITES};

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
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

/// One thing that the policy stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is about.
    pub what: What,
    /// Deny or ask.
    pub decision: Decision,
    /// The rule behind it.
    pub rule: RuleId,
}

/// Everything that the policy, asked for each, stops.
pub(super) fn entries(policy: &Policy) -> Vec<Entry> {
    let mut found = Vec::new();
    let removals =
        REMOVAL.iter().flat_map(|removal| REMOVED.iter().map(move |what| format!("{removal} {what} *")));
    for pattern in removals.chain(COMMANDS.iter().map(|pattern| (*pattern).to_owned())) {
        let (pattern, tail) = pattern.split_once(" # ").unwrap_or((&pattern, "x"));
        found.extend(command(policy, pattern, tail));
    }
    for path in READS {
        found.extend(asked(policy, What::Read((*path).to_owned()), &[path]));
    }
    for path in WRITES {
        found.extend(asked(policy, What::Write((*path).to_owned()), &[path]));
    }
    for host in HOSTS {
        found.extend(asked(policy, What::Fetch((*host).to_owned()), &[host]));
    }
    found.extend(users(policy));
    found
}

/// `words *` is about commands that begin with the words, `text*` about text that does, anything else about one command.
fn command(policy: &Policy, pattern: &str, tail: &str) -> Option<Entry> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    if let Some(begin) = pattern.strip_suffix(" *") {
        return asked(policy, What::Words(words(begin)), &[begin, &format!("{begin} {tail}")]);
    }
    match pattern.strip_suffix('*') {
        Some(begin) => asked(policy, What::Text(begin.to_owned()), &[&format!("{begin}{tail}")]),
        None => asked(policy, What::Exactly(words(pattern)), &[pattern]),
    }
}

/// The entry for `what`, if the policy stops every sample of it; as strict as the mildest.
fn asked(policy: &Policy, what: What, samples: &[&str]) -> Option<Entry> {
    let verdicts = samples.iter().map(|sample| judge(policy, &what, sample));
    let mildest = verdicts.min_by_key(|verdict| verdict.decision)?;
    let rule = mildest.rule.filter(|_| mildest.decision >= Decision::Ask)?;
    Some(Entry { what, decision: mildest.decision, rule })
}

fn judge(policy: &Policy, what: &What, sample: &str) -> Verdict {
    let cwd = Path::new(ExampleWorld::CWD);
    let sample = match sample.strip_prefix("~/") {
        Some(rest) if !matches!(what, What::Text(_)) => format!("{}/{rest}", ExampleWorld::HOME),
        _ => sample.to_owned(),
    };
    let path = sample.replace("/**", "/x");
    let url = format!("http://{sample}/");
    let event = match what {
        What::Exactly(_) | What::Words(_) | What::Text(_) => Event::Shell { script: sample.as_bytes(), cwd },
        What::Read(_) => Event::Read { path: Path::new(&path), cwd },
        What::Write(_) => Event::Write { path: Path::new(&path), cwd },
        What::Fetch(_) => Event::Fetch { url: &url, cwd },
    };
    policy.judge(&event, &ExampleWorld::default(), &Limits::default())
}

/// The user's own rules, as far as they are plain: a program with its first arguments, a path, a host.
fn users(policy: &Policy) -> Vec<Entry> {
    let plain = |text: &&String| !text.contains(['*', '?', '[', '{', ' ', '"', '\'', '\\', '(', ')']);
    let mut found = Vec::new();
    for rule in policy.users().filter(|rule| rule.decision >= Decision::Ask) {
        let bare = rule.programs.is_empty() && rule.args.is_empty();
        if rule.paths.is_empty() && rule.hosts.is_empty() && rule.args.iter().all(|arg| plain(&arg)) {
            for program in rule.programs.iter().filter(plain) {
                let words: Vec<&str> =
                    std::iter::once(program).chain(rule.args).map(String::as_str).collect();
                found.extend(command(policy, &format!("{} *", words.join(" ")), "x"));
            }
        } else if bare && rule.hosts.is_empty() {
            for path in rule.paths {
                let fixed = path.strip_suffix("/**").unwrap_or(path).to_owned();
                if plain(&&fixed) {
                    found.extend(asked(policy, What::Read(path.clone()), &[path]));
                    found.extend(asked(policy, What::Write(path.clone()), &[path]));
                }
            }
        } else if bare && rule.paths.is_empty() {
            for host in rule.hosts.iter().filter(plain) {
                found.extend(asked(policy, What::Fetch(host.clone()), &[host]));
            }
        }
    }
    found
}
