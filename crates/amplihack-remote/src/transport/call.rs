//! Execution of a command of this machine with files as its stdin and stdout, within a time.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_config::secret::is_secret_name;
use amplihack_session::{ChildInput, ChildOutput, Deadlines, EndCause, RunSpec, run_to_end};

use crate::error::{ErrorContext, RemoteError};
use crate::runner::CommandOutput;

/// Time limit of a command, and of a command that moves files.
pub(super) const LIMIT: Duration = Duration::from_mins(2);
pub(crate) const LONG_LIMIT: Duration = Duration::from_mins(10);

/// The most of an answer that is held in memory.
const ANSWER: usize = 32 << 20;
/// Number of bytes kept of standard error.
const COMPLAINTS: usize = 64 << 10;
/// Variables with a secret's name that hold none, and that ssh needs.
const HARMLESS: &[&str] = &["SSH_AUTH_SOCK"];

/// The variables of this process that a way to a machine gets: all but secrets.
pub(super) fn without_secrets(env: &Env) -> Env {
    let mut kept = Env::empty();
    for (name, value) in env.iter() {
        if !is_secret_name(name) || HARMLESS.iter().any(|known| name == *known) {
            kept.set_variable(name, value);
        }
    }
    kept
}

/// Runs `command` to its end.
pub(crate) async fn run_command(
    mut command: Command,
    env: &Env,
    input: Option<&Path>,
    output: Option<&Path>,
    limit: Duration,
) -> Result<CommandOutput, RemoteError> {
    command.env_clear().envs(env.iter());
    let here = |path: &Path, error: &std::io::Error| {
        RemoteError::Transfer(format!("{} cannot be opened: {error}", path.display()).into())
    };
    let stdin = match input {
        Some(path) => ChildInput::File(File::open(path).map_err(|error| here(path, &error))?),
        None => ChildInput::Null,
    };
    let stdout_file = match output {
        Some(path) => {
            let made = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
            Some(made.map_err(|error| here(path, &error))?)
        }
        None => None,
    };
    let outcome = run_to_end(RunSpec {
        stdin,
        stdout: ChildOutput::Head(ANSWER),
        stdout_file,
        stderr: ChildOutput::Tail(COMPLAINTS),
        deadlines: Deadlines { total: Some(limit), ..Deadlines::default() },
        grace: Duration::from_secs(1),
        ..RunSpec::new(command)
    });
    let outcome = outcome.await.map_err(|error| RemoteError::Execution(error.to_string().into()))?;
    if let EndCause::Deadline(_) = outcome.cause {
        let context = ErrorContext::new(format!("no answer within {} s", limit.as_secs()));
        return Err(RemoteError::Transfer(context.with_fact("reason", "unreachable")));
    }
    // Not cut: half an answer would be read as all of it.
    if outcome.stdout.dropped > 0 {
        return Err(RemoteError::Execution(format!("the answer is longer than {} MB", ANSWER >> 20).into()));
    }
    Ok(CommandOutput {
        status: outcome.exit.code(),
        stdout: String::from_utf8_lossy(&outcome.stdout.bytes).into_owned(),
        stderr: String::from_utf8_lossy(&outcome.stderr.bytes).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use amplihack_config::env::Env;

    use super::without_secrets;

    #[test]
    fn secrets_are_not_handed_on() {
        let env = Env::empty()
            .with_variable("PATH", "/bin")
            .with_variable("OPENAI_API_KEY", "x")
            .with_variable("GH_TOKEN", "x")
            .with_variable("SSH_AUTH_SOCK", "s");
        let kept: Vec<String> =
            without_secrets(&env).iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert_eq!(kept, ["PATH", "SSH_AUTH_SOCK"]);
    }
}
