//! The results of the run or remote session that is meant.

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::{SessionId, pick_by_prefix};
use amplihack_orchestration::changes::RepositoryState;
use amplihack_orchestration::drive::end_leftovers;
use amplihack_orchestration::journal::{AutoRunState, all_runs, read_run};
use amplihack_orchestration::results::{ResultSource, RunResults, branches_below, find_checkout};
use amplihack_orchestration::worktree::RunWorktree;
use amplihack_orchestration::{AutoError, RunProcesses};
use amplihack_remote::{Client, SessionManager};
use amplihack_session::InterruptSignals;
use amplihack_sys::error::ExitKind;
use amplihack_sys::lock::FileLock;
use tempfile::TempDir;

use super::super::super::remote::{InterruptibleResult, drive_interruptible};
use crate::commands::{build_runtime, current_dir};
use crate::ui::CommandFailure;

/// The kind of the failure where nothing of a run is left.
const GONE: &str = "no_results";

/// The intended use of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultsIntent {
    /// The results are looked at.
    Read,
    /// The results are put into the checkout in which the user stands.
    Take,
    /// The run's worktree or branch, or what it changed in the user's files, changes.
    Change,
}

/// Results that were found.
pub(super) struct OpenedResults {
    pub id: String,
    pub task: String,
    pub target: PathBuf,
    pub baseline: Option<RepositoryState>,
    pub scratch: TempDir,
    processes: RunProcesses,
    base: Option<String>,
    base_tree: Option<String>,
    objects: Option<PathBuf>,
    source: ResultSource,
    tree: Option<RunWorktree>,
    _lock: Option<FileLock>,
}

/// Finds the results that are meant by `wanted`, an id or its beginning.
pub(super) fn open_results(
    home: &Path,
    wanted: &str,
    env: &Env,
    intent: ResultsIntent,
) -> Result<OpenedResults, CommandFailure> {
    let id = if wanted == "latest" { all_runs(home).pop() } else { find_unattended(home, wanted)? };
    if let Some(id) = id {
        return OpenedResults::from_run(home, &id, env, intent);
    }
    let remote = SessionManager::new(None)?.list_sessions(None)?;
    match pick_by_prefix(remote, wanted, |session| &session.session_id) {
        Ok(session) => OpenedResults::from_remote(&session.session_id, env),
        Err(0)
            if super::super::recorded_sessions(home)
                .iter()
                .any(|run| run.id.as_str().starts_with(wanted)) =>
        {
            Err(CommandFailure::new(
                "no_results",
                format!("{wanted} is a plain launch: what it changed is in your files and nowhere else"),
                "`git diff` there shows it; runs of `auto` and `parallel` can be taken in",
                ExitKind::Failed,
            ))
        }
        Err(0) => Err(AutoError::NotFound { id: wanted.to_owned() }.into()),
        Err(many) => Err(CommandFailure::bad_usage(
            format!("{many} sessions begin with {wanted:?}"),
            "write more of the id",
        )),
    }
}

/// The unattended run that is meant, if there is one.
fn find_unattended(home: &Path, wanted: &str) -> Result<Option<SessionId>, CommandFailure> {
    match pick_by_prefix(all_runs(home), wanted, SessionId::as_str) {
        Ok(id) => Ok(Some(id)),
        Err(0) => Ok(None),
        Err(many) => Err(CommandFailure::bad_usage(
            format!("{many} runs begin with {wanted:?}"),
            "write more of the id; `amplihack sessions list` shows them",
        )),
    }
}

