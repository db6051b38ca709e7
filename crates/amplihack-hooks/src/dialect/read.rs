//! Payloads of all dialects, read into one call. What cannot be read is named, never guessed.

use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use serde_json::{Map, Value};

use super::{Call, Dialect, Kind, patch, tools};
use crate::event::HookEvent;
use crate::host::speech;
use crate::repeated::Json;

/// The longest payload that is read. Its nesting is bounded too, by the JSON reader: 127 levels.
pub const MAX_PAYLOAD: usize = 10 << 20;
/// The most text of a tool's output that is looked at.
const MAX_OUTPUT: usize = 1 << 20;

/// Why a payload says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Bad {
    /// There is none.
    #[error("the hook got no payload on stdin; its host must send one JSON document")]
    Empty,
    /// It is too long.
    #[error("the hook's payload is longer than {MAX_PAYLOAD} bytes; use smaller tool calls")]
    TooLarge,
    /// It is not JSON, or nested too deeply.
    #[error("the hook's payload is not JSON: {0}; check which program sends it")]
    Json(String),
    /// It is JSON of a shape that no host sends.
    #[error("the hook's payload has {0}; check whether the agent CLI is newer than this amplihack")]
    Shape(&'static str),
    /// It could not be read from stdin.
    #[error("the hook's payload could not be read: {0}; check which program sends it")]
    Io(String),
}

