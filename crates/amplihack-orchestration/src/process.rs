//! The processes of a run besides its agent: git, verify commands, the command that tells the end. All are started by the session crate.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use amplihack_session::{
    Deadlines, EndCause, Input, Interrupts, Output, ProcessOutput, RunSpec, leftovers, run_to_end,
};
use amplihack_utils::env::Env;
use amplihack_utils::git::Git;
use amplihack_utils::sys::{Exit, Proc};

use crate::error::AutoError;

/// How long git may take.
const GIT_TIMEOUT: Duration = Duration::from_mins(5);
/// The most that is kept of what git says.
const GIT_OUTPUT: usize = 16 * 1024 * 1024;

/// Starts processes for one run.
#[derive(Debug, Clone)]
pub struct Processes {
    env: Env,
    grace: Duration,
    list: PathBuf,
    record: Arc<File>,
    id: String,
    interrupts: Interrupts,
}

/// Where a command's input comes from, and where its output goes instead of memory.
#[derive(Default)]
struct Pipes {
    stdin: Input,
    file: Option<File>,
}

/// The output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// The exit.
    pub exit: Exit,
    /// It took too long, and was ended.
    pub late: bool,
    /// The end of its output.
    pub stdout: Vec<u8>,
    /// The end of its error output.
    pub stderr: Vec<u8>,
}

impl Processes {
    /// Processes of the run `id`, whose directory is `directory`, in the environment `env`. They are ended by `interrupts`.
    pub fn new(
        env: Env,
        grace: Duration,
        directory: &Path,
        id: &str,
        interrupts: Interrupts,
    ) -> Result<Self, AutoError> {
        let list = directory.join("processes");
        let record = Arc::new(leftovers::open_list(&list).map_err(AutoError::file(&list))?);
        Ok(Self { env, grace, list, record, id: id.to_owned(), interrupts })
    }

    /// The same for what must not stay half done, and for what keeps a run's results: only a second Ctrl-C ends it.
    #[must_use]
    pub fn closing(&self) -> Self {
        Self { interrupts: self.interrupts.repeated(), ..self.clone() }
    }

    /// The same for what is done in spite of the signals so far.
    #[must_use]
    pub fn from_now(&self) -> Self {
        Self { interrupts: self.interrupts.from_now(), ..self.clone() }
    }

    /// The file in which each process of the run is written down before it starts.
    pub fn record(&self) -> Result<File, AutoError> {
        self.record.try_clone().map_err(AutoError::file(&self.list))
    }

    /// What is written down so far.
    pub fn recorded(&self) -> Result<Vec<Proc>, AutoError> {
        leftovers::listed(&self.list).map_err(AutoError::file(&self.list))
    }

    /// Runs the shell command `text` in `directory`, for at most `timeout`, with `more` in its environment.
    pub async fn shell(
        &self,
        text: &str,
        directory: &Path,
        timeout: Duration,
        more: &[(&str, String)],
        keep: usize,
    ) -> Result<CommandOutput, AutoError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]).current_dir(directory).env_clear().envs(self.env.iter());
        command.envs(more.iter().map(|(name, value)| (name, value)));
        self.run(command, timeout, keep).await
    }

    /// Runs git in `directory`, and gives its output if it ends with 0.
    ///
    /// What the repository's configuration would start by itself is switched off: an agent may have written it.
    pub async fn git<A: AsRef<OsStr>>(
        &self,
        what: &'static str,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, AutoError> {
        answered(what, self.git_says(directory, more, args).await?)
    }

    /// Runs git as [`Self::git`] does, with its output in `file`: for what is too large to be held in memory.
    pub async fn git_to_file<A: AsRef<OsStr>>(
        &self,
        what: &'static str,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
        file: File,
    ) -> Result<(), AutoError> {
        let output = self.git_piped(directory, more, args, Pipes { stdin: Input::Null, file: Some(file) });
        answered(what, output.await?).map(drop)
    }

    /// Runs git as [`Self::git`] does, with `stdin` as its standard input.
    pub async fn git_fed<A: AsRef<OsStr>>(
        &self,
        what: &'static str,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
        stdin: Vec<u8>,
    ) -> Result<Vec<u8>, AutoError> {
        let pipes = Pipes { stdin: Input::Bytes(stdin), file: None };
        answered(what, self.git_piped(directory, more, args, pipes).await?)
    }

    /// The same for a git whose exit code says something.
    pub(crate) async fn git_says<A: AsRef<OsStr>>(
        &self,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
    ) -> Result<CommandOutput, AutoError> {
        self.git_piped(directory, more, args, Pipes::default()).await
    }

    async fn git_piped<A: AsRef<OsStr>>(
        &self,
        directory: &Path,
        more: &[(&str, &Path)],
        args: impl IntoIterator<Item = A>,
        pipes: Pipes,
    ) -> Result<CommandOutput, AutoError> {
        let mut git = Git::new(&self.env, directory);
        // Asked each time: the agent may have changed it since.
        let programs = self.run(git.programs(), GIT_TIMEOUT, GIT_OUTPUT).await?;
        if programs.late {
            return Ok(programs);
        }
        git.switch_off(Some(programs.exit.code()), &programs.stdout)
            .map_err(|said| AutoError::Git { what: "ask for its settings", said: said.to_owned() })?;
        let mut command = git.command();
        command.envs(more.iter().copied()).args(args);
        self.run_piped(command, GIT_TIMEOUT, GIT_OUTPUT, pipes).await
    }

    /// Runs git with the filters that the user configured, before an agent has been there.
    pub async fn git_as_configured<A: AsRef<OsStr>>(
        &self,
        what: &'static str,
        directory: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, AutoError> {
        let mut command = Git::new(&self.env, directory).command();
        command.args(args);
        answered(what, self.run(command, GIT_TIMEOUT, GIT_OUTPUT).await?)
    }

    async fn run(
        &self,
        command: Command,
        timeout: Duration,
        keep: usize,
    ) -> Result<CommandOutput, AutoError> {
        self.run_piped(command, timeout, keep, Pipes::default()).await
    }

    async fn run_piped(
        &self,
        command: Command,
        timeout: Duration,
        keep: usize,
        pipes: Pipes,
    ) -> Result<CommandOutput, AutoError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if let Some(signal) = self.interrupts.heard() {
            return Err(AutoError::Interrupted { signal });
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let ProcessOutput { exit, cause, stdout, stderr, .. } = run_to_end(RunSpec {
            stdin: pipes.stdin,
            stdout: Output::Tail(keep),
            stdout_file: pipes.file,
            stderr: Output::Tail(keep),
            deadlines: Deadlines { total: Some(timeout), ..Deadlines::default() },
            grace: self.grace,
            tag: format!("{}.{}.{number}", self.id, std::process::id()),
            record: Some(self.record()?),
            subreaper: true,
            interrupts: self.interrupts.clone(),
            ..RunSpec::new(command)
        })
        .await?;
        if let EndCause::Interrupted(signal) = cause {
            // An error, so that nobody takes it for the command's own answer.
            return Err(AutoError::Interrupted { signal });
        }
        Ok(CommandOutput {
            exit,
            late: matches!(cause, EndCause::Deadline(_)),
            stdout: stdout.bytes,
            stderr: stderr.bytes,
        })
    }
}

/// The output of a git that ended with 0.
fn answered(what: &'static str, output: CommandOutput) -> Result<Vec<u8>, AutoError> {
    if output.exit.success() && !output.late {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(AutoError::Git { what, said: if said.is_empty() { output.exit.to_string() } else { said } })
}
