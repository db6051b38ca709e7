//! Carrying a run out: the machine says what, this starts it, waits, and writes down.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use amplihack_session::step::{Background, Spool};
use amplihack_session::{InterruptStream, Interrupts};
use amplihack_utils::env::Env;
use amplihack_utils::log::LogError;
use amplihack_utils::sys::Signal;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinSet, LocalSet};

use super::agent_step::{self, AgentDoor};
use super::bounds::RecipeBounds;
use super::process::{self, Ran};
use super::{Ask, Machine, StepInput, StepOutput, Task, TaskId, TaskResult, Work};
use crate::journal::{Entry, Journal};
use crate::result::RunResult;

/// Programs and agents at one time; more wait for their turn.
const AT_ONCE: usize = 64;

/// What a run works with.
pub struct World {
    /// The runner's environment.
    pub env: Env,
    /// The environment of scripts.
    pub scripts: Env,
    /// The environment that launches of agents start from.
    pub agents: Env,
    /// The run's directory.
    pub directory: PathBuf,
    /// Where steps write.
    pub spool: Arc<Spool>,
    /// How agents are reached.
    pub door: AgentDoor,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// The signals that end the run, and each agent in it.
    pub interrupts: Interrupts,
    /// What bounds the run as a whole.
    pub bounds: Option<Rc<RecipeBounds>>,
    notes: mpsc::UnboundedSender<Entry>,
    noted: Option<mpsc::UnboundedReceiver<Entry>>,
}

impl World {
    /// A world around the run that `journal` keeps.
    pub fn new(
        env: Env,
        scripts: Env,
        agents: Env,
        journal: &Journal,
        door: AgentDoor,
        grace: Duration,
        interrupts: Interrupts,
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
    pub(super) fn tell(&self, entry: Entry) {
        // Nobody listens any more when the run is over.
        let _ = self.notes.send(entry);
    }
}

/// A run that could not be kept or carried out. Whatever it had started is ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The journal cannot be written, so nothing more is done.
    #[error("the journal of the run cannot be kept: {0}")]
    Journal(#[from] LogError),
    /// A task of the runner has ended in an unexpected way.
    #[error("a step was lost: {0}; this is a bug of amplihack")]
    Lost(String),
}

/// Carries a run out. Every entry is in `journal` before `seen` is shown it.
///
/// Needs a current-thread runtime, on the main thread if there are many steps. What steps left in the background is ended with
/// the run.
pub async fn drive(
    machine: Machine,
    mut world: World,
    journal: &mut Journal,
    interrupts: InterruptStream,
    seen: &mut dyn FnMut(&Entry),
) -> Result<RunResult, RunError> {
    let (stop, stopped) = watch::channel(None);
    let (_, nothing) = mpsc::unbounded_channel();
    let noted = world.noted.take().unwrap_or(nothing);
    let mut shell = Shell {
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
    LocalSet::new().run_until(shell.run(noted, interrupts, stop)).await
}

type Joined = (TaskId, Ran);

struct Shell<'a> {
    machine: Machine,
    world: Rc<World>,
    journal: &'a mut Journal,
    seen: &'a mut dyn FnMut(&Entry),
    began: Instant,
    tasks: JoinSet<Joined>,
    turns: Rc<Semaphore>,
    stopped: watch::Receiver<Option<Signal>>,
    background: Vec<Background>,
    result: Option<RunResult>,
}

impl Shell<'_> {
    async fn run(
        &mut self,
        mut noted: mpsc::UnboundedReceiver<Entry>,
        mut interrupts: InterruptStream,
        stop: watch::Sender<Option<Signal>>,
    ) -> Result<RunResult, RunError> {
        let outcome = self.turns(&mut noted, &mut interrupts, &stop).await;
        // Whatever goes wrong: nothing is left running.
        let _ = stop.send(Some(Signal::TERM));
        while let Some(joined) = self.tasks.join_next().await {
            self.background.extend(joined.ok().and_then(|(_, ran)| ran.background));
        }
        let ends = std::mem::take(&mut self.background).into_iter().map(Background::end);
        let mut ending = JoinSet::new();
        for end in ends {
            ending.spawn_local(end);
        }
        ending.join_all().await;
        outcome?;
        self.journal.sync()?;
        self.result.take().ok_or_else(|| RunError::Lost("the run has no result".to_owned()))
    }

