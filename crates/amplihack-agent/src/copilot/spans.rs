//! Copilot's spans (OpenTelemetry) in a file: one for each answer of the model, with its tokens.

use std::path::Path;

use amplihack_config::env::Env;
use serde::Deserialize;

use crate::event::UsageTotals;
use crate::live::{LiveFile, UsageSpan};

/// Spans at `file`, unless the user sends them elsewhere or wants none.
pub(crate) fn spans_file(env: &Env, file: &Path) -> Option<LiveFile> {
    let theirs = |name: &str| name.starts_with("COPILOT_OTEL_") || name.starts_with("OTEL_");
    if env.iter().any(|(name, _)| name.to_str().is_some_and(theirs)) {
        return None;
    }
    Some(LiveFile::Spans {
        file: file.to_owned(),
        env: vec![
            ("COPILOT_OTEL_ENABLED", "true".into()),
            ("COPILOT_OTEL_EXPORTER_TYPE", "file".into()),
            ("COPILOT_OTEL_FILE_EXPORTER_PATH", file.into()),
        ],
    })
}

#[derive(Deserialize)]
struct CopilotSpanLine {
    #[serde(default)]
    attributes: CopilotSpanAttributes,
}

#[derive(Deserialize, Default)]
struct CopilotSpanAttributes {
    #[serde(rename = "gen_ai.operation.name", default)]
    operation: String,
    #[serde(rename = "gen_ai.conversation.id", default)]
    conversation: String,
    #[serde(rename = "gen_ai.usage.input_tokens", default)]
    input: u64,
    #[serde(rename = "gen_ai.usage.output_tokens", default)]
    output: u64,
    #[serde(rename = "gen_ai.usage.cache_read.input_tokens", default)]
    read: u64,
    #[serde(rename = "gen_ai.usage.cache_creation.input_tokens", default)]
    written: u64,
}

/// Tokens of an answer of the model, and its conversation, if the line is about one.
pub(crate) fn read_span(line: &[u8]) -> Option<UsageSpan> {
    memchr::memmem::find(line, b"gen_ai.usage.input_tokens")?;
    let CopilotSpanAttributes { operation, conversation, input, output, read, written } =
        serde_json::from_slice::<CopilotSpanLine>(line).ok()?.attributes;
    // Spans around others sum up what those say.
    (operation == "chat").then(|| UsageSpan {
        session: conversation,
        amounts: UsageTotals::of_whole_input(input, output, read, written),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_in_its_conversation() {
        let line = |operation: &str, id: &str| {
            format!(
                r#"{{"type":"span","name":"chat m","attributes":{{"gen_ai.operation.name":"{operation}","gen_ai.conversation.id":"{id}","gen_ai.usage.input_tokens":14,"gen_ai.usage.output_tokens":5,"gen_ai.usage.cache_read.input_tokens":4,"github.copilot.cost":0.0}}}}"#
            )
        };
        let UsageSpan { session, amounts } = read_span(line("chat", "s").as_bytes()).unwrap();
        assert_eq!(session, "s");
        assert_eq!((amounts.input_tokens, amounts.cache_read_tokens, amounts.output_tokens), (10, 4, 5));
        assert_eq!(read_span(line("invoke_agent", "s").as_bytes()), None);
        assert_eq!(read_span(b"{}"), None);
    }

    #[test]
    fn a_user_who_sends_spans_elsewhere_keeps_them() {
        let file = Path::new("/f");
        assert!(spans_file(&Env::empty(), file).is_some());
        for name in ["COPILOT_OTEL_ENABLED", "OTEL_EXPORTER_OTLP_ENDPOINT"] {
            assert_eq!(spans_file(&Env::empty().with_variable(name, "x"), file), None);
        }
    }
}
