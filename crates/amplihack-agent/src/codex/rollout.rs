//! Codex's own record of a session, the rollout: it counts tokens after each answer of the model.

use std::path::PathBuf;

use amplihack_config::env::Env;
use serde::Deserialize;

use crate::event::UsageTotals;
use crate::live::RolloutLine;

/// The directory of the rollouts, by day.
pub(crate) fn rollout_directory(env: &Env) -> Option<PathBuf> {
    let home = env.path("CODEX_HOME").or_else(|| Some(env.home()?.join(".codex")))?;
    Some(home.join("sessions"))
}

#[derive(Deserialize)]
struct CodexRolloutLine {
    payload: CodexRolloutPayload,
}

#[derive(Deserialize)]
struct CodexRolloutPayload {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    info: Option<CodexTokenInfo>,
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
}

#[derive(Deserialize)]
struct CodexTokenInfo {
    total_token_usage: CodexRolloutCounts,
}

#[derive(Deserialize)]
struct CodexRolloutCounts {
    #[serde(rename = "input_tokens", default)]
    input: u64,
    #[serde(rename = "cached_input_tokens", default)]
    read: u64,
    #[serde(rename = "cache_write_input_tokens", default)]
    written: u64,
    #[serde(rename = "output_tokens", default)]
    output: u64,
    #[serde(rename = "reasoning_output_tokens", default)]
    reasoning: Option<u64>,
}

/// Tokens used up to this line, or the tool call in it, if the line has one of them.
pub(crate) fn rollout_line(line: &[u8]) -> Option<RolloutLine> {
    // Most lines are long and say something else.
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    if !has(b"\"token_count\"") && !has(b"_call\"") {
        return None;
    }
    let CodexRolloutPayload { kind, info, call_id, .. } =
        serde_json::from_slice::<CodexRolloutLine>(line).ok()?.payload;
    match kind.as_str() {
        "token_count" => {
            let counts = info?.total_token_usage;
            let totals = UsageTotals {
                reasoning_tokens: counts.reasoning,
                ..UsageTotals::of_whole_input(counts.input, counts.output, counts.read, counts.written)
            };
            Some(RolloutLine::Total(totals))
        }
        "function_call" | "custom_tool_call" | "local_shell_call" => call_id.map(RolloutLine::Call),
        _ => None,
    }
}

/// The session of a rollout with this first line. A nested agent has an id of its own, and the session of the first one.
pub(crate) fn rollout_session(line: &[u8]) -> Option<String> {
    serde_json::from_slice::<CodexRolloutLine>(line).ok()?.payload.session_id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_and_other_lines_are_passed_over() {
        let line = br#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":28,"cached_input_tokens":8,"output_tokens":10,"reasoning_output_tokens":2,"total_tokens":38},"last_token_usage":{}},"rate_limits":null}}"#;
        let Some(RolloutLine::Total(totals)) = rollout_line(line) else { panic!() };
        assert_eq!((totals.input_tokens, totals.cache_read_tokens, totals.output_tokens), (20, 8, 10));
        assert_eq!(totals.reasoning_tokens, Some(2));
        for other in [
            &br#"{"payload":{"type":"token_count","info":null}}"#[..],
            br#"{"payload":{"type":"message","text":"\"token_count\""}}"#,
            b"token_count",
            b"",
        ] {
            assert_eq!(rollout_line(other), None);
        }
        let call = br#"{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"call_1"}}"#;
        assert_eq!(rollout_line(call), Some(RolloutLine::Call("call_1".to_owned())));
        let output = br#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"call_1","output":"x"}}"#;
        assert_eq!(rollout_line(output), None);
    }

    #[test]
    fn a_nested_agent_belongs_to_the_session_of_the_first_one() {
        let line = br#"{"type":"session_meta","payload":{"session_id":"a","id":"b","parent_thread_id":"a","source":{"subagent":{}}}}"#;
        assert_eq!(rollout_session(line).as_deref(), Some("a"));
        assert_eq!(rollout_session(b"{}"), None);
    }
}
