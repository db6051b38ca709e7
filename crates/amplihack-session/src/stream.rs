//! A run as a stream of events: read, decoded, written to its journal, then given to whoever asks.

use std::collections::VecDeque;

use amplihack_agent::decode::Decode;
use amplihack_agent::event::{Envelope, Totals, Usage};
use amplihack_agent::reader::{Earlier, Reader};
use amplihack_utils::log::LogError;
use jiff::Timestamp;

use crate::error::RunError;
use crate::journal::Journal;
use crate::output::{EndCause, ProcessOutput};
use crate::run::AgentRun;
use crate::run_end::{Evidence, RunEnd};
use crate::spec::{Output, RunSpec};

/// What of standard error is kept for the end of a run, unless the spec says otherwise.
const STDERR_TAIL: usize = 256 * 1024;

/// Completes the end of a run before it is told, and brings what the run used where the agent tells that elsewhere.
pub type Judge = Box<dyn FnOnce(&mut RunEnd) -> Option<Usage> + Send>;

/// How a run's output becomes events.
pub struct Reading {
    /// Reads the agent's lines.
    pub decoder: Box<dyn Decode>,
    /// Where events go before anybody sees them. Default: nowhere.
    pub journal: Option<Journal>,
    /// Whether each line's own bytes go with its first event.
    pub raw: bool,
    /// What earlier runs of the agent's session used, for an agent that states its session's totals. Default: nothing.
    pub earlier: Option<Earlier>,
    /// Comes before the end is told. Default: changes nothing.
    pub judge: Judge,
}

impl Reading {
    /// Reading with `decoder`, without a journal and without the lines themselves.
    pub fn new(decoder: Box<dyn Decode>) -> Self {
        Self { decoder, journal: None, raw: false, earlier: None, judge: Box::new(|_| None) }
    }
}

/// A run that gives its events. Dropping it kills the run.
///
/// Nothing is read ahead of whoever asks: a slow reader holds the agent up, and costs no memory. It needs what
/// [`AgentRun`] needs, and spawns no task.
pub struct EventRun {
    /// `None` once it is over.
    run: Option<AgentRun>,
    events: Events,
}

impl EventRun {
    /// Starts the run that `spec` describes; its standard output is read by `reading`.
    ///
    /// Standard error is kept as a tail unless the spec sends it elsewhere than to this process's own.
    pub async fn start(mut spec: RunSpec, reading: Reading) -> Result<Self, RunError> {
        spec.stdout = Output::Stream;
        if spec.stderr == Output::Inherit {
            spec.stderr = Output::Tail(STDERR_TAIL);
        }
        let run = AgentRun::start(spec).await?;
        Ok(Self { run: Some(run), events: Events::new(reading) })
    }

    /// The child's process id; 0 once the run is over.
    pub fn pid(&self) -> u32 {
        self.run.as_ref().map_or(0, AgentRun::pid)
    }

    /// The next event. `None` after the last one, which is its [end](amplihack_agent::EndEvent) and comes exactly once. Cancel-safe.
    ///
    /// An error means that the run could no longer be watched, or its journal not written; it is killed then, and there is
    /// no further event.
    pub async fn next(&mut self) -> Result<Option<Envelope>, RunError> {
        loop {
            if let Some(event) = self.events.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(run) = &mut self.run else { return Ok(None) };
            match run.chunk().await {
                Ok(Some(bytes)) => {
                    self.events.take(bytes);
                    if self.events.reader.is_over() {
                        run.expect_end()?;
                    }
                }
                Ok(None) => {
                    if let Some(output) = self.run.take().map(AgentRun::finish).transpose()? {
                        self.events.finish(output);
                    }
                }
                Err(error) => {
                    self.run = None;
                    return Err(error);
                }
            }
            if let Err(error) = self.events.keep() {
                self.run = None;
                self.events.ready.clear();
                return Err(error.into());
            }
        }
    }

    /// When the child started, in clock ticks from boot; 0 once the run is over.
    pub fn start_time(&self) -> u64 {
        self.run.as_ref().map_or(0, AgentRun::start_time)
    }

    /// Ends the run as a signal to this process does. Its events up to its end are still to be taken.
    pub fn interrupt(&mut self) -> Result<(), RunError> {
        self.run.as_mut().map_or(Ok(()), AgentRun::interrupt)
    }

    /// What the run used so far.
    pub fn usage(&self) -> Totals {
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
struct Events {
    reader: Reader,
    journal: Option<Journal>,
    raw: bool,
    judge: Option<Judge>,
    /// Not in the journal yet.
    fresh: Vec<Envelope>,
    ready: VecDeque<Envelope>,
    end: Option<RunEnd>,
}

impl Events {
    fn new(reading: Reading) -> Self {
        // The journal keeps every line, whoever asked for it.
        let raw = reading.raw || reading.journal.is_some();
        let mut reader = Reader::new(reading.decoder, raw);
        if let Some(earlier) = reading.earlier {
            reader = reader.with_earlier(earlier);
        }
        Self {
            reader,
            journal: reading.journal,
            raw: reading.raw,
            judge: Some(reading.judge),
            fresh: Vec::new(),
            ready: VecDeque::new(),
            end: None,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.reader.push(bytes, Timestamp::now(), &mut self.fresh);
    }

    fn finish(&mut self, mut output: ProcessOutput) {
        self.take(&output.stdout.bytes);
        let now = Timestamp::now();
        // One that said that it is done and had to be ended is judged by its word: its exit is ours.
        let own_exit = (output.cause != EndCause::Lingered).then_some(output.exit);
        let said = self.reader.finish(own_exit, now, &mut self.fresh);
        let mut end = RunEnd::of_stream(said, Evidence::Record, &mut output);
        if let Some(usage) = self.judge.take().and_then(|judge| judge(&mut end)) {
            self.reader.used(usage, now, &mut self.fresh);
        }
        end.usage = self.reader.usage();
        self.reader.end(end.event.clone(), now, &mut self.fresh);
        self.end = Some(end);
    }

    /// Writes what is new to the journal, then makes it ready to be taken.
    fn keep(&mut self) -> Result<(), LogError> {
        if let Some(journal) = &mut self.journal {
            journal.append(&self.fresh)?;
            if let Some(end) = &self.end {
                journal.end(end, self.reader.before())?;
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
