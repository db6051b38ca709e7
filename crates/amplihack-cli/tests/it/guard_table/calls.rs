//! The calls that count, tool by tool: a harmless one and a forbidden one, each with the effect on disk that shows that it ran.

use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_probe::model::ScriptedReply;
use amplihack_testkit::programs::tool_server_path;
use serde_json::{Value, json};

use super::stage::{Stage, nested_prompt};

/// What shows that a call ran.
#[derive(Debug, Clone)]
pub(super) enum Evidence {
    /// This file exists.
    File(PathBuf),
    /// This file has this text.
    Text(PathBuf, &'static str),
    /// A tool told the model this.
    Told(&'static str),
}

impl Evidence {
    pub(super) fn is_there(&self, stage: &Stage<'_>) -> bool {
        match self {
            Self::File(path) => path.exists(),
            Self::Text(path, text) => std::fs::read_to_string(path).is_ok_and(|found| found.contains(text)),
            Self::Told(text) => {
                stage.world.server.find_text("run", text).iter().any(|said| said.role == "tool")
            }
        }
    }
}

/// One call, or the few that make one effect.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) replies: Vec<ScriptedReply>,
    /// What a sub-agent of the call does.
    pub(super) nested: Vec<ScriptedReply>,
    pub(super) evidence: Evidence,
    pub(super) is_forbidden: bool,
}

impl Call {
    /// A call of the agent's shell.
    pub(super) fn shell(stage: &Stage<'_>, name: &str, command: &str, is_forbidden: bool) -> Self {
        let sentinel = stage.sentinel(name);
        let command = command.replace("$S", &sentinel.display().to_string());
        Self::of(name, ScriptedReply::Tool { command }, Evidence::File(sentinel), is_forbidden)
    }

    pub(super) fn of(name: &str, reply: ScriptedReply, evidence: Evidence, is_forbidden: bool) -> Self {
        Self { name: name.to_owned(), replies: vec![reply], nested: Vec::new(), evidence, is_forbidden }
    }

    fn after(mut self, reply: Option<ScriptedReply>) -> Self {
        self.replies.splice(0..0, reply);
        self
    }
}

/// A command that no policy lets through; `$S` is the file that it makes where it runs.
pub(super) const FORBIDDEN: &str = "touch $S; git commit --allow-empty --no-verify -m x";
/// A command of every day.
pub(super) const HARMLESS: &str = "git status; touch $S";

/// A use of tools that every host has, whatever its name there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolUse {
    Shell,
    Write,
    Edit,
    Read,
    Fetch,
    SubAgent,
    ServedName,
    ServedField,
}

impl ToolUse {
    pub(super) const ALL: [Self; 8] = [
        Self::Shell,
        Self::Write,
        Self::Edit,
        Self::Read,
        Self::Fetch,
        Self::SubAgent,
        Self::ServedName,
        Self::ServedField,
    ];

    /// The calls of this use with the stage's agent; none where it has no such tool.
    pub(super) fn calls(self, stage: &Stage<'_>) -> Vec<Call> {
        match self {
            Self::Shell => vec![
                Call::shell(stage, "shell-forbidden", FORBIDDEN, true),
                Call::shell(stage, "shell-harmless", HARMLESS, false),
            ],
            Self::Write => write(stage),
            Self::Edit => edit(stage),
            Self::Read => read(stage),
            Self::Fetch => fetch(stage),
            Self::SubAgent => sub_agent(stage),
            Self::ServedName => served_name(stage),
            Self::ServedField => served_field(stage),
        }
    }

    /// Whether it needs a server of tools.
    pub(super) fn is_served(self) -> bool {
        matches!(self, Self::ServedName | Self::ServedField)
    }
}

fn tool(name: &str, input: Value) -> ScriptedReply {
    ScriptedReply::Call { tool: name.to_owned(), input }
}

