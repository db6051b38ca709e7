//! Payloads of all dialects, read into one call. What cannot be read is named, never guessed.

use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_sys::hex::to_hex;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::readings::{self, HookPayload, INPUTS, NAMES};
use super::{FileChanges, HookCall, HookDialect, LooseFields, SkillCall, ToolKind, patch, tools};
use crate::event::HookEvent;
use crate::host::dialect_spec;

/// The longest payload that is read.
pub const MAX_PAYLOAD: usize = 10 << 20;
/// The most text of a tool's output that is looked at.
const MAX_OUTPUT: usize = 1 << 20;

/// The reason why a payload cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// There is none.
    #[error("the hook got no payload on stdin; its host must send one JSON document")]
    Empty,
    /// The payload is too long.
    #[error("the hook's payload is longer than {MAX_PAYLOAD} bytes; use smaller tool calls")]
    TooLarge,
    /// The payload is not JSON, or nested too deeply.
    #[error("the hook's payload is not JSON: {0}; check which program sends it")]
    Json(String),
    /// The payload is JSON of a shape that no host sends.
    #[error("the hook's payload has {0}; check whether the agent CLI is newer than this amplihack")]
    Shape(&'static str),
    /// The payload could not be read from stdin.
    #[error("the hook's payload could not be read: {0}; check which program sends it")]
    Io(String),
}

/// Reads `payload`. `host` settles the dialect where the shape does not; `cwd` stands in for a missing directory.
pub fn read_call(
    payload: &[u8],
    event: HookEvent,
    host: Option<AgentBinary>,
    cwd: &Path,
) -> Result<HookCall, PayloadError> {
    if payload.len() > MAX_PAYLOAD {
        return Err(PayloadError::TooLarge);
    }
    let payload = payload.strip_prefix("\u{feff}".as_bytes()).unwrap_or(payload);
    if payload.iter().all(u8::is_ascii_whitespace) {
        return Err(PayloadError::Empty);
    }
    let payload = HookPayload::parse(payload)?;
    if !event.is_guard() {
        // Nothing can be stopped there, so nothing is refused: one reading is enough.
        let Value::Object(map) = payload.last_reading() else {
            return Err(PayloadError::Shape("no object at its top"));
        };
        return read_object(&map, detect_dialect(&map, host), event, cwd);
    }
    let (values, is_deep) = payload.each_reading()?;
    let mut calls: Vec<HookCall> = Vec::new();
    for value in values {
        let Value::Object(map) = value else { return Err(PayloadError::Shape("no object at its top")) };
        let shown = detect_dialect(&map, host);
        for map in readings::each_tool(map) {
            for dialect in [shown, detect_dialect(&map, host)] {
                let call = read_object(&map, dialect, event, cwd)?;
                if !calls.contains(&call) {
                    calls.push(call);
                }
            }
        }
    }
    let looks_into = |call: &HookCall| {
        matches!(call.kind, ToolKind::Shell | ToolKind::Mcp | ToolKind::Unknown)
            || call.loose != LooseFields::default()
    };
    if is_deep && calls.iter().any(looks_into) {
        return Err(PayloadError::Shape("arguments that are nested too deeply to be judged"));
    }
    let others = calls.split_off(calls.len().min(1));
    calls.pop().map(|call| HookCall { others, ..call }).ok_or(PayloadError::Empty)
}

