//! Which tool does what: the host's own table first, then those of all others.

use super::{Dialect, Kind};
use crate::host::speech;

type Table = &'static [(&'static str, Kind)];

/// Names that other hosts use, so that a payload of an unexpected shape is not let through for its tool's name.
const ELSEWHERE: Table = &[
    ("pwsh", Kind::Shell),
    ("sh", Kind::Shell),
    ("zsh", Kind::Shell),
    ("cmd", Kind::Shell),
    ("terminal", Kind::Shell),
    ("run_in_terminal", Kind::Shell),
    ("run_terminal_cmd", Kind::Shell),
    ("run_shell_command", Kind::Shell),
    ("execute_command", Kind::Shell),
    ("run_command", Kind::Shell),
    ("run_bash", Kind::Shell),
    ("shell_exec", Kind::Shell),
    ("execute_shell", Kind::Shell),
    ("start_process", Kind::Shell),
    ("interact_with_process", Kind::Shell),
    ("edit_block", Kind::Edit),
    ("append_file", Kind::Write),
    ("append_to_file", Kind::Write),
    ("move_file", Kind::Write),
    ("rename_file", Kind::Write),
    ("copy_file", Kind::Write),
    ("delete_file", Kind::Write),
    ("remove_file", Kind::Write),
    ("delete_path", Kind::Write),
    ("create_directory", Kind::Write),
    ("read_file", Kind::Read),
    ("read_text_file", Kind::Read),
    ("read_multiple_files", Kind::Read),
    ("fetch_url", Kind::Fetch),
    ("create_file", Kind::Write),
    ("write_file", Kind::Write),
    ("edit_file", Kind::Edit),
    ("replace", Kind::Edit),
    ("undo_edit", Kind::Edit),
    ("read_web_page", Kind::Fetch),
    ("fetch", Kind::Fetch),
];

/// Every tool that is known of a host by name, in lower case, with what it does.
pub fn known(dialect: Dialect) -> impl Iterator<Item = (&'static str, Kind)> {
    speech(dialect).tools.iter().copied()
}

/// What the tool `name` of a host does. Letter case does not matter; the host's own table counts before the others'.
pub fn kind(dialect: Dialect, name: &str) -> Kind {
    let name = name.trim().to_ascii_lowercase();
    let look_up = |name: &str| {
        let of_hosts = std::iter::once(dialect).chain(Dialect::ALL).flat_map(known);
        of_hosts.chain(ELSEWHERE.iter().copied()).find(|(known, _)| *known == name).map(|(_, kind)| kind)
    };
    // Gemini joins server and tool by one line, which both may have in their names.
    if let Some(rest) = name.strip_prefix("mcp_").filter(|rest| !rest.starts_with('_')) {
        let tools = rest.match_indices('_').map(|(line, _)| &rest[line + 1..]);
        return tools.filter_map(look_up).find(|kind| *kind != Kind::Agent).unwrap_or(Kind::Mcp);
    }
    // A server's tool does what its own name says, whoever the server is.
    let served = if name.starts_with("mcp__") || name.starts_with("mcp.") {
        name.rsplit("__").next().map(|tool| tool.rsplit('.').next().unwrap_or(tool))
    } else {
        name.rsplit_once('/').map(|(_, tool)| tool)
    };
    match served {
        Some(tool) => look_up(tool).filter(|kind| *kind != Kind::Agent).unwrap_or(Kind::Mcp),
        None => look_up(&name).unwrap_or(Kind::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Kind, kind};

    #[test]
    fn every_name_of_a_shell_is_a_shell_on_every_host() {
        for name in
            ["Bash", "bash", "BASH", "shell", "powershell", "pwsh", "exec_command", "local_shell", " Bash"]
        {
            for dialect in Dialect::ALL {
                assert_eq!(kind(dialect, name), Kind::Shell, "{dialect} {name}");
            }
        }
    }

    #[test]
    fn servers_tools_are_told_from_names_that_nobody_knows() {
        assert_eq!(kind(Dialect::Claude, "mcp__github__create_issue"), Kind::Mcp);
        assert_eq!(kind(Dialect::Claude, "mcp__files__write_file"), Kind::Write);
        assert_eq!(kind(Dialect::Claude, "mcp__a__b__Execute_Command"), Kind::Shell);
        assert_eq!(kind(Dialect::Copilot, "desktop/start_process"), Kind::Shell);
        assert_eq!(kind(Dialect::Copilot, "github-mcp-server/list"), Kind::Mcp);
        assert_eq!(kind(Dialect::Gemini, "mcp_my_files_write_file"), Kind::Write);
        assert_eq!(kind(Dialect::Gemini, "mcp_github_create_issue"), Kind::Mcp);
        assert_eq!(kind(Dialect::Claude, "Hammer"), Kind::Unknown);
    }
}
