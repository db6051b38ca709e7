//! Rules that leave the decision to a program.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use amplihack_session::{
    Deadlines, EndCause, Exit, Input, Output, RunError, RunSpec, run_blocking, run_to_end,
};
use amplihack_utils::env::Env;
use serde_json::{Map, Value};

use super::evaluate::{Evaluation, Rules};
use crate::rule::Action;

/// How the programs of `delegate` rules are run.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegates {
    /// Their environment; `AGENT=amp` and `AGENT_TOOL_NAME` are added. Also where they are looked up: PATH, and `~` is HOME.
    pub env: Env,
    /// Their working directory. Default: this process's.
    pub cwd: Option<PathBuf>,
    /// How long one may take before it counts as failed. Default: 60 s; the CLI itself waits for ever.
    pub timeout: Duration,
}

/// What is kept of what a program says on stderr.
const SAID: usize = 64 * 1024;

impl Delegates {
    /// Programs run in this environment.
    pub fn new(env: Env) -> Self {
        Self { env, cwd: None, timeout: Duration::from_mins(1) }
    }

    /// The run of the program `to`, which reads the arguments as JSON.
    fn run(&self, to: &str, evaluation: &Evaluation) -> RunSpec {
        let home = |rest: &str| Some(self.env.home()?.join(rest.trim_start_matches('/')));
        let program = to.strip_prefix("~/").and_then(home).unwrap_or_else(|| to.into());
        let mut command = Command::new(program);
        command.env_clear().envs(self.env.iter());
        command.env("AGENT", "amp").env("AGENT_TOOL_NAME", &evaluation.tool);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        RunSpec {
            stdin: Input::Bytes(Value::Object(evaluation.arguments.clone()).to_string().into_bytes()),
            stdout: Output::Null,
            stderr: Output::Tail(SAID),
            deadlines: Deadlines { total: Some(self.timeout), ..Deadlines::default() },
            grace: Duration::from_millis(200),
            ..RunSpec::new(command)
        }
    }

    fn settle(
        &self,
        mut evaluation: Evaluation,
        outcome: Result<amplihack_session::ProcessOutput, RunError>,
    ) -> Evaluation {
        let (action, error) = match outcome {
            Ok(_) if amplihack_utils::sabotage::active("amp-rule-delegate") => (Action::Reject, None),
            Ok(outcome) if outcome.cause == EndCause::Ended => match outcome.exit {
                Exit::Code(0) => (Action::Allow, None),
                Exit::Code(1) => (Action::Ask, None),
                _ => (Action::Reject, Some(String::from_utf8_lossy(&outcome.stderr.bytes).into_owned())),
            },
            Ok(_) => {
                let after = self.timeout.as_millis();
                (Action::Reject, Some(format!("the program did not decide within {after} ms")))
            }
            Err(error) => (Action::Reject, Some(error.to_string())),
        };
        evaluation.action = Some(action);
        evaluation.error = error;
        evaluation
    }
}

impl Rules {
    /// What becomes of a call, with programs asked, see [`decide`].
    pub async fn decide(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        context: Option<&str>,
        delegates: &Delegates,
    ) -> Evaluation {
        let evaluation = self.first(tool, args, context);
        let Some(to) = evaluation.delegate() else { return evaluation };
        let outcome = run_to_end(delegates.run(&to, &evaluation)).await;
        delegates.settle(evaluation, outcome)
    }

    /// The same, blocking.
    pub fn decide_blocking(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        context: Option<&str>,
        delegates: &Delegates,
    ) -> Evaluation {
        let evaluation = self.first(tool, args, context);
        let Some(to) = evaluation.delegate() else { return evaluation };
        let outcome = run_blocking(delegates.run(&to, &evaluation));
        delegates.settle(evaluation, outcome)
    }
}

/// What becomes of a call, as [`evaluate`](super::evaluate()), with the programs of `delegate` rules asked.
///
/// A program gets the arguments as JSON on stdin and the tool's name in `AGENT_TOOL_NAME`. It allows with exit code 0, asks with 1, rejects with
/// any other, and what it said on stderr is the reason. One that cannot be started, or takes too long, rejects.
pub async fn decide(
    rules: &[crate::rule::Permission],
    tool: &str,
    args: &Map<String, Value>,
    context: Option<&str>,
    delegates: &Delegates,
) -> Evaluation {
    Rules::new(rules).decide(tool, args, context, delegates).await
}
