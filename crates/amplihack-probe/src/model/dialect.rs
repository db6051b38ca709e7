//! The wire dialects behind one interface: read a request, shape an answer.

use serde_json::{Value, json};

use super::script::Usage;
use super::sse::Event;
use super::{anthropic, chat, gemini, responses};

/// How the path of a call ends that wants Gemini's answer as a stream.
const STREAM: &str = ":streamGenerateContent";

/// The API that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Anthropic Messages: `…/messages`.
    Anthropic,
    /// OpenAI Responses: `…/responses`.
    Responses,
    /// OpenAI Chat Completions: `…/chat/completions`.
    Chat,
    /// Gemini: `…/models/MODEL:generateContent` and `:streamGenerateContent`.
    Gemini,
}

impl Dialect {
    /// The dialect of a model call to this path, `None` for any other path.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with(":generateContent") || path.ends_with(STREAM) {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// Whether a call to this path wants its answer as a stream.
    pub(crate) fn streams(self, path: &str, request: &Value) -> bool {
        match self {
            Self::Gemini => path.ends_with(STREAM),
            Self::Anthropic | Self::Responses | Self::Chat => request["stream"] == json!(true),
        }
    }

    /// The names of the tools that a request offers.
    pub(crate) fn tools(self, request: &Value) -> Vec<&str> {
        let named =
            |name: fn(&Value) -> Option<&str>| items(&request["tools"]).iter().filter_map(name).collect();
        match self {
            Self::Anthropic => named(|tool| tool["name"].as_str()),
            // Built-in tools such as `local_shell` have a type instead of a name.
            Self::Responses => named(|tool| tool["name"].as_str().or_else(|| tool["type"].as_str())),
            Self::Chat => named(|tool| tool["function"]["name"].as_str()),
            Self::Gemini => gemini::tools(request),
        }
    }

    /// What each message of a request is, in order.
    pub(crate) fn turns(self, request: &Value) -> Vec<Turn> {
        match self {
            Self::Anthropic => anthropic::turns(request),
            Self::Responses => responses::turns(request),
            Self::Chat => chat::turns(request),
            Self::Gemini => gemini::turns(request),
        }
    }

    /// Every text in a request's instructions and messages, with its role.
    pub(crate) fn said(self, request: &Value) -> Vec<Said> {
        match self {
            Self::Anthropic => anthropic::said(request),
            Self::Responses => responses::said(request),
            Self::Chat => chat::said(request),
            Self::Gemini => gemini::said(request),
        }
    }

    /// The answer as a stream of events; `id` is its own among all answers of the run.
    pub(crate) fn events(self, request: &Value, answer: &Answer, id: &str, usage: Usage) -> Vec<Event> {
        match self {
            Self::Anthropic => anthropic::events(request, answer, id, usage),
            Self::Responses => responses::events(request, answer, id, usage),
            Self::Chat => chat::events(request, answer, id, usage),
            Self::Gemini => gemini::events(request, answer, id, usage),
        }
    }

    /// The answer as one JSON object; `id` is its own among all answers of the run.
    pub(crate) fn whole(self, request: &Value, answer: &Answer, id: &str, usage: Usage) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(request, answer, id, usage),
            Self::Responses => responses::whole(request, answer, id, usage),
            Self::Chat => chat::whole(request, answer, id, usage),
            Self::Gemini => gemini::whole(request, answer, id, usage),
        }
    }

    /// The body of an HTTP error.
    pub(crate) fn error(self, status: u16) -> Value {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        let message = format!("scripted error {status}");
        match self {
            Self::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::Responses | Self::Chat => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
            }
            Self::Gemini => gemini::error(status, &message),
        }
    }
}

/// What the model says, before a dialect shapes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Text that ends the turn.
    Text(String),
    /// One tool call; `id` is unique in the run.
    Call { id: String, tool: String, input: Value },
}

impl Answer {
    /// The call of a shell tool that runs `command`.
    pub(crate) fn shell(id: String, tool: &str, command: &str) -> Self {
        Self::Call { id, tool: tool.to_owned(), input: arguments(tool, command) }
    }
}

/// What a message of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The user asks.
    Prompt,
    /// The model spoke or called a tool.
    Model,
    /// A tool answered.
    ToolResult,
    /// Instructions, reminders, reasoning: no step of the conversation.
    Other,
}

/// Model turns in these messages. Neighbouring ones are one turn: some clients split it into several items.
pub(crate) fn model_turns(turns: &[Turn]) -> usize {
    let steps: Vec<_> = turns.iter().filter(|turn| **turn != Turn::Other).collect();
    steps.chunk_by(|a, b| a == b).filter(|group| *group[0] == Turn::Model).count()
}

