//! The progress that a run shows. Everything shown is in the journal before.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use amplihack_sys::push_line;
use serde_json::{Value, json};

use crate::journal::RecipeRunEntry;
use crate::result::{StepResult, StepResultStatus};

/// Ids and kinds of steps, by their paths.
#[derive(Debug, Default)]
struct ProgressStepNames(BTreeMap<String, (String, String)>);

impl ProgressStepNames {
    fn note_entry(&mut self, entry: &RecipeRunEntry) {
        if let RecipeRunEntry::Begin { path, step, kind } = entry {
            self.0.insert(path.clone(), (step.clone(), kind.clone()));
        }
    }

    fn step_name<'a>(&'a self, path: &'a str) -> &'a str {
        self.0.get(path).map_or(path, |(step, _)| step)
    }
}

/// Lines for people.
#[derive(Debug)]
pub struct ProgressLines {
    steps: ProgressStepNames,
    agent: String,
    /// Steps and their ends, too; without it only what needs attention.
    all: bool,
}

impl ProgressLines {
    /// Lines of a run whose agent is `agent`: of all that happens, or only of what needs attention.
    pub fn new(agent: &str, all: bool) -> Self {
        Self { steps: ProgressStepNames::default(), agent: agent.to_owned(), all }
    }

    /// Renders the lines that are shown of `entry`; empty: none.
    pub fn render_entry(&mut self, entry: &RecipeRunEntry) -> String {
        self.steps.note_entry(entry);
        let mut text = String::new();
        match entry {
            RecipeRunEntry::Begin { step, kind, .. } if self.all => match kind.as_str() {
                "agent" => push_line!(text, "▶ {step} [agent — {}]", self.agent),
                "recipe" => push_line!(text, "▶ {step} [sub-recipe]"),
                _ => push_line!(text, "▶ {step}"),
            },
            RecipeRunEntry::End { result, .. } if self.all => {
                let took = result.duration.unwrap_or_default();
                push_line!(text, "  {} {} ({took:.1}s)", status_mark(result.status), result.step_id);
                let failed = result.status == StepResultStatus::Failed;
                for line in result.error.lines().take(if failed { 12 } else { 0 }) {
                    push_line!(text, "    {line}");
                }
            }
            RecipeRunEntry::Launch { path, again: Some(why), pause, .. } => {
                let pause = pause.unwrap_or_default();
                push_line!(text, "  ↻ {}: {why}, in {pause:.0} s", self.steps.step_name(path));
            }
            RecipeRunEntry::Session { path, agent, session } if self.all => {
                push_line!(text, "    {}: {agent}, session {session}", self.steps.step_name(path));
            }
            RecipeRunEntry::Warning { path, message } if self.all => {
                push_line!(text, "  ! {}: {message}", self.steps.step_name(path));
            }
            RecipeRunEntry::Warning { path, message } => {
                push_line!(text, "warning: {}: {message}", self.steps.step_name(path));
            }
            _ => {}
        }
        text
    }
}

fn status_mark(status: StepResultStatus) -> char {
    match status {
        StepResultStatus::Completed => '✓',
        StepResultStatus::Skipped => '⊘',
        StepResultStatus::Failed => '✗',
        StepResultStatus::Degraded => '⚠',
    }
}

/// Seconds since 1970.
fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Objects for programs: `recipe_start`, `step_start`, `step_again`, `step_session`, `step_warning`, `step_end`, `recipe_end`,
/// `interrupted`.
#[derive(Debug, Default)]
pub struct ProgressObjects {
    steps: ProgressStepNames,
}

impl ProgressObjects {
    /// The object of `entry`, if it has one.
    pub fn entry_object(&mut self, entry: &RecipeRunEntry) -> Option<Value> {
        self.steps.note_entry(entry);
        let mut object = match entry {
            RecipeRunEntry::Recipe { path, name } => {
                json!({ "type": "recipe_start", "path": path, "recipe": name })
            }
            RecipeRunEntry::Begin { path, step, kind } => {
                json!({ "type": "step_start", "path": path, "step": step, "kind": kind })
            }
            RecipeRunEntry::Launch { path, again: Some(why), pause, .. } => json!({
                "type": "step_again", "path": path, "step": self.steps.step_name(path), "why": why, "pause": pause,
            }),
            RecipeRunEntry::Session { path, agent, session } => json!({
                "type": "step_session", "path": path, "step": self.steps.step_name(path), "agent": agent, "session": session,
            }),
            RecipeRunEntry::Warning { path, message } => json!({
                "type": "step_warning", "path": path, "step": self.steps.step_name(path), "message": message,
            }),
            RecipeRunEntry::End { path, result, .. } => step_end_object(path, result),
            RecipeRunEntry::RecipeEnd { path, success } => {
                json!({ "type": "recipe_end", "path": path, "success": success })
            }
            RecipeRunEntry::Interrupted { signal } => json!({ "type": "interrupted", "signal": signal }),
            _ => return None,
        };
        object["ts"] = json!(unix_seconds());
        Some(object)
    }
}

