//! Claude Code's lines about its session: its beginning, its changes and its compaction.

use amplihack_config::agent_binary::AgentBinary;

use super::decode::ClaudeStream;
use super::wire::system::{ClaudeMcpServer, ClaudeSystemLine};
use super::{notices, questions};
use crate::decode::wire::WireText;
use crate::event::{
    ActivityPhase, AgentCompaction, AgentEvent, AgentMcpServer, AgentPermission, AgentSessionStarted,
    AgentSessionUpdate, AgentTurn,
};

/// Facts of the session, as the last line about it told them.
#[derive(Debug)]
pub(super) struct SessionFacts(AgentSessionUpdate);

impl SessionFacts {
    /// Claude's name of the session.
    pub(super) fn session(&self) -> Option<&str> {
        self.0.agent_session.as_deref()
    }

    /// The facts of `now` that are others than here.
    fn changes(&self, now: &AgentSessionUpdate) -> AgentSessionUpdate {
        fn changed<T: Clone + Default + PartialEq>(now: &T, known: &T) -> T {
            if now == known { T::default() } else { now.clone() }
        }
        let known = &self.0;
        AgentSessionUpdate {
            agent_session: changed(&now.agent_session, &known.agent_session),
            model: changed(&now.model, &known.model),
            mode: changed(&now.mode, &known.mode),
            cwd: changed(&now.cwd, &known.cwd),
            commands: changed(&now.commands, &known.commands),
            agents: changed(&now.agents, &known.agents),
            mcp_servers: changed(&now.mcp_servers, &known.mcp_servers),
            ..AgentSessionUpdate::default()
        }
    }
}

impl ClaudeStream {
    /// A line about the session.
    pub(super) fn emit_system(&mut self, line: ClaudeSystemLine<'_>, out: &mut Vec<AgentEvent>) {
        // Hooks may run for long before the session begins.
        if self.known.is_none() && self.early_session.is_none() && line.subtype.text() != "init" {
            self.early_session = line.session.0.as_deref().map(str::to_owned);
            let agent_session = self.early_session.clone();
            if agent_session.is_some() {
                let update = AgentSessionUpdate { agent_session, ..AgentSessionUpdate::default() };
                out.push(AgentEvent::SessionUpdated(update));
            }
        }
        match line.subtype.text() {
            "init" => self.begin_turn(line, out),
            "status" => out.push(status_event(line)),
            "compact_boundary" => out.push(AgentEvent::Compaction(AgentCompaction {
                phase: ActivityPhase::Completed,
                trigger: line.compact.trigger.into_option(),
                tokens_before: line.compact.before.as_count(),
                tokens_after: line.compact.after.as_count(),
                ..AgentCompaction::default()
            })),
            "task_started" | "task_progress" | "task_updated" | "task_notification" => {
                out.push(AgentEvent::Task(self.tasks.read_line(line)));
            }
            "elicitation_complete" => out.push(AgentEvent::Question(questions::elicitation_done(line))),
            "permission_denied" => {
                let id = line.call.into_string();
                self.denied.insert(id.clone());
                out.push(AgentEvent::PermissionDecided(AgentPermission {
                    id,
                    tool: line.tool.into_option(),
                    allowed: Some(false),
                    reason: line.message.into_option(),
                }));
            }
            _ => out.extend(
                update_event(&line).map(AgentEvent::SessionUpdated).or_else(|| notices::notice_event(line)),
            ),
        }
    }

