//! A run as a stream of events: read, decoded, written to its journal, then given to whoever asks.

use std::collections::VecDeque;

use amplihack_agent::decode::Decode;
use amplihack_agent::event::{AgentEvent, AgentUsage, Envelope, UsageTotals};
use amplihack_agent::reader::{AgentStreamReader, EarlierUsage};
use amplihack_sys::log::LogError;
use jiff::Timestamp;

use crate::error::RunError;
use crate::journal::Journal;
use crate::output::{EndCause, ProcessOutput};
use crate::run::AgentRun;
use crate::run_end::{EndEvidence, RunEnd};
use crate::spec::{ChildOutput, RunSpec};

/// Number of bytes of standard error that are kept for the end of a run, unless the spec sets another.
const STDERR_TAIL: usize = 256 * 1024;

/// Completes the end of a run before it is told, and brings what the run used where the agent tells that elsewhere.
pub type EndCompleter = Box<dyn FnOnce(&mut RunEnd) -> Option<AgentUsage> + Send>;

/// Looks at each event when it is read, before it is in the journal and before anybody takes it.
pub type EventObserver = Box<dyn FnMut(&AgentEvent) + Send>;

/// Settings for reading a run's output as events.
pub struct EventReading {
    /// Reads the agent's lines.
    pub decoder: Box<dyn Decode>,
    /// Journal that events go to before anybody sees them. Default: none.
    pub journal: Option<Journal>,
    /// True if each line's own bytes go with its first event.
    pub raw: bool,
    /// Usage of earlier runs of the agent's session, for an agent that states its session's totals. Default: none.
    pub earlier: Option<EarlierUsage>,
    /// Comes with each event but the end. Default: looks at nothing.
    pub observe: EventObserver,
    /// Comes before the end is told. Default: changes nothing.
    pub judge: EndCompleter,
}

impl EventReading {
    /// Reading with `decoder`, without a journal and without the lines themselves.
    pub fn new(decoder: Box<dyn Decode>) -> Self {
        Self {
            decoder,
            journal: None,
            raw: false,
            earlier: None,
            observe: Box::new(|_| {}),
            judge: Box::new(|_| None),
        }
    }
}

/// A run that gives its events. Dropping it kills the run.
///
/// Nothing is read ahead of whoever asks: a slow reader holds the agent up, and costs no memory. It needs what
/// [`AgentRun`] needs, and spawns no task.
pub struct EventRun {
    /// `None` once it is over.
    run: Option<AgentRun>,
    events: EventQueue,
}

impl EventRun {
    /// Starts the run that `spec` describes; its standard output is read by `reading`.
    ///
    /// Standard error is kept as a tail unless the spec sends it elsewhere than to this process's own.
    ///
    /// # Errors
    /// Those of [`AgentRun::start`].
    pub async fn start(mut spec: RunSpec, reading: EventReading) -> Result<Self, RunError> {
        spec.stdout = ChildOutput::Stream;
        if spec.stderr == ChildOutput::Inherit {
            spec.stderr = ChildOutput::Tail(STDERR_TAIL);
        }
        let run = AgentRun::start(spec).await?;
        Ok(Self { run: Some(run), events: EventQueue::new(reading) })
    }

    /// The child's process id; 0 once the run is over.
    pub fn pid(&self) -> u32 {
        self.run.as_ref().map_or(0, AgentRun::pid)
    }

    /// The next event. `None` after the last one, which is its [end](amplihack_agent::EndEvent) and comes exactly once. Cancel-safe.
    ///
    /// # Errors
    /// [`RunError::Watch`] if the run can no longer be watched, [`RunError::Journal`] if its journal cannot be written. The run is killed
    /// then, and there is no further event.
    pub async fn next(&mut self) -> Result<Option<Envelope>, RunError> {
        loop {
            if let Some(event) = self.events.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(run) = &mut self.run else { return Ok(None) };
            match run.next_chunk().await {
                Ok(Some(bytes)) => {
                    let was_over = self.events.reader.is_over();
                    self.events.take_bytes(bytes);
                    match (was_over, self.events.reader.is_over()) {
                        (_, true) => run.expect_end()?,
                        (true, false) => run.expect_more()?,
                        (false, false) => {}
                    }
                }
                Ok(None) => {
                    if let Some(output) = self.run.take().map(AgentRun::finish_run).transpose()? {
                        self.events.finish_reading(output);
                    }
                }
                Err(error) => {
                    self.run = None;
                    return Err(error);
                }
            }
            if let Err(error) = self.events.journal_fresh() {
                self.run = None;
                self.events.ready.clear();
                return Err(error.into());
            }
        }
    }

