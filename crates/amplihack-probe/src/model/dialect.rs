//! The wire dialects behind one interface: read a request, shape an answer.

use serde_json::{Value, json};

use super::script::{ReplyUsage, ScriptedPart, ScriptedStop};
use super::sse::SseEvent;
use super::{anthropic, chat, gemini, responses};

/// The end of the path of a call that wants Gemini's answer as a stream.
const STREAM: &str = ":streamGenerateContent";

/// Text of every signature and encrypted thought.
pub(crate) const OPAQUE: &str = "c2NyaXB0ZWQ=";
/// The page that a search finds. Nothing answers there.
pub(crate) const FOUND: &str = "http://127.0.0.1:9/found";

/// The API that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelDialect {
    /// Anthropic Messages: `…/messages`.
    Anthropic,
    /// OpenAI Responses: `…/responses`.
    Responses,
    /// OpenAI Chat Completions: `…/chat/completions`.
    Chat,
    /// Gemini: `…/models/MODEL:generateContent` and `:streamGenerateContent`.
    Gemini,
}

impl ModelDialect {
    /// The dialect of a model call to this path, `None` for any other path.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
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

    /// Reports whether a call to this path wants its answer as a stream.
    pub(crate) fn wants_stream(self, path: &str, request: &Value) -> bool {
        match self {
            Self::Gemini => path.ends_with(STREAM),
            Self::Anthropic | Self::Responses | Self::Chat => request["stream"] == json!(true),
        }
    }

    /// The names of the tools that a request offers.
    pub(crate) fn tool_names(self, request: &Value) -> Vec<&str> {
        let named = |name: fn(&Value) -> Option<&str>| {
            list_items(&request["tools"]).iter().filter_map(name).collect()
        };
        match self {
            Self::Anthropic => named(|tool| tool["name"].as_str()),
            // Built-in tools such as `local_shell` have a type instead of a name.
            Self::Responses => named(|tool| tool["name"].as_str().or_else(|| tool["type"].as_str())),
            Self::Chat => named(|tool| tool["function"]["name"].as_str()),
            Self::Gemini => gemini::declared_tools(request),
        }
    }

    /// The names of the tools that a request offers, each with its namespace and a dot where it has one.
    pub(crate) fn offered_tools(self, request: &Value) -> Vec<String> {
        if self != Self::Responses {
            return self.tool_names(request).into_iter().map(str::to_owned).collect();
        }
        let names = |tool: &Value| {
            let name = tool["name"].as_str().or_else(|| tool["type"].as_str()).unwrap_or_default().to_owned();
            let inner = list_items(&tool["tools"]).iter().filter_map(|inner| inner["name"].as_str());
            let inner: Vec<String> = inner.map(|inner| format!("{name}.{inner}")).collect();
            if inner.is_empty() { vec![name] } else { inner }
        };
        list_items(&request["tools"]).iter().flat_map(names).collect()
    }

    /// The kind of each message of a request, in order.
    pub(crate) fn message_kinds(self, request: &Value) -> Vec<ModelMessageKind> {
        match self {
            Self::Anthropic => anthropic::message_kinds(request),
            Self::Responses => responses::message_kinds(request),
            Self::Chat => chat::message_kinds(request),
            Self::Gemini => gemini::message_kinds(request),
        }
    }

    /// Every text in a request's instructions and messages, with its role.
    pub(crate) fn request_texts(self, request: &Value) -> Vec<RequestText> {
        match self {
            Self::Anthropic => anthropic::request_texts(request),
            Self::Responses => responses::request_texts(request),
            Self::Chat => chat::request_texts(request),
            Self::Gemini => gemini::request_texts(request),
        }
    }

    /// The answer as a stream of events; `id` is its own among all answers of the run.
    pub(crate) fn stream_events(
        self,
        request: &Value,
        answer: &ModelAnswer,
        id: &str,
        usage: ReplyUsage,
    ) -> Vec<SseEvent> {
        match self {
            Self::Anthropic => anthropic::stream_events(request, answer, id, usage),
            Self::Responses => responses::stream_events(request, answer, id, usage),
            Self::Chat => chat::stream_events(request, answer, id, usage),
            Self::Gemini => gemini::stream_events(request, answer, id, usage),
        }
    }

    /// The answer as one JSON object; `id` is its own among all answers of the run.
    pub(crate) fn whole_answer(
        self,
        request: &Value,
        answer: &ModelAnswer,
        id: &str,
        usage: ReplyUsage,
    ) -> Value {
        match self {
            Self::Anthropic => anthropic::whole_answer(request, answer, id, usage),
            Self::Responses => responses::whole_answer(request, answer, id, usage),
            Self::Chat => chat::whole_answer(request, answer, id, usage),
            Self::Gemini => gemini::whole_answer(request, answer, id, usage),
        }
    }

    /// The body of an HTTP error.
    pub(crate) fn error_body(self, status: u16) -> Value {
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
            Self::Gemini => gemini::error_body(status, &message),
        }
    }
}

/// The answer of the model, before a dialect shapes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelAnswer {
    /// The parts, in their order.
    pub parts: Vec<ScriptedPart>,
    /// The reason why it stopped, where it is neither its end nor a call.
    pub stop: Option<ScriptedStop>,
}