/// The messages after the last prompt.
pub(crate) fn since_prompt(turns: &[Turn]) -> &[Turn] {
    let start = turns.iter().rposition(|turn| *turn == Turn::Prompt).map_or(0, |last| last + 1);
    turns.get(start..).unwrap_or_default()
}

/// A text in a request and who said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The role as the client wrote it: `user`, `system`, `developer`, `assistant`, `tool`.
    pub role: String,
    /// The text, unchanged.
    pub text: String,
}

/// The texts of a message's content: a string, or a list of parts with a `text` each.
pub(crate) fn texts(role: &str, content: &Value) -> Vec<Said> {
    let said = |text: &str| Said { role: role.to_owned(), text: text.to_owned() };
    match content {
        Value::String(text) => vec![said(text)],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).map(said).collect(),
        _ => Vec::new(),
    }
}

/// The elements of a list, none for anything else.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Shell tools by name, the preferred one first.
const SHELL_TOOLS: [&str; 7] =
    ["Bash", "exec_command", "shell_command", "shell", "local_shell", "bash", "run_shell_command"];

/// The shell tool among those that a request offers.
pub(crate) fn shell_tool(offered: &[&str]) -> Option<&'static str> {
    SHELL_TOOLS.into_iter().find(|tool| offered.contains(tool))
}

/// The arguments with which this shell tool runs `command`.
fn arguments(tool: &str, command: &str) -> Value {
    match tool {
        "exec_command" => json!({"cmd": command}),
        "shell" | "local_shell" => json!({"command": ["bash", "-lc", command]}),
        "shell_command" => json!({"command": command}),
        _ => json!({"command": command, "description": "scripted"}),
    }
}

/// The call of the file-writing tool among those that a request offers, with this path and text.
pub(crate) fn write_call(id: String, offered: &[&str], path: &str, text: &str) -> Option<Answer> {
    let (tool, input) = [
        ("Write", json!({"file_path": path, "content": text})),
        ("create", json!({"path": path, "file_text": text})),
        ("write_file", json!({"file_path": path, "content": text})),
    ]
    .into_iter()
    .find(|(tool, _)| offered.contains(tool))?;
    Some(Answer::Call { id, tool: tool.to_owned(), input })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Turn::{Model, Other, Prompt, ToolResult};

    #[test]
    fn steps_are_counted_from_the_last_prompt_or_from_the_start() {
        let turns = [Other, Prompt, Model, ToolResult, Model, Prompt, Other, Model, Other, Model, ToolResult];
        assert_eq!(model_turns(&turns), 3);
        assert_eq!(model_turns(since_prompt(&turns)), 1);
        assert_eq!(model_turns(since_prompt(&[])), 0);
    }

    #[test]
    fn paths_name_the_dialect() {
        assert_eq!(Dialect::of_path("/v1/messages"), Some(Dialect::Anthropic));
        assert_eq!(Dialect::of_path("/responses"), Some(Dialect::Responses));
        assert_eq!(Dialect::of_path("/v1/chat/completions"), Some(Dialect::Chat));
        let stream = "/v1beta/models/m:streamGenerateContent";
        assert_eq!(Dialect::of_path(stream), Some(Dialect::Gemini));
        assert!(Dialect::Gemini.streams(stream, &Value::Null));
        assert_eq!(Dialect::of_path("/v1beta/models/m:countTokens"), None);
        assert_eq!(Dialect::of_path("/v1/messages/count_tokens"), None);
        assert_eq!(Dialect::of_path("/v1/models"), None);
    }

    #[test]
    fn tools_are_found_by_name_and_called_in_their_own_shapes() {
        assert_eq!(shell_tool(&["Read", "bash", "Bash"]), Some("Bash"));
        assert_eq!(shell_tool(&["Read"]), None);
        assert_eq!(arguments("exec_command", "id"), json!({"cmd": "id"}));
        assert_eq!(arguments("shell", "id")["command"], json!(["bash", "-lc", "id"]));
        assert_eq!(arguments("bash", "id")["command"], "id");
        let call = write_call("1".to_owned(), &["bash", "create"], "/f", "t");
        let input = json!({"path": "/f", "file_text": "t"});
        assert_eq!(call, Some(Answer::Call { id: "1".to_owned(), tool: "create".to_owned(), input }));
        assert_eq!(write_call("1".to_owned(), &["bash"], "/f", "t"), None);
        let request = json!({"tools": [{"type": "local_shell"}, {"type": "function", "name": "f"}]});
        assert_eq!(Dialect::Responses.tools(&request), ["local_shell", "f"]);
        let request = json!({"tools": [{"type": "function", "function": {"name": "bash"}}]});
        assert_eq!(Dialect::Chat.tools(&request), ["bash"]);
    }
}