fn step_end_object(path: &str, result: &StepResult) -> Value {
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
    steps: ProgressStepNames,
}

impl TransitionLog {
    /// Makes the log of a run of the recipe `name` in `directory`.
    pub fn create_in(directory: &Path, name: &str) -> io::Result<Self> {
        let pid = std::process::id();
        let path = directory.join(format!("amplihack-recipe-{}-{pid}.log", file_name_part(name)));
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        let mut log = Self { path, file, steps: ProgressStepNames::default() };
        let name = Value::from(name);
        log.write_line(&format!(
            "{{\"type\":\"recipe_start\",\"recipe\":{name},\"ts\":{:.6},\"pid\":{pid}}}",
            unix_seconds()
        ))?;
        Ok(log)
    }

    /// Path to the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what it has to say of `entry`.
    pub fn record_entry(&mut self, entry: &RecipeRunEntry) -> io::Result<()> {
        self.steps.note_entry(entry);
        match entry {
            RecipeRunEntry::Begin { step, kind, .. } => {
                let kind = match kind.as_str() {
                    "agent" => "Agent",
                    "recipe" => "Recipe",
                    _ => "Bash",
                };
                let step = Value::from(step.as_str());
                self.write_line(&format!(
                    "{{\"type\":\"step_transition\",\"step\":{step},\"step_type\":\"{kind}\",\"status\":\"start\",\"ts\":{:.6}}}",
                    unix_seconds()
                ))
            }
            RecipeRunEntry::End { result, .. } => {
                let status = match result.status {
                    StepResultStatus::Completed => "done",
                    StepResultStatus::Skipped => "skip",
                    StepResultStatus::Failed => "fail",
                    StepResultStatus::Degraded => "degraded",
                };
                let step = Value::from(result.step_id.as_str());
                let took = result.duration.unwrap_or_default();
                self.write_line(&format!(
                    "{{\"type\":\"step_transition\",\"step\":{step},\"status\":\"{status}\",\"duration_secs\":{took:.6},\"ts\":{:.6}}}",
                    unix_seconds()
                ))
            }
            _ => Ok(()),
        }
    }

    fn write_line(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())
    }
}

/// A recipe's name as a part of a file's name.
pub(crate) fn file_name_part(name: &str) -> String {
    let char = |char: char| if char.is_alphanumeric() || "-_.".contains(char) { char } else { '_' };
    let name: String = name.chars().map(char).take(64).collect();
    name.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_what_happens() {
        let mut lines = ProgressLines::new("claude", true);
        let begin = |path: &str, step: &str, kind: &str| RecipeRunEntry::Begin {
            path: path.into(),
            step: step.into(),
            kind: kind.into(),
        };
        let end = |path: &str, result: StepResult| RecipeRunEntry::End {
            path: path.into(),
            result,
            fatal: false,
            file: None,
        };
        let mut text = String::new();
        for entry in [
            begin("0", "a", "bash"),
            end(
                "0",
                StepResult {
                    duration: Some(1.25),
                    ..StepResult::new("a", "bash", StepResultStatus::Completed)
                },
            ),
            begin("1", "p", "agent"),
            RecipeRunEntry::Session { path: "1".into(), agent: "claude".into(), session: "s1".into() },
            RecipeRunEntry::Launch {
                path: "1".into(),
                name: "1-2".into(),
                what: "step".into(),
                again: Some("rate limit, attempt 2 of 6".into()),
                pause: Some(60.0),
            },
            end("1", StepResult::new("p", "agent", StepResultStatus::Degraded)),
            begin("2", "r", "recipe"),
            end("2", StepResult::from_failure("r", "recipe", "one\ntwo")),
            end("3", StepResult::new("s", "bash", StepResultStatus::Skipped)),
        ] {
            text += &lines.render_entry(&entry);
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_name_is_a_part_of_a_files_name() {
        assert_eq!(file_name_part("../evil/name"), "_evil_name");
        assert_eq!(file_name_part("pro\"g \\ name"), "pro_g___name");
    }
}