    /// Every turn begins with all facts of the session. The session itself begins once.
    fn begin_turn(&mut self, line: ClaudeSystemLine<'_>, out: &mut Vec<AgentEvent>) {
        let (version, tools) = (line.version.into_option(), line.tools.into_texts());
        let now = AgentSessionUpdate {
            agent_session: line.session.into_option(),
            model: line.model.into_option(),
            mode: line.mode.into_option(),
            cwd: line.cwd.into_option(),
            commands: line.slash_commands.into_texts(),
            agents: line.agents.into_texts(),
            mcp_servers: line.mcp_servers.0.into_iter().map(mcp_server).collect(),
            ..AgentSessionUpdate::default()
        };
        let changes = if let Some(known) = &self.known {
            known.changes(&now)
        } else {
            out.push(AgentEvent::Started(AgentSessionStarted {
                agent_session: now.agent_session.clone(),
                version,
                model: now.model.clone(),
                cwd: now.cwd.clone(),
                tools,
                mcp_servers: now.mcp_servers.clone(),
                ..AgentSessionStarted::new(AgentBinary::Claude)
            }));
            AgentSessionUpdate {
                mode: now.mode.clone(),
                commands: now.commands.clone(),
                agents: now.agents.clone(),
                ..AgentSessionUpdate::default()
            }
        };
        if changes != AgentSessionUpdate::default() {
            out.push(AgentEvent::SessionUpdated(changes));
        }
        self.known = Some(SessionFacts(now));
        self.turn_open = true;
        out.push(AgentEvent::TurnStarted(AgentTurn::default()));
    }
}

fn mcp_server(server: ClaudeMcpServer<'_>) -> AgentMcpServer {
    AgentMcpServer::new(server.name.into_string(), server.status.into_string())
}

/// The state that the session is in now.
fn status_event(line: ClaudeSystemLine<'_>) -> AgentEvent {
    match (line.status.text(), line.compact_result.text()) {
        ("compacting", _) => AgentEvent::Compaction(AgentCompaction {
            phase: ActivityPhase::Started,
            ..AgentCompaction::default()
        }),
        (_, "failed") => AgentEvent::Compaction(AgentCompaction {
            phase: ActivityPhase::Failed,
            message: line.compact_error.into_option(),
            ..AgentCompaction::default()
        }),
        (status, _) => {
            let mode = line.mode.into_option();
            let status = if status.is_empty() { mode.is_none().then_some("idle") } else { Some(status) };
            let status = status.map(str::to_owned);
            AgentEvent::SessionUpdated(AgentSessionUpdate { status, mode, ..AgentSessionUpdate::default() })
        }
    }
}

/// The facts of the session in `line`, if it is about the session.
pub(super) fn update_event(line: &ClaudeSystemLine<'_>) -> Option<AgentSessionUpdate> {
    let text = |text: &WireText<'_>| text.0.as_deref().map(str::to_owned);
    let update = AgentSessionUpdate::default();
    let word = line.word();
    Some(match word {
        "session_state_changed" => AgentSessionUpdate { status: text(&line.state), ..update },
        "worker_shutting_down" => {
            AgentSessionUpdate { reason: text(&line.reason), ..AgentSessionUpdate::with_status(word) }
        }
        "commands_changed" => {
            let names = line.commands.0.iter().filter_map(|command| text(&command.name));
            AgentSessionUpdate { commands: names.collect(), ..update }
        }
        "background_tasks_changed" => {
            let tasks = line.tasks.as_ref().and_then(|tasks| u64::try_from(tasks.0.len()).ok());
            AgentSessionUpdate { background_tasks: tasks, ..update }
        }
        // A sub-agent's own fallback leaves the session's model as it is.
        "model_refusal_fallback" => AgentSessionUpdate {
            model: text(&line.fallback_model).filter(|_| line.scope.text() != "local"),
            reason: text(&line.content),
            ..update
        },
        "plugin_install" if line.error.0.is_none() => AgentSessionUpdate {
            reason: text(&line.name),
            ..AgentSessionUpdate::with_status(format!("{word}: {}", line.status.text()))
        },
        "auth_status" if line.error.0.is_none() => {
            let is_at_it = line.is_authenticating.0 == Some(true);
            AgentSessionUpdate::with_status(if is_at_it { "authenticating" } else { "authenticated" })
        }
        "conversation_reset" => AgentSessionUpdate {
            agent_session: text(&line.new_session),
            reason: text(&line.trigger),
            ..AgentSessionUpdate::with_status(word)
        },
        _ => return None,
    })
}
