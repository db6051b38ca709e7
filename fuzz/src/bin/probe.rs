//! Requests to the scripted model server, over a real connection, and settings on hooks that a proof copies.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_config::env::Env;
use amplihack_fuzz::{Scratch, Target, linear, run, seeds, words};
use amplihack_probe::model::{ModelScenario, ModelScript, ModelServer};
use amplihack_probe::own_hooks::OwnHooks;

const SEEDS: &[&str] = &[
    "POST /text~r/v1/messages\n\n{\"model\":\"m\",\"max_tokens\":5,\"stream\":true,\"system\":[{\"type\":\"text\",\"text\":\"s\"}],\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"Bash\",\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]}],\"tools\":[{\"name\":\"Bash\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\"}}}}]}",
    "POST /tool~r/v1/responses\n\n{\"model\":\"m\",\"stream\":true,\"instructions\":\"s\",\"input\":[{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]},{\"type\":\"function_call_output\",\"call_id\":\"1\",\"output\":\"x\"}],\"tools\":[{\"type\":\"function\",\"name\":\"exec_command\",\"parameters\":{\"properties\":{\"cmd\":{\"type\":\"string\"}}}}]}",
    "POST /write~r/v1/chat/completions\ncontent-encoding: gzip\n\n{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"x\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"bash\",\"parameters\":{\"properties\":{\"command\":{\"type\":\"string\"}}}}}]}",
    "GET /text~r/v1/models\n\n",
    "POST /script~r%41/v1/messages/count_tokens\ncontent-encoding: zstd\n\n{}",
    "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}]},\"disableAllHooks\":false}",
    "[hooks]\n[[hooks.PreToolUse]]\nmatcher = \"x\"\n[features]\nhooks = true\n",
];

const DICTIONARY: &[&str] = &[
    "POST ",
    "GET ",
    "/text~r",
    "/tool~r",
    "/script~r",
    "/turns3~r",
    "/v1/messages",
    "/v1/responses",
    "/v1/chat/completions",
    "/v1/models",
    "%41",
    "%FF",
    "?beta=true",
    "\n\n",
    "content-encoding: gzip\n",
    "content-encoding: zstd\n",
    "x: y\n",
    "\"messages\":[",
    "\"role\":\"user\"",
    "\"role\":\"tool\"",
    "\"content\":[",
    "\"type\":\"text\",\"text\":",
    "\"tool_use\"",
    "\"tool_result\"",
    "\"input\":[",
    "\"stream\":true",
    "\"tools\":[",
    "\"input_schema\":{",
    "\"properties\":{",
    "\"command\":{}",
    "\"function\":{",
    "\"hooks\":{",
    "\"matcher\":",
    "[hooks]\n",
    "[[hooks.Stop]]\n",
    "\u{1f}\u{8b}",
];

fn main() -> std::process::ExitCode {
    // Most of the time is the connection's.
    let target = Target {
        name: "probe",
        seeds: seeds::texts(SEEDS),
        dictionary: words::json_and(DICTIONARY),
        longest: 64 << 10,
        most: |len| linear(300, 60, len),
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let server = runtime.block_on(ModelServer::start()).expect("a port can be bound");
    server
        .set_script("r", ModelScript::new([amplihack_probe::model::ScriptedReply::Text("hello".to_owned())]));
    let (address, _) = (server.address(), server.base_url(ModelScenario::Text, "r"));
    // The server's own thread: if it dies, no answer comes any more.
    std::thread::spawn(move || {
        runtime.block_on(std::future::pending::<()>());
    });
    let scratch = Scratch::new();
    run(target, |bytes| {
        ask(address, bytes);
        // It looks at everything that came in so far.
        if bytes.len() % 509 == 0 {
            let _ = (server.request_texts("r").len(), server.observed_delivery("r", "hi"));
        }
        copied(&scratch, bytes);
    })
}

/// One request: the first line's method and path, headers, an empty line, a body. The server answers it, whatever it is, and the next one.
fn ask(address: SocketAddr, bytes: &[u8]) {
    let end = bytes.windows(2).position(|two| two == b"\n\n").unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(end);
    let body = body.get(2..).unwrap_or_default();
    let head = String::from_utf8_lossy(head);
    let (first, headers) = head.split_once('\n').unwrap_or((&head, ""));
    let (method, path) = first.split_once(' ').unwrap_or(("POST", first));
    let clean = |text: &str| text.chars().filter(|c| c.is_ascii_graphic()).take(500).collect::<String>();
    let mut request = format!(
        "{} /{} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n",
        clean(method),
        clean(path).trim_start_matches('/')
    );
    for header in headers.lines().take(20) {
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        if !["content-length", "transfer-encoding", "host", "connection", "expect", "upgrade"]
            .contains(&clean(name).to_ascii_lowercase().as_str())
        {
            request += &format!("{}: {}\r\n", clean(name), clean(value));
        }
    }
    request += &format!("content-length: {}\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
    // It may answer before it has read everything, and close.
    let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.write_all(body));
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => assert!(
            answer.starts_with(b"HTTP/1.1 "),
            "{:?}",
            String::from_utf8_lossy(&answer[..answer.len().min(200)])
        ),
        Err(error) => assert!(error.kind() == std::io::ErrorKind::ConnectionReset, "no answer: {error}"),
    }
}

/// The copy of a user's settings on hooks: read back as what it is, without the words of any command.
fn copied(scratch: &Scratch, bytes: &[u8]) {
    for (agent, file) in [
        (AgentBinary::Claude, ".claude/settings.json"),
        (AgentBinary::Codex, ".codex/config.toml"),
        (AgentBinary::Codex, ".codex/hooks.json"),
        (AgentBinary::Copilot, ".copilot/config.json"),
    ] {
        let (home, copy) = (scratch.path().join("home"), scratch.path().join("copy"));
        let _ = (fs::remove_dir_all(&home), fs::remove_dir_all(&copy));
        scratch.write(&format!("home/{file}"), bytes);
        let env = Env::empty().with_variable("HOME", &home);
        if let Ok(own) = OwnHooks::read_settings(agent, &env) {
            own.copy_into(&copy).expect("it can be written");
            assert!(own.is_empty() || !own.to_string().is_empty());
        }
    }
}
