//! Steps that the decoders of JSON lines share: from bytes to JSON, and what becomes of a line that says nothing else.

use std::borrow::Cow;

use amplihack_sys::ProcessExit;
use serde_json::value::RawValue;

use super::wire::{WireText, record};
use crate::event::{AgentEvent, AgentRawLine, AgentWarning, EndEvent, EventJson, mend_surrogates};

/// Reason of a failed run whose result names none.
pub(crate) const NO_REASON: &str = "the agent ended with an empty result";

/// Reads one line of JSON of one agent.
pub(crate) trait AgentLineReader {
    /// Adds what the JSON text `line` says to `out`; nothing if it has no place there. On an error nothing has changed.
    fn read_json(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error>;
}

/// Gives `line` to `reader`. Adds at least one event: what the reader leaves out is [`AgentEvent::Raw`].
pub(crate) fn read(reader: &mut impl AgentLineReader, line: &[u8], out: &mut Vec<AgentEvent>) {
    let text = match simdutf8::compat::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            out.push(warning_event("not_utf8", format!("bytes that are no UTF-8 were replaced: {error}")));
            String::from_utf8_lossy(line)
        }
    };
    let before = out.len();
    let failed = reader.read_json(&text, out).err();
    if failed.is_some()
        && let Some(mended) = mend_surrogates(&text)
    {
        // What fails again is shown as it came.
        let _ = reader.read_json(&mended, out);
    }
    if out.len() == before {
        emit_unread(&text, out);
    }
}

/// A warning of `kind`, as an event.
pub(crate) fn warning_event(kind: &str, message: impl Into<String>) -> AgentEvent {
    AgentEvent::Warning(AgentWarning::new(kind, message))
}

/// JSON that the model has no place for; its text, where no reader of values takes it.
pub(crate) fn raw_value_event(kind: Option<String>, value: &RawValue) -> AgentEvent {
    // A value of null reads as none.
    let (value, text) = match EventJson::from_sound(value).filter(|_| value.get() != "null") {
        Some(value) => (Some(value), None),
        None => (None, Some(value.get().to_owned())),
    };
    AgentEvent::Raw(AgentRawLine { kind, value, text })
}

/// Methods of a decoder of lines that keeps its session's id, its last text and its recorded end in fields of these names. What
/// the agent said of its end is its own to tell.
macro_rules! kept {
    () => {
        fn decode_line(&mut self, line: &[u8], out: &mut Vec<$crate::AgentEvent>) {
            $crate::decode::lines::read(self, line, out);
        }

        fn is_over(&self) -> bool {
            self.end.is_some()
        }

        fn finish(&mut self, exit: Option<amplihack_sys::ProcessExit>) -> $crate::EndEvent {
            $crate::decode::lines::settle_end(
                self.recorded_end(),
                exit,
                self.text.as_ref(),
                self.session.as_ref(),
            )
        }
    };
}
pub(crate) use kept;

/// The end of a run, given the last thing that the agent said, and its name of the session.
pub(crate) fn settle_end(
    said: Option<EndEvent>,
    exit: Option<ProcessExit>,
    text: Option<&String>,
    session: Option<&String>,
) -> EndEvent {
    let mut end = EndEvent::settle_record(said, exit);
    let summary = &mut end.summary;
    summary.text = summary.text.take().or_else(|| text.cloned());
    summary.agent_session = summary.agent_session.take().or_else(|| session.cloned());
    end
}

record! {
    struct LineTypeNames<'a> {
        kind: WireText<'a> = "type",
        subtype: WireText<'a> = "subtype",
        item: Option<InnerTypeName<'a>> = "item",
        event: Option<InnerTypeName<'a>> = "event",
    }
    struct InnerTypeName<'a> {
        kind: WireText<'a> = "type",
    }
}

/// A line without a place: whole, with the agent's word for it.
pub(crate) fn emit_unread(line: &str, out: &mut Vec<AgentEvent>) {
    match serde_json::from_str::<&RawValue>(line) {
        Ok(value) => {
            let LineTypeNames { kind, subtype, item, event } = serde_json::from_str(line).unwrap_or_default();
            let inner = [Some(subtype), item.map(|item| item.kind), event.map(|event| event.kind)];
            let inner = inner.into_iter().flatten().find_map(WireText::into_option);
            let kind = kind.into_option().map(|word| match inner {
                Some(inner) => format!("{word}/{inner}"),
                None => word,
            });
            out.push(raw_value_event(kind, value));
        }
        Err(error) => {
            out.push(warning_event("not_json", format!("a line of the agent's stream is not JSON: {error}")));
            out.push(AgentEvent::Raw(AgentRawLine { kind: None, value: None, text: Some(line.to_owned()) }));
        }
    }
}
