//! The judges: the real agent CLIs against the scripted model, with nothing of the user's and nothing outside.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_probe::loopback::{LoopbackOptions, prepare_loopback};
use amplihack_probe::model::{DONE, HELLO, ModelDialect, ModelScenario, ModelServer, ObservedDelivery};
use amplihack_testkit::real::real_agent;

/// Longer than any of these runs took on a busy machine.
const DEADLINE: Duration = Duration::from_mins(2);

/// The agent's program. Absent agents are skipped, loudly.
pub(crate) fn program(agent: AgentBinary) -> Option<PathBuf> {
    real_agent(agent.name())
}

/// Headless, all permissions, events on stdout, the prompt on stdin.
pub(crate) fn arguments(agent: AgentBinary) -> &'static [&'static str] {
    match agent {
        AgentBinary::Claude => {
            &["-p", "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose"]
        }
        AgentBinary::Codex => &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "-"],
        AgentBinary::Copilot => &["--allow-all-tools", "--output-format", "json"],
        AgentBinary::Gemini => &["--yolo", "--output-format", "stream-json"],
        other => panic!("{other} is no judge here"),
    }
}

pub(crate) struct Outcome {
    /// `None` if a signal ended it, our own at the deadline included.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) report: String,
}

/// Runs one prompt in a new home and a new directory, which `inspect` may look at afterwards.
async fn drive<T: Send + 'static>(
    agent: AgentBinary,
    program: PathBuf,
    base_url: String,
    prompt: &str,
    more_env: &'static [(&'static str, &'static str)],
    inspect: impl FnOnce(&Path) -> T + Send + 'static,
) -> (Outcome, T) {
    let prompt = prompt.to_owned();
    tokio::task::spawn_blocking(move || {
        let home = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let place = work.path().canonicalize().unwrap();
        // What agents leave behind goes with the home.
        let tmp = home.path().join("tmp");
        std::fs::create_dir(&tmp).unwrap();
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-cache");
        let options = LoopbackOptions { cache: Some(&cache), workspace: Some(&place) };
        let loopback = prepare_loopback(agent, &base_url, home.path(), options).unwrap();
        let mut command = Command::new(program);
        command
            .args(arguments(agent))
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TERM", "xterm")])
            .env("TMPDIR", &tmp)
            .envs(loopback.env)
            .envs(more_env.iter().copied())
            .current_dir(&place);
        let outcome = finish(&mut command, prompt.into_bytes());
        (outcome, inspect(&place))
    })
    .await
    .unwrap()
}

/// Runs a command in a group of its own, with this stdin, until it ends or the deadline kills the group.
pub(crate) fn finish(command: &mut Command, stdin: Vec<u8>) -> Outcome {
    let begin = Instant::now();
    let mut child = command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // An agent that ends early closes its stdin; its exit code tells.
    std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let stdout = drain(child.stdout.take().unwrap());
    let stderr = drain(child.stderr.take().unwrap());
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > DEADLINE {
            let group = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    let report = format!(
        "{status} (signal {:?}) after {:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}",
        status.signal(),
        begin.elapsed()
    );
    Outcome { code: status.code(), stdout, report }
}

fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A prompt with everything that a shell or a careless builder would change.
fn tricky(bytes: usize) -> String {
    let line = "it's \"quoted\" $HOME `id` $(id) \\n {json} <tag> ünïcödé 漢字 🚀;|&\n";
    let mut prompt = String::from("MARK-BEGIN ");
    while prompt.len() + line.len() + 8 <= bytes {
        prompt.push_str(line);
    }
    let rest = bytes - prompt.len() - 8;
    prompt.push_str(&"'".repeat(rest));
    prompt + "MARK-END"
}

/// Copilot puts the time before a prompt; the others hand it on as it is.
fn assert_delivered(agent: AgentBinary, server: &ModelServer, run: &str, prompt: &str, report: &str) {
    match (agent, server.observed_delivery(run, prompt)) {
        (AgentBinary::Claude | AgentBinary::Codex | AgentBinary::Gemini, ObservedDelivery::Exact) => {}
        (AgentBinary::Copilot, ObservedDelivery::Contained { role, before, .. })
            if role == "user" && before.starts_with("<current_datetime>") => {}
        (_, delivery) => panic!("{agent}: {delivery:?}\n{report}"),
    }
}

async fn text(agent: AgentBinary) {
    let Some(program) = program(agent) else { return };
    let server = ModelServer::start().await.unwrap();
    let base_url = server.base_url(ModelScenario::Text, "r");
    let (outcome, ()) = drive(agent, program, base_url, "say it's fine", &[], |_| ()).await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.report);
    assert!(outcome.stdout.contains(HELLO), "{}", outcome.report);
    assert_delivered(agent, &server, "r", "say it's fine", &outcome.report);
    let requests = server.requests("r");
    assert!(
        requests.iter().all(|request| request.dialect.is_some()),
        "something else was asked: {requests:?}"
    );
    assert!(server.stray_requests().is_empty(), "{:?}", server.stray_requests());
}

async fn tools(agent: AgentBinary, scenario: ModelScenario, calls: usize) {
    let Some(program) = program(agent) else { return };
    tools_with(agent, program, scenario, calls, &[]).await;
}

