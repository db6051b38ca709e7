//! Errors for which an unattended run cannot begin, continue, or be found.

use std::io;
use std::path::PathBuf;

use amplihack_agent::event::RunOutcome;
use amplihack_launcher::LaunchError;
use amplihack_session::RunError;
use amplihack_sys::Signal;
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use amplihack_sys::lock::LockError;
use amplihack_sys::log::LogError;

use crate::budget::BadPrices;

/// An unattended run that could not be made. Nothing of it is left running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AutoError {
    /// A turn cannot be launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A process cannot be started or watched.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The journal cannot be written or read.
    #[error(transparent)]
    Journal(#[from] LogError),
    /// Another process drives this run.
    #[error("the run {id} is being driven by another process")]
    Driven {
        /// The run.
        id: String,
        /// The lock's error.
        source: LockError,
    },
    /// There is no such run.
    #[error("there is no record of an unattended run with the id {id:?}")]
    NotFound {
        /// Id that was looked for.
        id: String,
    },
    /// There is no such group of runs.
    #[error("there is no record of parallel runs with the id {id:?}")]
    NoGroup {
        /// Id that was looked for.
        id: String,
    },
    /// The run has ended.
    #[error("the run {id} has ended: {end}")]
    Over {
        /// The run.
        id: String,
        /// The outcome.
        end: RunOutcome,
    },
    /// The directory in which it worked is gone.
    #[error("the run worked in {}, which no longer exists", directory.display())]
    DirectoryGone {
        /// The directory.
        directory: PathBuf,
    },
    /// The run's worktree is gone with its branch.
    #[error("the worktree {} and its branch {branch} no longer exist", path.display())]
    WorktreeGone {
        /// The worktree.
        path: PathBuf,
        /// The branch.
        branch: String,
    },
    /// Nothing says where runs are kept.
    #[error("no run can be recorded: neither AMPLIHACK_HOME nor HOME is an absolute path")]
    NoHome,
    /// Nobody says what a run costs.
    #[error(
        "--budget-usd cannot be enforced: {agent} does not report its cost, and prices.{agent} is not configured"
    )]
    NoPrice {
        /// The agent.
        agent: amplihack_agent::AgentBinary,
    },
    /// The configured prices cannot be read.
    #[error("prices.{agent} in the configuration: {source}")]
    Prices {
        /// The agent.
        agent: amplihack_agent::AgentBinary,
        /// Fault in the prices.
        source: BadPrices,
    },
    /// A file or directory cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Git cannot do what the run needs.
    #[error("git cannot {what}: {said}")]
    Git {
        /// Task that git was given, in words.
        what: &'static str,
        /// Error output of git, in one line.
        said: String,
    },
    /// A worktree is one of a repository.
    #[error("--worktree needs a git repository; {} is not in one", directory.display())]
    NoRepository {
        /// The directory.
        directory: PathBuf,
    },
    /// A worktree begins with a commit.
    #[error("{} has no commit yet, so there is nothing that a worktree could begin with", repository.display())]
    NoCommit {
        /// The repository.
        repository: PathBuf,
    },
    /// A worktree cannot lie there.
    #[error("a worktree cannot lie in {}: {why}", place.display())]
    WorktreePlace {
        /// Path at which it would have been made.
        place: PathBuf,
        /// Reason why it cannot lie there.
        why: String,
    },
    /// A worktree has the directories of its commit only.
    #[error("--worktree cannot start in {}: the commit that is checked out has no such directory", directory.display())]
    NotInCommit {
        /// The directory.
        directory: PathBuf,
    },
    /// The setup of a worktree failed, before anything was asked of an agent.
    #[error("the setup of the worktree, `{command}`, {how}{}", if said.is_empty() { String::new() } else { format!(": {said}") })]
    Setup {
        /// The command.
        command: String,
        /// End of the command, in words.
        how: String,
        /// The end of its output, in one line.
        said: String,
    },
    /// The journal and the agents' own state name directories as text.
    #[error("{} is not UTF-8, and a run that is kept needs a directory whose name is", directory.display())]
    NotUtf8 {
        /// The directory.
        directory: PathBuf,
    },
    /// A check cannot be run, so it will never show that the work is done.
    #[error("the check `{command}` cannot be run: {found}")]
    VerifyCannotRun {
        /// The command.
        command: String,
        /// End of the command, and its output.
        found: String,
    },
    /// A check cannot turn, because it passes already.
    #[error(
        "--strict-verify needs a check that fails before the work is done, and every check passes already"
    )]
    VerifyGreen,
    /// The original's copy of a check is taken from a repository.
    #[error("--strict-verify needs a git repository; {} is not in one", directory.display())]
    StrictOutside {
        /// The directory.
        directory: PathBuf,
    },
    /// A message cannot be taken.
    #[error("the message was rejected: {0}")]
    Message(&'static str),
    /// A signal to this process ended what was going on.
    #[error("ended by signal {}", signal.as_raw())]
    Interrupted {
        /// The signal.
        signal: Signal,
    },
    /// The run was given up before it began.
    #[error("not started: all runs were ended")]
    GivenUp,
    /// The budget that it shares with others was used up before it began.
    #[error("not begun: {reason}")]
    BudgetSpent {
        /// Reason, in words.
        reason: String,
    },
    /// Something is not done, since it would lose or overwrite work. Nothing was changed.
    #[error("{message}")]
    Refused {
        /// The kind of the reason.
        kind: &'static str,
        /// The reason.
        message: String,
        /// Advice on what to do instead.
        hint: String,
    },
    /// The journal does not tell a run.
    #[error("the journal {} does not record how the run began", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
    },
}

