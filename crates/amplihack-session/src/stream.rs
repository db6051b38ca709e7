//! A run as a stream of events: read, decoded, written to its journal, then given to whoever asks.

use std::collections::VecDeque;

use amplihack_agent::decode::Decode;
use amplihack_agent::event::{AgentEvent, End, Envelope, FailKind, Totals, Warning};
use amplihack_agent::framer::{Frame, Framer};
use amplihack_agent::ledger::Ledger;
use bytes::Bytes;
use jiff::Timestamp;

use crate::error::RunError;
use crate::journal::Journal;
use crate::outcome::{Deadline, Outcome, Why};
use crate::run::AgentRun;
use crate::spec::{Output, RunSpec};

/// What of standard error is kept for the end of a run, unless the spec says otherwise.
const STDERR_TAIL: usize = 256 * 1024;

/// How a run's output becomes events.
pub struct Reading {
    /// Reads the agent's lines.
    pub decoder: Box<dyn Decode>,
    /// Where events go before anybody sees them. Default: nowhere.
    pub journal: Option<Journal>,
    /// Whether each line's own bytes go with its first event.
    pub raw: bool,
    /// Has the last word on how the run ended. Default: changes nothing.
    pub judge: Box<dyn FnOnce(&mut End) + Send>,
}

impl Reading {
    /// Reading with `decoder`, without a journal and without the lines themselves.
    pub fn new(decoder: Box<dyn Decode>) -> Self {
        Self { decoder, journal: None, raw: false, judge: Box::new(|_| {}) }
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
    outcome: Option<Outcome>,
}

/// What became of a run, besides its events.
#[derive(Debug)]
pub struct Finished {
    /// How the run ended: the same as in its last event.
    pub end: End,
    /// What it used.
    pub usage: Totals,
    /// The processes' end, the tail of standard error, survivors.
    pub outcome: Outcome,
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
        Ok(Self { run: Some(run), events: Events::new(reading), outcome: None })
    }

    /// The child's process id; 0 once the run is over.
    pub fn pid(&self) -> u32 {
        self.run.as_ref().map_or(0, AgentRun::pid)
    }