/// Reads one object as what `dialect` makes of it.
fn read_object(
    map: &Map<String, Value>,
    dialect: HookDialect,
    event: HookEvent,
    cwd: &Path,
) -> Result<HookCall, PayloadError> {
    let mut call = HookCall::new(dialect, event, cwd);
    if let Some(directory) = text_field(map, &["cwd"]).map(PathBuf::from).filter(|path| path.is_absolute()) {
        call.cwd = directory;
    }
    call.session = text_field(map, &["session_id", "sessionId"]).map(str::to_owned);
    call.call_id =
        text_field(map, &["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]).map(str::to_owned);
    call.transcript =
        text_field(map, &["transcript_path"]).map(PathBuf::from).filter(|path| path.is_absolute());
    call.skips_permissions = text_field(map, &["permission_mode"]) == Some(SKIPPED);
    call.stop_active =
        matches!(first_field(map, &["stop_hook_active", "stopHookActive"]), Some(Value::Bool(true)));
    call.turn = first_field(map, &["turnCount", "turn_count"]).and_then(Value::as_u64);
    call.prompt = prompt_text(map);
    call.error = first_field(map, &["error"]).map(|error| match error {
        Value::Object(error) => text_field(error, &["message"]).unwrap_or_default().to_owned(),
        other => all_text(other),
    });
    call.output = first_field(map, &["tool_response", "tool_result", "toolResult"]).map(all_text);
    read_tool(map, &mut call)?;
    if event.is_guard() && call.skips_permissions {
        call.digest = Some(call_digest(&call, first_field(map, &INPUTS)));
    }
    Ok(call)
}

/// The mode in which Claude Code says that it asks nobody.
const SKIPPED: &str = "bypassPermissions";

/// The digest of the session, the tool and the `input` of `call`, each with its length in front.
fn call_digest(call: &HookCall, input: Option<&Value>) -> String {
    let mut hash = Sha256::new();
    let input = input.map(Value::to_string).unwrap_or_default();
    for part in
        [call.session.as_deref().unwrap_or_default(), call.tool.as_deref().unwrap_or_default(), &input]
    {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    to_hex(hash.finalize())
}

/// The shape decides where only one host sends it, else what the registration says, else Claude's dialect.
fn detect_dialect(map: &Map<String, Value>, host: Option<AgentBinary>) -> HookDialect {
    let shown = HookDialect::ALL.into_iter().find(|dialect| (dialect_spec(*dialect).sent)(map));
    // Claude's shape is everybody's.
    shown.filter(|dialect| *dialect != HookDialect::Claude).unwrap_or_else(|| HookDialect::of_host(host))
}

/// Reads the tool's part, which a guard must not miss.
fn read_tool(map: &Map<String, Value>, call: &mut HookCall) -> Result<(), PayloadError> {
    let nested = first_field(map, &["toolUse"]).and_then(Value::as_object);
    let name = first_field(map, &NAMES).or_else(|| first_field(nested?, &["name"]));
    let name = match name {
        Some(Value::String(name)) if !name.trim().is_empty() => name,
        None if !call.event.is_guard() => return Ok(()),
        _ => return Err(PayloadError::Shape("no tool's name")),
    };
    let named = tools::named_tool(call.dialect, name);
    call.kind = named.kind;
    call.tool = Some(name.clone());
    let input = first_field(map, &INPUTS).or_else(|| first_field(nested?, &["input"]));
    let parsed;
    let input = match input {
        Some(Value::Object(input)) => input,
        Some(Value::String(text)) => match serde_json::from_str(text).ok() {
            Some(Value::Object(object)) => {
                parsed = object;
                &parsed
            }
            _ if call.kind == ToolKind::Edit => {
                call.paths = patch::patch_paths(text);
                call.changes = FileChanges::of_patch(text);
                return Ok(());
            }
            _ => return Err(PayloadError::Shape("tool arguments that are not a JSON object")),
        },
        None if call.kind != ToolKind::Shell || !call.event.is_guard() => return Ok(()),
        None => return Err(PayloadError::Shape("a shell call without arguments")),
        Some(_) => return Err(PayloadError::Shape("tool arguments that are not a JSON object")),
    };
    read_arguments(input, call)?;
    // What only a server understands, or nobody, is taken for what it looks like.
    if named.served.is_some() || call.kind == ToolKind::Unknown {
        let own = named.served.as_deref().unwrap_or(name);
        call.loose =
            LooseFields::from_input(input, own, matches!(call.kind, ToolKind::Write | ToolKind::Edit));
    }
    Ok(())
}

fn read_arguments(input: &Map<String, Value>, call: &mut HookCall) -> Result<(), PayloadError> {
    let directory = text_field(
        input,
        &["workdir", "working_directory", "workingDirectory", "cwd", "dir_path", "directory"],
    );
    call.workdir =
        directory.map(|directory| call.cwd.join(directory)).filter(|directory| *directory != call.cwd);
    match call.kind {
        ToolKind::Shell => {
            call.command = command_text(input, &["command", "cmd", "script", "input", "chars"])?;
        }
        // A tool that nobody knows and that takes a command is taken for a shell. A script may be one of another language.
        ToolKind::Unknown => {
            call.command = command_text(input, &["command", "cmd"])?;
            if call.command.is_some() {
                call.kind = ToolKind::Shell;
            }
        }
        ToolKind::Write | ToolKind::Edit => {
            call.paths = file_paths(input);
            call.changes = FileChanges::from_input(input);
        }
        ToolKind::Read => {
            call.paths = file_paths(input);
            call.paths.extend(searched_paths(input));
        }
        ToolKind::Fetch => call.urls = fetched_urls(input, call.dialect == HookDialect::Gemini),
        ToolKind::Agent => {
            if call.prompt.is_none() {
                call.prompt = text_field(input, &["prompt", "message"]).map(str::to_owned);
            }
        }
        ToolKind::Skill => {
            call.skill = text_field(input, &["skill", "command", "name"]).map(|name| SkillCall {
                name: name.trim().trim_start_matches('/').to_owned(),
                arguments: text_field(input, &["args", "arguments"]).unwrap_or_default().to_owned(),
            });
        }
        ToolKind::Mcp => {
            let mut commands = Vec::new();
            collect_commands(input, 0, &mut commands);
            call.command = (!commands.is_empty()).then(|| commands.join("\n"));
        }
        ToolKind::Other => {}
    }
    Ok(())
}

/// Commands anywhere in what a server's tool is given.
fn collect_commands(input: &Map<String, Value>, depth: usize, commands: &mut Vec<String>) {
    const NAMES: [&str; 7] = ["command", "cmd", "script", "shell_command", "bash", "commands", "commandLine"];
    let words = |value: &Value| {
        value
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
    };
    for (name, value) in input {
        match value {
            Value::Object(inner) if depth < 4 => collect_commands(inner, depth + 1, commands),
            Value::String(text) if NAMES.contains(&name.as_str()) => {
                // `command` and `args`, as a process is started.
                let args =
                    input.get("args").or_else(|| input.get("arguments")).and_then(words).unwrap_or_default();
                let args: String = args
                    .iter()
                    .flat_map(|arg| [" ".to_owned(), crate::registration::shell_quoted(arg)])
                    .collect();
                commands.push(format!("{text}{args}"));
            }
            Value::Array(all) if NAMES.contains(&name.as_str()) => {
                let Some(words) = words(value).filter(|words| words.len() == all.len()) else { continue };
                // Several commands, or one in words.
                commands.extend(words.iter().filter(|word| word.contains(' ')).cloned());
                commands.push(
                    words
                        .iter()
                        .map(|word| crate::registration::shell_quoted(word))
                        .collect::<Vec<_>>()
                        .join(" "),
                );
            }
            _ => {}
        }
    }
}

/// The command, from a text or a list of words; of several fields all, since only the host knows which it will run.
fn command_text(input: &Map<String, Value>, names: &[&str]) -> Result<Option<String>, PayloadError> {
    let mut commands: Vec<String> = Vec::new();
    for value in names.iter().filter_map(|name| input.get(*name)) {
        let command = match value {
            Value::Null => continue,
            Value::String(command) => command.clone(),
            Value::Array(words) => {
                let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
                let words = words.ok_or(PayloadError::Shape("a command with words that are no text"))?;
                words.iter().map(|word| crate::registration::shell_quoted(word)).collect::<Vec<_>>().join(" ")
            }
            _ => return Err(PayloadError::Shape("a command that is no text")),
        };
        if !command.trim().is_empty() && !commands.contains(&command) {
            commands.push(command);
        }
    }
    Ok((!commands.is_empty()).then(|| commands.join("\n")))
}

fn file_paths(input: &Map<String, Value>) -> Vec<PathBuf> {
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
            paths.extend(patch::patch_paths(text));
        }
    }
    paths
}

/// Paths that a search looks at, and the files there: reading a tree that holds secrets counts like reading them by name.
fn searched_paths(input: &Map<String, Value>) -> Vec<PathBuf> {
    let texts = |name: &&str| match input.get(*name) {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => vec![text.as_str()],
        _ => Vec::new(),
    };
    let place = text_field(input, &["dir_path", "path"]).unwrap_or_default();
    let patterns = ["include", "include_pattern", "glob"].iter().flat_map(texts);
    let files = patterns.filter(|pattern| !pattern.is_empty()).map(|pattern| Path::new(place).join(pattern));
    let place = Some(place).filter(|place| !place.is_empty()).map(PathBuf::from);
    place.into_iter().chain(files).collect()
}

/// The address of a fetch, else all that stand in its text; both, if the host goes by the text whatever else is there.
fn fetched_urls(input: &Map<String, Value>, by_text: bool) -> Vec<String> {
    let mut urls: Vec<String> = text_field(input, &["url", "uri"]).map(str::to_owned).into_iter().collect();
    if urls.is_empty() || by_text {
        let words = text_field(input, &["prompt"])
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

fn prompt_text(map: &Map<String, Value>) -> Option<String> {
    const NAMES: &[&str] =
        &["prompt", "user_prompt", "userPrompt", "userMessage", "initialPrompt", "initial_prompt"];
    match first_field(map, NAMES)? {
        Value::String(prompt) => Some(prompt.clone()),
        Value::Object(message) => text_field(message, &["text"]).map(str::to_owned),
        _ => None,
    }
}

/// The first of these fields that is there and not null.
fn first_field<'a>(map: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names.iter().filter_map(|name| map.get(*name)).find(|value| !value.is_null())
}

fn text_field<'a>(map: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    first_field(map, names)?.as_str()
}

/// Every text in `value`, in order, one a line, cut after [`MAX_OUTPUT`] bytes.
fn all_text(value: &Value) -> String {
    fn collect_text(value: &Value, text: &mut String) {
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
            Value::Array(values) => values.iter().for_each(|value| collect_text(value, text)),
            Value::Object(map) => map.values().for_each(|value| collect_text(value, text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut text = String::new();
    collect_text(value, &mut text);
    text
}
