//! A fake agent's part towards its launch: it reports what the hooks of a real agent would report, each before it happens.
//!
//! The messages are written by hand, and the calls are read from the streams that tests write: the test kit knows no crate that it tests.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use serde_json::{Value, json};

/// The hooks of a fake agent. Does nothing where no launch listens.
pub struct FakeHooks {
    socket: Option<PathBuf>,
    /// The beginning of a line.
    rest: Vec<u8>,
}

impl FakeHooks {
    /// The hooks of an agent in `env`. The first report is that of a session's start.
    pub fn begin(env: &Env) -> Self {
        let socket = env.text("AMPLIHACK_SESSION_ID").and_then(|session| socket(env, session));
        let this = Self { socket, rest: Vec::new() };
        this.report(&json!({"type": "report", "event": "session-start"}));
        this
    }

    /// Reports the tool calls in `bytes`, which the agent is about to print.
    pub fn before(&mut self, bytes: &[u8]) {
        if self.socket.is_none() {
            return;
        }
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            if let Ok(line) = serde_json::from_slice(&line) {
                self.calls(&line);
            }
        }
    }

    /// Reports every call in `value`, which is somewhere in a line of any agent's.
    fn calls(&self, value: &Value) {
        let text = |names: &[&str]| names.iter().find_map(|name| value[*name].as_str());
        let kind = value["type"].as_str().unwrap_or_default();
        let tool = match kind {
            "tool_use" => text(&["name", "tool_name"]),
            "command_execution" | "file_change" => Some(kind),
            _ => text(&["toolName"]).filter(|_| value["arguments"].is_object()),
        };
        if let Some(tool) = tool {
            self.report(&json!({
                "type": "report", "event": "pre-tool-use", "tool": tool, "call": text(&["id", "tool_id"]), "decision": "none",
            }));
        }
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.calls(value)),
            Value::Object(map) => map.values().for_each(|value| self.calls(value)),
            _ => {}
        }
    }

    /// A launch that does not listen any more hears nothing.
    fn report(&self, message: &Value) {
        if let Some(Ok(mut stream)) = self.socket.as_deref().map(connect) {
            let _ = stream.write_all(format!("{message}\n").as_bytes());
        }
    }
}

/// Connects to `socket`, whose path may be longer than an address of a socket: by its directory.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let directory = File::open(socket.parent().unwrap_or(socket))?;
    let name = socket.file_name().unwrap_or_default();
    UnixStream::connect(Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name))
}

/// The socket of the launch of `session`, wherever its hooks are.
fn socket(env: &Env, session: &str) -> Option<PathBuf> {
    let own = env.amplihack_home().map(|home| home.join("sessions").join(session).join("hooks"));
    let named = format!("amplihack-hooks-{session}");
    let others = [env.temporary_dir().join(&named), PathBuf::from("/run").join(&named)];
    own.into_iter().chain(others).map(|launch| launch.join("guard.sock")).find(|socket| socket.exists())
}
