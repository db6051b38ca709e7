//! The lists of the hosts.

use amplihack_config::agent_binary::AgentBinary;

use super::ListedTool;

/// The known tools of a host.
pub(super) struct HostTools {
    /// Tools in the host's request to a model that it does not know.
    pub(super) offered: &'static [ListedTool],
    /// Tools that appear with a server, with another model, in a sub-agent, or in the host's stream only.
    pub(super) others: &'static [ListedTool],
    /// Reports whether a name is that of a server's tool.
    pub(super) is_served: fn(&str) -> bool,
    /// Reports whether the result of a failed call means that the call was not started.
    pub(super) refused_unasked: fn(&str) -> bool,
    /// Kinds of failure by which the host says that it did not start the call.
    pub(super) refusal_kinds: &'static [&'static str],
    /// Beginnings of the results of calls that a person interrupted, so that the host left them out or broke them off.
    pub(super) interrupted: &'static [&'static str],
}

/// The list of `agent`.
pub(super) fn host_tools(agent: AgentBinary) -> Option<&'static HostTools> {
    match agent {
        AgentBinary::Claude => Some(&CLAUDE),
        AgentBinary::Codex => Some(&CODEX),
        AgentBinary::Copilot => Some(&COPILOT),
        AgentBinary::Gemini => Some(&GEMINI),
        _ => None,
    }
}

/// Claude Code 2.1.332. It checks a call's input before it asks hooks.
static CLAUDE: HostTools = HostTools {
    offered: &[
        ListedTool::new_hooked("Agent"),
        ListedTool::new_hooked("Bash"),
        ListedTool::new_hooked("CronCreate"),
        ListedTool::new_hooked("CronDelete"),
        ListedTool::new_hooked("CronList"),
        ListedTool::new_hooked("Edit"),
        ListedTool::new_hooked("EnterWorktree"),
        ListedTool::new_hooked("ExitWorktree"),
        ListedTool::new_hooked("ListAgents"),
        ListedTool::new_hooked("Monitor"),
        ListedTool::new_hooked("NotebookEdit"),
        ListedTool::new_hooked("Read"),
        ListedTool::new_hooked("ReportFindings"),
        ListedTool::new_hooked("ScheduleWakeup"),
        ListedTool::new_hooked("SendMessage"),
        ListedTool::new_hooked("Skill"),
        ListedTool::new_hooked("TaskStop"),
        ListedTool::new_hooked("ToolSearch"),
        ListedTool::new_hooked("WebFetch"),
        ListedTool::new_hooked("WebSearch"),
        ListedTool::new_hooked("Workflow"),
        ListedTool::new_hooked("Write"),
        ListedTool::new_harmless(
            "DeferredToolPlaceholder",
            "it stands for tools that are not loaded and does nothing",
        ),
    ],
    others: &[
        ListedTool::new_hooked("ListMcpResourcesTool"),
        ListedTool::new_hooked("ReadMcpResourceTool"),
        ListedTool::new_harmless(
            "StructuredOutput",
            "it hands the answer back in the form that was asked for",
        ),
        ListedTool::new_harmless("web_search", "the model's provider searches; nothing runs here"),
    ],
    is_served: |name| name.starts_with("mcp__"),
    refused_unasked: |output| output.starts_with("<tool_use_error>"),
    refusal_kinds: &[],
    interrupted: &[
        "The user doesn't want to proceed with this tool use.",
        "The user doesn't want to take this action right now.",
        "[Request interrupted by user",
        "[Tool call skipped: ",
    ],
};

