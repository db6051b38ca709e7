//! Claude Code's questions to the program that runs it, and to a person.

use std::collections::VecDeque;

use super::wire::system::{ClaudeControlLine, ClaudeControlRequest, ClaudeQuestion, ClaudeSystemLine};
use crate::event::{AgentEvent, AgentPermission, AgentQuestion};

/// The most questions that are remembered.
const MOST: usize = 64;
/// The tool by which the agent asks a person.
const ASK: &str = "AskUserQuestion";

/// Ids of questions to a person that were not answered, the newest last.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions(VecDeque<String>);

impl OpenQuestions {
    /// Tells a question. What else the agent asks of the program that runs it is none.
    pub(super) fn emit_request(&mut self, line: ClaudeControlLine<'_>, out: &mut Vec<AgentEvent>) {
        let (id, request) = (line.id.into_string(), line.request);
        match request.subtype.text() {
            "can_use_tool" if request.tool.text() == ASK && !request.input.questions.0.is_empty() => {
                let questions = request.input.questions.0.into_iter();
                out.extend(questions.map(|question| AgentEvent::Question(asked(id.clone(), question))));
                self.remember(id);
            }
            "can_use_tool" => out.push(AgentEvent::PermissionAsked(AgentPermission {
                id,
                tool: request.tool.into_option(),
                allowed: None,
                reason: request.reason.into_option(),
            })),
            "elicitation" | "request_user_dialog" => {
                let ClaudeControlRequest { server, message, dialog, .. } = request;
                self.remember(id.clone());
                out.push(AgentEvent::Question(AgentQuestion {
                    id,
                    text: message.into_option().or(dialog.into_option()),
                    source: server.into_option(),
                    ..AgentQuestion::default()
                }));
            }
            _ => {}
        }
    }

    /// Tells that a question needs no answer any more.
    pub(super) fn emit_withdrawal(&mut self, line: ClaudeControlLine<'_>, out: &mut Vec<AgentEvent>) {
        let id = line.id.into_string();
        let index = self.0.iter().position(|open| *open == id);
        out.push(if index.and_then(|index| self.0.remove(index)).is_some() {
            AgentEvent::Question(AgentQuestion { id, answered: true, ..AgentQuestion::default() })
        } else {
            let reason = Some("withdrawn".to_owned());
            AgentEvent::PermissionDecided(AgentPermission { id, reason, ..AgentPermission::default() })
        });
    }

    fn remember(&mut self, id: String) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(id);
    }
}

/// The end of a question of an MCP server that a person answers elsewhere.
pub(super) fn elicitation_done(line: ClaudeSystemLine<'_>) -> AgentQuestion {
    AgentQuestion {
        id: line.elicitation.into_string(),
        answered: true,
        source: line.server.into_option(),
        ..AgentQuestion::default()
    }
}

fn asked(id: String, question: ClaudeQuestion<'_>) -> AgentQuestion {
    let choices = question.options.0.into_iter().filter_map(|option| option.label.into_option());
    AgentQuestion {
        id,
        text: question.question.into_option(),
        choices: choices.collect(),
        source: Some(ASK.to_owned()),
        ..AgentQuestion::default()
    }
}