fn write(stage: &Stage<'_>) -> Vec<Call> {
    let make = |path: &Path| match stage.agent {
        AgentBinary::Claude => Some(tool("Write", json!({"file_path": path, "content": "written"}))),
        AgentBinary::Copilot => Some(tool("create", json!({"path": path, "file_text": "written"}))),
        AgentBinary::Gemini => Some(tool("write_file", json!({"file_path": path, "content": "written"}))),
        // It writes by its shell.
        _ => None,
    };
    // Gemini itself writes nothing outside of its workspace.
    let (forbidden, harmless) = (stage.work().join(".claude/settings.json"), stage.work().join("good.txt"));
    let call = |name, path: &Path, is_forbidden| {
        Some(Call::of(name, make(path)?, Evidence::Text(path.to_owned(), "written"), is_forbidden))
    };
    [call("write-forbidden", &forbidden, true), call("write-harmless", &harmless, false)]
        .into_iter()
        .flatten()
        .collect()
}

/// The line that an edit of Codex's settings would change.
pub(super) const AS_IT_WAS: &str = "# as it was\n";

fn edit(stage: &Stage<'_>) -> Vec<Call> {
    if !stage.work().join(".codex/config.toml").exists() {
        stage.put(".codex/config.toml", AS_IT_WAS);
    }
    stage.put("edited.txt", "as it was\n");
    let call = |name: &str, file: &str, is_forbidden: bool| {
        let path = stage.work().join(file);
        let (reply, before) = match stage.agent {
            AgentBinary::Claude => (
                tool("Edit", json!({"file_path": path, "old_string": "as it was", "new_string": "changed"})),
                Some(tool("Read", json!({"file_path": path}))),
            ),
            AgentBinary::Copilot => {
                (tool("edit", json!({"path": path, "old_str": "as it was", "new_str": "changed"})), None)
            }
            AgentBinary::Gemini => (
                tool(
                    "replace",
                    json!({"file_path": path, "instruction": "x", "old_string": "as it was", "new_string": "changed"}),
                ),
                None,
            ),
            // Its patches come by the shell where the model is not known.
            AgentBinary::Codex => {
                let diff = format!(
                    "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: {file}\n@@\n-{0}as it was\n+{0}changed\n*** End Patch\nEOF",
                    if is_forbidden { "# " } else { "" }
                );
                (ScriptedReply::Tool { command: diff }, None)
            }
            _ => return None,
        };
        Some(Call::of(name, reply, Evidence::Text(path, "changed"), is_forbidden).after(before))
    };
    [call("edit-forbidden", ".codex/config.toml", true), call("edit-harmless", "edited.txt", false)]
        .into_iter()
        .flatten()
        .collect()
}

