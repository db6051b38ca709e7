//! The judges: real Claude Code, Codex and Copilot, launched through `amplihack`, against a scripted model.

use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{Delivery, HELLO, Reply, Script};
use amplihack_testkit::procs::ArgvWatch;
use amplihack_testkit::{Run, Tmux};

use crate::world::World;

/// Everything that shells and files mangle. Starts with a dash and ends in newlines.
const HOSTILE: &str = "-dash don't \"quote\" $HOME $(id) `id` \\ ; | & 漢字 \u{1f980} %s";

fn greeting() -> Script {
    Script::new([Reply::Text(HELLO.to_owned())])
}

/// A hostile prompt of exactly `bytes` bytes that ends in `end`, with `marker` in it where it fits.
fn prompt(bytes: usize, marker: &str, end: &str) -> String {
    let line = format!("{HOSTILE} {marker}\n");
    let mut text: String = line.repeat(bytes / line.len() + 1);
    let mut length = bytes - end.len();
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    text.truncate(length);
    text + &"x".repeat(bytes - end.len() - length) + end
}

/// Sends prompts of all sizes through `amplihack <agent> -p --prompt-file`; `largest` is the last size.
fn prompts_arrive(agent: AgentBinary, largest: usize, arrived: fn(&Delivery) -> bool) {
    for bytes in [1, 4096, 4097, 65_536, largest] {
        World::with(agent, greeting(), |world| {
            let marker = world.sandbox.marker("prompt");
            let end = if bytes > 1 { "\n\n" } else { "" };
            let text = prompt(bytes, &marker, end);
            assert_eq!(text.len(), bytes);
            let file = world.sandbox.write("prompt.txt", &text);
            let watch = ArgvWatch::start(&marker);
            let output = world.run(&[agent.name(), "-p", "--prompt-file", file.to_str().unwrap()]);
            let seen = watch.finish();
            output.assert_code(0).assert_stdout_has(HELLO);
            let delivery = world.server.delivered("run", &text);
            assert!(arrived(&delivery), "{agent}, {bytes} bytes: {}", brief(&delivery));
            if bytes > 4096 {
                seen.assert_unseen_while_running(agent.name());
            }
        });
    }
}

fn brief(delivery: &Delivery) -> String {
    format!("{delivery:?}").chars().take(400).collect()
}

#[test]
fn claude_takes_every_prompt_unchanged() {
    prompts_arrive(AgentBinary::Claude, 680_000, |delivery| *delivery == Delivery::Exact);
}

#[test]
fn codex_takes_every_prompt_unchanged() {
    prompts_arrive(AgentBinary::Codex, 680_000, |delivery| *delivery == Delivery::Exact);
}

/// Copilot trims blanks at the end and puts the date before the prompt, as the matrix's note says.
#[test]
fn copilot_takes_every_prompt_unchanged() {
    prompts_arrive(AgentBinary::Copilot, 175_000, |delivery| match delivery {
        Delivery::Exact => true,
        Delivery::Contained { role, before, after } | Delivery::TrimmedEnd { role, before, after } => {
            // The one byte of the shortest prompt, a dash, is also in the date.
            role == "user" && before.starts_with("<current_datetime>") && matches!(after.trim(), "" | "-")
                || after.ends_with("</current_datetime>\n\n-")
        }
        _ => false,
    });
}

/// What each option makes the real CLI do, seen in the model's requests where it shows there.
fn options_work(agent: AgentBinary, options: &[&[&str]]) {
    for option in options {
        World::with(agent, greeting(), |world| {
            world.sandbox.write("mcp.json", r#"{"mcpServers":{}}"#);
            std::fs::create_dir(world.sandbox.root().join("more")).unwrap();
            // A session to go on with.
            world.run(&[agent.name(), "-p", "first words"]).assert_code(0);
            let mut args = vec![agent.name(), "-p", "--prompt", "second words"];
            args.extend_from_slice(option);
            let output = world.run(&args);
            output.assert_code(0).assert_stdout_has(HELLO);
            let stderr = output.stderr_text();
            assert!(!stderr.contains("degrading to") && !stderr.contains("proved"), "{stderr}");
            let requests = world.server.requests("run");
            let last = requests.last().unwrap();
            let body = format!("{:?}", last.body);
            match option[0] {
                "--model" => assert!(body.contains("fake-model-two"), "{agent}: {body:.2000}"),
                "--append-system-prompt" => assert!(
                    body.contains("be kind to \\\"quotes\\\"") || body.contains("be kind to \\\\\\\"quotes"),
                    "{agent}"
                ),
                "--continue" => {
                    let said: Vec<String> = last.said().into_iter().map(|said| said.text).collect();
                    let first = said.iter().filter(|text| text.contains("first words")).count();
                    assert_eq!(first, 1, "{agent}: the first prompt is in the conversation once: {said:#?}");
                }
                _ => {}
            }
        });
    }
}

#[test]
fn claude_understands_every_option() {
    options_work(
        AgentBinary::Claude,
        &[
            &["--model", "fake-model-two"],
            &["--continue"],
            &["--add-dir", "../more"],
            &["--mcp-config", "../mcp.json"],
            &["--append-system-prompt", "be kind to \"quotes\""],
            &["--permissions", "ask"],
            &["--permissions", "edit"],
            &["--permissions", "full"],
        ],
    );
}

#[test]
fn codex_understands_every_option() {
    options_work(
        AgentBinary::Codex,
        &[
            &["--model", "fake-model-two"],
            &["--continue"],
            &["--add-dir", "../more"],
            &["--append-system-prompt", "be kind to \"quotes\""],
            &["--permissions", "ask"],
            &["--permissions", "edit"],
            &["--permissions", "full"],
        ],
    );
}

#[test]
fn copilot_understands_every_option() {
    options_work(
        AgentBinary::Copilot,
        &[
            &["--model", "fake-model-two"],
            &["--continue"],
            &["--add-dir", "../more"],
            &["--mcp-config", "../mcp.json"],
            &["--permissions", "ask"],
            &["--permissions", "edit"],
            &["--permissions", "full"],
        ],
    );
}

#[test]
fn claude_takes_a_prompt_in_a_terminal() {
    World::with(AgentBinary::Claude, greeting(), |world| {
        if !Tmux::is_installed() {
            return;
        }
        let tmux = Tmux::new(&world.sandbox);
        // The shell shows the exit code and whether the terminal echoes again.
        let line = format!(
            "'{}' claude 'TUI PROMPT MARK'; echo \"exit=$?\"; stty -a | grep -q ' echo ' && echo 'terminal sane'; sleep 60",
            crate::world::amplihack().display()
        );
        tmux.new_session("c", "sh", ["-c", &line]);
        tmux.wait_for("c", HELLO, Duration::from_mins(1));
        assert_eq!(world.server.delivered("run", "TUI PROMPT MARK"), Delivery::Exact);
        tmux.type_text("c", "/exit");
        std::thread::sleep(Duration::from_millis(500));
        tmux.send_keys("c", &["Enter"]);
        tmux.wait_for("c", "exit=0", Duration::from_secs(30));
        tmux.wait_for("c", "terminal sane", Duration::from_secs(5));
    });
}

#[test]
fn a_prompt_on_stdin_reaches_a_real_agent() {
    World::with(AgentBinary::Codex, greeting(), |world| {
        let output = Run::new(world.command(&["codex"])).stdin("piped words").output();
        output.assert_code(0).assert_stdout_has(HELLO);
        assert_eq!(world.server.delivered("run", "piped words"), Delivery::Exact);
    });
}