    /// Start time of the child, in clock ticks from boot; 0 once the run has ended.
    pub fn start_time(&self) -> u64 {
        self.run.as_ref().map_or(0, AgentRun::start_time)
    }

    /// Ends the run as a signal to this process does. Its events up to its end are still to be taken.
    ///
    /// # Errors
    /// Those of [`AgentRun::interrupt_run`].
    pub fn interrupt_run(&mut self) -> Result<(), RunError> {
        self.run.as_mut().map_or(Ok(()), AgentRun::interrupt_run)
    }

    /// Tokens and money that the run used so far.
    pub fn usage(&self) -> UsageTotals {
        self.events.reader.usage()
    }

    /// Takes all remaining events without looking at them, and returns the end of the run.
    ///
    /// # Errors
    ///
    /// [`RunError::Lost`] after an error of [`Self::next`].
    pub async fn wait(mut self) -> Result<RunEnd, RunError> {
        while self.next().await?.is_some() {}
        self.events.end.ok_or(RunError::Lost)
    }
}

/// From bytes to events that are in the journal.
struct EventQueue {
    reader: AgentStreamReader,
    journal: Option<Journal>,
    raw: bool,
    observe: EventObserver,
    judge: Option<EndCompleter>,
    /// Not in the journal yet.
    fresh: Vec<Envelope>,
    ready: VecDeque<Envelope>,
    end: Option<RunEnd>,
}

impl EventQueue {
    fn new(reading: EventReading) -> Self {
        // The journal keeps every line, whoever asked for it.
        let raw = reading.raw || reading.journal.is_some();
        let mut reader = AgentStreamReader::new(reading.decoder, raw);
        if let Some(earlier) = reading.earlier {
            reader = reader.with_earlier(earlier);
        }
        Self {
            reader,
            journal: reading.journal,
            raw: reading.raw,
            observe: reading.observe,
            judge: Some(reading.judge),
            fresh: Vec::new(),
            ready: VecDeque::new(),
            end: None,
        }
    }

    fn take_bytes(&mut self, bytes: &[u8]) {
        let known = self.fresh.len();
        self.reader.push(bytes, Timestamp::now(), &mut self.fresh);
        self.fresh.iter().skip(known).for_each(|read| (self.observe)(&read.event));
    }

    fn finish_reading(&mut self, mut output: ProcessOutput) {
        self.take_bytes(&output.stdout.bytes);
        let now = Timestamp::now();
        // One that said that it is done and had to be ended is judged by its word: its exit is ours.
        let own_exit = (output.cause != EndCause::Lingered).then_some(output.exit);
        let known = self.fresh.len();
        let said = self.reader.finish(own_exit, now, &mut self.fresh);
        self.fresh.iter().skip(known).for_each(|read| (self.observe)(&read.event));
        let mut end = RunEnd::from_stream(said, EndEvidence::Record, &mut output);
        if let Some(usage) = self.judge.take().and_then(|judge| judge(&mut end)) {
            self.reader.number_usage(usage, now, &mut self.fresh);
        }
        end.usage = self.reader.usage();
        self.reader.number_end(end.event.clone(), now, &mut self.fresh);
        self.end = Some(end);
    }

    /// Writes what is new to the journal, then makes it ready to be taken.
    fn journal_fresh(&mut self) -> Result<(), LogError> {
        if let Some(journal) = &mut self.journal {
            journal.append(&self.fresh)?;
            if let Some(end) = &self.end {
                journal.write_end(end, self.reader.earlier_totals())?;
            }
        }
        for mut event in self.fresh.drain(..) {
            if !self.raw {
                event.raw = None;
            }
            self.ready.push_back(event);
        }
        Ok(())
    }
}
