//! The processes of a run besides its agent: git, verify commands, the command that tells the end. All are started by the session crate.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_config::git::{IsolatedGit, repository_filters};
use amplihack_session::{
    ChildInput, ChildOutput, Deadlines, EndCause, InterruptSignals, ProcessOutput, RunSpec, leftovers,
    run_to_end,
};
use amplihack_sys::{ProcessEntry, ProcessExit};

use crate::error::AutoError;

/// Longest time that git may take.
const GIT_TIMEOUT: Duration = Duration::from_mins(5);
/// The most that is kept of what git says.
const GIT_OUTPUT: usize = 16 * 1024 * 1024;

/// Starts processes for one run.
#[derive(Debug, Clone)]
pub struct RunProcesses {
    env: Env,
    grace: Duration,
    list: PathBuf,
    record: Arc<File>,
    id: String,
    interrupts: InterruptSignals,
}

/// Source of a command's input, and the file that takes its output instead of memory.
#[derive(Default)]
struct CommandPipes {
    stdin: ChildInput,
    file: Option<File>,
}

/// The output of a command.
#[derive(Debug)]
pub struct RunCommandOutput {
    /// The exit.
    pub exit: ProcessExit,
    /// The command took too long, and was ended.
    pub late: bool,
    /// The end of its output.
    pub stdout: Vec<u8>,
    /// The output was longer than what is kept of it.
    pub cut: bool,
    /// The end of its error output.
    pub stderr: Vec<u8>,
}

impl RunProcesses {
    /// Processes of the run `id`, whose directory is `directory`, in the environment `env`. They are ended by `interrupts`.
    pub fn new(
        env: Env,
        grace: Duration,
        directory: &Path,
        id: &str,
        interrupts: InterruptSignals,
    ) -> Result<Self, AutoError> {
        let list = directory.join("processes");
        let record = Arc::new(leftovers::open_list(&list).map_err(AutoError::for_path(&list))?);
        Ok(Self { env, grace, list, record, id: id.to_owned(), interrupts })
    }

    /// Returns the processes for what must not stay half done, and for what keeps a run's results: only a second Ctrl-C ends it.
    #[must_use]
    pub fn for_closing(&self) -> Self {
        Self { interrupts: self.interrupts.only_repeated(), ..self.clone() }
    }

    /// Returns the processes for what is done in spite of the signals so far.
    #[must_use]
    pub fn from_now(&self) -> Self {
        Self { interrupts: self.interrupts.from_now(), ..self.clone() }
    }

    /// The file in which each process of the run is written down before it starts.
    pub fn record_file(&self) -> Result<File, AutoError> {
        self.record.try_clone().map_err(AutoError::for_path(&self.list))
    }

    /// Reads the processes that are written down so far.
    pub fn recorded_processes(&self) -> Result<Vec<ProcessEntry>, AutoError> {
        leftovers::listed_processes(&self.list).map_err(AutoError::for_path(&self.list))
    }

