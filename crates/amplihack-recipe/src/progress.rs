//! What a run shows while it goes on. Everything shown is in the journal before.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::journal::Entry;
use crate::result::{Status, StepResult};

/// Which step is at which path.
#[derive(Debug, Default)]
struct Steps(BTreeMap<String, (String, String)>);

impl Steps {
    fn see(&mut self, entry: &Entry) {
        if let Entry::Begin { path, step, kind } = entry {
            self.0.insert(path.clone(), (step.clone(), kind.clone()));
        }
    }

    fn name<'a>(&'a self, path: &'a str) -> &'a str {
        self.0.get(path).map_or(path, |(step, _)| step)
    }
}

/// Lines for people.
#[derive(Debug)]
pub struct Lines {
    steps: Steps,
    agent: String,
    /// Steps and their ends, too; without it only what needs attention.
    all: bool,
}

impl Lines {
    /// Lines of a run whose agent is `agent`: of all that happens, or only of what needs attention.
    pub fn new(agent: &str, all: bool) -> Self {
        Self { steps: Steps::default(), agent: agent.to_owned(), all }
    }

    /// What is shown of `entry`; empty: nothing.
    pub fn of(&mut self, entry: &Entry) -> String {
        self.steps.see(entry);
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = match entry {
            Entry::Begin { step, kind, .. } if self.all => match kind.as_str() {
                "agent" => writeln!(text, "▶ {step} [agent — {}]", self.agent),
                "recipe" => writeln!(text, "▶ {step} [sub-recipe]"),
                _ => writeln!(text, "▶ {step}"),
            },
            Entry::End { result, .. } if self.all => {
                let took = result.duration.unwrap_or_default();
                let _ = writeln!(text, "  {} {} ({took:.1}s)", mark(result.status), result.step_id);
                let failed = result.status == Status::Failed;
                for line in result.error.lines().take(if failed { 12 } else { 0 }) {
                    let _ = writeln!(text, "    {line}");
                }
                Ok(())
            }
            Entry::Launch { path, again: Some(why), pause, .. } => {
                let pause = pause.unwrap_or_default();
                writeln!(text, "  ↻ {}: {why}, in {pause:.0} s", self.steps.name(path))
            }
            Entry::Session { path, agent, session } if self.all => {
                writeln!(text, "    {}: {agent}, session {session}", self.steps.name(path))
            }
            Entry::Warning { path, message } if self.all => {
                writeln!(text, "  ! {}: {message}", self.steps.name(path))
            }
            Entry::Warning { path, message } => {
                writeln!(text, "warning: {}: {message}", self.steps.name(path))
            }
            _ => Ok(()),
        };
        text
    }
}