/// Runs a scenario of tool calls and returns the dialects that were spoken.
async fn tools_with(
    agent: AgentBinary,
    program: PathBuf,
    scenario: ModelScenario,
    calls: usize,
    more_env: &'static [(&'static str, &'static str)],
) -> Vec<ModelDialect> {
    let server = ModelServer::start().await.unwrap();
    // A real shell has to read it; nothing is substituted, since Gemini blocks that even in its mode of all permissions.
    server.set_command("r", "{ printf \"it's \"; expr 6 '*' 7; } | tee -a sentinel");
    let base_url = server.base_url(scenario, "r");
    let ran = |place: &Path| std::fs::read_to_string(place.join("sentinel")).unwrap_or_default();
    let (outcome, ran) = drive(agent, program, base_url, "run it", more_env, ran).await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.report);
    assert!(outcome.stdout.contains(DONE), "{}", outcome.report);
    assert_eq!(ran, "it's 42\n".repeat(calls), "{}", outcome.report);
    let told = server.find_text("r", "it's 42").into_iter().filter(|said| said.role == "tool").count();
    assert!(told >= calls, "the model was told {told} times\n{}", outcome.report);
    assert!(server.usage("r").replies > calls as u64);
    server.requests("r").iter().filter_map(|request| request.dialect).collect()
}

async fn slow_tool(agent: AgentBinary) {
    let Some(program) = program(agent) else { return };
    let server = ModelServer::start().await.unwrap();
    let begin = Instant::now();
    let base_url = server.base_url(ModelScenario::SlowTool(3), "r");
    let (outcome, ()) = drive(agent, program, base_url, "run it", &[], |_| ()).await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.report);
    assert!(outcome.stdout.contains(DONE) && begin.elapsed() >= Duration::from_secs(3), "{}", outcome.report);
}

async fn fails(agent: AgentBinary, status: u16) {
    // Gemini asks again for more than a minute after these.
    if agent == AgentBinary::Gemini && matches!(status, 429 | 500) && !amplihack_testkit::long() {
        return;
    }
    let Some(program) = program(agent) else { return };
    let server = ModelServer::start().await.unwrap();
    let (outcome, ()) =
        drive(agent, program, server.base_url(ModelScenario::Error(status), "r"), "p", &[], |_| ()).await;
    assert!(outcome.code.is_some_and(|code| code != 0), "{}", outcome.report);
    assert!(server.wait_for_calls("r", 1).await);
    assert_eq!(server.usage("r").replies, 0);
}

async fn long_prompt(agent: AgentBinary) {
    let Some(program) = program(agent) else { return };
    let server = ModelServer::start().await.unwrap();
    let prompt = tricky(64 << 10);
    assert_eq!(prompt.len(), 64 << 10);
    let (outcome, ()) =
        drive(agent, program, server.base_url(ModelScenario::Text, "r"), &prompt, &[], |_| ()).await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.report);
    assert_delivered(agent, &server, "r", &prompt, &outcome.report);
}

macro_rules! judge {
    ($name:ident, $agent:expr) => {
        mod $name {
            use super::*;

            #[tokio::test]
            async fn says_the_text() {
                text($agent).await;
            }

            #[tokio::test]
            async fn runs_the_tool() {
                tools($agent, ModelScenario::Tool, 1).await;
            }

            #[tokio::test]
            async fn takes_several_turns() {
                tools($agent, ModelScenario::Turns(3), 3).await;
            }

            #[tokio::test]
            async fn waits_for_a_slow_tool() {
                slow_tool($agent).await;
            }

            #[tokio::test]
            async fn gets_a_long_prompt_unchanged() {
                long_prompt($agent).await;
            }

            #[tokio::test]
            async fn fails_on_400() {
                fails($agent, 400).await;
            }

            #[tokio::test]
            async fn fails_on_401() {
                fails($agent, 401).await;
            }

            #[tokio::test]
            async fn fails_on_429() {
                fails($agent, 429).await;
            }

            #[tokio::test]
            async fn fails_on_500() {
                fails($agent, 500).await;
            }
        }
    };
}

judge!(claude, AgentBinary::Claude);
judge!(codex, AgentBinary::Codex);
judge!(copilot, AgentBinary::Copilot);
judge!(gemini, AgentBinary::Gemini);

/// Copilot speaks all three dialects, and needs more of each than the agents at home in them.
#[tokio::test]
async fn copilot_takes_the_other_dialects() {
    let Some(program) = program(AgentBinary::Copilot) else { return };
    let responses = &[("COPILOT_PROVIDER_WIRE_API", "responses")];
    let spoken = tools_with(AgentBinary::Copilot, program.clone(), ModelScenario::Tool, 1, responses).await;
    assert!(spoken.iter().all(|dialect| *dialect == ModelDialect::Responses), "{spoken:?}");
    let anthropic = &[("COPILOT_PROVIDER_TYPE", "anthropic")];
    let spoken = tools_with(AgentBinary::Copilot, program, ModelScenario::Tool, 1, anthropic).await;
    assert!(spoken.iter().all(|dialect| *dialect == ModelDialect::Anthropic), "{spoken:?}");
}

/// The command line that the scripted agent takes is one that the real Claude Code takes.
#[tokio::test]
async fn claude_takes_the_scripted_agents_command_line() {
    let Some(program) = program(AgentBinary::Claude) else { return };
    let server = ModelServer::start().await.unwrap();
    let base_url = server.base_url(ModelScenario::Text, "r");
    let (outcome, ()) = drive(AgentBinary::Claude, program.clone(), base_url, "-dash", &[], |_| ()).await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.report);
    let mut command = Command::new(program);
    command.arg("--version").env_clear().env("HOME", OsStr::new("/nonexistent"));
    let outcome = finish(&mut command, Vec::new());
    assert!(outcome.stdout.trim_end().ends_with(" (Claude Code)"), "{}", outcome.report);
}
