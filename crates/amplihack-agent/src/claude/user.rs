//! Claude Code's lines in the user's name: prompts, and results of tools.

use super::decode::{ClaudeBlockTexts, ClaudeMessageContext, ClaudeStream};
use super::wire::{ClaudeContent, ClaudeLine};
use crate::event::{AgentEvent, AgentPrompt};

/// Beginning of the words that Claude writes as the user's when it is interrupted; there may be no record of the end after it.
const INTERRUPTED: &str = "[Request interrupted by user";
/// Beginning of what a command of Claude's own has printed.
const LOCAL_COMMAND: &str = "<local-command-";

impl ClaudeStream {
    pub(super) fn emit_user(&mut self, line: &str, read: ClaudeLine<'_>, out: &mut Vec<AgentEvent>) {
        let parent = read.parent.into_option();
        let origin = read.origin.and_then(|origin| origin.kind.into_option());
        // A person is no other author.
        let origin = origin.filter(|kind| kind != "human");
        let origin = origin.or_else(|| (read.synthetic.0 == Some(true)).then(|| "synthetic".to_owned()));
        let prompt = AgentPrompt { message: read.id.into_option(), origin, parent, text: String::new() };
        let blocks = match read.message.content {
            ClaudeContent::None => return,
            ClaudeContent::Text(text) => return self.emit_prompt(text.into_owned(), prompt, out),
            ClaudeContent::Blocks(blocks) => blocks,
        };
        // What is told of the outcome is about the one result of the line.
        let results = blocks.iter().filter(|block| block.kind.text().ends_with("tool_result")).count();
        let mut outcome = read.outcome.filter(|_| results == 1);
        let mut whole = ClaudeBlockTexts::new(line);
        for (index, block) in blocks.into_iter().enumerate() {
            match block.kind.text() {
                "text" => self.emit_prompt(block.text.into_string(), prompt.clone(), out),
                kind if kind.ends_with("tool_result") => {
                    let place = ClaudeMessageContext { message: None, parent: prompt.parent.as_deref() };
                    self.emit_result(block, outcome.take(), place, out);
                }
                kind => whole.emit_raw("user", kind, index, out),
            }
        }
    }

    fn emit_prompt(&mut self, text: String, prompt: AgentPrompt, out: &mut Vec<AgentEvent>) {
        let mut prompt = AgentPrompt { text, ..prompt };
        if prompt.text.starts_with(INTERRUPTED) {
            self.interrupted = true;
            prompt.origin = Some("interrupt".to_owned());
        } else if prompt.text.starts_with(LOCAL_COMMAND) {
            prompt.origin = Some("local-command".to_owned());
        }
        out.push(AgentEvent::Prompt(prompt));
    }
}
