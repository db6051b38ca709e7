//! One run of an agent against the scripted model, in a throw-away home, seen from both ends.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use amplihack_agent::{Installed, Options, Permissions, RunMode};
use amplihack_hooks::HookError;
use amplihack_hooks::registration::Program;
use amplihack_launcher::install::{InstallError, Request, Scope, install};
use amplihack_launcher::{
    Hosting, LaunchError, LaunchReport, LaunchRequest, Notice, Streams, Task, plan, start,
};
use amplihack_session::{Deadlines, Output, RunEnd};
use amplihack_utils::config::{Config, ConfigError};
use amplihack_utils::env::Env;
use amplihack_utils::error::{ExitKind, Explain};
use amplihack_utils::fs::{Durability, create_private_dir, write_atomic};
use amplihack_utils::prompt_delivery::{DeliveryMode, PromptDelivery};
use tokio::runtime::Runtime;

use crate::guarding::refused;
use crate::loopback::{self, LoopbackError, loopback};
use crate::model::{Delivery, ModelServer, Scenario};
use crate::own_hooks::{OwnHooks, OwnHooksError};

/// An agent that has not ended by then is stuck; a first start may unpack hundreds of megabytes.
const DEADLINE: Duration = Duration::from_secs(90);
/// The most that is kept of an agent's output.
const KEPT_OUTPUT: usize = 64 * 1024;

/// Why an agent could not be driven.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// It speaks no protocol that the server scripts, or its settings could not be written.
    #[error(transparent)]
    Loopback(#[from] LoopbackError),
    /// The launch was refused or failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The hooks could not be installed in the throw-away home.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The throw-away configuration could not be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The user's own hooks could not be copied.
    #[error("your own hooks cannot be copied: {0}")]
    OwnHooks(#[from] OwnHooksError),
    /// The throw-away directory or the server could not be made.
    #[error("{what}: {source}; check the space and the permissions of the temporary directory")]
    Io {
        /// What failed.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl Explain for DriveError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Loopback(error) => error.kind(),
            Self::Launch(error) => error.kind(),
            Self::Install(error) => error.kind(),
            Self::Config(error) => error.kind(),
            Self::OwnHooks(_) | Self::Io { .. } => "probe_io",
        }
    }

    fn exit(&self) -> ExitKind {
        match self {
            Self::Launch(error) => error.exit(),
            _ => ExitKind::Failed,
        }
    }
}

impl DriveError {
    /// Names what failed on the way to `source`.
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// A throw-away machine for agents: a home for each run, one cache for all of them.
#[derive(Debug)]
pub struct Bench {
    directory: tempfile::TempDir,
    path: OsString,
    count: u32,
}

/// One run, asked for.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The agent.
    pub installed: &'a Installed,
    /// The scenario of the model.
    pub scenario: Scenario,
    /// Name of the run at the server.
    pub run: &'a str,
    /// The prompt.
    pub prompt: &'a str,
    /// How it should travel.
    pub requested: PromptDelivery,
    /// What answers the guard's hooks; `None` leaves the guard out.
    pub guard: Option<&'a Program>,
    /// Hooks of the user's own that the agent finds in its settings; `None` leaves them empty.
    pub own: Option<&'a OwnHooks>,
}

/// One run, seen.
#[derive(Debug)]
pub struct Driven {
    /// The end of the run.
    pub end: RunEnd,
    /// The channel of the prompt.
    pub channel: DeliveryMode,
    /// How the prompt stood in the model's requests.
    pub delivery: Delivery,
    /// The agent's home.
    pub home: PathBuf,
    /// The directory that the agent worked in.
    pub work: PathBuf,
    /// The rules behind the calls that the policy denied.
    pub denials: Vec<String>,
    /// What the launch had to tell.
    pub notices: Vec<Notice>,
    /// From the plan to the end.
    pub took: Duration,
}

impl Bench {
    /// An empty bench; agents find their programs on `path`.
    pub fn new(path: Option<&std::ffi::OsStr>) -> Result<Self, DriveError> {
        let directory = tempfile::Builder::new()
            .prefix("amplihack-probe-")
            .tempdir()
            .map_err(DriveError::io("the throw-away directory could not be made"))?;
        let path = path.map_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"), ToOwned::to_owned);
        Ok(Self { directory, path, count: 0 })
    }

