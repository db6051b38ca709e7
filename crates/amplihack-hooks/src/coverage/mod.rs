//! The coverage table: which tools each host offers, and whether a call of each asks the guard before it runs.
//!
//! The names are those that were seen in the requests which the real CLIs send to a model, and in their hooks' payloads. A
//! tool that is in no list is unlisted: nobody has shown that its calls are judged.

mod hosts;

use amplihack_config::agent_binary::AgentBinary;

use crate::dialect::{CRASHED, HookDialect, is_marked, known_tools};

/// The relation of a tool's calls to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCoverage {
    /// The hook is asked before each call.
    Hooked,
    /// The hook is never asked, and a call can do no harm.
    NotHooked {
        /// The reason why it is harmless, one fragment of a sentence.
        harmless: &'static str,
    },
}

/// A tool of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedTool {
    /// The tool's name in the request to the model, with its namespace and a dot before it where it has one.
    pub name: &'static str,
    /// The tool's name in the hook's payload, where that is another one.
    pub hook_name: Option<&'static str>,
    /// The tool's name in the agent's stream of events, where that is another one.
    pub stream_name: Option<&'static str>,
    /// The tool whose call may come out in the stream as one of this tool, while the hook was asked about that one.
    pub asked_as: Option<&'static str>,
    /// The tool's relation to the guard.
    pub coverage: ToolCoverage,
}

impl ListedTool {
    const fn new_hooked(name: &'static str) -> Self {
        Self { name, hook_name: None, stream_name: None, asked_as: None, coverage: ToolCoverage::Hooked }
    }

    const fn with_hook_name(name: &'static str, hook_name: &'static str) -> Self {
        Self { hook_name: Some(hook_name), ..Self::new_hooked(name) }
    }

    const fn with_stream_name(self, stream_name: &'static str) -> Self {
        Self { stream_name: Some(stream_name), ..self }
    }

    const fn or_asked_as(self, name: &'static str) -> Self {
        Self { asked_as: Some(name), ..self }
    }

    const fn new_harmless(name: &'static str, harmless: &'static str) -> Self {
        Self { coverage: ToolCoverage::NotHooked { harmless }, ..Self::new_hooked(name) }
    }

    /// Reports whether `name` is one of the tool's names, in any letter case.
    fn is_called(&self, name: &str) -> bool {
        [Some(self.name), self.hook_name, self.stream_name]
            .into_iter()
            .flatten()
            .any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// The tools that `agent` offers to a model without servers of its user; none for an agent without hooks.
pub fn offered_tools(agent: AgentBinary) -> &'static [ListedTool] {
    hosts::host_tools(agent).map_or(&[], |list| list.offered)
}

/// The tools of `agent` whose calls never ask the guard, each with the reason why it can do no harm.
pub fn unasked_tools(agent: AgentBinary) -> impl Iterator<Item = (&'static str, &'static str)> {
    let listed = hosts::host_tools(agent).into_iter().flat_map(|list| list.offered.iter().chain(list.others));
    listed.filter_map(|tool| match tool.coverage {
        ToolCoverage::Hooked => None,
        ToolCoverage::NotHooked { harmless } => Some((tool.name, harmless)),
    })
}

/// The coverage of the tool `name` of `agent`, which may be its name in a request, in a hook or in the agent's stream.
///
/// `None` for an unlisted one. Tools of MCP servers are hooked on every host.
pub fn tool_coverage(agent: AgentBinary, name: &str) -> Option<ToolCoverage> {
    let list = hosts::host_tools(agent)?;
    let name = name.trim();
    if let Some(tool) = find_listed(agent, name) {
        return Some(tool.coverage);
    }
    // Tools of other versions and models; a call of one must have its verdict like any other.
    let is_known =
        known_tools(HookDialect::of_host(Some(agent))).any(|(known, _)| known.eq_ignore_ascii_case(name));
    (is_known || (list.is_served)(name)).then_some(ToolCoverage::Hooked)
}

fn find_listed(agent: AgentBinary, name: &str) -> Option<&'static ListedTool> {
    let list = hosts::host_tools(agent)?;
    list.offered.iter().chain(list.others).find(|tool| tool.is_called(name.trim()))
}

/// The other tool of `agent` about which the hook may have been asked where the stream has a call of `name`.
pub fn asked_as(agent: AgentBinary, name: &str) -> Option<&'static str> {
    find_listed(agent, name)?.asked_as
}

/// The common name of the tool that `agent` calls `name` in a request, in a hook or in its stream.
pub fn canonical_tool_name(agent: AgentBinary, name: &str) -> String {
    let listed = find_listed(agent, name).map(|tool| tool.name);
    // Namespaces of servers end in one sign here and in another there.
    listed.unwrap_or(name.trim()).to_ascii_lowercase().replace(['.', '/'], "__")
}

/// Reports whether hooks of `agent` name a call by the id that it has in the agent's stream.
///
/// Codex numbers the items of its stream, Copilot (in Claude's dialect) and Gemini give hooks no id.
pub fn names_calls(agent: AgentBinary) -> bool {
    agent == AgentBinary::Claude
}

/// The words of the registration where the guard did not answer. A host shows them, or nothing, as the result of the call.
pub const DID_NOT_RUN: &str = "guard did not run";

/// Copilot's words about a hook that could not read the call: it leaves out the guard's.
const WORDLESS_DENIAL: &str = "Denied by preToolUse hook: hook exited with code 2";

