//! Plain text: what an agent prints is what it says.

use amplihack_config::agent_binary::AgentBinary;
use amplihack_sys::ProcessExit;

use super::Decode;
use crate::event::{AgentEvent, AgentSessionStarted, AgentText, EndEvent, RunEndSummary};

/// The decoder of output without structure. The end of the text is the end of the run; its exit code says which.
#[derive(Debug)]
pub struct PlainText {
    agent: AgentBinary,
    started: bool,
    text: String,
}

impl PlainText {
    /// A decoder of what `agent` prints.
    pub const fn new(agent: AgentBinary) -> Self {
        Self { agent, started: false, text: String::new() }
    }
}

impl Decode for PlainText {
    fn decode_line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(AgentEvent::Started(AgentSessionStarted::new(self.agent)));
        }
        let line = String::from_utf8_lossy(line);
        self.text.push_str(&line);
        self.text.push('\n');
        out.push(AgentEvent::Text(AgentText { text: line.into_owned(), ..AgentText::default() }));
    }

    fn recorded_end(&mut self) -> Option<EndEvent> {
        None
    }

    /// Nothing in a text says that it is complete: code 0 has to do, and no text at all is no result.
    fn finish(&mut self, exit: Option<ProcessExit>) -> EndEvent {
        let text = (!self.text.is_empty()).then(|| std::mem::take(&mut self.text));
        let said = text.as_ref().filter(|_| exit.is_none_or(ProcessExit::is_success));
        let said = said.map(|_| EndEvent::of_success(RunEndSummary::default()));
        let mut end = EndEvent::settle_record(said, exit);
        end.summary.text = text;
        end
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentBinary, Decode, PlainText, ProcessExit};

    #[test]
    fn a_text_and_code_0_are_success() {
        for (line, code, expected) in
            [(Some("hi "), 0, "success"), (None, 0, "no_result"), (Some("hi "), 1, "failed")]
        {
            let mut decoder = PlainText::new(AgentBinary::Amplifier);
            let mut events = Vec::new();
            if let Some(line) = line {
                decoder.decode_line(line.as_bytes(), &mut events);
            }
            let end = decoder.finish(Some(ProcessExit::Code(code)));
            assert_eq!(end.name(), expected);
            assert_eq!(end.summary.text.as_deref(), line.map(|_| "hi \n"));
        }
    }
}