/// Codex 0.171.0. In hooks it joins namespace and name without a sign between them, or leaves the namespace out.
static CODEX: HostTools = HostTools {
    offered: &[
        ListedTool::with_hook_name("exec_command", "Bash").with_stream_name("command_execution"),
        ListedTool::new_harmless(
            "write_stdin",
            "without a terminal, which the launch switches off, a command's stdin is closed: a call only reads output",
        ),
        ListedTool::new_hooked("request_user_input"),
        ListedTool::new_hooked("view_image"),
        ListedTool::with_hook_name("multi_agent_v1.close_agent", "multi_agent_v1close_agent")
            .with_stream_name("close_agent"),
        ListedTool::with_hook_name("multi_agent_v1.resume_agent", "multi_agent_v1resume_agent")
            .with_stream_name("resume_agent"),
        ListedTool::with_hook_name("multi_agent_v1.send_input", "multi_agent_v1send_input")
            .with_stream_name("send_input"),
        ListedTool::with_hook_name("multi_agent_v1.spawn_agent", "spawn_agent"),
        ListedTool::with_hook_name("multi_agent_v1.wait_agent", "multi_agent_v1wait_agent")
            .with_stream_name("wait"),
        ListedTool::new_hooked("get_goal"),
        ListedTool::new_hooked("create_goal"),
        ListedTool::new_hooked("update_goal"),
        ListedTool::new_harmless("web_search", "the model's provider searches; nothing runs here"),
    ],
    others: &[
        // A command `apply_patch <<…` is no command any more when it runs.
        ListedTool::new_hooked("apply_patch").with_stream_name("file_change").or_asked_as("exec_command"),
        ListedTool::new_hooked("list_mcp_resources"),
        ListedTool::new_hooked("list_mcp_resource_templates"),
        ListedTool::new_hooked("read_mcp_resource"),
    ],
    is_served: |name| name.starts_with("mcp__"),
    refused_unasked: |_| false,
    refusal_kinds: &[],
    interrupted: &[],
};

/// GitHub Copilot CLI 1.0.102, whose hooks are registered in Claude's dialect and get some of Claude's names.
static COPILOT: HostTools = HostTools {
    offered: &[
        ListedTool::with_hook_name("bash", "Bash"),
        ListedTool::new_hooked("read_bash"),
        ListedTool::new_hooked("stop_bash"),
        ListedTool::new_hooked("list_bash"),
        ListedTool::with_hook_name("view", "Read"),
        ListedTool::with_hook_name("create", "Write"),
        ListedTool::with_hook_name("edit", "Edit"),
        ListedTool::new_hooked("fetch_copilot_cli_documentation"),
        ListedTool::new_hooked("skill"),
        ListedTool::new_hooked("sql"),
        ListedTool::new_hooked("session_store_sql"),
        ListedTool::new_hooked("read_agent"),
        ListedTool::new_hooked("list_agents"),
        ListedTool::new_hooked("write_agent"),
        ListedTool::with_hook_name("grep", "Grep"),
        ListedTool::with_hook_name("glob", "Glob"),
        ListedTool::with_hook_name("task", "Agent"),
    ],
    others: &[ListedTool::with_hook_name("web_fetch", "WebFetch"), ListedTool::new_hooked("write_bash")],
    // No tool of its own has such a sign in its name.
    is_served: |name| name.contains('-'),
    refused_unasked: |_| false,
    refusal_kinds: &[],
    interrupted: &[],
};

/// Gemini CLI 0.61.0.
static GEMINI: HostTools = HostTools {
    offered: &[
        ListedTool::new_hooked("activate_skill"),
        ListedTool::new_hooked("enter_plan_mode"),
        ListedTool::new_hooked("glob"),
        ListedTool::new_hooked("google_web_search"),
        ListedTool::new_hooked("grep_search"),
        ListedTool::new_hooked("invoke_agent"),
        ListedTool::new_hooked("list_background_processes"),
        ListedTool::new_hooked("list_directory"),
        ListedTool::new_hooked("read_background_output"),
        ListedTool::new_hooked("read_file"),
        ListedTool::new_hooked("replace"),
        ListedTool::new_hooked("run_shell_command"),
        ListedTool::new_hooked("update_topic"),
        ListedTool::new_hooked("web_fetch"),
        ListedTool::new_hooked("write_file"),
    ],
    others: &[
        ListedTool::new_hooked("exit_plan_mode"),
        ListedTool::new_hooked("list_mcp_resources"),
        ListedTool::new_hooked("read_mcp_resource"),
        ListedTool::new_harmless("complete_task", "it ends a sub-agent and hands its answer back"),
    ],
    is_served: |name| name.starts_with("mcp_"),
    refused_unasked: |_| false,
    refusal_kinds: &["invalid_tool_params", "tool_not_registered"],
    interrupted: &[],
};