    async fn turns(
        &mut self,
        noted: &mut mpsc::UnboundedReceiver<Entry>,
        interrupts: &mut InterruptStream,
        stop: &watch::Sender<Option<Signal>>,
    ) -> Result<(), RunError> {
        self.tell(StepInput::Start)?;
        while self.result.is_none() {
            tokio::select! {
                biased;
                signal = interrupts.next() => {
                    stop.send_if_modified(|known| known.replace(signal).is_none());
                    self.tell(StepInput::Interrupted(signal.as_raw()))?;
                }
                Some(entry) = noted.recv() => self.keep(&[entry])?,
                Some(joined) = self.tasks.join_next() => {
                    let (task, ran) = joined.map_err(|error| RunError::Lost(error.to_string()))?;
                    self.background.extend(ran.background);
                    self.tell(StepInput::Ended(task, ran.ended))?;
                }
                else => return Err(RunError::Lost("nothing is running and nothing has ended".to_owned())),
            }
        }
        Ok(())
    }

    /// Tells the machine, and does what it says.
    fn tell(&mut self, input: StepInput) -> Result<(), RunError> {
        let mut fresh = Vec::new();
        for output in self.machine.step(self.began.elapsed(), input) {
            match output {
                StepOutput::Record(entry) => fresh.push(entry),
                StepOutput::Spawn(task) => {
                    self.keep(&std::mem::take(&mut fresh))?;
                    self.spawn(task);
                }
                StepOutput::Done(result) => self.result = Some(*result),
            }
        }
        self.keep(&fresh)
    }

    /// Writes down, then shows.
    fn keep(&mut self, entries: &[Entry]) -> Result<(), RunError> {
        if !entries.is_empty() {
            self.journal.append(entries)?;
            for entry in entries {
                (self.seen)(entry);
            }
        }
        Ok(())
    }

    fn spawn(&mut self, task: Task) {
        let (world, turns, stopped) = (Rc::clone(&self.world), Rc::clone(&self.turns), self.stopped.clone());
        self.tasks.spawn_local(async move {
            let ran = do_task(&world, &turns, &task, stopped).await;
            (task.id, ran)
        });
    }
}

async fn do_task(
    world: &World,
    turns: &Semaphore,
    task: &Task,
    mut stopped: watch::Receiver<Option<Signal>>,
) -> Ran {
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
    let is_agent = matches!(task.work, Work::Agent(_));
    if let Some(reason) = bounds.filter(|_| task.adopt.is_none()).and_then(|bounds| bounds.forbids(is_agent))
    {
        return TaskResult::NotStarted(format!("not begun: {reason}")).into();
    }
    let limit = |own: Option<Duration>| bounds.map_or(own, |bounds| bounds.timeout(own));
    let ran = work(world, task, limit, stopped).await;
    if let Some(bounds) = bounds.filter(|bounds| bounds.is_late()) {
        bounds.end("the deadline of the run has passed");
    }
    ran
}

async fn work(
    world: &World,
    task: &Task,
    limit: impl Fn(Option<Duration>) -> Option<Duration>,
    stopped: watch::Receiver<Option<Signal>>,
) -> Ran {
    match &task.work {
        Work::Agent(ask) => {
            let ask = Ask { timeout: limit(ask.timeout), ..ask.clone() };
            agent_step::ask(world, task, &ask, stopped).await
        }
        Work::Script { prepared, cwd, timeout } => {
            if let Some(ended) = task.adopt.as_deref().and_then(|name| process::adopted(world, name)) {
                return ended.into();
            }
            match process::script(world, &task.name, prepared, cwd) {
                Err(error) => {
                    TaskResult::NotStarted(format!("the step's files cannot be written: {error}")).into()
                }
                Ok((program, _files)) => {
                    process::run(world, &task.name, &program, limit(*timeout), stopped).await
                }
            }
        }
    }
}
