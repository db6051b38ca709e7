//! The results of the run or remote session that is meant.

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_orchestration::changes::RepositoryState;
use amplihack_orchestration::drive::end_leftovers;
use amplihack_orchestration::journal::{Story, all, read};
use amplihack_orchestration::results::{ResultSource, Results, branches_below, checkout};
use amplihack_orchestration::worktree::Tree;
use amplihack_orchestration::{AutoError, Processes};
use amplihack_remote::{Client, SessionManager};
use amplihack_session::Interrupts;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::error::ExitKind;
use amplihack_utils::launcher_context::{SessionId, meant};
use amplihack_utils::lock::FileLock;
use tempfile::TempDir;

use super::super::super::remote::{Driven, drive};
use crate::commands::{current_dir, runtime};
use crate::ui::Failure;

/// The kind of the failure where nothing of a run is left.
const GONE: &str = "no_results";

/// What is to be done with the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    /// They are looked at.
    Read,
    /// They are put into the checkout in which the user stands.
    Take,
    /// The run's worktree or branch, or what it changed in the user's files, changes.
    Change,
}

/// Results that were found.
pub(super) struct Opened {
    pub id: String,
    pub task: String,
    pub target: PathBuf,
    pub baseline: Option<RepositoryState>,
    pub scratch: TempDir,
    processes: Processes,
    base: Option<String>,
    base_tree: Option<String>,
    objects: Option<PathBuf>,
    source: ResultSource,
    tree: Option<Tree>,
    _lock: Option<FileLock>,
}

/// Finds the results that are meant by `wanted`, an id or its beginning.
pub(super) fn open(home: &Path, wanted: &str, env: &Env, intent: Intent) -> Result<Opened, Failure> {
    let id = if wanted == "latest" { all(home).pop() } else { one(home, wanted)? };
    if let Some(id) = id {
        return Opened::of_run(home, &id, env, intent);
    }
    let remote = SessionManager::new(None)?.list_sessions(None)?;
    match meant(remote, wanted, |session| &session.session_id) {
        Ok(session) => Opened::of_remote(&session.session_id, env),
        Err(0) if super::super::all(home).iter().any(|run| run.id.as_str().starts_with(wanted)) => {
            Err(Failure::of(
                "no_results",
                format!("{wanted} is a plain launch: what it changed is in your files and nowhere else"),
                "`git diff` there shows it; runs of `auto` and `parallel` can be taken in",
                ExitKind::Failed,
            ))
        }
        Err(0) => Err(AutoError::NotFound { id: wanted.to_owned() }.into()),
        Err(many) => {
            Err(Failure::usage(format!("{many} sessions begin with {wanted:?}"), "write more of the id"))
        }
    }
}

/// The unattended run that is meant, if there is one.
fn one(home: &Path, wanted: &str) -> Result<Option<SessionId>, Failure> {
    match meant(all(home), wanted, SessionId::as_str) {
        Ok(id) => Ok(Some(id)),
        Err(0) => Ok(None),
        Err(many) => Err(Failure::usage(
            format!("{many} runs begin with {wanted:?}"),
            "write more of the id; `amplihack sessions list` shows them",
        )),
    }
}

