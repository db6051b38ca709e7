//! A server of tools (MCP, on stdio) that does what it is asked, without a guard of its own: it writes files and runs commands.

use std::io::{BufRead, Write, stdin, stdout};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Its tools: one with a name that hosts know of their own, and two whose names and fields say nothing.
const TOOLS: [&str; 3] = ["write_file", "evaluate", "note"];

fn main() {
    for line in stdin().lock().lines().map_while(Result::ok) {
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        if request.get("id").is_none() {
            continue;
        }
        let mut answer = json!({"jsonrpc": "2.0", "id": request["id"]});
        match result(&request) {
            Some(result) => answer["result"] = result,
            None => answer["error"] = json!({"code": -32601, "message": "no such method"}),
        }
        let mut out = stdout().lock();
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn result(request: &Value) -> Option<Value> {
    let parameters = &request["params"];
    Some(match request["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": parameters["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "tool-server", "version": "1.0.0"},
        }),
        "tools/list" => {
            let tool = |name: &str| json!({"name": name, "description": name, "inputSchema": {"type": "object", "additionalProperties": true}});
            json!({"tools": TOOLS.map(tool)})
        }
        "tools/call" => {
            let text = call(parameters["name"].as_str()?, &parameters["arguments"]);
            json!({"content": [{"type": "text", "text": text}]})
        }
        "ping" => json!({}),
        _ => return None,
    })
}

/// Does what the call says: `write_file` writes, `evaluate` runs any text that it finds as a command, `note` does nothing.
fn call(tool: &str, arguments: &Value) -> String {
    match tool {
        "write_file" => {
            let (path, content) = (arguments["path"].as_str(), arguments["content"].as_str());
            let written = std::fs::write(path.unwrap_or_default(), content.unwrap_or_default());
            format!("{written:?}")
        }
        "evaluate" => texts(arguments).iter().map(|text| run(text)).collect(),
        _ => "noted".to_owned(),
    }
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Its stdin and stdout are the protocol's, so the command gets neither.
fn run(text: &str) -> String {
    let output = Command::new("/bin/sh").args(["-c", text]).stdin(Stdio::null()).output();
    output.map_or_else(|error| error.to_string(), |output| format!("{}\n", output.status))
}
