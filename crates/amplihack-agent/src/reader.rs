//! From an agent's bytes to numbered events: the framer, the decoder and the ledger, together.

use amplihack_sys::ProcessExit;
use bytes::Bytes;
use jiff::Timestamp;

use crate::decode::Decode;
use crate::event::{AgentEvent, AgentUsage, AgentWarning, EndEvent, Envelope, UsageTotals};
use crate::framer::{Framer, StreamFrame};
use crate::ledger::UsageLedger;

/// Reads the output of one run, live or recorded. It has no clock: whoever reads says when.
pub struct AgentStreamReader {
    framer: Framer,
    numbers: EventNumberer,
}

/// Usage of earlier runs of an agent's session, by the agent's name of the session.
pub type EarlierUsage = Box<dyn FnOnce(&str) -> UsageTotals + Send>;

/// All but the framer, which lends out the line while they work on it.
struct EventNumberer {
    decoder: Box<dyn Decode>,
    raw: bool,
    ledger: UsageLedger,
    /// Asked once, at the first total.
    earlier: Option<EarlierUsage>,
    before: Option<UsageTotals>,
    seq: u64,
    events: Vec<AgentEvent>,
}

impl AgentStreamReader {
    /// A reader with `decoder`; with `raw`, each line's own bytes go with its first event.
    pub fn new(decoder: Box<dyn Decode>, raw: bool) -> Self {
        let numbers = EventNumberer {
            decoder,
            raw,
            ledger: UsageLedger::default(),
            earlier: None,
            before: None,
            seq: 0,
            events: Vec::new(),
        };
        Self { framer: Framer::default(), numbers }
    }

    /// Returns the reader for an agent that states its session's totals: what earlier runs used is taken off each of them.
    #[must_use]
    pub fn with_earlier(mut self, earlier: EarlierUsage) -> Self {
        self.numbers.earlier = Some(earlier);
        self
    }

    /// Returns the amounts taken off the totals, if a total came and the session was known.
    pub fn earlier_totals(&self) -> Option<UsageTotals> {
        self.numbers.before
    }

    /// Reads `bytes` that came at the time `now`, and adds what they complete to `out`.
    pub fn push(&mut self, bytes: &[u8], now: Timestamp, out: &mut Vec<Envelope>) {
        let numbers = &mut self.numbers;
        self.framer.push(bytes, |frame| numbers.take_frame(frame, now, out));
    }

    /// Reports whether the agent has said that it is done.
    pub fn is_over(&self) -> bool {
        self.numbers.decoder.is_over()
    }

    /// Returns the usage so far.
    pub fn usage(&self) -> UsageTotals {
        self.numbers.ledger.totals()
    }

    /// Reads what no newline ended, and says how the run ended; see [`Decode::finish`].
    pub fn finish(&mut self, exit: Option<ProcessExit>, now: Timestamp, out: &mut Vec<Envelope>) -> EndEvent {
        let numbers = &mut self.numbers;
        self.framer.finish(|frame| numbers.take_frame(frame, now, out));
        numbers.decoder.finish(exit)
    }

    /// Numbers what a run used and told elsewhere.
    pub fn number_usage(&mut self, mut usage: AgentUsage, now: Timestamp, out: &mut Vec<Envelope>) {
        self.numbers.count_usage(&mut usage);
        self.numbers.emit_event(AgentEvent::Usage(usage), None, now, out);
    }

    /// Numbers `end` as the last event.
    pub fn number_end(&mut self, end: EndEvent, now: Timestamp, out: &mut Vec<Envelope>) {
        self.numbers.emit_event(AgentEvent::End(end), None, now, out);
    }
}

impl EventNumberer {
    fn take_frame(&mut self, frame: StreamFrame<'_>, now: Timestamp, out: &mut Vec<Envelope>) {
        let mut events = std::mem::take(&mut self.events);
        let mut raw = None;
        match frame {
            StreamFrame::Line(line) => {
                self.decoder.decode_line(line, &mut events);
                raw = self.raw.then(|| Bytes::copy_from_slice(line));
            }
            StreamFrame::TooLong(bytes) => {
                let text = format!("a line of {bytes} bytes was passed over");
                events.push(AgentEvent::Warning(AgentWarning::new("too_long", text)));
            }
        }
        for mut event in events.drain(..) {
            if let AgentEvent::Usage(usage) = &mut event {
                self.count_usage(usage);
            }
            self.emit_event(event, raw.take(), now, out);
        }
        self.events = events;
    }

    /// Takes a report in, a total without what earlier runs used.
    fn count_usage(&mut self, usage: &mut AgentUsage) {
        if usage.total {
            if let Some(session) = self.decoder.session()
                && let Some(earlier) = self.earlier.take()
            {
                self.before = Some(earlier(session));
            }
            usage.amounts = usage.amounts.subtract_earlier(&self.before.unwrap_or_default());
        }
        self.ledger.observe(usage);
    }

    fn emit_event(&mut self, event: AgentEvent, raw: Option<Bytes>, at: Timestamp, out: &mut Vec<Envelope>) {
        out.push(Envelope { seq: self.seq, at, raw, event });
        self.seq += 1;
    }
}

#[cfg(test)]
mod tests {
    use amplihack_config::agent_binary::AgentBinary;
    use jiff::Timestamp;

    use super::{AgentEvent, AgentStreamReader, ProcessExit, UsageTotals};
    use crate::decode::{PlainText, new_decoder};

    #[test]
    fn events_are_numbered_without_gaps_and_lines_go_with_their_first_event() {
        let mut reader = AgentStreamReader::new(Box::new(PlainText::new(AgentBinary::Amplifier)), true);
        let now = Timestamp::UNIX_EPOCH;
        let mut out = Vec::new();
        reader.push(b"a\nb", now, &mut out);
        let end = reader.finish(Some(ProcessExit::Code(0)), now, &mut out);
        reader.number_end(end, now, &mut out);
        let seen: Vec<_> = out.iter().map(|event| (event.seq, event.raw.as_deref())).collect();
        assert_eq!(seen, [(0, Some(&b"a"[..])), (1, None), (2, Some(b"b")), (3, None)]);
        assert!(matches!(&out.last().unwrap().event, AgentEvent::End(end) if end.is_success()));
    }

    #[test]
    fn what_earlier_runs_used_is_taken_off_each_total_of_the_session() {
        let lines = b"{\"type\":\"thread.started\",\"thread_id\":\"s\"}\n\
            {\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":50,\"output_tokens\":9}}\n\
            {\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":70,\"output_tokens\":12}}\n";
        let before = UsageTotals { input_tokens: 40, output_tokens: 10, ..UsageTotals::default() };
        let earlier = move |session: &str| {
            assert_eq!(session, "s");
            before
        };
        let mut reader =
            AgentStreamReader::new(new_decoder(AgentBinary::Codex), false).with_earlier(Box::new(earlier));
        let mut out = Vec::new();
        reader.push(lines, Timestamp::UNIX_EPOCH, &mut out);
        let told: Vec<(u64, u64)> = out
            .iter()
            .filter_map(|event| match &event.event {
                AgentEvent::Usage(usage) => Some((usage.amounts.input_tokens, usage.amounts.output_tokens)),
                _ => None,
            })
            .collect();
        assert_eq!(told, [(10, 0), (30, 2)]);
        assert_eq!((reader.usage().input_tokens, reader.earlier_totals()), (30, Some(before)));
    }
}