impl Opened {
    /// The results of an unattended run that has a worktree or a branch still; `None` for anything else.
    pub(super) fn with_worktree(
        home: &Path,
        id: &str,
        env: &Env,
        intent: Intent,
    ) -> Result<Option<Self>, Failure> {
        let Ok(id) = SessionId::parse(id) else { return Ok(None) };
        let story = match read(home, &id) {
            Ok(story) => story,
            Err(AutoError::NotFound { .. }) => return Ok(None),
            // It may have a worktree, which nothing would name any more.
            Err(error) => {
                return Err(Failure::of(
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
        match Self::of_run(home, &id, env, intent) {
            Ok(opened) => Ok(Some(opened.with_its_tree())),
            Err(gone) if gone.kind() == GONE => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same with the run's worktree as what is meant, also if only its branch is left.
    pub(super) fn with_its_tree(mut self) -> Self {
        if let Some(tree) = self.tree.take() {
            self.source = ResultSource::Worktree(tree);
        }
        self
    }

    fn of_run(home: &Path, id: &SessionId, env: &Env, intent: Intent) -> Result<Self, Failure> {
        let directory = id.directory(home);
        let story = read(home, id)?;
        let busy = |source| AutoError::Driven { id: id.to_string(), source };
        let lock = match intent {
            Intent::Read => None,
            _ => Some(FileLock::acquire(&directory.join("lock"), Duration::ZERO).map_err(busy)?),
        };
        if lock.is_some() {
            end_agent(&directory, &story, id)?;
        }
        let (scratch, processes) = tools(env, id.as_str())?;
        let here = current_dir()?;
        let (target, source) = runtime()?.block_on(async {
            let origin = story.worktree.as_ref().map_or(&story.spec.cwd, |tree| &tree.repository);
            let own = story.worktree.as_ref().map(|tree| tree.path.as_path());
            // A run in the user's own files is taken back where it worked, wherever the user stands now.
            let stands = story.worktree.is_some() || intent != Intent::Change;
            let stood = if stands { checkout(&processes, &here, origin, own).await } else { None };
            let target = match stood {
                Some(target) => target,
                None => checkout(&processes, origin, origin, own).await.unwrap_or_else(|| origin.clone()),
            };
            if let (Intent::Change, Some(tree), false) = (intent, &story.worktree, story.is_complete()) {
                // A driver that was killed has left it locked; nobody drives it now.
                if tree.path.is_dir() && tree.repository.is_dir() {
                    tree.unlock(&processes).await?;
                }
            }
            let source = ResultSource::of_run(&processes, &directory, &story, &target).await?;
            Ok::<_, AutoError>((target, source))
        })?;
        let Some(source) = source else { return Err(gone(story.worktree.as_ref())) };
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

    fn of_remote(id: &str, env: &Env) -> Result<Self, Failure> {
        let record = SessionManager::new(None)?.record(id)?;
        let here = current_dir()?;
        let (scratch, processes) = tools(env, id)?;
        let known = || -> Result<_, Failure> {
            Ok(runtime()?.block_on(async {
                match checkout(&processes, &here, &here, None).await {
                    Some(_) => branches_below(&processes, &here, &format!("remote-exec/{id}/")).await,
                    // What is no repository has nothing of it.
                    None => Ok(Vec::new()),
                }
            })?)
        };
        if known()?.is_empty() {
            let client = Client::new(env, &here)?;
            if let Driven::Interrupted(_) = drive(client.pull(id, &here, false, None))? {
                return Err(Failure::input("interrupted; nothing was changed"));
            }
        }
        let branches = known()?;
        let source = match &*branches {
            [] => {
                return Err(Failure::of(
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
                return Err(Failure::of(
                    "several_branches",
                    format!("{id} has work on several branches"),
                    &merges.join("; or "),
                    ExitKind::Failed,
                ));
            }
        };
        let target = runtime()?.block_on(checkout(&processes, &here, &here, None)).unwrap_or(here);
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
    pub(super) fn work<T>(
        &self,
        work: impl AsyncFnOnce(&Results<'_>) -> Result<T, AutoError>,
    ) -> Result<T, Failure> {
        let results = Results {
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
        Ok(runtime()?.block_on(work(&results))?)
    }

    /// Removes what was fetched of a remote session.
    pub(super) fn forget(&self, env: &Env) -> Result<(), Failure> {
        if amplihack_remote::is_session_id(&self.id) {
            runtime()?.block_on(amplihack_remote::results::forget(env, &self.target, &self.id))?;
        }
        Ok(())
    }
}

/// Ends the agent that the run's dead driver left at work: it would go on to write where the results are taken from.
fn end_agent(directory: &Path, story: &Story, id: &SessionId) -> Result<(), Failure> {
    let left = end_leftovers(directory, story)?;
    let Some(first) = left.first() else { return Ok(()) };
    Err(Failure::of(
        "still_running",
        format!("what the dead driver of {id} left running cannot be ended: {} ({})", first.pid, first.name),
        "end it, then try again; nothing was changed",
        ExitKind::Failed,
    ))
}

/// A private directory for what is needed meanwhile, and git.
fn tools(env: &Env, id: &str) -> Result<(TempDir, Processes), Failure> {
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::system("a temporary directory cannot be made", &error))?;
    let config = Config::load(env, &current_dir()?, &[])?;
    let processes =
        Processes::new(env.clone(), config.stop_grace(), scratch.path(), id, Interrupts::listen())?;
    // What changes something must not stay half done: only a second Ctrl-C ends it.
    Ok((scratch, processes.closing()))
}

/// The failure of a run of which neither the worktree nor the branch is left.
fn gone(tree: Option<&Tree>) -> Failure {
    let branch = tree.map(|tree| tree.branch.as_str()).unwrap_or_default();
    Failure::of(
        GONE,
        format!(
            "the worktree and the branch {branch} are gone: nothing was changed there, or it was discarded"
        ),
        "`git for-each-ref refs/amplihack/discarded` lists what was discarded, by run",
        ExitKind::Failed,
    )
}