fn mark(status: Status) -> char {
    match status {
        Status::Completed => '✓',
        Status::Skipped => '⊘',
        Status::Failed => '✗',
        Status::Degraded => '⚠',
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Objects for programs: `recipe_start`, `step_start`, `step_again`, `step_session`, `step_warning`, `step_end`, `recipe_end`,
/// `interrupted`.
#[derive(Debug, Default)]
pub struct Objects {
    steps: Steps,
}

impl Objects {
    /// The object of `entry`, if it has one.
    pub fn of(&mut self, entry: &Entry) -> Option<Value> {
        self.steps.see(entry);
        let mut object = match entry {
            Entry::Recipe { path, name } => json!({ "type": "recipe_start", "path": path, "recipe": name }),
            Entry::Begin { path, step, kind } => {
                json!({ "type": "step_start", "path": path, "step": step, "kind": kind })
            }
            Entry::Launch { path, again: Some(why), pause, .. } => json!({
                "type": "step_again", "path": path, "step": self.steps.name(path), "why": why, "pause": pause,
            }),
            Entry::Session { path, agent, session } => json!({
                "type": "step_session", "path": path, "step": self.steps.name(path), "agent": agent, "session": session,
            }),
            Entry::Warning { path, message } => json!({
                "type": "step_warning", "path": path, "step": self.steps.name(path), "message": message,
            }),
            Entry::End { path, result, .. } => end(path, result),
            Entry::RecipeEnd { path, success } => {
                json!({ "type": "recipe_end", "path": path, "success": success })
            }
            Entry::Interrupted { signal } => json!({ "type": "interrupted", "signal": signal }),
            _ => return None,
        };
        object["ts"] = json!(now());
        Some(object)
    }
}

fn end(path: &str, result: &StepResult) -> Value {
    json!({
        "type": "step_end",
        "path": path,
        "step": result.step_id,
        "kind": result.kind,
        "status": result.status,
        "duration": result.duration,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "error": result.error,
        "output_bytes": result.output_bytes.unwrap_or(result.output.len() as u64),
        "usage": result.agent.as_ref().map(|agent| agent.usage),
    })
}

/// The predecessor's log of a run with `--progress`: a private file whose lines are the predecessor's.
#[derive(Debug)]
pub struct TransitionLog {
    path: PathBuf,
    file: File,
    steps: Steps,
}

impl TransitionLog {
    /// Makes the log of a run of the recipe `name` in `directory`.
    pub fn create(directory: &Path, name: &str) -> io::Result<Self> {
        let pid = std::process::id();
        let path = directory.join(format!("amplihack-recipe-{}-{pid}.log", safe(name)));
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        let mut log = Self { path, file, steps: Steps::default() };
        let name = Value::from(name);
        log.line(&format!(
            "{{\"type\":\"recipe_start\",\"recipe\":{name},\"ts\":{:.6},\"pid\":{pid}}}",
            now()
        ))?;
        Ok(log)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what it has to say of `entry`.
    pub fn see(&mut self, entry: &Entry) -> io::Result<()> {
        self.steps.see(entry);
        match entry {
            Entry::Begin { step, kind, .. } => {
                let kind = match kind.as_str() {
                    "agent" => "Agent",
                    "recipe" => "Recipe",
                    _ => "Bash",
                };
                let step = Value::from(step.as_str());
                self.line(&format!(
                    "{{\"type\":\"step_transition\",\"step\":{step},\"step_type\":\"{kind}\",\"status\":\"start\",\"ts\":{:.6}}}",
                    now()
                ))
            }
            Entry::End { result, .. } => {
                let status = match result.status {
                    Status::Completed => "done",
                    Status::Skipped => "skip",
                    Status::Failed => "fail",
                    Status::Degraded => "degraded",
                };
                let step = Value::from(result.step_id.as_str());
                let took = result.duration.unwrap_or_default();
                self.line(&format!(
                    "{{\"type\":\"step_transition\",\"step\":{step},\"status\":\"{status}\",\"duration_secs\":{took:.6},\"ts\":{:.6}}}",
                    now()
                ))
            }
            _ => Ok(()),
        }
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())
    }
}

/// A recipe's name as a part of a file's name.
pub(crate) fn safe(name: &str) -> String {
    let char = |char: char| if char.is_alphanumeric() || "-_.".contains(char) { char } else { '_' };
    let name: String = name.chars().map(char).take(64).collect();
    name.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_what_happens() {
        let mut lines = Lines::new("claude", true);
        let begin = |path: &str, step: &str, kind: &str| Entry::Begin {
            path: path.into(),
            step: step.into(),
            kind: kind.into(),
        };
        let end = |path: &str, result: StepResult| Entry::End {
            path: path.into(),
            result,
            fatal: false,
            file: None,
        };
        let mut text = String::new();
        for entry in [
            begin("0", "a", "bash"),
            end("0", StepResult { duration: Some(1.25), ..StepResult::new("a", "bash", Status::Completed) }),
            begin("1", "p", "agent"),
            Entry::Session { path: "1".into(), agent: "claude".into(), session: "s1".into() },
            Entry::Launch {
                path: "1".into(),
                name: "1-2".into(),
                what: "step".into(),
                again: Some("rate limit, attempt 2 of 6".into()),
                pause: Some(60.0),
            },
            end("1", StepResult::new("p", "agent", Status::Degraded)),
            begin("2", "r", "recipe"),
            end("2", StepResult::failed("r", "recipe", "one\ntwo")),
            end("3", StepResult::new("s", "bash", Status::Skipped)),
        ] {
            text += &lines.of(&entry);
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_name_is_a_part_of_a_files_name() {
        assert_eq!(safe("../evil/name"), "_evil_name");
        assert_eq!(safe("pro\"g \\ name"), "pro_g___name");
    }
}
