//! An external `xpia-defend`, asked with the command on its argument list, its answer believed only if all of it agrees.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_config::prompt_delivery::MAX_ARG_BYTES;
use amplihack_sys::capture_output;
use serde_json::{Map, Value};

/// Less than the hook's own deadline, so that the reason is told.
pub const DEADLINE: Duration = Duration::from_secs(4);
/// More than any answer.
const MAX_ANSWER: usize = 1 << 20;

/// The answer of the defender.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefenderAnswer {
    /// Exit code 0, valid, and a risk below high.
    Valid,
    /// Exit code 1 or a high risk, and a reason.
    Blocked {
        /// The defender's word for the risk.
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
pub fn ask_defender(program: &Path, command: &str) -> DefenderAnswer {
    match check_trust(program) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return DefenderAnswer::Missing,
        Err(error) => return DefenderAnswer::Broken(format!("{}: {error}", program.display())),
    }
    if command.len() > MAX_ARG_BYTES {
        let why = format!("the command of {} bytes is too long for an argument", command.len());
        return blocked_answer("critical", &[&why]);
    }
    let mut asked = Command::new(program);
    asked.args(["validate-bash", "--command", command, "--security-level", "medium", "--source", "python"]);
    match capture_output(asked, DEADLINE, MAX_ANSWER) {
        Ok(captured) => parse_answer(captured.code, &captured.stdout).unwrap_or_else(DefenderAnswer::Broken),
        Err(error) => DefenderAnswer::Broken(format!("{}: {error}", program.display())),
    }
}

/// A program that others could have put there is not asked.
fn check_trust(program: &Path) -> io::Result<()> {
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

fn parse_answer(code: Option<i32>, stdout: &[u8]) -> Result<DefenderAnswer, String> {
    let code = code.ok_or("it was ended by a signal")?;
    if !matches!(code, 0 | 1) {
        return Ok(blocked_answer("critical", &[&format!("XPIA binary internal error (exit {code})")]));
    }
    let answer: Value = match serde_json::from_slice(stdout) {
        Ok(answer) => answer,
        Err(error) => {
            return Ok(blocked_answer("critical", &[&format!("XPIA binary produced invalid JSON: {error}")]));
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
    let threats = text_list(answer, "threats", 3, |threat| threat.get("description")?.as_str())?;
    let recommendations = text_list(answer, "recommendations", 2, Value::as_str)?;
    let lets_through = valid && !high;
    match (lets_through, code) {
        (true, 0) => Ok(DefenderAnswer::Valid),
        (true, _) => Err(format!("it reports valid but exits with {code}")),
        // Whatever the code, what its words block stays blocked.
        (false, _) => Ok(DefenderAnswer::Blocked { risk: risk.to_owned(), threats, recommendations }),
    }
}

fn blocked_answer(risk: &str, threats: &[&str]) -> DefenderAnswer {
    DefenderAnswer::Blocked {
        risk: risk.to_owned(),
        threats: threats.iter().map(|threat| (*threat).to_owned()).collect(),
        recommendations: vec!["Content blocked due to validation error".to_owned()],
    }
}

fn text_list(
    answer: &Map<String, Value>,
    name: &str,
    most: usize,
    text: impl Fn(&Value) -> Option<&str>,
) -> Result<Vec<String>, String> {
    let Some(values) = answer.get(name) else { return Ok(Vec::new()) };
    let values = values.as_array().ok_or_else(|| format!("its {name} is no list"))?;
    Ok(values.iter().filter_map(text).take(most).map(str::to_owned).collect())
}
