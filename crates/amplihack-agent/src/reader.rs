//! From an agent's bytes to numbered events: the framer, the decoder and the ledger, together.

use amplihack_utils::sys::Exit;
use bytes::Bytes;
use jiff::Timestamp;

use crate::decode::Decode;
use crate::event::{AgentEvent, End, Envelope, Totals, Usage, Warning};
use crate::framer::{Frame, Framer};
use crate::ledger::Ledger;

/// Reads the output of one run, live or recorded. It has no clock: whoever reads says when.
pub struct Reader {
    framer: Framer,
    numbers: Numbers,
}

/// All but the framer, which lends out the line while they work on it.
struct Numbers {
    decoder: Box<dyn Decode>,
    raw: bool,
    ledger: Ledger,
    seq: u64,
    events: Vec<AgentEvent>,
}

impl Reader {
    /// A reader with `decoder`; with `raw`, each line's own bytes go with its first event.
    pub fn new(decoder: Box<dyn Decode>, raw: bool) -> Self {
        let numbers = Numbers { decoder, raw, ledger: Ledger::default(), seq: 0, events: Vec::new() };
        Self { framer: Framer::default(), numbers }
    }

    /// Reads `bytes` that came at the time `now`, and adds what they complete to `out`.
    pub fn push(&mut self, bytes: &[u8], now: Timestamp, out: &mut Vec<Envelope>) {
        let numbers = &mut self.numbers;
        self.framer.push(bytes, |frame| numbers.frame(frame, now, out));
    }

    /// Whether the agent has said that it is done.
    pub fn is_over(&self) -> bool {
        self.numbers.decoder.is_over()
    }

    /// What was used so far.
    pub fn usage(&self) -> Totals {
        self.numbers.ledger.totals()
    }

    /// Reads what no newline ended, and says how the run ended; see [`Decode::finish`].
    pub fn finish(&mut self, exit: Option<Exit>, now: Timestamp, out: &mut Vec<Envelope>) -> End {
        let numbers = &mut self.numbers;
        self.framer.finish(|frame| numbers.frame(frame, now, out));
        numbers.decoder.finish(exit)
    }

    /// Numbers what a run used and told elsewhere.
    pub fn used(&mut self, usage: Usage, now: Timestamp, out: &mut Vec<Envelope>) {
        self.numbers.ledger.observe(&usage);
        self.numbers.put(AgentEvent::Usage(usage), None, now, out);
    }

    /// Numbers `end` as the last event.
    pub fn end(&mut self, end: End, now: Timestamp, out: &mut Vec<Envelope>) {
        self.numbers.put(AgentEvent::End(end), None, now, out);
    }
}

impl Numbers {
    fn frame(&mut self, frame: Frame<'_>, now: Timestamp, out: &mut Vec<Envelope>) {
        let mut events = std::mem::take(&mut self.events);
        let mut raw = None;
        match frame {
            Frame::Line(line) => {
                self.decoder.line(line, &mut events);
                raw = self.raw.then(|| Bytes::copy_from_slice(line));
            }
            Frame::TooLong(bytes) => {
                let text = format!("a line of {bytes} bytes was passed over");
                events.push(AgentEvent::Warning(Warning::new("too_long", text)));
            }
        }
        for event in events.drain(..) {
            if let AgentEvent::Usage(usage) = &event {
                self.ledger.observe(usage);
            }
            self.put(event, raw.take(), now, out);
        }
        self.events = events;
    }

    fn put(&mut self, event: AgentEvent, raw: Option<Bytes>, at: Timestamp, out: &mut Vec<Envelope>) {
        out.push(Envelope { seq: self.seq, at, raw, event });
        self.seq += 1;
    }
}

#[cfg(test)]
mod tests {
    use amplihack_utils::agent_binary::AgentBinary;
    use jiff::Timestamp;

    use super::{AgentEvent, Exit, Reader};
    use crate::decode::PlainText;

    #[test]
    fn events_are_numbered_without_gaps_and_lines_go_with_their_first_event() {
        let mut reader = Reader::new(Box::new(PlainText::new(AgentBinary::Amplifier)), true);
        let now = Timestamp::UNIX_EPOCH;
        let mut out = Vec::new();
        reader.push(b"a\nb", now, &mut out);
        let end = reader.finish(Some(Exit::Code(0)), now, &mut out);
        reader.end(end, now, &mut out);
        let seen: Vec<_> = out.iter().map(|event| (event.seq, event.raw.as_deref())).collect();
        assert_eq!(seen, [(0, Some(&b"a"[..])), (1, None), (2, Some(b"b")), (3, None)]);
        assert!(matches!(&out.last().unwrap().event, AgentEvent::End(end) if end.is_success()));
    }
}
