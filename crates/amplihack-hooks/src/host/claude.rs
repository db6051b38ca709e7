//! Claude Code.

use std::path::Path;

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;
use serde_json::json;

use super::{Brought, Host, Speech};
use crate::dialect::{Answers, Kind};
use crate::error::HookError;
use crate::event::HookEvent;
use crate::registration::{Hook, in_claudes_format};

pub(super) static HOST: Host = Host {
    event_name: HookEvent::claude_name,
    second: 1,
    end_is_stop: false,
    plain_json: false,
    reads: |_| true,
    bring: plugin,
    // Its row in the flag matrix overrules such a setting for a launch.
    switched_off: |_, _| None,
    left_out: |_, _, _| None,
    trusts: |_, _| true,
    trusted_by: None,
};

pub(super) static SPEECH: Speech = Speech {
    host: AgentBinary::Claude,
    name: "claude",
    sent: |_| true,
    answers: Answers { nested: true, deny_code: 2, asks: true, allows: true, nested_context: true },
    tools: TOOLS,
};

/// A plugin directory.
#[expect(clippy::unnecessary_wraps, reason = "others read files of users")]
pub(super) fn plugin(hooks: &[Hook], directory: &Path, _: &Env) -> Result<Brought, HookError> {
    let manifest = json!({
        "name": "amplihack",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "the guard of this amplihack launch",
    });
    Ok(Brought {
        values: vec![directory.into()],
        files: vec![
            (".claude-plugin/plugin.json", format!("{manifest:#}\n")),
            ("hooks/hooks.json", format!("{:#}\n", in_claudes_format(hooks))),
        ],
    })
}

const TOOLS: &[(&str, Kind)] = &[
    ("bash", Kind::Shell),
    ("powershell", Kind::Shell),
    ("monitor", Kind::Shell),
    ("bashoutput", Kind::Other),
    ("taskoutput", Kind::Other),
    ("killshell", Kind::Other),
    ("taskstop", Kind::Other),
    ("write", Kind::Write),
    ("edit", Kind::Edit),
    ("multiedit", Kind::Edit),
    ("notebookedit", Kind::Edit),
    ("read", Kind::Read),
    ("glob", Kind::Read),
    ("grep", Kind::Read),
    ("ls", Kind::Read),
    ("webfetch", Kind::Fetch),
    ("websearch", Kind::Other),
    ("task", Kind::Agent),
    ("agent", Kind::Agent),
    ("skill", Kind::Other),
    ("slashcommand", Kind::Other),
    ("todowrite", Kind::Other),
    ("askuserquestion", Kind::Other),
    ("exitplanmode", Kind::Other),
    ("enterplanmode", Kind::Other),
    ("toolsearch", Kind::Other),
];