    /// Runs the shell command `text` in `directory`, for at most `timeout`, with `more` in its environment.
    pub async fn run_shell(
        &self,
        text: &str,
        directory: &Path,
        timeout: Duration,
        more: &[(&str, String)],
        keep: usize,
    ) -> Result<RunCommandOutput, AutoError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]).current_dir(directory).env_clear().envs(self.env.iter());
        command.envs(more.iter().map(|(name, value)| (name, value)));
        self.run_command(command, timeout, keep).await
    }

    /// Runs git in `directory`, and gives its output if it ends with 0.
    ///
    /// What the repository's configuration would start by itself is switched off: an agent may have written it.
    pub async fn run_git<A: AsRef<OsStr>>(
        &self,
        what: &'static str,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, AutoError> {
        require_success(what, self.git_piped(directory, more, args, CommandPipes::default()).await?)
    }

    /// Runs git as [`Self::run_git`] does, with its output in `file`: for what is too large to be held in memory.
    pub async fn run_git_to_file<A: AsRef<OsStr>>(
        &self,
        what: &'static str,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
        file: File,
    ) -> Result<(), AutoError> {
        let output =
            self.git_piped(directory, more, args, CommandPipes { stdin: ChildInput::Null, file: Some(file) });
        require_success(what, output.await?).map(drop)
    }

    /// Runs git as [`Self::run_git`] does, with `stdin` as its standard input.
    pub async fn run_git_with_input<A: AsRef<OsStr>>(
        &self,
        what: &'static str,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
        stdin: Vec<u8>,
    ) -> Result<Vec<u8>, AutoError> {
        let pipes = CommandPipes { stdin: ChildInput::Bytes(stdin), file: None };
        require_success(what, self.git_piped(directory, more, args, pipes).await?)
    }

    /// Runs git as [`Self::run_git`] does, whatever code it exits with: for a git whose exit code says something.
    pub(crate) async fn run_git_unchecked<A: AsRef<OsStr>>(
        &self,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
    ) -> Result<RunCommandOutput, AutoError> {
        let output = self.git_piped(directory, more, args, CommandPipes::default()).await?;
        if output.cut { Err(too_long("look at the repository")) } else { Ok(output) }
    }

    async fn git_piped<A: AsRef<OsStr>>(
        &self,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
        pipes: CommandPipes,
    ) -> Result<RunCommandOutput, AutoError> {
        let mut git = IsolatedGit::new(&self.env, directory);
        // Asked each time: the agent may have changed it since.
        let programs = self.run_command(git.list_programs(), GIT_TIMEOUT, GIT_OUTPUT).await?;
        if programs.cut {
            return Err(too_long("ask for its settings"));
        }
        if programs.late {
            return Ok(programs);
        }
        git.switch_off(Some(programs.exit.code()), &programs.stdout)
            .map_err(|error| AutoError::Git { what: "ask for its settings", said: error.to_string() })?;
        let mut command = git.base_command();
        command.envs(more.iter().copied()).args(args);
        self.run_piped(command, GIT_TIMEOUT, GIT_OUTPUT, pipes).await
    }

    /// The filters that the repository at `directory` itself configures. They are never run: an agent may have written them.
    pub(crate) async fn own_filters(&self, directory: &Path) -> Result<BTreeSet<String>, AutoError> {
        let said = self
            .run_command(IsolatedGit::new(&self.env, directory).list_programs(), GIT_TIMEOUT, GIT_OUTPUT)
            .await?;
        Ok(repository_filters(&said.stdout))
    }

    /// Signals that end the processes, for work that is none of theirs.
    pub(crate) fn interrupts(&self) -> InterruptSignals {
        self.interrupts.clone()
    }

    async fn run_command(
        &self,
        command: Command,
        timeout: Duration,
        keep: usize,
    ) -> Result<RunCommandOutput, AutoError> {
        self.run_piped(command, timeout, keep, CommandPipes::default()).await
    }

    async fn run_piped(
        &self,
        command: Command,
        timeout: Duration,
        keep: usize,
        pipes: CommandPipes,
    ) -> Result<RunCommandOutput, AutoError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if let Some(signal) = self.interrupts.pending_signal() {
            return Err(AutoError::Interrupted { signal });
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let ProcessOutput { exit, cause, stdout, stderr, .. } = run_to_end(RunSpec {
            clean_environment: true,
            stdin: pipes.stdin,
            stdout: ChildOutput::Tail(keep),
            stdout_file: pipes.file,
            stderr: ChildOutput::Tail(keep),
            deadlines: Deadlines { total: Some(timeout), ..Deadlines::default() },
            grace: self.grace,
            tag: format!("{}.{}.{number}", self.id, std::process::id()),
            record: Some(self.record_file()?),
            subreaper: true,
            interrupts: self.interrupts.clone(),
            ..RunSpec::new(command)
        })
        .await?;
        if let EndCause::Interrupted(signal) = cause {
            // An error, so that nobody takes it for the command's own answer.
            return Err(AutoError::Interrupted { signal });
        }
        Ok(RunCommandOutput {
            exit,
            late: matches!(cause, EndCause::Deadline(_)),
            cut: stdout.dropped > 0,
            stdout: stdout.bytes,
            stderr: stderr.bytes,
        })
    }
}

/// The output of a git that ended with 0.
pub(crate) fn require_success(what: &'static str, output: RunCommandOutput) -> Result<Vec<u8>, AutoError> {
    if output.cut {
        return Err(too_long(what));
    }
    if output.exit.is_success() && !output.late {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(AutoError::Git { what, said: if said.is_empty() { output.exit.to_string() } else { said } })
}

/// The error for an answer that does not fit: the end of a list would be read as the whole of it.
fn too_long(what: &'static str) -> AutoError {
    AutoError::Git { what, said: format!("its output is longer than {} MiB", GIT_OUTPUT >> 20) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_does_not_fit_is_an_error_and_never_a_part() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty()
            .with_variable("PATH", "/usr/local/bin:/usr/bin:/bin")
            .with_variable("HOME", dir.path());
        let processes = RunProcesses::new(
            env,
            Duration::from_secs(1),
            dir.path(),
            "r-1",
            InterruptSignals::without_signals(),
        )
        .unwrap();
        let root = dir.path().join("r");
        std::fs::create_dir(&root).unwrap();
        processes.run_git("make a repository", &root, &[], ["init", "--quiet"]).await.unwrap();
        for (size, whole) in [(GIT_OUTPUT, true), (GIT_OUTPUT + 1, false)] {
            let file = size.to_string();
            std::fs::write(root.join(&file), vec![b'x'; size]).unwrap();
            let object =
                processes.run_git("keep a file", &root, &[], ["hash-object", "-w", &file]).await.unwrap();
            let object = String::from_utf8(object).unwrap();
            let show = ["cat-file", "blob", object.trim()];
            let answer = processes.run_git("show a file", &root, &[], show).await;
            let said = processes.run_git_unchecked(&root, &[], show).await;
            if whole {
                assert_eq!((answer.unwrap().len(), said.unwrap().stdout.len()), (size, size));
            } else {
                for error in [answer.unwrap_err(), said.unwrap_err()] {
                    let error = error.to_string();
                    assert!(error.contains("its output is longer than 16 MiB"), "{error}");
                }
            }
        }
    }
}