/// Reads `payload`. `host` settles the dialect where the shape does not; `cwd` stands in for a missing directory.
pub fn read(payload: &[u8], event: HookEvent, host: Option<AgentBinary>, cwd: &Path) -> Result<Call, Bad> {
    if payload.len() > MAX_PAYLOAD {
        return Err(Bad::TooLarge);
    }
    let payload = payload.strip_prefix("\u{feff}".as_bytes()).unwrap_or(payload);
    if payload.iter().all(u8::is_ascii_whitespace) {
        return Err(Bad::Empty);
    }
    let value = if event.is_guard() {
        once(serde_json::from_slice(payload).map_err(|error| Bad::Json(error.to_string()))?)?
    } else {
        serde_json::from_slice(payload).map_err(|error| Bad::Json(error.to_string()))?
    };
    let Value::Object(map) = value else { return Err(Bad::Shape("no object at its top")) };
    let dialect = dialect(&map, host);
    let mut call = Call::empty(dialect, event, cwd);
    if let Some(directory) = text(&map, &["cwd"]).map(PathBuf::from).filter(|path| path.is_absolute()) {
        call.cwd = directory;
    }
    call.session = text(&map, &["session_id", "sessionId"]).map(str::to_owned);
    call.call_id = text(&map, &["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]).map(str::to_owned);
    call.stop_active =
        matches!(first(&map, &["stop_hook_active", "stopHookActive"]), Some(Value::Bool(true)));
    call.turn = first(&map, &["turnCount", "turn_count"]).and_then(Value::as_u64);
    call.prompt = prompt(&map);
    call.error = first(&map, &["error"]).map(|error| match error {
        Value::Object(error) => text(error, &["message"]).unwrap_or_default().to_owned(),
        other => all_text(other),
    });
    call.output = first(&map, &["tool_response", "tool_result", "toolResult"]).map(all_text);
    tool(&map, &mut call)?;
    Ok(call)
}

/// A value whose keys stand once each. Of two of them the host may take the one and we the other.
fn once(value: Json) -> Result<Value, Bad> {
    if value.repeated().is_some() {
        Err(Bad::Shape("a key that stands twice"))
    } else {
        Ok(value.into_value())
    }
}

/// The shape decides where only one host sends it, else what the registration says, else Claude's dialect.
fn dialect(map: &Map<String, Value>, host: Option<AgentBinary>) -> Dialect {
    let shown = Dialect::ALL.into_iter().find(|dialect| (speech(*dialect).sent)(map));
    // Claude's shape is everybody's.
    shown.filter(|dialect| *dialect != Dialect::Claude).unwrap_or_else(|| Dialect::of_host(host))
}

/// Where hosts put a tool's arguments.
const INPUTS: &[&str] = &["tool_input", "toolInput", "toolArgs"];

/// Whether these fields, and one more, hold different values.
fn differ(map: &Map<String, Value>, names: &[&str], more: Option<&Value>) -> bool {
    let mut values =
        names.iter().filter_map(|name| map.get(*name)).chain(more).filter(|value| !value.is_null());
    let Some(one) = values.next() else { return false };
    values.any(|value| value != one)
}

/// Reads the tool's part, which a guard must not miss.
fn tool(map: &Map<String, Value>, call: &mut Call) -> Result<(), Bad> {
    let nested = first(map, &["toolUse"]).and_then(Value::as_object);
    if call.event.is_guard() {
        // A host sends one of them: which of two different ones it goes by is not known.
        if differ(map, &["tool_name", "toolName"], nested.and_then(|tool| tool.get("name"))) {
            return Err(Bad::Shape("two different names of a tool"));
        }
        if differ(map, INPUTS, nested.and_then(|tool| tool.get("input"))) {
            return Err(Bad::Shape("two different sets of tool arguments"));
        }
    }
    let name = first(map, &["tool_name", "toolName"]).or_else(|| first(nested?, &["name"]));
    let name = match name {
        Some(Value::String(name)) if !name.trim().is_empty() => name,
        None if !call.event.is_guard() => return Ok(()),
        _ => return Err(Bad::Shape("no tool's name")),
    };
    call.kind = tools::kind(call.dialect, name);
    call.tool = Some(name.clone());
    let input = first(map, INPUTS).or_else(|| first(nested?, &["input"]));
    let parsed;
    let input = match input {
        Some(Value::Object(input)) => input,
        Some(Value::String(text)) => match serde_json::from_str::<Json>(text).ok().map(once).transpose()? {
            Some(Value::Object(object)) => {
                parsed = object;
                &parsed
            }
            _ if call.kind == Kind::Edit => {
                call.paths = patch::paths(text);
                return Ok(());
            }
            _ => return Err(Bad::Shape("tool arguments that are not a JSON object")),
        },
        None if call.kind != Kind::Shell || !call.event.is_guard() => return Ok(()),
        None => return Err(Bad::Shape("a shell call without arguments")),
        Some(_) => return Err(Bad::Shape("tool arguments that are not a JSON object")),
    };
    arguments(input, call)
}

fn arguments(input: &Map<String, Value>, call: &mut Call) -> Result<(), Bad> {
    let directory =
        text(input, &["workdir", "working_directory", "workingDirectory", "cwd", "dir_path", "directory"]);
    call.workdir =
        directory.map(|directory| call.cwd.join(directory)).filter(|directory| *directory != call.cwd);
    match call.kind {
        Kind::Shell => call.command = command(input, &["command", "cmd", "script", "input", "chars"])?,
        // A tool that nobody knows and that takes a command is taken for a shell.
        Kind::Unknown => {
            call.command = command(input, &["command", "cmd", "script"])?;
            if call.command.is_some() {
                call.kind = Kind::Shell;
            }
        }
        Kind::Write | Kind::Edit => call.paths = paths(input),
        Kind::Read => {
            call.paths = paths(input);
            call.paths.extend(searched(input));
        }
        Kind::Fetch => call.urls = urls(input, call.dialect == Dialect::Gemini),
        Kind::Agent => {
            if call.prompt.is_none() {
                call.prompt = text(input, &["prompt", "message"]).map(str::to_owned);
            }
        }
        Kind::Mcp => {
            let mut commands = Vec::new();
            carried(input, 0, &mut commands);
            call.command = (!commands.is_empty()).then(|| commands.join("\n"));
        }
        Kind::Other => {}
    }
    Ok(())
}

/// Commands anywhere in what a server's tool is given.
fn carried(input: &Map<String, Value>, depth: usize, commands: &mut Vec<String>) {
    const NAMES: [&str; 7] = ["command", "cmd", "script", "shell_command", "bash", "commands", "commandLine"];
    let words = |value: &Value| {
        value
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
    };
    for (name, value) in input {
        match value {
            Value::Object(inner) if depth < 4 => carried(inner, depth + 1, commands),
            Value::String(text) if NAMES.contains(&name.as_str()) => {
                // `command` and `args`, as a process is started.
                let args =
                    input.get("args").or_else(|| input.get("arguments")).and_then(words).unwrap_or_default();
                let args: String =
                    args.iter().flat_map(|arg| [" ".to_owned(), crate::registration::quoted(arg)]).collect();
                commands.push(format!("{text}{args}"));
            }
            Value::Array(all) if NAMES.contains(&name.as_str()) => {
                let Some(words) = words(value).filter(|words| words.len() == all.len()) else { continue };
                // Several commands, or one in words.
                commands.extend(words.iter().filter(|word| word.contains(' ')).cloned());
                commands.push(
                    words.iter().map(|word| crate::registration::quoted(word)).collect::<Vec<_>>().join(" "),
                );
            }
            _ => {}
        }
    }
}

/// The command, from a text or a list of words; of several fields all, since only the host knows which it will run.
fn command(input: &Map<String, Value>, names: &[&str]) -> Result<Option<String>, Bad> {
    let mut commands: Vec<String> = Vec::new();
    for value in names.iter().filter_map(|name| input.get(*name)) {
        let command = match value {
            Value::Null => continue,
            Value::String(command) => command.clone(),
            Value::Array(words) => {
                let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
                let words = words.ok_or(Bad::Shape("a command with words that are no text"))?;
                words.iter().map(|word| crate::registration::quoted(word)).collect::<Vec<_>>().join(" ")
            }
            _ => return Err(Bad::Shape("a command that is no text")),
        };
        if !command.trim().is_empty() && !commands.contains(&command) {
            commands.push(command);
        }
    }
    Ok((!commands.is_empty()).then(|| commands.join("\n")))
}

fn paths(input: &Map<String, Value>) -> Vec<PathBuf> {
    const ONE: &[&str] = &[
        "file_path",
        "filePath",
        "path",
        "notebook_path",
        "new_path",
        "filename",
        "uri_path",
        "source",
        "destination",
        "source_path",
        "destination_path",
        "old_path",
    ];
    let one = ONE.iter().filter_map(|name| input.get(*name)?.as_str());
    let many = ["paths", "files"].iter().filter_map(|name| input.get(*name)?.as_array()).flatten();
    let mut paths: Vec<PathBuf> = one
        .chain(many.filter_map(Value::as_str))
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect();
    for name in ["patch", "input", "command"] {
        let words = input.get(name).and_then(Value::as_array).into_iter().flatten();
        for text in input.get(name).into_iter().chain(words).filter_map(Value::as_str) {
            paths.extend(patch::paths(text));
        }
    }
    paths
}

/// Where a search looks, and which files there: a tree that holds secrets is read by it as by their names.
fn searched(input: &Map<String, Value>) -> Vec<PathBuf> {
    let texts = |name: &&str| match input.get(*name) {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => vec![text.as_str()],
        _ => Vec::new(),
    };
    let place = text(input, &["dir_path", "path"]).unwrap_or_default();
    let patterns = ["include", "include_pattern", "glob"].iter().flat_map(texts);
    let files = patterns.filter(|pattern| !pattern.is_empty()).map(|pattern| Path::new(place).join(pattern));
    let place = Some(place).filter(|place| !place.is_empty()).map(PathBuf::from);
    place.into_iter().chain(files).collect()
}

/// The address of a fetch, else all that stand in its text; both, if the host goes by the text whatever else is there.
fn urls(input: &Map<String, Value>, by_text: bool) -> Vec<String> {
    let mut urls: Vec<String> = text(input, &["url", "uri"]).map(str::to_owned).into_iter().collect();
    if urls.is_empty() || by_text {
        let words = text(input, &["prompt"])
            .unwrap_or_default()
            .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '(' | ')'));
        // The scheme's letter case does not matter to who fetches.
        let begins = |word: &str| {
            let lower = word.to_ascii_lowercase();
            let at = lower.find("http://").or_else(|| lower.find("https://"))?;
            Some(word.get(at..)?.to_owned())
        };
        urls.extend(words.filter_map(begins));
    }
    urls
}

