//! Git as this crate runs it: hardened as [`amplihack_utils::git`] says, and without what would make other things of a repository
//! than it holds.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_policy::secrets::redact;
use amplihack_session::{Deadlines, EndCause, Input, Output, RunSpec, run_to_end};
use amplihack_utils::env::Env;
use amplihack_utils::git as hardened;
pub(crate) use amplihack_utils::git::{path, path_of};

use crate::error::ErrorContext;

/// How long one git command may take.
const TIMEOUT: Duration = Duration::from_mins(30);
/// What is kept of an answer unless more is asked for.
const ANSWER: usize = 16 * 1024 * 1024;
/// What is kept of a complaint.
const COMPLAINT: usize = 4096;

/// Runs git in one directory.
#[derive(Debug, Clone)]
pub(crate) struct Git(hardened::Git);

/// What a git command answered.
#[derive(Debug)]
pub(crate) struct Said {
    /// Its exit code.
    pub code: i32,
    /// Its answer, whole.
    pub stdout: Vec<u8>,
    /// Its complaint, without secrets, on one line.
    pub stderr: String,
}

impl Git {
    /// Git in `directory`. Reads which filters and merge drivers the repository's own configuration has, to switch them off.
    pub(crate) async fn open(env: &Env, directory: &Path) -> Result<Self, ErrorContext> {
        if !directory.is_dir() {
            let message = format!("{} is not a directory", directory.display());
            return Err(ErrorContext::new(message).with("reason", "no_repository"));
        }
        let mut git = hardened::Git::new(env, directory);
        let said = Self::answer(git.programs(), Input::Null, ANSWER).await?;
        git.switch_off(Some(said.code), &said.stdout).map_err(ErrorContext::new)?;
        Ok(Self(git))
    }

    /// The same in another directory.
    pub(crate) fn at(&self, directory: &Path) -> Self {
        Self(self.0.at(directory))
    }

    /// The answer of a command that ends with 0. `what` fits "failed to …".
    pub(crate) async fn run<A: AsRef<OsStr>>(
        &self,
        what: &str,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, ErrorContext> {
        self.feed(what, args, Vec::new(), ANSWER).await
    }

    /// The same with the rest of `file` as stdin, and `more` in its environment.
    pub(crate) async fn read_file<A: AsRef<OsStr>>(
        &self,
        what: &str,
        args: impl IntoIterator<Item = A>,
        file: File,
        more: &[(&str, &OsStr)],
    ) -> Result<Vec<u8>, ErrorContext> {
        let said = self.start(args, more, Input::File(file), ANSWER).await?;
        if said.code == 0 { Ok(said.stdout) } else { Err(said.error(what)) }
    }

    /// The same with `stdin`, for an answer of at most `most` bytes.
    pub(crate) async fn feed<A: AsRef<OsStr>>(
        &self,
        what: &str,
        args: impl IntoIterator<Item = A>,
        stdin: Vec<u8>,
        most: usize,
    ) -> Result<Vec<u8>, ErrorContext> {
        let stdin = if stdin.is_empty() { Input::Null } else { Input::Bytes(stdin) };
        let said = self.start(args, &[], stdin, most).await?;
        if said.code == 0 { Ok(said.stdout) } else { Err(said.error(what)) }
    }

    /// The answer of a command whose exit code says something, with `more` in its environment.
    pub(crate) async fn says<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        more: &[(&str, &OsStr)],
    ) -> Result<Said, ErrorContext> {
        self.start(args, more, Input::Null, ANSWER).await
    }

    async fn start<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        more: &[(&str, &OsStr)],
        stdin: Input,
        most: usize,
    ) -> Result<Said, ErrorContext> {
        let mut command = self.0.command();
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
        Self::answer(command, stdin, most).await
    }

    async fn answer(command: Command, stdin: Input, most: usize) -> Result<Said, ErrorContext> {
        let outcome = run_to_end(RunSpec {
            stdin,
            stdout: Output::Head(most),
            stderr: Output::Tail(COMPLAINT),
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
        let stderr = redact(stderr.trim()).replace('\n', "; ");
        Ok(Said { code: outcome.exit.code(), stdout: outcome.stdout.bytes, stderr })
    }
}

impl Said {
    /// The error of a command that failed.
    pub(crate) fn error(&self, what: &str) -> ErrorContext {
        let said =
            if self.stderr.is_empty() { format!("it ended with {}", self.code) } else { self.stderr.clone() };
        ErrorContext::new(format!("git could not {what}: {said}"))
    }
}

/// Words for a command's stdin, each on a line of its own.
pub(crate) fn lines<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Vec<u8> {
    let mut lines = Vec::new();
    for word in words {
        lines.extend_from_slice(word.as_ref().as_bytes());
        lines.push(b'\n');
    }
    lines
}

/// Whether `text` has the form of a whole object id.
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
