//! Carrying a run out: the machine says what, this starts it, waits, and writes down.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use amplihack_config::env::Env;
use amplihack_session::step::{StepBackground, StepSpool};
use amplihack_session::{InterruptSignals, InterruptStream};
use amplihack_sys::Signal;
use amplihack_sys::log::LogError;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinSet, LocalSet};

use super::agent_step::{self, AgentDoor};
use super::bounds::RecipeBounds;
use super::process::{self, FinishedRecipeTask};
use super::{
    RecipeMachine, RecipeTask, RecipeTaskWork, StepAgentQuestion, StepInput, StepOutput, TaskId, TaskResult,
};
use crate::journal::{RecipeRunEntry, RecipeRunJournal};
use crate::result::RunResult;

/// Programs and agents at one time; more wait for their turn.
const AT_ONCE: usize = 64;

/// The environments, paths and channels with which a run works.
pub struct RecipeRunResources {
    /// The runner's environment.
    pub env: Env,
    /// The environment of scripts.
    pub scripts: Env,
    /// The environment that launches of agents start from.
    pub agents: Env,
    /// The run's directory.
    pub directory: PathBuf,
    /// The spool to which steps write their output.
    pub spool: Arc<StepSpool>,
    /// The way by which agents are launched.
    pub door: AgentDoor,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// The signals that end the run, and each agent in it.
    pub interrupts: InterruptSignals,
    /// The bounds of the run as a whole.
    pub bounds: Option<Rc<RecipeBounds>>,
    notes: mpsc::UnboundedSender<RecipeRunEntry>,
    noted: Option<mpsc::UnboundedReceiver<RecipeRunEntry>>,
}

impl RecipeRunResources {
    /// A world around the run that `journal` keeps.
    pub fn new(
        env: Env,
        scripts: Env,
        agents: Env,
        journal: &RecipeRunJournal,
        door: AgentDoor,
        grace: Duration,
        interrupts: InterruptSignals,
    ) -> Self {
        let (notes, heard) = mpsc::unbounded_channel();
        Self {
            env,
            scripts,
            agents,
            directory: journal.directory().to_owned(),
            spool: Arc::clone(journal.spool()),
            door,
            grace,
            interrupts,
            bounds: None,
            notes,
            noted: Some(heard),
        }
    }

    /// Has something written down while a task runs.
    pub(super) fn note_entry(&self, entry: RecipeRunEntry) {
        // Nobody listens any more when the run is over.
        let _ = self.notes.send(entry);
    }
}

/// A run that could not be kept or carried out. Whatever it had started is ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeRunError {
    /// The journal cannot be written, so nothing more is done.
    #[error("the journal of the run cannot be kept: {0}{advice}", advice = .0.other_home_advice())]
    Journal(#[from] LogError),
    /// A task of the runner has ended in an unexpected way.
    #[error("a step was lost: {0}; this is a bug of amplihack")]
    Lost(String),
}

/// Carries a run out. Every entry is in `journal` before `seen` is shown it.
///
/// Needs a current-thread runtime, on the main thread if there are many steps. What steps left in the background is ended with
/// the run.
pub async fn drive_run(
    machine: RecipeMachine,
    mut world: RecipeRunResources,
    journal: &mut RecipeRunJournal,
    interrupts: InterruptStream,
    seen: &mut dyn FnMut(&RecipeRunEntry),
) -> Result<RunResult, RecipeRunError> {
    let (stop, stopped) = watch::channel(None);
    let (_, nothing) = mpsc::unbounded_channel();
    let noted = world.noted.take().unwrap_or(nothing);
    let mut shell = RecipeRunDriver {
        machine,
        world: Rc::new(world),
        journal,
        seen,
        began: Instant::now(),
        tasks: JoinSet::new(),
        turns: Rc::new(Semaphore::new(AT_ONCE)),
        stopped,
        background: Vec::new(),
        result: None,
    };
    LocalSet::new().run_until(shell.run_to_end(noted, interrupts, stop)).await
}

type JoinedRecipeTask = (TaskId, FinishedRecipeTask);

struct RecipeRunDriver<'a> {
    machine: RecipeMachine,
    world: Rc<RecipeRunResources>,
    journal: &'a mut RecipeRunJournal,
    seen: &'a mut dyn FnMut(&RecipeRunEntry),
    began: Instant,
    tasks: JoinSet<JoinedRecipeTask>,
    turns: Rc<Semaphore>,
    stopped: watch::Receiver<Option<Signal>>,
    background: Vec<StepBackground>,
    result: Option<RunResult>,
}

