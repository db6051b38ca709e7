//! The stdout of the scripted agent: the final text, the result object, or every event, as Claude Code shapes them.

use std::io::{self, Write};
use std::time::Instant;

use amplihack_sys::hex::random_bytes;
use serde_json::{Value, json};

use super::VERSION;
use super::args::{ScriptedFormat, ScriptedOptions};

/// Writes one session's events to stdout.
pub(crate) struct ScriptedPrinter<'a> {
    out: &'a mut dyn Write,
    format: ScriptedFormat,
    model: String,
    permission_mode: String,
    session: String,
    begin: Instant,
    turns: u64,
    input: u64,
    cached: u64,
    output: u64,
}

impl<'a> ScriptedPrinter<'a> {
    pub(crate) fn new(options: &ScriptedOptions, out: &'a mut dyn Write) -> Self {
        Self {
            out,
            format: options.format,
            model: options.model.clone(),
            permission_mode: options.permission_mode.clone(),
            session: random_uuid(),
            begin: Instant::now(),
            turns: 0,
            input: 0,
            cached: 0,
            output: 0,
        }
    }

    /// The session's identifier.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// The first event.
    pub(crate) fn print_init(&mut self) -> io::Result<()> {
        let cwd = std::env::current_dir().unwrap_or_default();
        self.print_event(json!({
            "type": "system",
            "subtype": "init",
            "cwd": cwd.to_string_lossy(),
            "tools": ["Bash"],
            "mcp_servers": [],
            "model": self.model,
            "permissionMode": self.permission_mode,
            "apiKeySource": "ANTHROPIC_API_KEY",
            "claude_code_version": VERSION,
        }))
    }

    /// A message of the model.
    pub(crate) fn print_assistant(&mut self, message: &Value) -> io::Result<()> {
        let usage = &message["usage"];
        self.turns += 1;
        self.input += usage["input_tokens"].as_u64().unwrap_or(0);
        self.cached += usage["cache_read_input_tokens"].as_u64().unwrap_or(0);
        self.output += usage["output_tokens"].as_u64().unwrap_or(0);
        self.print_event(json!({"type": "assistant", "message": message, "parent_tool_use_id": null}))
    }

    /// A tool's answer.
    pub(crate) fn print_tool_result(&mut self, result: &Value) -> io::Result<()> {
        let message = json!({"role": "user", "content": [result]});
        let detail = json!({"stdout": result["content"], "stderr": "", "interrupted": false});
        self.print_event(json!({
            "type": "user",
            "message": message,
            "parent_tool_use_id": null,
            "tool_use_result": detail,
        }))
    }

    /// The end of a prompt that the model answered with this message.
    pub(crate) fn print_success(&mut self, message: &Value, denials: &[Value]) -> io::Result<()> {
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        let result = json!({
            "subtype": "success",
            "is_error": false,
            "result": text,
            "stop_reason": message["stop_reason"],
            "api_error_status": null,
        });
        self.print_result(result, denials, &text)
    }

    /// The end of a prompt that the model refused. Claude Code calls it a success with an error in it.
    pub(crate) fn print_api_error(
        &mut self,
        status: Option<u16>,
        text: &str,
        denials: &[Value],
    ) -> io::Result<()> {
        let result = json!({
            "subtype": "success",
            "is_error": true,
            "result": text,
            "api_error_status": status,
        });
        self.print_result(result, denials, text)
    }

    /// The end of a prompt that never came to one.
    pub(crate) fn print_out_of_turns(&mut self, turns: usize, denials: &[Value]) -> io::Result<()> {
        let text = format!("Reached maximum number of turns ({turns})");
        let result = json!({"subtype": "error_max_turns", "is_error": true, "errors": [text]});
        self.print_result(result, denials, &format!("Error: {text}"))
    }

    fn print_result(&mut self, mut result: Value, denials: &[Value], text: &str) -> io::Result<()> {
        if self.format == ScriptedFormat::Text {
            return writeln!(self.out, "{text}");
        }
        result["type"] = json!("result");
        result["duration_ms"] = json!(u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX));
        result["num_turns"] = json!(self.turns);
        result["permission_denials"] = json!(denials);
        result["total_cost_usd"] = json!(0.0);
        result["usage"] = json!({
            "input_tokens": self.input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": self.cached,
            "output_tokens": self.output,
        });
        self.print_line(result)
    }

    /// Events are shown by `stream-json` alone; the result is shown by `json` too.
    fn print_event(&mut self, event: Value) -> io::Result<()> {
        if self.format == ScriptedFormat::StreamJson { self.print_line(event) } else { Ok(()) }
    }

    fn print_line(&mut self, mut event: Value) -> io::Result<()> {
        event["session_id"] = json!(self.session);
        event["uuid"] = json!(random_uuid());
        event["timestamp"] = json!(jiff::Timestamp::now().to_string());
        writeln!(self.out, "{event}")?;
        // Whoever reads acts on each event as it comes.
        self.out.flush()
    }
}

/// A random identifier in the usual form.
fn random_uuid() -> String {
    // An identifier that is not random is still one that a reader can take.
    let mut bytes = random_bytes::<16>().unwrap_or_default();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::random_uuid;

    #[test]
    fn identifiers_have_the_usual_form_and_differ() {
        let (one, other) = (random_uuid(), random_uuid());
        assert_ne!(one, other);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&one[14..15], "4");
    }
}