impl ModelAnswer {
    /// A text that ends the turn.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![ScriptedPart::Text(text.into())], stop: None }
    }

    /// A single tool call.
    pub(crate) fn call(tool: impl Into<String>, input: Value) -> Self {
        Self { parts: vec![ScriptedPart::Call { tool: tool.into(), input }], stop: None }
    }

    /// The call of a shell tool that runs `command`.
    pub(crate) fn shell_call(tool: &str, command: &str) -> Self {
        Self::call(tool, shell_arguments(tool, command))
    }

    /// Reports whether any part calls a tool.
    pub(crate) fn has_call(&self) -> bool {
        self.parts.iter().any(ScriptedPart::is_call)
    }

    /// The parts, each with an id of its own among all parts of the run's answers.
    pub(crate) fn numbered<'a>(&'a self, id: &'a str) -> impl Iterator<Item = (String, &'a ScriptedPart)> {
        let name = move |place| if place == 0 { id.to_owned() } else { format!("{id}_{place}") };
        self.parts.iter().enumerate().map(move |(place, part)| (name(place), part))
    }
}

/// The kind of a message of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelMessageKind {
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
pub(crate) fn model_turns(turns: &[ModelMessageKind]) -> usize {
    let steps: Vec<_> = turns.iter().filter(|turn| **turn != ModelMessageKind::Other).collect();
    steps.chunk_by(|a, b| a == b).filter(|group| *group[0] == ModelMessageKind::Model).count()
}

/// The messages after the last prompt.
pub(crate) fn since_prompt(turns: &[ModelMessageKind]) -> &[ModelMessageKind] {
    let start = turns.iter().rposition(|turn| *turn == ModelMessageKind::Prompt).map_or(0, |last| last + 1);
    turns.get(start..).unwrap_or_default()
}

/// A text in a request and who said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestText {
    /// The role as the client wrote it: `user`, `system`, `developer`, `assistant`, `tool`.
    pub role: String,
    /// The text, unchanged.
    pub text: String,
}

/// The texts of a message's content: a string, or a list of parts with a `text` each.
pub(crate) fn content_texts(role: &str, content: &Value) -> Vec<RequestText> {
    let said = |text: &str| RequestText { role: role.to_owned(), text: text.to_owned() };
    match content {
        Value::String(text) => vec![said(text)],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).map(said).collect(),
        _ => Vec::new(),
    }
}

/// The elements of a list, none for anything else.
pub(crate) fn list_items(value: &Value) -> &[Value] {
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
fn shell_arguments(tool: &str, command: &str) -> Value {
    match tool {
        "exec_command" => json!({"cmd": command}),
        "shell" | "local_shell" => json!({"command": ["bash", "-lc", command]}),
        "shell_command" => json!({"command": command}),
        _ => json!({"command": command, "description": "scripted"}),
    }
}

/// The call of the file-writing tool among those that a request offers, with this path and text.
pub(crate) fn write_call(offered: &[&str], path: &str, text: &str) -> Option<ModelAnswer> {
    let (tool, input) = [
        ("Write", json!({"file_path": path, "content": text})),
        ("create", json!({"path": path, "file_text": text})),
        ("write_file", json!({"file_path": path, "content": text})),
    ]
    .into_iter()
    .find(|(tool, _)| offered.contains(tool))?;
    Some(ModelAnswer::call(tool, input))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelMessageKind::{Model, Other, Prompt, ToolResult};

    #[test]
    fn steps_are_counted_from_the_last_prompt_or_from_the_start() {
        let turns = [Other, Prompt, Model, ToolResult, Model, Prompt, Other, Model, Other, Model, ToolResult];
        assert_eq!(model_turns(&turns), 3);
        assert_eq!(model_turns(since_prompt(&turns)), 1);
        assert_eq!(model_turns(since_prompt(&[])), 0);
    }

    #[test]
    fn paths_name_the_dialect() {
        assert_eq!(ModelDialect::from_path("/v1/messages"), Some(ModelDialect::Anthropic));
        assert_eq!(ModelDialect::from_path("/responses"), Some(ModelDialect::Responses));
        assert_eq!(ModelDialect::from_path("/v1/chat/completions"), Some(ModelDialect::Chat));
        let stream = "/v1beta/models/m:streamGenerateContent";
        assert_eq!(ModelDialect::from_path(stream), Some(ModelDialect::Gemini));
        assert!(ModelDialect::Gemini.wants_stream(stream, &Value::Null));
        assert_eq!(ModelDialect::from_path("/v1beta/models/m:countTokens"), None);
        assert_eq!(ModelDialect::from_path("/v1/messages/count_tokens"), None);
        assert_eq!(ModelDialect::from_path("/v1/models"), None);
    }

    #[test]
    fn tools_are_found_by_name_and_called_in_their_own_shapes() {
        assert_eq!(shell_tool(&["Read", "bash", "Bash"]), Some("Bash"));
        assert_eq!(shell_tool(&["Read"]), None);
        assert_eq!(shell_arguments("exec_command", "id"), json!({"cmd": "id"}));
        assert_eq!(shell_arguments("shell", "id")["command"], json!(["bash", "-lc", "id"]));
        assert_eq!(shell_arguments("bash", "id")["command"], "id");
        let call = write_call(&["bash", "create"], "/f", "t");
        let input = json!({"path": "/f", "file_text": "t"});
        assert_eq!(call, Some(ModelAnswer::call("create", input)));
        assert_eq!(write_call(&["bash"], "/f", "t"), None);
        let request = json!({"tools": [{"type": "local_shell"}, {"type": "function", "name": "f"}]});
        assert_eq!(ModelDialect::Responses.tool_names(&request), ["local_shell", "f"]);
        let request = json!({"tools": [{"type": "function", "function": {"name": "bash"}}]});
        assert_eq!(ModelDialect::Chat.tool_names(&request), ["bash"]);
    }
}
