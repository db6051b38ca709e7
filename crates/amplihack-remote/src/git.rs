//! Git as this crate runs it: hardened as [`amplihack_config::git`] says, and without what would make other things of a repository
//! than it holds.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_config::git as hardened;
pub(crate) use amplihack_config::git::{answer_path, path_of};
use amplihack_secrets::redact_credentials;
use amplihack_session::{ChildInput, ChildOutput, Deadlines, EndCause, RunSpec, run_to_end};

use crate::error::ErrorContext;

/// Time limit of one git command.
const TIMEOUT: Duration = Duration::from_mins(30);
/// Number of bytes kept of an answer, unless more is asked for.
const ANSWER: usize = 16 * 1024 * 1024;
/// Number of bytes kept of a complaint.
const COMPLAINT: usize = 4096;

/// Runs git in one directory.
#[derive(Debug, Clone)]
pub(crate) struct RemoteGit(hardened::IsolatedGit);

/// The answer of a git command.
#[derive(Debug)]
pub(crate) struct RemoteGitAnswer {
    /// Exit code of the command.
    pub code: i32,
    /// Whole standard output of the command.
    pub stdout: Vec<u8>,
    /// Standard error of the command, without secrets, on one line.
    pub stderr: String,
}

impl RemoteGit {
    /// Git in `directory`. Reads which filters and merge drivers the repository's own configuration has, to switch them off.
    pub(crate) async fn open(env: &Env, directory: &Path) -> Result<Self, ErrorContext> {
        if !directory.is_dir() {
            let message = format!("{} is not a directory", directory.display());
            return Err(ErrorContext::new(message).with_fact("reason", "no_repository"));
        }
        let mut git = hardened::IsolatedGit::new(env, directory);
        let said = Self::collect_answer(git.list_programs(), ChildInput::Null, ANSWER).await?;
        git.switch_off(Some(said.code), &said.stdout)
            .map_err(|error| ErrorContext::new(error.to_string()))?;
        Ok(Self(git))
    }

    /// Git with the same settings in another directory.
    pub(crate) fn in_directory(&self, directory: &Path) -> Self {
        Self(self.0.in_directory(directory))
    }

    /// The answer of a command that ends with 0. `what` fits "failed to …".
    pub(crate) async fn run_checked<A: AsRef<OsStr>>(
        &self,
        what: &str,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, ErrorContext> {
        self.run_with_stdin(what, args, Vec::new(), ANSWER).await
    }

    /// Runs like [`run_checked`](Self::run_checked), with the rest of `file` as stdin, and `more` in the environment.
    pub(crate) async fn run_with_file<A: AsRef<OsStr>>(
        &self,
        what: &str,
        args: impl IntoIterator<Item = A>,
        file: File,
        more: &[(&str, &OsStr)],
    ) -> Result<Vec<u8>, ErrorContext> {
        let said = self.run_command(args, more, ChildInput::File(file), ANSWER).await?;
        if said.code == 0 { Ok(said.stdout) } else { Err(said.failure_error(what)) }
    }

    /// Runs like [`run_checked`](Self::run_checked), with `stdin`, for an answer of at most `most` bytes.
    pub(crate) async fn run_with_stdin<A: AsRef<OsStr>>(
        &self,
        what: &str,
        args: impl IntoIterator<Item = A>,
        stdin: Vec<u8>,
        most: usize,
    ) -> Result<Vec<u8>, ErrorContext> {
        let stdin = if stdin.is_empty() { ChildInput::Null } else { ChildInput::Bytes(stdin) };
        let said = self.run_command(args, &[], stdin, most).await?;
        if said.code == 0 { Ok(said.stdout) } else { Err(said.failure_error(what)) }
    }

    /// The answer of a command whose exit code says something, with `more` in its environment.
    pub(crate) async fn run_unchecked<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        more: &[(&str, &OsStr)],
    ) -> Result<RemoteGitAnswer, ErrorContext> {
        self.run_command(args, more, ChildInput::Null, ANSWER).await
    }

    async fn run_command<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        more: &[(&str, &OsStr)],
        stdin: ChildInput,
        most: usize,
    ) -> Result<RemoteGitAnswer, ErrorContext> {
        let mut command = self.0.base_command();
        for (name, value) in [
            // Nothing is fetched on the way, and what is looked at is what is sent.
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", "file"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_GRAFT_FILE", "/dev/null"),
            ("GIT_LITERAL_PATHSPECS", "1"),
        ] {
            command.env(name, value);
        }
        command.envs(more.iter().copied()).args(args);
        Self::collect_answer(command, stdin, most).await
    }

    async fn collect_answer(
        command: Command,
        stdin: ChildInput,
        most: usize,
    ) -> Result<RemoteGitAnswer, ErrorContext> {
        let outcome = run_to_end(RunSpec {
            clean_environment: true,
            stdin,
            stdout: ChildOutput::Head(most),
            stderr: ChildOutput::Tail(COMPLAINT),
            deadlines: Deadlines { total: Some(TIMEOUT), ..Deadlines::default() },
            ..RunSpec::new(command)
        })
        .await
        .map_err(|error| ErrorContext::new(error.to_string()))?;
        if outcome.cause != EndCause::Ended {
            return Err(ErrorContext::new("git took longer than 30 minutes, and was ended"));
        }
        if outcome.stdout.dropped > 0 {
            return Err(ErrorContext::new(format!("git answered more than {most} bytes")));
        }
        let stderr = String::from_utf8_lossy(&outcome.stderr.bytes);
        let stderr = redact_credentials(stderr.trim()).replace('\n', "; ");
        Ok(RemoteGitAnswer { code: outcome.exit.code(), stdout: outcome.stdout.bytes, stderr })
    }
}

impl RemoteGitAnswer {
    /// The error of a command that failed.
    pub(crate) fn failure_error(&self, what: &str) -> ErrorContext {
        let said =
            if self.stderr.is_empty() { format!("it ended with {}", self.code) } else { self.stderr.clone() };
        ErrorContext::new(format!("git could not {what}: {said}"))
    }
}

/// Words for a command's stdin, each on a line of its own.
pub(crate) fn join_lines<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Vec<u8> {
    let mut lines = Vec::new();
    for word in words {
        lines.extend_from_slice(word.as_ref().as_bytes());
        lines.push(b'\n');
    }
    lines
}

/// Reports whether `text` has the form of a whole object id.
pub(crate) fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_ids_are_whole_and_hexadecimal() {
        assert!(is_object_id(&"a1".repeat(20)) && is_object_id(&"0f".repeat(32)));
        for wrong in ["", "HEAD", "--all", &"A1".repeat(20), &"a1".repeat(21)] {
            assert!(!is_object_id(wrong), "{wrong}");
        }
    }
}
