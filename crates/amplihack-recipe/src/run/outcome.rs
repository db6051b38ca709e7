//! The results of steps from the ends of their programs and agents.

use amplihack_sys::ProcessExit;

use super::{AgentAnswer, ScriptOutput, TaskResult};
use crate::model::RecipeStep;
use crate::result::{StepResult, StepResultStatus};

/// The result of a script.
pub(super) fn program_result(step: &RecipeStep, kind: &str, end: ScriptOutput) -> StepResult {
    let mut result = StepResult::new(&step.id, kind, StepResultStatus::Completed);
    if let Some(why) = failure_reason(step, &end) {
        result.status = StepResultStatus::Failed;
        let error = end.error.trim();
        result.error = if error.is_empty() { why } else { format!("{why}: {error}") };
    }
    match end.exit {
        Some(ProcessExit::Code(code)) => result.exit_code = Some(code),
        Some(ProcessExit::Signal(signal)) => result.signal = Some(signal),
        None => {}
    }
    if result.status == StepResultStatus::Failed && step.output.is_some() {
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

/// The reason that a program failed, if it did.
fn failure_reason(step: &RecipeStep, end: &ScriptOutput) -> Option<String> {
    if end.timed_out {
        let limit = step.timeout.map(|limit| format!(" after {}s", limit.as_secs())).unwrap_or_default();
        return Some(format!("Command timed out{limit}"));
    }
    match end.exit {
        Some(ProcessExit::Code(0)) if end.lost => {
            Some("Command's output is lost: no room for it on the disk".to_owned())
        }
        Some(ProcessExit::Code(0)) => None,
        Some(ProcessExit::Code(code)) => Some(format!("Command failed (exit {code})")),
        Some(ProcessExit::Signal(signal)) => Some(format!(
            "Command was killed by signal {signal} ({})",
            crate::signal::signal_name(signal).unwrap_or("another signal")
        )),
        None => {
            Some("it is unknown how the command ended: the process that watched it was killed".to_owned())
        }
    }
}

/// The result of an agent's run.
pub(super) fn agent_result(step: &RecipeStep, kind: &str, end: AgentAnswer) -> StepResult {
    let mut result = StepResult::new(&step.id, kind, StepResultStatus::Completed);
    if let Some(failure) = end.failure {
        result.status = StepResultStatus::Failed;
        result.error = failure;
    }
    match end.run.exit() {
        Some(ProcessExit::Code(code)) => result.exit_code = Some(code),
        Some(ProcessExit::Signal(signal)) => result.signal = Some(signal),
        None => {}
    }
    result.output = end.text.into();
    result.output_bytes = end.text_bytes;
    result
}

/// An end of whatever kind.
pub(super) fn task_result(step: &RecipeStep, kind: &str, end: TaskResult) -> StepResult {
    match end {
        TaskResult::Script(end) => program_result(step, kind, end),
        TaskResult::Agent(end) => agent_result(step, kind, *end),
        TaskResult::Interrupted => {
            StepResult::from_failure(&step.id, kind, "ended by a signal to the runner")
        }
        TaskResult::NotStarted(error) => StepResult::from_failure(&step.id, kind, error),
    }
}