    /// The directory that holds everything.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs `job` against `server` to its end.
    ///
    /// The agent gets an environment built from nothing: PATH, a home of its own, dummy keys, the server's address,
    /// a temporary directory that goes with the bench.
    pub fn drive(
        &mut self,
        runtime: &Runtime,
        server: &ModelServer,
        job: Job<'_>,
    ) -> Result<Driven, DriveError> {
        self.count += 1;
        let root = self.path().join(format!("run-{}", self.count));
        let (home, work, cache) = (root.join("home"), root.join("work"), self.path().join("cache"));
        let tmp = root.join("tmp");
        for directory in [&home, &work, &cache, &tmp] {
            create_private_dir(directory).map_err(DriveError::io("the throw-away home could not be made"))?;
        }
        repository(&work).map_err(DriveError::io("the throw-away repository could not be made"))?;
        let settings = loopback(
            job.installed.agent,
            &server.base_url(job.scenario, job.run),
            &home,
            loopback::Options { cache: Some(&cache), workspace: Some(&work) },
        )?;
        if let Some(own) = job.own {
            own.place(&home)?;
        }
        let env: Env = [
            ("PATH", self.path.as_os_str()),
            ("TMPDIR", tmp.as_os_str()),
            ("LANG", "C.UTF-8".as_ref()),
            ("TERM", "dumb".as_ref()),
        ]
        .into_iter()
        .map(|(name, value)| (OsString::from(name), value.to_owned()))
        .chain(settings.env)
        .collect();
        let started = Instant::now();
        let config = Config::load_with(&root.join("no-system-file.toml"), &env, &work, &[])?;
        let request = LaunchRequest {
            agent: job.installed.agent,
            installed: Some(job.installed.clone()),
            mode: RunMode::Headless,
            task: Task::Prompt {
                prompt: Some(job.prompt.to_owned()),
                requested: job.requested,
                options: Options { permissions: Some(Permissions::Full), ..Options::default() },
                before_verb: Vec::new(),
                extra: Vec::new(),
            },
            guard: job.guard.cloned(),
            cwd: work.clone(),
        };
        let mut plan = match (plan(request.clone(), &env, &config), job.guard) {
            // It holds to hooks that are installed, so here too.
            (Err(LaunchError::Hooks(HookError::NotRead { .. })), Some(program)) => {
                let (program, policy) = (program.clone(), Some(config.policy().to_owned()));
                let wanted = Request { scope: Scope::User, program, policy, rules: Vec::new() };
                install(&[job.installed.agent], &wanted, &env)?;
                plan(request, &env, &config)?
            }
            (decided, _) => decided?,
        };
        let mut notices = std::mem::take(&mut plan.notices);
        let channel = plan.delivery.map_or(DeliveryMode::Argv, |delivery| delivery.selected);
        let streams = Streams {
            stdout: Output::Tail(KEPT_OUTPUT),
            stderr: Output::Tail(KEPT_OUTPUT),
            deadlines: Deadlines { total: Some(DEADLINE), ..Deadlines::default() },
        };
        let LaunchReport { end, notices: more, .. } = runtime.block_on(async {
            let (launched, more) = start(plan, Hosting::Binary, streams).await?;
            notices.extend(more);
            Ok::<_, LaunchError>(launched.wait().await?)
        })?;
        notices.extend(more);
        let denials = if notices.iter().any(|notice| matches!(notice, Notice::InstalledGuard(_))) {
            refused(&home, job.installed.agent.name())
        } else {
            end.denials.rules().to_vec()
        };
        let delivery = server.delivered(job.run, job.prompt);
        Ok(Driven { end, channel, delivery, home, work, denials, notices, took: started.elapsed() })
    }
}

/// A repository without a commit: some agents work in nothing else, and what must not happen happens to no other.
fn repository(work: &Path) -> io::Result<()> {
    for part in [".git/objects", ".git/refs"] {
        create_private_dir(&work.join(part))?;
    }
    write_atomic(&work.join(".git/HEAD"), b"ref: refs/heads/probe\n", 0o600, Durability::Process)
}

/// A prompt of `bytes` bytes with everything that shells and files mangle.
pub(crate) fn hostile_prompt(bytes: usize) -> String {
    const LINE: &str = "don't \"quote\" $HOME $(id) `id` \\ ; | & 漢字 \u{1f980} -- %s\n";
    let mut prompt = LINE.repeat(bytes / LINE.len() + 1);
    let mut end = bytes;
    while !prompt.is_char_boundary(end) {
        end -= 1;
    }
    prompt.truncate(end);
    // The end is text: agents trim blanks there.
    while prompt.ends_with([' ', '\n']) {
        prompt.pop();
    }
    let missing = bytes - prompt.len();
    prompt.push_str(&"x".repeat(missing));
    prompt
}

#[cfg(test)]
mod tests {
    use super::hostile_prompt;

    #[test]
    fn a_hostile_prompt_has_its_size_and_ends_in_text() {
        for bytes in [1, 60, 61, 62, 63, 64, 4096, 65_536] {
            let prompt = hostile_prompt(bytes);
            assert_eq!(prompt.len(), bytes);
            assert_eq!(prompt.trim_end().len(), bytes);
        }
        assert!(hostile_prompt(65_536).contains('\''));
    }
}
