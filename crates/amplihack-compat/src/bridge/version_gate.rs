//! The check that the external runner is new enough.

use std::cmp::Ordering;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_session::probe_program;

use super::error::BridgeError;

/// The oldest runner that will do.
const MINIMUM: &str = "0.3.5";
const MINIMUM_NUMBERS: [&str; 3] = ["0", "3", "5"];
/// The longest time that a runner may take to print its version.
const DEADLINE: Duration = Duration::from_secs(10);
/// The names by which the runner calls itself.
const NAMES: [&str; 2] = ["recipe-runner", "recipe-runner-rs"];

/// Asks `runner` for its version, with the environment `env`, and says it if it is new enough.
pub(super) fn check_runner_version(runner: &Path, env: &Env) -> Result<String, BridgeError> {
    let unknown = |why: String| BridgeError::VersionUnknown { path: runner.to_owned(), why };
    let mut command = Command::new(runner);
    command.arg("--version").env_clear().envs(env.iter());
    let said = probe_program(command, DEADLINE).map_err(|error| unknown(error.to_string()))?;
    if !said.exit.is_success() {
        return Err(unknown(format!("--version ended with {}", said.exit)));
    }
    version_of(&String::from_utf8_lossy(&said.stdout), runner)
}

/// The version in what a runner prints for `--version`, if it is new enough.
///
/// It is the word behind the runner's name, wherever that stands, or the only word that there is; dates and the versions of
/// compilers around it are not it. A pre-release is older than its release.
pub fn version_of(output: &str, runner: &Path) -> Result<String, BridgeError> {
    let path = || runner.to_owned();
    let words: Vec<&str> = output.split_whitespace().collect();
    let named = words.iter().position(|word| NAMES.contains(word)).and_then(|at| words.get(at + 1));
    let word = match (named, &words[..]) {
        (Some(word), _) => word,
        (None, [only]) => only,
        (None, _) if amplihack_sys::sabotage::is_active("copilot-gate-unknown") => return Ok(String::new()),
        (None, _) => {
            let why = if words.is_empty() { "it prints nothing" } else { "it does not print its name" };
            return Err(BridgeError::VersionUnknown { path: path(), why: why.to_owned() });
        }
    };
    let version = word.trim_start_matches('v').trim_end_matches('.');
    let read = RunnerVersion::read(version);
    if read.is_none() && amplihack_sys::sabotage::is_active("copilot-gate-unreadable") {
        return Ok(version.to_owned());
    }
    let read =
        read.ok_or_else(|| BridgeError::VersionUnreadable { path: path(), version: (*word).to_owned() })?;
    if read.is_older_than(MINIMUM_NUMBERS) && !amplihack_sys::sabotage::is_active("copilot-gate-old") {
        return Err(BridgeError::VersionTooOld {
            path: path(),
            version: version.to_owned(),
            minimum: MINIMUM,
        });
    }
    Ok(version.to_owned())
}

/// Numbers between dots, and whether they are those of a pre-release.
struct RunnerVersion {
    /// Digits without zeros before them, so that no number is too large.
    numbers: Vec<String>,
    before: bool,
}

impl RunnerVersion {
    fn read(text: &str) -> Option<Self> {
        let text = text.split('+').next()?;
        let (numbers, before) = match text.split_once('-') {
            Some((numbers, label)) if !label.is_empty() => (numbers, true),
            Some(_) => return None,
            None => (text, false),
        };
        let digits = |part: &str| {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| match part.trim_start_matches('0') {
                "" => "0".to_owned(),
                number => number.to_owned(),
            })
        };
        let numbers: Vec<String> = numbers.split('.').map(digits).collect::<Option<_>>()?;
        // A single number may be a build's, or a year.
        (numbers.len() > 1).then_some(Self { numbers, before })
    }

    fn is_older_than(&self, other: [&str; 3]) -> bool {
        let own: Vec<&str> = self.numbers.iter().map(String::as_str).collect();
        // Of two numbers without zeros before them the longer one is the larger.
        let filled = |numbers: &[&str], at: usize| {
            let number = numbers.get(at).copied().unwrap_or("0");
            (number.len(), number.to_owned())
        };
        let length = own.len().max(other.len());
        let order = (0..length).map(|at| filled(&own, at).cmp(&filled(&other, at)));
        match order.into_iter().find(|order| order.is_ne()) {
            Some(order) => order == Ordering::Less,
            None => self.before,
        }
    }
}

#[cfg(test)]
mod tests {
    use amplihack_sys::error::ErrorExplanation;
    use serde::Deserialize;

    use super::*;

    // The files of vectors have forms of their own, so each test reads its own.
    /// What a runner prints, and what it is taken for: `ok` with its version, or an error of this kind.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        name: String,
        stdout: String,
        version: Option<String>,
        error: Option<String>,
    }

    #[test]
    fn the_vectors_hold() {
        for line in include_str!("../../tests/cases/runner_version_gate.jsonl").lines() {
            let Case { name, stdout, version, error } = serde_json::from_str(line).unwrap();
            let found = version_of(&stdout, Path::new("/bin/runner"));
            match (version, error) {
                (Some(version), None) => assert_eq!(found.unwrap(), version, "{name}"),
                (None, Some(kind)) => assert_eq!(found.unwrap_err().kind(), kind, "{name}"),
                _ => panic!("{name} has one outcome"),
            }
        }
    }
}