/// Reports whether `output`, a failed call's result, is the guard's denial and not the tool's answer: denials name their rule in a mark,
/// or are the words of a guard that broke, or the host's own.
pub fn is_denial(output: &str) -> bool {
    is_marked(output) || output.contains(CRASHED) || output == WORDLESS_DENIAL
}

/// Reports whether the result of a failed call, with its output and kind of failure, is the refusal of `agent` itself to start the call: its input was found
/// wrong, so nothing ran and no hook was asked.
pub fn refused_unasked(agent: AgentBinary, output: &str, error_kind: Option<&str>) -> bool {
    hosts::host_tools(agent).is_some_and(|list| {
        (list.refused_unasked)(output.trim_start())
            || error_kind.is_some_and(|kind| list.refusal_kinds.contains(&kind))
    })
}

/// Reports whether `output`, the result of a failed call of `tool`, shows that a person interrupted it: its hook may not have been asked or
/// have come to its end. Servers of tools say what they like, and are not believed.
pub fn is_interrupted(agent: AgentBinary, tool: &str, output: &str) -> bool {
    hosts::host_tools(agent).is_some_and(|list| {
        !(list.is_served)(tool.trim())
            && list.interrupted.iter().any(|begin| output.trim_start().starts_with(begin))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: [AgentBinary; 4] =
        [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Gemini];

    #[test]
    fn each_tool_is_listed_once_and_a_harmless_one_says_why() {
        for agent in HOSTS {
            let tools = offered_tools(agent);
            assert!(tools.len() > 10, "{agent}");
            for tool in tools {
                let same = tools.iter().filter(|other| other.is_called(tool.name)).count();
                assert_eq!(same, 1, "{agent}: {}", tool.name);
                assert_eq!(tool_coverage(agent, tool.name), Some(tool.coverage));
            }
            for (tool, why) in unasked_tools(agent) {
                assert!(why.len() > 20, "{agent}: {tool}: {why:?} is no reason");
                assert_eq!(tool_coverage(agent, tool), Some(ToolCoverage::NotHooked { harmless: why }));
            }
        }
    }

    #[test]
    fn a_tool_is_found_by_each_of_its_names() {
        let hooked = Some(ToolCoverage::Hooked);
        for (agent, name) in [
            (AgentBinary::Claude, "Bash"),
            (AgentBinary::Claude, "bash"),
            (AgentBinary::Claude, "mcp__x__run_python"),
            (AgentBinary::Claude, "TodoWrite"),
            (AgentBinary::Codex, "exec_command"),
            (AgentBinary::Codex, "command_execution"),
            (AgentBinary::Codex, "multi_agent_v1close_agent"),
            (AgentBinary::Codex, "file_change"),
            (AgentBinary::Codex, "mcp__x.run_python"),
            (AgentBinary::Copilot, "view"),
            (AgentBinary::Copilot, "Read"),
            (AgentBinary::Copilot, "x-write_file"),
            (AgentBinary::Gemini, "run_shell_command"),
            (AgentBinary::Gemini, "mcp_x_query"),
        ] {
            assert_eq!(tool_coverage(agent, name), hooked, "{agent}: {name}");
        }
        for (agent, name) in [
            (AgentBinary::Claude, "Hammer"),
            (AgentBinary::Copilot, "hammer"),
            (AgentBinary::Amp, "Bash"),
            (AgentBinary::Gemini, "hammer_time"),
        ] {
            assert_eq!(tool_coverage(agent, name), None, "{agent}: {name}");
        }
        assert!(matches!(
            tool_coverage(AgentBinary::Codex, "write_stdin"),
            Some(ToolCoverage::NotHooked { .. })
        ));
    }

    #[test]
    fn a_denial_is_told_from_words_about_amplihack() {
        for output in ["blocked by hook: no [amplihack files/home]; ask a person", CRASHED, WORDLESS_DENIAL] {
            assert!(is_denial(output), "{output}");
        }
        for output in
            ["bash: cd: /src/amplihack: No such file", "[amplihack ", "[amplihack ]", "amplihack doctor"]
        {
            assert!(!is_denial(output), "{output}");
        }
    }

    #[test]
    fn a_refusal_of_the_host_is_told_from_an_answer_of_the_tool() {
        let refused = "<tool_use_error>File has not been read yet.</tool_use_error>";
        assert!(refused_unasked(AgentBinary::Claude, refused, None));
        assert!(!refused_unasked(AgentBinary::Claude, "Exit code 1\n<tool_use_error>", None));
        assert!(!refused_unasked(AgentBinary::Copilot, refused, None));
        // Gemini says so itself; what a tool printed is no evidence there.
        let gemini = |kind| refused_unasked(AgentBinary::Gemini, "Path not in workspace: x", kind);
        assert!(gemini(Some("invalid_tool_params")) && gemini(Some("tool_not_registered")));
        assert!(!gemini(Some("file_not_found")) && !gemini(None));
        assert!(!refused_unasked(AgentBinary::Claude, "", Some("invalid_tool_params")));
    }

    #[test]
    fn an_interrupted_call_is_told_by_its_host_and_by_no_tool() {
        let claude = |tool: &str, output: &str| is_interrupted(AgentBinary::Claude, tool, output);
        let rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected";
        assert!(claude("Bash", rejected));
        assert!(claude("Read", "[Request interrupted by user for tool use]"));
        assert!(!claude("Bash", &format!("Exit code 1\n{rejected}")));
        assert!(!claude("mcp__x__run", rejected));
        assert!(!is_interrupted(AgentBinary::Gemini, "run_shell_command", rejected));
    }
}
