//! GitHub Copilot CLI, which speaks two dialects: it answers in that of the event's name by which a hook is registered.

use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::fs::repository_root;
use serde_json::Value;

use super::{Host, Speech, claude, has};
use crate::dialect::{Answers, Kind};
use crate::event::HookEvent;
use crate::switches::{KEY, says_so};

pub(super) static HOST: Host = Host {
    event_name: HookEvent::claude_name,
    second: 1,
    end_is_stop: true,
    plain_json: false,
    reads: |_| true,
    bring: claude::plugin,
    switched_off: |_, cwd| Some((switched_off(cwd)?, KEY)),
    left_out: |_, _, _| None,
    trusts: |_, _| true,
    trusted_by: None,
};

/// A hook that is registered by one of Copilot's own event names.
pub(super) static OWN: Speech = Speech {
    host: AgentBinary::Copilot,
    name: "copilot",
    sent: |payload| {
        has(payload, &["sessionId", "toolName", "toolArgs", "hookName"])
            && !has(payload, &["hook_event_name", "session_id", "tool_name", "tool_input"])
    },
    answers: Answers { nested: false, deny_code: 0, asks: true, allows: true, nested_context: false },
    tools: TOOLS,
};

/// A hook that is registered by one of Claude's event names.
pub(super) static AS_CLAUDE: Speech = Speech {
    host: AgentBinary::Copilot,
    name: "copilot in Claude's dialect",
    // Copilot alone says the time in Claude's dialect.
    sent: |payload| {
        has(payload, &["hook_event_name", "session_id", "tool_name", "tool_input"])
            && payload.get("timestamp").is_some_and(Value::is_string)
    },
    // Copilot drops every reason when the code is not 0.
    answers: Answers { nested: true, deny_code: 0, asks: true, allows: true, nested_context: false },
    tools: TOOLS,
};

/// Files of a directory that Copilot takes the setting from, trusted or not. The same word in its own home was shown to switch
/// nothing off.
const IN_DIRECTORY: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
];

fn switched_off(cwd: &Path) -> Option<PathBuf> {
    let root = repository_root(cwd);
    let directories = cwd.ancestors().take_while(|directory| {
        // Beyond the repository's root nothing is its own; without a repository only the directory itself counts.
        *directory == cwd || root.as_ref().is_some_and(|root| directory.starts_with(root))
    });
    directories
        .flat_map(|directory| IN_DIRECTORY.iter().map(|file| directory.join(file)))
        .find(|file| says_so(file, KEY, true))
}

const TOOLS: &[(&str, Kind)] = &[
    ("bash", Kind::Shell),
    ("shell", Kind::Shell),
    ("powershell", Kind::Shell),
    ("write_bash", Kind::Shell),
    ("write_powershell", Kind::Shell),
    ("read_bash", Kind::Other),
    ("read_powershell", Kind::Other),
    ("stop_bash", Kind::Other),
    ("stop_powershell", Kind::Other),
    ("list_bash", Kind::Other),
    ("create", Kind::Write),
    ("write", Kind::Write),
    ("edit", Kind::Edit),
    ("str_replace", Kind::Edit),
    ("str_replace_editor", Kind::Edit),
    ("insert", Kind::Edit),
    ("apply_patch", Kind::Edit),
    ("view", Kind::Read),
    ("read", Kind::Read),
    ("show_file", Kind::Read),
    ("grep", Kind::Read),
    ("rg", Kind::Read),
    ("glob", Kind::Read),
    ("web_fetch", Kind::Fetch),
    ("webfetch", Kind::Fetch),
    ("web_search", Kind::Other),
    ("task", Kind::Agent),
    ("agent", Kind::Agent),
    ("read_agent", Kind::Other),
    ("list_agents", Kind::Other),
    ("report_intent", Kind::Other),
    ("update_todo", Kind::Other),
    ("ask_user", Kind::Other),
    ("skill", Kind::Other),
    ("sql", Kind::Other),
    ("store_memory", Kind::Other),
    ("fetch_copilot_cli_documentation", Kind::Other),
];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_anywhere_between_the_directory_and_the_root_counts() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let (root, cwd) = (base.join("r"), base.join("r/a/b"));
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        for (file, counts) in [
            ("r/a/b/.claude/settings.json", true),
            ("r/a/.github/copilot/settings.json", true),
            ("r/.claude/settings.local.json", true),
            (".claude/settings.json", false),
            ("home/.copilot/settings.json", false),
            ("home/.copilot/config.json", false),
        ] {
            let file = base.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "{ // why\n \"disableAllHooks\": true,\n}").unwrap();
            let found = switched_off(&cwd);
            assert_eq!(found, counts.then(|| file.clone()), "{}", file.display());
            fs::remove_file(&file).unwrap();
        }
    }
}
