//! What the end of a program or an agent means for its step.

use amplihack_utils::sys::Exit;

use super::{AgentAnswer, ScriptOutput, TaskResult};
use crate::model::Step;
use crate::result::{Status, StepResult};

/// The result of a script.
pub(super) fn of_program(step: &Step, kind: &str, end: ScriptOutput) -> StepResult {
    let mut result = StepResult::new(&step.id, kind, Status::Completed);
    if let Some(why) = why(step, &end) {
        result.status = Status::Failed;
        let error = end.error.trim();
        result.error = if error.is_empty() { why } else { format!("{why}: {error}") };
    }
    match end.exit {
        Some(Exit::Code(code)) => result.exit_code = Some(code),
        Some(Exit::Signal(signal)) => result.signal = Some(signal),
        None => {}
    }
    if result.status == Status::Failed && step.output.is_some() {
        // What a name would have held is no result of a failure; its end is a part of the reason.
        let said = end.output.get(end.output.floor_char_boundary(end.output.len().saturating_sub(TAIL))..);
        if let Some(said) = said.filter(|said| !said.is_empty()) {
            result.error = format!("{}\n--- stdout (tail) ---\n{said}", result.error);
        }
    } else {
        result.output = end.output.into();
    }
    result.output_bytes = end.output_bytes;
    result
}

/// As much of standard output as an error's text has.
const TAIL: usize = 2000;

/// Why a program failed, if it did.
fn why(step: &Step, end: &ScriptOutput) -> Option<String> {
    if end.timed_out {
        let limit = step.timeout.map(|limit| format!(" after {}s", limit.as_secs())).unwrap_or_default();
        return Some(format!("Command timed out{limit}"));
    }
    match end.exit {
        Some(Exit::Code(0)) if end.lost => {
            Some("Command's output is lost: no room for it on the disk".to_owned())
        }
        Some(Exit::Code(0)) => None,
        Some(Exit::Code(code)) => Some(format!("Command failed (exit {code})")),
        Some(Exit::Signal(signal)) => Some(format!(
            "Command was killed by signal {signal} ({})",
            crate::signal::name(signal).unwrap_or("another signal")
        )),
        None => Some("Command's end is not known: what watched over it was killed".to_owned()),
    }
}

/// The result of an agent's run.
pub(super) fn of_agent(step: &Step, kind: &str, end: AgentAnswer) -> StepResult {
    let mut result = StepResult::new(&step.id, kind, Status::Completed);
    if let Some(failure) = end.failure {
        result.status = Status::Failed;
        result.error = failure;
    }
    match end.run.exit() {
        Some(Exit::Code(code)) => result.exit_code = Some(code),
        Some(Exit::Signal(signal)) => result.signal = Some(signal),
        None => {}
    }
    result.output = end.text.into();
    result.output_bytes = end.text_bytes;
    result
}

/// An end of whatever kind.
pub(super) fn of_any(step: &Step, kind: &str, end: TaskResult) -> StepResult {
    match end {
        TaskResult::Script(end) => of_program(step, kind, end),
        TaskResult::Agent(end) => of_agent(step, kind, end),
        TaskResult::Interrupted => StepResult::failed(&step.id, kind, "ended by a signal to the runner"),
        TaskResult::NotStarted(error) => StepResult::failed(&step.id, kind, error),
    }
}