    /// The next event. `None` after the last one, which is [`AgentEvent::End`] and comes exactly once. Cancel-safe.
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
                    self.events.take(&bytes);
                    if self.events.is_over() {
                        run.expect_end()?;
                    }
                }
                Ok(None) => {
                    if let Some(outcome) = self.run.take().map(AgentRun::finish).transpose()? {
                        self.events.finish(&outcome);
                        self.outcome = Some(outcome);
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

    /// What the run used so far.
    pub fn usage(&self) -> Totals {
        self.events.ledger.totals()
    }

    /// What became of the run, if it is over and its last event was taken; else the run, which goes on.
    pub fn finish(self) -> Result<Finished, Box<Self>> {
        match (self.outcome, self.events.end) {
            (Some(outcome), Some(end)) => Ok(Finished { end, usage: self.events.ledger.totals(), outcome }),
            (outcome, end) => {
                Err(Box::new(Self { run: self.run, outcome, events: Events { end, ..self.events } }))
            }
        }
    }

    /// Takes all remaining events without looking at them, and says what became of the run.
    pub async fn wait(mut self) -> Result<Finished, RunError> {
        loop {
            while self.next().await?.is_some() {}
            match self.finish() {
                Ok(finished) => return Ok(finished),
                Err(run) => self = *run,
            }
        }
    }
}

/// From bytes to numbered events that are in the journal.
struct Events {
    decoder: Box<dyn Decode>,
    framer: Framer,
    journal: Option<Journal>,
    raw: bool,
    judge: Option<Box<dyn FnOnce(&mut End) + Send>>,
    ledger: Ledger,
    seq: u64,
    /// Not in the journal yet.
    fresh: Vec<Envelope>,
    ready: VecDeque<Envelope>,
    end: Option<End>,
}

impl Events {
    fn new(reading: Reading) -> Self {
        Self {
            decoder: reading.decoder,
            framer: Framer::default(),
            journal: reading.journal,
            raw: reading.raw,
            judge: Some(reading.judge),
            ledger: Ledger::default(),
            seq: 0,
            fresh: Vec::new(),
            ready: VecDeque::new(),
            end: None,
        }
    }

    /// Whether the agent has reported its end.
    fn is_over(&self) -> bool {
        self.decoder.is_over()
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut framer = std::mem::take(&mut self.framer);
        framer.push(bytes, |frame| self.frame(frame));
        self.framer = framer;
    }

    fn frame(&mut self, frame: Frame<'_>) {
        let mut events = Vec::new();
        let mut raw = None;
        match frame {
            Frame::Line(line) => {
                self.decoder.line(line, &mut events);
                // The journal keeps every line, whoever asked for it.
                raw = (self.raw || self.journal.is_some()).then(|| Bytes::copy_from_slice(line));
            }
            Frame::TooLong(bytes) => events.push(AgentEvent::Warning(Warning::new(
                "too_long",
                format!("a line of {bytes} bytes was passed over"),
            ))),
        }
        for event in events {
            if let AgentEvent::Usage(usage) = &event {
                self.ledger.observe(usage);
            }
            self.put(event, raw.take());
        }
    }

    fn put(&mut self, event: AgentEvent, raw: Option<Bytes>) {
        self.fresh.push(Envelope { seq: self.seq, at: Timestamp::now(), raw, event });
        self.seq += 1;
    }

    fn finish(&mut self, outcome: &Outcome) {
        self.take(&outcome.stdout.bytes);
        let mut framer = std::mem::take(&mut self.framer);
        framer.finish(|frame| self.frame(frame));
        let mut end = ending(self.decoder.as_mut(), outcome);
        if let Some(judge) = self.judge.take() {
            judge(&mut end);
        }
        self.put(AgentEvent::End(end.clone()), None);
        self.end = Some(end);
    }

    /// Writes what is new to the journal, then makes it ready to be taken.
    fn keep(&mut self) -> Result<(), amplihack_utils::log::LogError> {
        if let Some(journal) = &mut self.journal {
            journal.append(&self.fresh)?;
            if let Some(end) = &self.end {
                journal.end(end, self.ledger.totals())?;
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

/// How the run ended: what the agent said, and what was done to it.
fn ending(decoder: &mut dyn Decode, outcome: &Outcome) -> End {
    // One that said that it is done and had to be ended is judged by its word: its exit is ours.
    let own_exit = (outcome.why != Why::Lingered).then_some(outcome.exit);
    let mut end = decoder.finish(own_exit);
    let mut summary = std::mem::take(end.summary_mut());
    summary.exit = Some(outcome.exit);
    match outcome.why {
        Why::Ended | Why::Lingered => {
            *end.summary_mut() = summary;
            with_stderr(end, outcome)
        }
        Why::Interrupted(signal) => {
            let message = format!("ended on signal {}", signal.as_raw());
            End::Interrupted { message, summary }
        }
        Why::Deadline(Deadline::Idle) => {
            End::Stalled { message: "no output for longer than the idle deadline".to_owned(), summary }
        }
        Why::Deadline(Deadline::Startup) => {
            let message = "no output before the startup deadline".to_owned();
            End::Failed { kind: FailKind::Startup, message, summary }
        }
        Why::Deadline(Deadline::Total) => {
            End::Budget { message: "longer than the total deadline".to_owned(), summary }
        }
    }
}

/// An agent that fails without a record says why on standard error, in its last line as a rule.
fn with_stderr(mut end: End, outcome: &Outcome) -> End {
    if let End::Failed { kind: FailKind::Exit | FailKind::NoResult, message, .. } = &mut end {
        let stderr = String::from_utf8_lossy(&outcome.stderr.bytes);
        if let Some(line) = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
            let line: String = line.chars().take(500).collect();
            *message = format!("{message}: {line}");
        }
    }
    end
}
