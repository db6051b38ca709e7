//! An external `xpia-defend`, asked with the command on its argument list, its answer believed only if all of it agrees.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_utils::prompt_delivery::MAX_ARG_BYTES;
use amplihack_utils::sys::capture;
use serde_json::{Map, Value};

/// Less than the hook's own deadline, so that the reason is told.
pub const DEADLINE: Duration = Duration::from_secs(4);
/// More than any answer.
const MAX_ANSWER: usize = 1 << 20;

/// What the defender says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Exit code 0, valid, and a risk below high.
    Valid,
    /// Exit code 1 or a high risk, and a reason.
    Blocked {
        /// Its word for the risk.
        risk: String,
        /// Up to three descriptions.
        threats: Vec<String>,
        /// Up to two.
        recommendations: Vec<String>,
    },
    /// There is no such program.
    Missing,
    /// Anything else: it cannot be run, or its parts contradict each other.
    Broken(String),
}

/// Asks `program` about `command`.
pub fn ask(program: &Path, command: &str) -> Answer {
    match trusted(program) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Answer::Missing,
        Err(error) => return Answer::Broken(format!("{}: {error}", program.display())),
    }
    if command.len() > MAX_ARG_BYTES {
        let why = format!("the command of {} bytes is too long for an argument", command.len());
        return blocked("critical", &[&why]);
    }
    let mut asked = Command::new(program);
    asked.args(["validate-bash", "--command", command, "--security-level", "medium", "--source", "python"]);
    match capture(asked, DEADLINE, MAX_ANSWER) {
        Ok(captured) => judge(captured.code, &captured.stdout).unwrap_or_else(Answer::Broken),
        Err(error) => Answer::Broken(format!("{}: {error}", program.display())),
    }
}

/// A program that others could have put there is not asked.
fn trusted(program: &Path) -> io::Result<()> {
    let refused = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if !program.is_absolute() {
        return refused("its path is not absolute");
    }
    let metadata = std::fs::metadata(program)?;
    let mode = metadata.permissions().mode();
    let own = this_user();
    if !metadata.is_file() || mode & 0o111 == 0 {
        return refused("it is not a program");
    }
    if mode & 0o002 != 0 || metadata.uid() != 0 && Some(metadata.uid()) != own {
        return refused("others than its user can change it");
    }
    Ok(())
}

/// The user that this process runs as, by what it may call its own.
fn this_user() -> Option<u32> {
    std::fs::metadata("/proc/self").ok().map(|metadata| metadata.uid())
}

fn judge(code: Option<i32>, stdout: &[u8]) -> Result<Answer, String> {
    let code = code.ok_or("it was ended by a signal")?;
    if !matches!(code, 0 | 1) {
        return Ok(blocked("critical", &[&format!("XPIA binary internal error (exit {code})")]));
    }
    let answer: Value = match serde_json::from_slice(stdout) {
        Ok(answer) => answer,
        Err(error) => {
            return Ok(blocked("critical", &[&format!("XPIA binary produced invalid JSON: {error}")]));
        }
    };
    let answer = answer.as_object().ok_or("its answer is not a JSON object")?;
    let risk = match answer.get("risk_level") {
        None => "critical",
        Some(risk) => risk.as_str().ok_or("its risk_level is no text")?,
    };
    let high = match risk {
        "none" | "low" | "medium" => false,
        "high" | "critical" => true,
        other => return Err(format!("its risk_level {other:?} is unknown")),
    };
    let valid = match answer.get("is_valid") {
        None => false,
        Some(valid) => valid.as_bool().ok_or("its is_valid is neither true nor false")?,
    };
    let threats = list(answer, "threats", 3, |threat| threat.get("description")?.as_str())?;
    let recommendations = list(answer, "recommendations", 2, Value::as_str)?;
    let lets_through = valid && !high;
    match (lets_through, code) {
        (true, 0) => Ok(Answer::Valid),
        (true, _) => Err(format!("it says valid and ends with {code}")),
        // Whatever the code, what its words block stays blocked.
        (false, _) => Ok(Answer::Blocked { risk: risk.to_owned(), threats, recommendations }),
    }
}

fn blocked(risk: &str, threats: &[&str]) -> Answer {
    Answer::Blocked {
        risk: risk.to_owned(),
        threats: threats.iter().map(|threat| (*threat).to_owned()).collect(),
        recommendations: vec!["Content blocked due to validation error".to_owned()],
    }
}

fn list(
    answer: &Map<String, Value>,
    name: &str,
    most: usize,
    text: impl Fn(&Value) -> Option<&str>,
) -> Result<Vec<String>, String> {
    let Some(values) = answer.get(name) else { return Ok(Vec::new()) };
    let values = values.as_array().ok_or_else(|| format!("its {name} is no list"))?;
    Ok(values.iter().filter_map(text).take(most).map(str::to_owned).collect())
}
