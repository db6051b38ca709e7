//! Kinds of tools by their names: the host's own table first, then those of all others.

use super::{HookDialect, ToolKind};
use crate::host::dialect_spec;

type ToolTable = &'static [(&'static str, ToolKind)];

/// Names that other hosts use, so that a payload of an unexpected shape is not let through for its tool's name.
const ELSEWHERE: ToolTable = &[
    ("pwsh", ToolKind::Shell),
    ("sh", ToolKind::Shell),
    ("zsh", ToolKind::Shell),
    ("cmd", ToolKind::Shell),
    ("terminal", ToolKind::Shell),
    ("run_in_terminal", ToolKind::Shell),
    ("run_terminal_cmd", ToolKind::Shell),
    ("run_shell_command", ToolKind::Shell),
    ("execute_command", ToolKind::Shell),
    ("run_command", ToolKind::Shell),
    ("run_bash", ToolKind::Shell),
    ("shell_exec", ToolKind::Shell),
    ("execute_shell", ToolKind::Shell),
    ("start_process", ToolKind::Shell),
    ("interact_with_process", ToolKind::Shell),
    ("edit_block", ToolKind::Edit),
    ("append_file", ToolKind::Write),
    ("append_to_file", ToolKind::Write),
    ("move_file", ToolKind::Write),
    ("rename_file", ToolKind::Write),
    ("copy_file", ToolKind::Write),
    ("delete_file", ToolKind::Write),
    ("remove_file", ToolKind::Write),
    ("delete_path", ToolKind::Write),
    ("create_directory", ToolKind::Write),
    ("read_file", ToolKind::Read),
    ("read_text_file", ToolKind::Read),
    ("read_multiple_files", ToolKind::Read),
    ("fetch_url", ToolKind::Fetch),
    ("create_file", ToolKind::Write),
    ("write_file", ToolKind::Write),
    ("edit_file", ToolKind::Edit),
    ("replace", ToolKind::Edit),
    ("undo_edit", ToolKind::Edit),
    ("read_web_page", ToolKind::Fetch),
    ("fetch", ToolKind::Fetch),
];

/// Every tool that is known of a host by name, in lower case, with what it does.
pub fn known_tools(dialect: HookDialect) -> impl Iterator<Item = (&'static str, ToolKind)> {
    dialect_spec(dialect).tools.iter().copied()
}

/// A tool, as far as its name tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedTool {
    /// The effect of the tool.
    pub(super) kind: ToolKind,
    /// The tool's own name, in lower case, without that of a server, if it is a server's.
    pub(super) served: Option<String>,
}

/// The kind of the tool `name` of a host. Letter case does not matter; the host's own table counts before the others'.
pub fn tool_kind(dialect: HookDialect, name: &str) -> ToolKind {
    named_tool(dialect, name).kind
}

/// The tool `name` of a host. A server's tool does what its own name says, whoever the server is.
pub(super) fn named_tool(dialect: HookDialect, name: &str) -> NamedTool {
    let name = name.trim().to_ascii_lowercase();
    let look_up = |name: &str| {
        let of_hosts = std::iter::once(dialect).chain(HookDialect::ALL).flat_map(known_tools);
        of_hosts.chain(ELSEWHERE.iter().copied()).find(|(known, _)| *known == name).map(|(_, kind)| kind)
    };
    let Some(candidates) = own_names(dialect, &name) else {
        return NamedTool { kind: look_up(&name).unwrap_or(ToolKind::Unknown), served: None };
    };
    let does = |tool: &String| {
        let found = look_up(tool).or_else(|| look_up(&tool.replace('-', "_")));
        found
            .filter(|kind| !matches!(kind, ToolKind::Agent | ToolKind::Skill))
            .map(|kind| (kind, tool.clone()))
    };
    let (kind, served) = candidates
        .iter()
        .find_map(does)
        .unwrap_or_else(|| (ToolKind::Mcp, candidates.last().cloned().unwrap_or_default()));
    NamedTool { kind, served: Some(served) }
}

/// The names that a server's tool may have by itself, the longest first; `None` for a tool of the host. Where the sign between server
/// and tool may stand in both, each place of it may be the one between them.
fn own_names(dialect: HookDialect, name: &str) -> Option<Vec<String>> {
    let behind = |text: &str, sign: char| -> Vec<String> {
        text.match_indices(sign).map(|(at, sign)| text[at + sign.len()..].to_owned()).collect()
    };
    if let Some(rest) = name.strip_prefix("mcp_").filter(|rest| !rest.starts_with('_')) {
        return Some(behind(rest, '_'));
    }
    if name.starts_with("mcp__") || name.starts_with("mcp.") {
        let tool = name.rsplit("__").next().unwrap_or(name);
        return Some(vec![tool.rsplit('.').next().unwrap_or(tool).to_owned()]);
    }
    if let Some((_, tool)) = name.rsplit_once('/') {
        return Some(vec![tool.to_owned()]);
    }
    // Copilot's own tools have no such sign.
    let is_copilots = matches!(dialect, HookDialect::Copilot | HookDialect::CopilotAsClaude);
    (is_copilots && name.contains('-')).then(|| behind(name, '-'))
}

#[cfg(test)]
mod tests {
    use super::{HookDialect, ToolKind, named_tool, tool_kind};

    #[test]
    fn every_name_of_a_shell_is_a_shell_on_every_host() {
        for name in
            ["Bash", "bash", "BASH", "shell", "powershell", "pwsh", "exec_command", "local_shell", " Bash"]
        {
            for dialect in HookDialect::ALL {
                assert_eq!(tool_kind(dialect, name), ToolKind::Shell, "{dialect} {name}");
            }
        }
    }

    #[test]
    fn servers_tools_are_told_from_names_that_nobody_knows() {
        assert_eq!(tool_kind(HookDialect::Claude, "mcp__github__create_issue"), ToolKind::Mcp);
        assert_eq!(tool_kind(HookDialect::Claude, "mcp__files__write_file"), ToolKind::Write);
        assert_eq!(tool_kind(HookDialect::Claude, "mcp__a__b__Execute_Command"), ToolKind::Shell);
        assert_eq!(tool_kind(HookDialect::Copilot, "desktop/start_process"), ToolKind::Shell);
        assert_eq!(tool_kind(HookDialect::Copilot, "github-mcp-server/list"), ToolKind::Mcp);
        assert_eq!(tool_kind(HookDialect::Gemini, "mcp_my_files_write_file"), ToolKind::Write);
        assert_eq!(tool_kind(HookDialect::Gemini, "mcp_github_create_issue"), ToolKind::Mcp);
        assert_eq!(tool_kind(HookDialect::Claude, "Hammer"), ToolKind::Unknown);
        // As Copilot 1.0.102 was seen to send them.
        for dialect in [HookDialect::Copilot, HookDialect::CopilotAsClaude] {
            assert_eq!(tool_kind(dialect, "x-write_file"), ToolKind::Write);
            assert_eq!(tool_kind(dialect, "my-files-write-file"), ToolKind::Write);
            assert_eq!(tool_kind(dialect, "github-mcp-server-create_issue"), ToolKind::Mcp);
        }
        assert_eq!(tool_kind(HookDialect::Claude, "x-write_file"), ToolKind::Unknown);
        assert_eq!(tool_kind(HookDialect::Codex, "multi_agent_v1close_agent"), ToolKind::Other);
        assert_eq!(named_tool(HookDialect::Copilot, "x-run_it").served.as_deref(), Some("run_it"));
    }
}
