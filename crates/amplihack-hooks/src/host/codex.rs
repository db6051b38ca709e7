//! Codex: Claude's shape, with a stricter reader of answers.

use std::ffi::OsString;

use amplihack_agent::command::toml_string;
use amplihack_utils::agent_binary::AgentBinary;

use super::{Brought, Host, Speech, has};
use crate::dialect::{Answers, Kind};
use crate::event::HookEvent;
use crate::registration::Hook;

pub(super) static HOST: Host = Host {
    event_name: |event| match event {
        HookEvent::SubagentStop | HookEvent::PreCompact => None,
        event => event.claude_name(),
    },
    second: 1,
    end_is_stop: false,
    plain_json: true,
    reads: |_| true,
    bring: |hooks, _, _| Ok(Brought { values: hooks.iter().map(value).collect(), files: Vec::new() }),
    // Its row in the flag matrix overrules such a setting for a launch.
    switched_off: |_, _| None,
    left_out: |_, _, _| None,
    trusts: |_, _| true,
    trusted_by: None,
};

pub(super) static SPEECH: Speech = Speech {
    host: AgentBinary::Codex,
    name: "codex",
    sent: |payload| {
        let transcript = payload.get("transcript_path").and_then(|path| path.as_str());
        has(payload, &["turn_id"]) || transcript.is_some_and(|path| path.contains("/.codex/"))
    },
    // `ask` and `allow` are unknown to Codex, and what it does not know lets the call run.
    answers: Answers { nested: true, deny_code: 2, asks: false, allows: false, nested_context: true },
    tools: TOOLS,
};

/// One hook as a value of its configuration.
fn value(hook: &Hook) -> OsString {
    let Hook { name, command, timeout, .. } = hook;
    let command = toml_string(command);
    format!(
        "hooks.{name}=[{{matcher=\"*\",hooks=[{{type=\"command\",command={command},timeout={timeout}}}]}}]"
    )
    .into()
}

const TOOLS: &[(&str, Kind)] = &[
    ("bash", Kind::Shell),
    ("shell", Kind::Shell),
    ("shell_command", Kind::Shell),
    ("local_shell", Kind::Shell),
    ("exec", Kind::Shell),
    ("exec_command", Kind::Shell),
    ("write_stdin", Kind::Shell),
    ("unified_exec", Kind::Shell),
    ("apply_patch", Kind::Edit),
    ("edit", Kind::Edit),
    ("write", Kind::Write),
    ("read_file", Kind::Read),
    ("view_image", Kind::Read),
    ("list_dir", Kind::Read),
    ("grep_files", Kind::Read),
    ("web_search", Kind::Other),
    ("update_plan", Kind::Other),
    ("spawn_agent", Kind::Agent),
    ("send_input", Kind::Agent),
    ("wait", Kind::Other),
    ("close_agent", Kind::Other),
];