impl RecipeRunDriver<'_> {
    async fn run_to_end(
        &mut self,
        mut noted: mpsc::UnboundedReceiver<RecipeRunEntry>,
        mut interrupts: InterruptStream,
        stop: watch::Sender<Option<Signal>>,
    ) -> Result<RunResult, RecipeRunError> {
        let outcome = self.run_loop(&mut noted, &mut interrupts, &stop).await;
        // Whatever goes wrong: nothing is left running.
        let _ = stop.send(Some(Signal::TERM));
        while let Some(joined) = self.tasks.join_next().await {
            self.background.extend(joined.ok().and_then(|(_, ran)| ran.background));
        }
        let ends = std::mem::take(&mut self.background).into_iter().map(StepBackground::end_and_wait);
        let mut ending = JoinSet::new();
        for end in ends {
            ending.spawn_local(end);
        }
        ending.join_all().await;
        outcome?;
        self.journal.sync()?;
        self.result.take().ok_or_else(|| RecipeRunError::Lost("the run has no result".to_owned()))
    }

    async fn run_loop(
        &mut self,
        noted: &mut mpsc::UnboundedReceiver<RecipeRunEntry>,
        interrupts: &mut InterruptStream,
        stop: &watch::Sender<Option<Signal>>,
    ) -> Result<(), RecipeRunError> {
        self.feed_machine(StepInput::Start)?;
        while self.result.is_none() {
            tokio::select! {
                biased;
                signal = interrupts.next() => {
                    stop.send_if_modified(|known| known.replace(signal).is_none());
                    self.feed_machine(StepInput::Interrupted(signal.as_raw()))?;
                }
                Some(entry) = noted.recv() => self.journal_entries(&[entry])?,
                Some(joined) = self.tasks.join_next() => {
                    let (task, ran) = joined.map_err(|error| RecipeRunError::Lost(error.to_string()))?;
                    self.background.extend(ran.background);
                    self.feed_machine(StepInput::Ended(task, ran.ended))?;
                }
                else => return Err(RecipeRunError::Lost("nothing is running and nothing has ended".to_owned())),
            }
        }
        Ok(())
    }

    /// Tells the machine, and does what it says.
    fn feed_machine(&mut self, input: StepInput) -> Result<(), RecipeRunError> {
        let mut fresh = Vec::new();
        for output in self.machine.step(self.began.elapsed(), input) {
            match output {
                StepOutput::Record(entry) => fresh.push(entry),
                StepOutput::Spawn(task) => {
                    self.journal_entries(&std::mem::take(&mut fresh))?;
                    self.spawn_task(task);
                }
                StepOutput::Done(result) => self.result = Some(*result),
            }
        }
        self.journal_entries(&fresh)
    }

    /// Writes down, then shows.
    fn journal_entries(&mut self, entries: &[RecipeRunEntry]) -> Result<(), RecipeRunError> {
        if !entries.is_empty() {
            self.journal.append_entries(entries)?;
            for entry in entries {
                (self.seen)(entry);
            }
        }
        Ok(())
    }

    fn spawn_task(&mut self, task: RecipeTask) {
        let (world, turns, stopped) = (Rc::clone(&self.world), Rc::clone(&self.turns), self.stopped.clone());
        self.tasks.spawn_local(async move {
            let ran = run_task(&world, &turns, &task, stopped).await;
            (task.id, ran)
        });
    }
}

async fn run_task(
    world: &RecipeRunResources,
    turns: &Semaphore,
    task: &RecipeTask,
    mut stopped: watch::Receiver<Option<Signal>>,
) -> FinishedRecipeTask {
    if !task.delay.is_zero() {
        tokio::select! {
            () = tokio::time::sleep(task.delay) => {}
            _ = stopped.wait_for(Option::is_some) => return TaskResult::Interrupted.into(),
        }
    }
    // A semaphore that is never closed gives a permit in the end.
    let _turn = turns.acquire().await;
    if stopped.borrow().is_some() {
        return TaskResult::Interrupted.into();
    }
    let bounds = world.bounds.as_deref();
    let is_agent = matches!(task.work, RecipeTaskWork::Agent(_));
    if let Some(reason) =
        bounds.filter(|_| task.adopt.is_none()).and_then(|bounds| bounds.forbidding_reason(is_agent))
    {
        return TaskResult::NotStarted(format!("not begun: {reason}")).into();
    }
    let limit = |own: Option<Duration>| bounds.map_or(own, |bounds| bounds.limit_timeout(own));
    let ran = perform_work(world, task, limit, stopped).await;
    if let Some(bounds) = bounds.filter(|bounds| bounds.is_late()) {
        bounds.record_end("the deadline of the run has passed");
    }
    ran
}

async fn perform_work(
    world: &RecipeRunResources,
    task: &RecipeTask,
    limit: impl Fn(Option<Duration>) -> Option<Duration>,
    stopped: watch::Receiver<Option<Signal>>,
) -> FinishedRecipeTask {
    match &task.work {
        RecipeTaskWork::Agent(ask) => {
            let ask = StepAgentQuestion { timeout: limit(ask.timeout), ..ask.clone() };
            agent_step::ask_agent(world, task, &ask, stopped).await
        }
        RecipeTaskWork::Script { prepared, cwd, timeout } => {
            if let Some(ended) = task.adopt.as_deref().and_then(|name| process::adopt_program(world, name)) {
                return ended.into();
            }
            match process::script_program(world, &task.name, prepared, cwd) {
                Err(error) => TaskResult::NotStarted(format!("the step cannot be started: {error}")).into(),
                Ok((program, _files)) => {
                    process::run_program(world, &task.name, &program, limit(*timeout), stopped).await
                }
            }
        }
    }
}