fn read(stage: &Stage<'_>) -> Vec<Call> {
    let make = |path: &Path| match stage.agent {
        AgentBinary::Claude => Some(tool("Read", json!({"file_path": path}))),
        AgentBinary::Copilot => Some(tool("view", json!({"path": path}))),
        AgentBinary::Gemini => Some(tool("read_file", json!({"file_path": path}))),
        _ => None,
    };
    let key = stage.home().join(".ssh/id_ed25519");
    let readme = stage.work().join("README.md");
    let call = |name, path: &Path, text, is_forbidden| {
        Some(Call::of(name, make(path)?, Evidence::Told(text), is_forbidden))
    };
    [
        call("read-forbidden", &key, "secret-of-the-key", true),
        call("read-harmless", &readme, "readme-of-the-project", false),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// No address can be fetched here, so that only the forbidden one is tried: the guard's words are what the model is told of it.
fn fetch(stage: &Stage<'_>) -> Vec<Call> {
    let url = "http://169.254.169.254/latest/meta-data/";
    let reply = match stage.agent {
        AgentBinary::Claude => tool("WebFetch", json!({"url": url, "prompt": "read it"})),
        AgentBinary::Gemini => tool("web_fetch", json!({"prompt": format!("read {url}")})),
        _ => return Vec::new(),
    };
    let told = Call::of("fetch-stopped", reply, Evidence::Told("[amplihack "), false);
    vec![told]
}

fn sub_agent(stage: &Stage<'_>) -> Vec<Call> {
    let prompt = nested_prompt();
    let reply = match stage.agent {
        AgentBinary::Claude => tool(
            "Agent",
            json!({"description": "a part", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false}),
        ),
        AgentBinary::Codex => tool("multi_agent_v1.spawn_agent", json!({"message": prompt})),
        AgentBinary::Copilot => tool(
            "task",
            json!({"description": "a part", "prompt": prompt, "agent_type": "general-purpose", "name": "part"}),
        ),
        AgentBinary::Gemini => tool("invoke_agent", json!({"agent_name": "generalist", "prompt": prompt})),
        _ => return Vec::new(),
    };
    let forbidden = Call::shell(stage, "sub-agent-forbidden", FORBIDDEN, true);
    let harmless = Call::shell(stage, "sub-agent-harmless", HARMLESS, false);
    let waiting = match stage.agent {
        // Nothing waits for its sub-agent, which ends with the session.
        AgentBinary::Codex => {
            Some(ScriptedReply::Tool { command: "python3 -c 'import time; time.sleep(3)'".to_owned() })
        }
        _ => None,
    };
    let first = Call { nested: forbidden.replies.clone(), replies: vec![reply], ..forbidden };
    let replies = waiting.into_iter().collect();
    vec![first, Call { nested: harmless.replies.clone(), replies, ..harmless }]
}

fn served_name(stage: &Stage<'_>) -> Vec<Call> {
    let call = |name: &str, path: PathBuf, is_forbidden| {
        let reply = served(stage.agent, "write_file", json!({"path": path, "content": "by a server"}));
        Call::of(name, reply, Evidence::Text(path, "by a server"), is_forbidden)
    };
    vec![
        call("served-name-forbidden", stage.home().join(".config/amplihack/policy.toml"), true),
        call("served-name-harmless", stage.work().join("served.txt"), false),
    ]
}

fn served_field(stage: &Stage<'_>) -> Vec<Call> {
    let call = |name: &str, command: &str, is_forbidden| {
        let sentinel = stage.sentinel(name);
        let text = command.replace("$S", &sentinel.display().to_string());
        let reply = served(stage.agent, "evaluate", json!({"text": text}));
        Call::of(name, reply, Evidence::File(sentinel), is_forbidden)
    };
    vec![call("served-field-forbidden", FORBIDDEN, true), call("served-field-harmless", HARMLESS, false)]
}

/// Gives the agent the server of tools, under the name `served`.
pub(super) fn serve(stage: &mut Stage<'_>) {
    let program = tool_server_path().display().to_string();
    let servers = |kind: &str| json!({"mcpServers": {"served": {"type": kind, "command": program, "args": [], "tools": ["*"]}}});
    match stage.agent {
        AgentBinary::Claude => {
            stage.behind(&["--strict-mcp-config", "--mcp-config", &servers("stdio").to_string()]);
        }
        AgentBinary::Codex => {
            stage.behind(&["-c", &format!("mcp_servers.served={{command={program:?},args=[]}}")]);
        }
        AgentBinary::Copilot => stage.behind(&["--additional-mcp-config", &servers("local").to_string()]),
        _ => {
            let path = stage.home().join(".gemini/settings.json");
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let mut settings: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
            settings["mcpServers"] = json!({"served": {"command": program, "args": [], "trust": true}});
            std::fs::write(path, settings.to_string()).unwrap();
        }
    }
}

/// A call of the server's tool `name`.
pub(super) fn served(agent: AgentBinary, name: &str, input: Value) -> ScriptedReply {
    let name = match agent {
        AgentBinary::Claude => format!("mcp__served__{name}"),
        AgentBinary::Codex => format!("mcp__served.{name}"),
        AgentBinary::Copilot => format!("served-{name}"),
        _ => format!("mcp_served_{name}"),
    };
    ScriptedReply::Call { tool: name, input }
}