impl OpenedResults {
    /// The results of an unattended run that has a worktree or a branch still; `None` for anything else.
    pub(super) fn with_worktree(
        home: &Path,
        id: &str,
        env: &Env,
        intent: ResultsIntent,
    ) -> Result<Option<Self>, CommandFailure> {
        let Ok(id) = SessionId::parse(id) else { return Ok(None) };
        let story = match read_run(home, &id) {
            Ok(story) => story,
            Err(AutoError::NotFound { .. }) => return Ok(None),
            // It may have a worktree, which nothing would name any more.
            Err(error) => {
                return Err(CommandFailure::new(
                    "journal",
                    format!("the record of {id} stays: {error}"),
                    "`git worktree list` shows whether it has a worktree; then remove its directory by hand",
                    ExitKind::Failed,
                ));
            }
        };
        let Some(tree) = &story.worktree else { return Ok(None) };
        if !tree.repository.is_dir() && !tree.path.is_dir() {
            return Ok(None);
        }
        match Self::from_run(home, &id, env, intent) {
            Ok(opened) => Ok(Some(opened.with_its_tree())),
            Err(gone) if gone.kind() == GONE => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns these results with the run's worktree as their source, also if only its branch is left.
    pub(super) fn with_its_tree(mut self) -> Self {
        if let Some(tree) = self.tree.take() {
            self.source = ResultSource::Worktree(tree);
        }
        self
    }

    fn from_run(
        home: &Path,
        id: &SessionId,
        env: &Env,
        intent: ResultsIntent,
    ) -> Result<Self, CommandFailure> {
        let directory = id.directory(home);
        let story = read_run(home, id)?;
        let busy = |source| AutoError::Driven { id: id.to_string(), source };
        let lock = match intent {
            ResultsIntent::Read => None,
            _ => Some(FileLock::acquire(&directory.join("lock"), Duration::ZERO).map_err(busy)?),
        };
        if lock.is_some() {
            end_agent(&directory, &story, id)?;
        }
        let (scratch, processes) = scratch_tools(env, id.as_str())?;
        let here = current_dir()?;
        let (target, source) = build_runtime()?.block_on(async {
            let origin = story.worktree.as_ref().map_or(&story.spec.cwd, |tree| &tree.repository);
            let own = story.worktree.as_ref().map(|tree| tree.path.as_path());
            // A run in the user's own files is taken back where it worked, wherever the user stands now.
            let stands = story.worktree.is_some() || intent != ResultsIntent::Change;
            let stood = if stands { find_checkout(&processes, &here, origin, own).await } else { None };
            let target = match stood {
                Some(target) => target,
                None => {
                    find_checkout(&processes, origin, origin, own).await.unwrap_or_else(|| origin.clone())
                }
            };
            if let (ResultsIntent::Change, Some(tree), false) = (intent, &story.worktree, story.is_complete())
            {
                // A driver that was killed has left it locked; nobody drives it now.
                if tree.path.is_dir() && tree.repository.is_dir() {
                    tree.unlock(&processes).await?;
                }
            }
            let source = ResultSource::from_run(&processes, &directory, &story, &target).await?;
            Ok::<_, AutoError>((target, source))
        })?;
        let Some(source) = source else { return Err(results_gone(story.worktree.as_ref())) };
        Ok(Self {
            id: id.to_string(),
            task: story.spec.task.clone(),
            target,
            baseline: RepositoryState::load(&directory),
            scratch,
            processes,
            base: story.worktree.as_ref().map(|tree| tree.start.clone()).or_else(|| story.head.clone()),
            base_tree: story.base.clone(),
            objects: Some(directory.join("objects")).filter(|objects| objects.is_dir()),
            source,
            tree: story.worktree,
            _lock: lock,
        })
    }

    fn from_remote(id: &str, env: &Env) -> Result<Self, CommandFailure> {
        let record = SessionManager::new(None)?.session_record(id)?;
        let here = current_dir()?;
        let (scratch, processes) = scratch_tools(env, id)?;
        let known = || -> Result<_, CommandFailure> {
            Ok(build_runtime()?.block_on(async {
                match find_checkout(&processes, &here, &here, None).await {
                    Some(_) => branches_below(&processes, &here, &format!("remote-exec/{id}/")).await,
                    // What is no repository has nothing of it.
                    None => Ok(Vec::new()),
                }
            })?)
        };
        if known()?.is_empty() {
            let client = Client::new(env, &here)?;
            if let InterruptibleResult::Interrupted(_) =
                drive_interruptible(client.pull_results(id, &here, false, None))?
            {
                return Err(CommandFailure::bad_input("interrupted; nothing was changed"));
            }
        }
        let branches = known()?;
        let source = match &*branches {
            [] => {
                return Err(CommandFailure::new(
                    "no_results",
                    format!("{id} changed nothing"),
                    &format!("see its output: amplihack remote output {id}"),
                    ExitKind::Failed,
                ));
            }
            [(commit, name)] => ResultSource::Commit { commit: commit.clone(), name: name.clone() },
            several => {
                let merges: Vec<String> =
                    several.iter().map(|(_, name)| format!("git merge {name}")).collect();
                return Err(CommandFailure::new(
                    "several_branches",
                    format!("{id} has work on several branches"),
                    &merges.join("; or "),
                    ExitKind::Failed,
                ));
            }
        };
        let target = build_runtime()?.block_on(find_checkout(&processes, &here, &here, None)).unwrap_or(here);
        Ok(Self {
            id: id.to_owned(),
            task: record.session.prompt.clone(),
            target,
            baseline: None,
            scratch,
            processes,
            base: record.base,
            base_tree: None,
            objects: None,
            source,
            tree: None,
            _lock: None,
        })
    }

    /// Does something with the results.
    pub(super) fn with_results<T>(
        &self,
        work: impl AsyncFnOnce(&RunResults<'_>) -> Result<T, AutoError>,
    ) -> Result<T, CommandFailure> {
        let results = RunResults {
            processes: &self.processes,
            id: self.id.clone(),
            task: self.task.clone(),
            base: self.base.clone(),
            base_tree: self.base_tree.clone(),
            source: self.source.clone(),
            target: self.target.clone(),
            scratch: self.scratch.path().to_owned(),
            objects: self.objects.clone(),
        };
        Ok(build_runtime()?.block_on(work(&results))?)
    }

    /// Removes what was fetched of a remote session.
    pub(super) fn forget_remote(&self, env: &Env) -> Result<(), CommandFailure> {
        if amplihack_remote::is_session_id(&self.id) {
            build_runtime()?.block_on(amplihack_remote::results::remove_results(
                env,
                &self.target,
                &self.id,
            ))?;
        }
        Ok(())
    }
}

/// Ends the agent that the run's dead driver left at work: it would go on to write where the results are taken from.
fn end_agent(directory: &Path, story: &AutoRunState, id: &SessionId) -> Result<(), CommandFailure> {
    let left = end_leftovers(directory, story)?;
    let Some(first) = left.first() else { return Ok(()) };
    Err(CommandFailure::new(
        "still_running",
        format!("what the dead driver of {id} left running cannot be ended: {} ({})", first.pid, first.name),
        "end it, then try again; nothing was changed",
        ExitKind::Failed,
    ))
}

/// A private directory for what is needed meanwhile, and git.
fn scratch_tools(env: &Env, id: &str) -> Result<(TempDir, RunProcesses), CommandFailure> {
    let scratch = tempfile::tempdir()
        .map_err(|error| CommandFailure::from_io_error("a temporary directory cannot be made", &error))?;
    let config = LayeredConfig::load(env, &current_dir()?, &[])?;
    let processes = RunProcesses::new(
        env.clone(),
        config.stop_grace(),
        scratch.path(),
        id,
        InterruptSignals::listen_from_now(),
    )?;
    // What changes something must not stay half done: only a second Ctrl-C ends it.
    Ok((scratch, processes.for_closing()))
}

/// The failure of a run of which neither the worktree nor the branch is left.
fn results_gone(tree: Option<&RunWorktree>) -> CommandFailure {
    let branch = tree.map(|tree| tree.branch.as_str()).unwrap_or_default();
    CommandFailure::new(
        GONE,
        format!(
            "the worktree and the branch {branch} are gone: nothing was changed there, or it was discarded"
        ),
        "`git for-each-ref refs/amplihack/discarded` lists what was discarded, by run",
        ExitKind::Failed,
    )
}