fn prompt(map: &Map<String, Value>) -> Option<String> {
    const NAMES: &[&str] =
        &["prompt", "user_prompt", "userPrompt", "userMessage", "initialPrompt", "initial_prompt"];
    match first(map, NAMES)? {
        Value::String(prompt) => Some(prompt.clone()),
        Value::Object(message) => text(message, &["text"]).map(str::to_owned),
        _ => None,
    }
}

/// The first of these fields that is there and not null.
fn first<'a>(map: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names.iter().filter_map(|name| map.get(*name)).find(|value| !value.is_null())
}

fn text<'a>(map: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    first(map, names)?.as_str()
}

/// Every text in `value`, in order, one a line, cut after [`MAX_OUTPUT`] bytes.
fn all_text(value: &Value) -> String {
    fn collect(value: &Value, text: &mut String) {
        if text.len() >= MAX_OUTPUT {
            return;
        }
        match value {
            Value::String(part) => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                let mut end = part.len().min(MAX_OUTPUT - text.len().min(MAX_OUTPUT));
                while !part.is_char_boundary(end) {
                    end -= 1;
                }
                text.push_str(&part[..end]);
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, text)),
            Value::Object(map) => map.values().for_each(|value| collect(value, text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut text = String::new();
    collect(value, &mut text);
    text
}
