//! The host's side, for trials of a hook: what a host sends, and what it makes of the answer.

use std::path::Path;

use amplihack_config::agent_binary::AgentBinary;
use serde_json::{Value, json};

use crate::event::HookEvent;
use crate::registration::registered_name;

/// The result of a registered command for one payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialAnswer {
    /// `true` if the host would have stopped the call.
    pub stopped: bool,
    /// The exit code of the command.
    pub code: i32,
    /// The object that it printed, `null` for silence.
    pub object: Value,
    /// `true` if the command printed something that is no object, which hosts take for silence.
    pub garbage: bool,
}

/// Reads an answer to a tool call as the host does.
pub fn read_as_host(agent: AgentBinary, code: i32, stdout: &[u8], stderr: &[u8]) -> TrialAnswer {
    let text = String::from_utf8_lossy(stdout);
    let parsed = serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_object);
    let garbage = parsed.is_none() && !text.trim().is_empty();
    let object = parsed.unwrap_or(Value::Null);
    let said = !stderr.trim_ascii().is_empty();
    let nested = object["hookSpecificOutput"]["permissionDecision"] == "deny";
    let stopped = match agent {
        AgentBinary::Copilot => code != 0 || object["permissionDecision"] == "deny",
        AgentBinary::Codex => (code == 2 && said) || (code == 0 && nested),
        _ => code == 2 || nested || object["decision"] == "block",
    };
    TrialAnswer { stopped, code, object, garbage }
}

/// The payload that the host would send about `event` in `cwd`, with a shell `command` where there is a tool.
pub fn trial_payload(agent: AgentBinary, event: HookEvent, command: &str, cwd: &Path) -> Value {
    let cwd = cwd.to_string_lossy();
    if agent == AgentBinary::Copilot {
        let mut payload = json!({"sessionId": "amplihack-verify", "timestamp": 0, "cwd": cwd});
        if event.is_guard() || event == HookEvent::PostToolUse {
            payload["toolName"] = "bash".into();
            payload["toolArgs"] = json!({"command": command});
        }
        if event == HookEvent::UserPromptSubmit {
            payload["prompt"] = "hello".into();
        }
        return payload;
    }
    let mut payload = json!({
        "session_id": "amplihack-verify",
        "transcript_path": "/dev/null",
        "cwd": cwd,
        "hook_event_name": registered_name(agent, event).map(|(name, _)| name),
        "permission_mode": "default",
    });
    if event.is_guard() || event == HookEvent::PostToolUse {
        payload["tool_name"] = "Bash".into();
        payload["tool_input"] = json!({"command": command});
        payload["tool_use_id"] = "amplihack-verify".into();
    }
    if event == HookEvent::PostToolUse {
        payload["tool_response"] = "".into();
    }
    if event == HookEvent::UserPromptSubmit {
        payload["prompt"] = "hello".into();
    }
    if agent == AgentBinary::Codex {
        payload["turn_id"] = "amplihack-verify".into();
        payload["model"] = "none".into();
    }
    payload
}
