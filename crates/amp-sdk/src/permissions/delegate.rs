//! Rules that leave the decision to a program.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_session::{
    ChildInput, ChildOutput, Deadlines, EndCause, ProcessExit, RunError, RunSpec, run_blocking, run_to_end,
};
use serde_json::{Map, Value};

use super::answer::PermissionEvaluation;
use super::evaluate::PermissionRules;
use crate::rule::PermissionAction;
use crate::setters::setters;

/// Settings for running the programs of `delegate` rules.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DelegatePrograms {
    /// Environment of the programs; `AGENT=amp` and `AGENT_TOOL_NAME` are added. Also used to find them: PATH, and `~` is HOME.
    pub env: Env,
    /// Working directory of the programs. Default: this process's.
    pub cwd: Option<PathBuf>,
    /// Time that a program may take before it counts as failed. Default: 60 s; the CLI itself waits for ever.
    pub timeout: Duration,
}

setters! {
    DelegatePrograms {
        into(PathBuf) with_cwd = cwd,
        plain(Duration) with_timeout = timeout,
    }
}

/// Maximum number of bytes that are kept of a program's stderr.
const SAID: usize = 64 * 1024;

impl DelegatePrograms {
    /// Programs run in this environment.
    pub fn new(env: Env) -> Self {
        Self { env, cwd: None, timeout: Duration::from_mins(1) }
    }

    /// The run of the program `to`, which reads the arguments as JSON.
    fn run_spec(&self, to: &str, evaluation: &PermissionEvaluation) -> RunSpec {
        let home = |rest: &str| Some(self.env.home()?.join(rest.trim_start_matches('/')));
        let program = to.strip_prefix("~/").and_then(home).unwrap_or_else(|| to.into());
        let mut command = Command::new(program);
        command.env_clear().envs(self.env.iter());
        command.env("AGENT", "amp").env("AGENT_TOOL_NAME", &evaluation.tool);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        RunSpec {
            clean_environment: true,
            stdin: ChildInput::Bytes(Value::Object(evaluation.arguments.clone()).to_string().into_bytes()),
            stdout: ChildOutput::Null,
            stderr: ChildOutput::Tail(SAID),
            deadlines: Deadlines { total: Some(self.timeout), ..Deadlines::default() },
            grace: Duration::from_millis(200),
            ..RunSpec::new(command)
        }
    }

    fn settle_evaluation(
        &self,
        mut evaluation: PermissionEvaluation,
        outcome: Result<amplihack_session::ProcessOutput, RunError>,
    ) -> PermissionEvaluation {
        let (action, error) = match outcome {
            Ok(_) if amplihack_sys::sabotage::is_active("amp-rule-delegate") => {
                (PermissionAction::Reject, None)
            }
            Ok(outcome) if outcome.cause == EndCause::Ended => match outcome.exit {
                ProcessExit::Code(0) => (PermissionAction::Allow, None),
                ProcessExit::Code(1) => (PermissionAction::Ask, None),
                _ => (
                    PermissionAction::Reject,
                    Some(String::from_utf8_lossy(&outcome.stderr.bytes).into_owned()),
                ),
            },
            Ok(_) => {
                let after = self.timeout.as_millis();
                (PermissionAction::Reject, Some(format!("the program did not decide within {after} ms")))
            }
            Err(error) => (PermissionAction::Reject, Some(error.to_string())),
        };
        evaluation.action = Some(action);
        evaluation.error = error;
        evaluation
    }
}

impl PermissionRules {
    /// Evaluates a call, with programs asked, see [`decide_call`].
    pub async fn decide_call(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        context: Option<&str>,
        delegates: &DelegatePrograms,
    ) -> PermissionEvaluation {
        let evaluation = self.first_match(tool, args, context);
        let Some(to) = evaluation.delegate_program() else { return evaluation };
        let outcome = run_to_end(delegates.run_spec(&to, &evaluation)).await;
        delegates.settle_evaluation(evaluation, outcome)
    }

    /// Evaluates a call, with programs asked; blocking.
    pub fn decide_call_blocking(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        context: Option<&str>,
        delegates: &DelegatePrograms,
    ) -> PermissionEvaluation {
        let evaluation = self.first_match(tool, args, context);
        let Some(to) = evaluation.delegate_program() else { return evaluation };
        let outcome = run_blocking(delegates.run_spec(&to, &evaluation));
        delegates.settle_evaluation(evaluation, outcome)
    }
}

/// Evaluates a call as [`evaluate`](super::evaluate()) does, with the programs of `delegate` rules asked.
///
/// A program gets the arguments as JSON on stdin and the tool's name in `AGENT_TOOL_NAME`. It allows with exit code 0, asks with 1, rejects with
/// any other, and what it said on stderr is the reason. One that cannot be started, or takes too long, rejects.
pub async fn decide_call(
    rules: &[crate::rule::Permission],
    tool: &str,
    args: &Map<String, Value>,
    context: Option<&str>,
    delegates: &DelegatePrograms,
) -> PermissionEvaluation {
    PermissionRules::new(rules).decide_call(tool, args, context, delegates).await
}
