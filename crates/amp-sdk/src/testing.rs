//! A fake Amp CLI, so that programs that use this crate can be tested without an account and without a network.
//!
//! ```
//! use amp_sdk::testing::{FakeAmp, FakeReply};
//! use amp_sdk::threads;
//!
//! let fake = FakeAmp::new().with_command(&["threads", "rename"], FakeReply::new().text("Renamed\n")).build()?;
//! let output = threads::blocking::rename(&fake.amp_context(), "T-1", "New name")?;
//! assert_eq!(output, "Renamed");
//! assert_eq!(fake.calls()[0].args, ["threads", "rename", "T-1", "New name"]);
//! # Ok::<(), amp_sdk::Error>(())
//! ```

mod record;
mod reply;
mod script;

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_session::{ChildInput, ChildOutput, Deadlines, RunSpec, run_blocking};
use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::manage::AmpContext;
use crate::options::Options;
use crate::version;

pub use record::FakeCall;
pub use reply::FakeReply;

/// Thread id that the fake answers to `threads new` unless told otherwise.
pub const THREAD: &str = "T-00000000-0000-4000-8000-000000000001";

/// A fake `amp` to be made: what it plays for which call.
///
/// A call is answered by the first of these that fits: `--version`; a [`command`](FakeAmp::with_command) whose words are in the call in this order, side by side;
/// the [`run`](FakeAmp::with_run)s, one call each, the last one again and again.
#[derive(Debug, Clone)]
pub struct FakeAmp {
    version: String,
    commands: Vec<(Vec<String>, FakeReply)>,
    runs: Vec<FakeReply>,
}

impl Default for FakeAmp {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeAmp {
    /// A fake of the newest CLI that this crate knows. `threads new` makes [`THREAD`], every run says `ok`.
    pub fn new() -> Self {
        Self { version: version::newest_known().to_string(), commands: Vec::new(), runs: Vec::new() }
    }

    /// Sets another version: `0.0.1700000000`.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Adds an answer to calls that have these words in them.
    #[must_use]
    pub fn with_command(mut self, words: &[&str], reply: FakeReply) -> Self {
        self.commands.push((words.iter().map(|word| (*word).to_owned()).collect(), reply));
        self
    }

    /// Adds an answer to the next run.
    #[must_use]
    pub fn with_run(mut self, reply: FakeReply) -> Self {
        self.runs.push(reply);
        self
    }

    /// Makes the program: a shell script in a private directory that goes with the answer. `sh`, `cat`, `env`, `mkdir` and `sleep` are needed.
    ///
    /// # Errors
    /// `task_exit` if the directory, the answers or the script cannot be written.
    pub fn build(mut self) -> Result<InstalledFake> {
        let failed = |what: &str, error: &dyn std::fmt::Display| Error::TaskExit {
            what: "make a fake amp".to_owned(),
            message: format!("{what}: {error}"),
        };
        let thread = FakeReply::new().text(format!("https://ampcode.com/threads/{THREAD}\n"));
        self.commands.push((vec!["threads".to_owned(), "new".to_owned()], thread));
        if self.runs.is_empty() {
            self.runs.push(FakeReply::success("ok"));
        }
        let dir = tempfile::Builder::new()
            .prefix("fake-amp-")
            .tempdir()
            .map_err(|error| failed("its directory", &error))?;
        for name in ["calls", "runs", "data", "home"] {
            std::fs::create_dir(dir.path().join(name)).map_err(|error| failed("its directory", &error))?;
        }
        let script = script::write_script(dir.path(), &self.version, &self.commands, &self.runs)
            .map_err(|error| failed("its answers", &error))?;
        let program = dir.path().join("amp");
        install_script(&program, script).map_err(|error| failed("its script", &error))?;
        Ok(InstalledFake { dir, program, version: self.version })
    }
}

/// Writes the script from another process: a descriptor of ours that is open for writing would be inherited by whatever another thread
/// starts just now, and the system runs no program that somebody writes.
fn install_script(program: &Path, script: String) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut command = std::process::Command::new("/bin/sh");
    command
        .args(["-c", "umask 077; command -p cat > \"$1\" && command -p chmod 700 \"$1\"", "sh"])
        .arg(program);
    let outcome = run_blocking(RunSpec {
        stdin: ChildInput::Bytes(script.into_bytes()),
        stdout: ChildOutput::Null,
        stderr: ChildOutput::Tail(4096),
        deadlines: Deadlines { total: Some(Duration::from_secs(30)), ..Deadlines::default() },
        ..RunSpec::new(command)
    })?;
    if outcome.exit.is_success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&outcome.stderr.bytes).into_owned().into())
}

/// A fake `amp` that can be called. Its directory goes when it is dropped.
#[derive(Debug)]
pub struct InstalledFake {
    dir: TempDir,
    program: PathBuf,
    version: String,
}

impl InstalledFake {
    /// The program.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// The home that [`InstalledFake::options`] gives the program.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Options that lead to the fake: its path and version, a home of its own, `/usr/bin:/bin` as PATH and nothing else.
    pub fn options(&self) -> Options {
        let base = Env::empty().with_variable("HOME", self.home()).with_variable("PATH", "/usr/bin:/bin");
        Options {
            cli_path: Some(self.program.clone()),
            cli_version: version::parse_version(&self.version),
            base_env: Some(base),
            ..Options::default()
        }
    }

    /// Returns a context for management commands that leads to the fake.
    pub fn amp_context(&self) -> AmpContext {
        AmpContext::from(self.options())
    }

    /// Returns the calls of the fake, in their order, without calls for its version.
    pub fn calls(&self) -> Vec<FakeCall> {
        record::read_calls(&self.dir.path().join("calls"))
    }
}