impl AutoError {
    /// For `map_err`: the file or directory that cannot be used.
    pub(crate) fn for_path(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

impl ErrorExplanation for AutoError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Launch(error) => error.kind(),
            Self::Run(error) => error.kind(),
            Self::Journal(error) => error.kind(),
            Self::Driven { .. } => "run_driven",
            Self::NotFound { .. } | Self::NoGroup { .. } => "not_found",
            Self::Over { .. } => "run_over",
            Self::DirectoryGone { .. } => "directory_gone",
            Self::WorktreeGone { .. } => "worktree_gone",
            Self::NoHome => "no_home",
            Self::NoPrice { .. } => "no_price",
            Self::Prices { .. } => "bad_prices",
            Self::File { .. } => "file",
            Self::Git { .. } => "git",
            Self::NoCommit { .. } => "no_commit",
            Self::WorktreePlace { .. } => "worktree_place",
            Self::NotInCommit { .. } => "not_in_commit",
            Self::Setup { .. } => "worktree_setup",
            Self::NotUtf8 { .. } => "directory_not_utf8",
            Self::VerifyCannotRun { .. } => "verify_cannot_run",
            Self::VerifyGreen => "verify_green",
            Self::NoRepository { .. } | Self::StrictOutside { .. } => "no_repository",
            Self::Message(_) => "message",
            Self::Interrupted { .. } => "interrupted",
            Self::GivenUp => "given_up",
            Self::BudgetSpent { .. } => "budget",
            Self::Refused { kind, .. } => kind,
            Self::Damaged { .. } => "journal_damaged",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::Launch(error) => error.exit_kind(),
            Self::Run(error) => error.exit_kind(),
            Self::NotFound { .. }
            | Self::NoGroup { .. }
            | Self::DirectoryGone { .. }
            | Self::WorktreeGone { .. } => ExitKind::NotFound,
            Self::NoPrice { .. } | Self::WorktreePlace { .. } => ExitKind::Usage,
            Self::Interrupted { signal } => ExitKind::Signal(u8::try_from(signal.as_raw()).unwrap_or(127)),
            Self::BudgetSpent { .. } => ExitKind::Budget,
            _ => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Launch(error) => error.hint(),
            Self::Run(error) => error.hint(),
            Self::Driven { .. } => Some("wait for it, or end that process".to_owned()),
            Self::NotFound { .. } => Some("`amplihack sessions list` shows the runs".to_owned()),
            Self::NoGroup { .. } => {
                Some("`amplihack parallel` prints the id when it begins; `amplihack auto --resume` continues one run".to_owned())
            }
            Self::Over { id, end } if end.is_success() => {
                Some(format!("it is complete: `amplihack sessions show {id}` shows it"))
            }
            Self::Over { id, .. } => Some(format!("`amplihack auto --resume {id}` continues it")),
            Self::DirectoryGone { .. } => {
                Some("put it back, or start a new run; `amplihack sessions show ID` has what was changed".to_owned())
            }
            Self::WorktreeGone { .. } => Some(
                "start a new run; `amplihack sessions show ID` has what was changed, as a patch for `git apply`".to_owned(),
            ),
            Self::NoHome => Some("set HOME".to_owned()),
            Self::NoPrice { agent } => Some(format!(
                "use --budget-tokens, or set prices.{agent} = \"input=3 output=15\" in config.toml (dollars per million tokens)"
            )),
            Self::Refused { hint, .. } => Some(hint.clone()),
            Self::Git { what, .. } if what.contains("worktree") || what.contains("repository") => {
                Some("a worktree needs a repository with a commit: make one, or leave --worktree out where it can be".to_owned())
            }
            Self::WorktreePlace { .. } => Some(
                "choose another with --worktree-dir, or worktrees.directory in config.toml".to_owned(),
            ),
            Self::NotInCommit { .. } => {
                Some("commit a file in it, or start in a directory that is committed".to_owned())
            }
            Self::Setup { .. } => Some(
                "no agent was started and the worktree is removed; try the command in a fresh clone, or give it more time with worktrees.setup_seconds".to_owned(),
            ),
            Self::Git { what: "initialize a submodule", .. } => Some(
                "git clones submodules by paths of this machine only if you allow it: git config --global protocol.file.allow always".to_owned(),
            ),
            Self::NoRepository { .. } => {
                Some("run git init and commit, or start in a repository; without --worktree the agent works in the directory itself".to_owned())
            }
            Self::NoCommit { .. } => Some("commit something, if only `git commit --allow-empty -m begin`".to_owned()),
            Self::VerifyCannotRun { .. } => Some(
                "correct the command or install what it needs; if the task is to create it, use --no-baseline to skip this first check".to_owned(),
            ),
            Self::VerifyGreen => Some("give a --verify command that fails before the work and passes after it, or leave --strict-verify out".to_owned()),
            Self::StrictOutside { .. } => Some("run git init and commit, or leave --strict-verify out".to_owned()),
            Self::NotUtf8 { .. } => Some("rename it, or reach it through a link whose name is UTF-8".to_owned()),
            Self::Git { .. } => Some("run `git status` there to see what is wrong with the repository".to_owned()),
            _ => None,
        }
    }
}
