//! Replies that a fake plays.

use std::time::Duration;

use serde_json::{Value, json};

/// A step of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ReplyStep {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Pause(Duration),
    Await,
    Behind(Duration),
    Exit(u8),
}

/// Reply of a fake to a call: its steps in order, then exit code 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FakeReply {
    pub(super) steps: Vec<ReplyStep>,
    pub(super) deaf: bool,
}

impl FakeReply {
    /// Nothing: exit code 0 at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// A whole run that ends well: a session of [`THREAD`](super::THREAD), `text` as the agent's only message, and as its result.
    pub fn success(text: &str) -> Self {
        Self::new().init().assistant(text).result(text)
    }

    /// A run that ends in an error result and exit code 1.
    pub fn failure(error: &str) -> Self {
        let result = json!({
            "type": "result", "subtype": "error_during_execution", "is_error": true, "error": error,
            "duration_ms": 1, "num_turns": 1, "session_id": super::THREAD,
        });
        Self::new().init().message(&result).exit(1)
    }

    fn push_step(mut self, step: ReplyStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Writes a message as one line of JSON.
    #[must_use]
    pub fn message(self, message: &Value) -> Self {
        self.text(format!("{message}\n"))
    }

    /// The message that opens a session, with the tools Bash and Read.
    #[must_use]
    pub fn init(self) -> Self {
        self.message(&json!({
            "type": "system", "subtype": "init", "session_id": super::THREAD, "cwd": "/project",
            "tools": ["Bash", "Read"], "mcp_servers": [],
        }))
    }

    /// A text of the agent's.
    #[must_use]
    pub fn assistant(self, text: &str) -> Self {
        self.push_assistant(&json!([{ "type": "text", "text": text }]), "end_turn")
    }

    /// A tool call of the agent's.
    #[must_use]
    pub fn tool_use(self, id: &str, tool: &str, input: &Value) -> Self {
        self.push_assistant(
            &json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]),
            "tool_use",
        )
    }

    fn push_assistant(self, content: &Value, stop_reason: &str) -> Self {
        let id = format!("msg_{}", self.steps.len());
        self.message(&json!({
            "type": "assistant", "session_id": super::THREAD, "parent_tool_use_id": null,
            "message": {
                "id": id, "type": "message", "role": "assistant", "model": "fake", "content": content, "stop_reason": stop_reason,
                "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 5 },
            },
        }))
    }

    /// Writes the answer of a tool.
    #[must_use]
    pub fn tool_result(self, id: &str, content: &str, is_error: bool) -> Self {
        let block =
            json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error });
        self.message(&json!({
            "type": "user", "session_id": super::THREAD, "parent_tool_use_id": null,
            "message": { "role": "user", "content": [block] },
        }))
    }

    /// The result of a run that ended well.
    #[must_use]
    pub fn result(self, text: &str) -> Self {
        self.message(&json!({
            "type": "result", "subtype": "success", "is_error": false, "result": text,
            "duration_ms": 1, "num_turns": 1, "session_id": super::THREAD,
        }))
    }

    /// Writes this to standard output, as it is.
    #[must_use]
    pub fn text(self, text: impl Into<Vec<u8>>) -> Self {
        self.push_step(ReplyStep::Stdout(text.into()))
    }

    /// Writes this to standard error, as it is.
    #[must_use]
    pub fn stderr(self, text: impl Into<Vec<u8>>) -> Self {
        self.push_step(ReplyStep::Stderr(text.into()))
    }

    /// Waits.
    #[must_use]
    pub fn pause(self, time: Duration) -> Self {
        self.push_step(ReplyStep::Pause(time))
    }

    /// Waits for the next message of a run that is given messages while it works. The rest of the input is read after the last step.
    #[must_use]
    pub fn await_message(self) -> Self {
        self.push_step(ReplyStep::Await)
    }

    /// Leaves a process behind that keeps both outputs open for this long.
    #[must_use]
    pub fn leave_behind(self, time: Duration) -> Self {
        self.push_step(ReplyStep::Behind(time))
    }

    /// Ends with this code; later steps are not played.
    #[must_use]
    pub fn exit(self, code: u8) -> Self {
        self.push_step(ReplyStep::Exit(code))
    }

    /// Closes standard input unread. Without it everything is read before the first step, or after
    /// the last one of a reply that [awaits](Self::await_message) messages.
    #[must_use]
    pub fn ignore_stdin(mut self) -> Self {
        self.deaf = true;
        self
    }
}
