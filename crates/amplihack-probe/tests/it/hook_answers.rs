//! What each real agent CLI does with each way in which a hook can answer or fail: did the call run, was the model told?
//!
//! The table below is what the hook plane rests on. Its claims are facts about the CLIs, not wishes: where a CLI lets a
//! call run, the table says so.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::guard::PolicySnapshot;
use amplihack_hooks::injection::{StartContext, build_injection};
use amplihack_hooks::registration::{HookProgram, RegistrationFacts};
use amplihack_probe::loopback::{LoopbackOptions, prepare_loopback};
use amplihack_probe::model::{DONE, ModelScenario, ModelScript, ModelServer, ScriptedReply};
use serde_json::json;

use super::real::{Outcome, arguments, finish, program};

/// What was seen of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// It ran.
    Ran,
    /// It did not run, and the model was told the hook's reason.
    Told,
    /// It did not run, and the model was not told why.
    Stopped,
}
use Seen::{Ran, Stopped, Told};

/// One way in which a hook can answer or fail, and what Claude Code, Codex and Copilot (in Claude's dialect) make of it.
struct Way {
    /// Its name, which is also the name of the file that the call would make.
    name: &'static str,
    hook: Hook,
    seen: [Seen; 3],
}

enum Hook {
    /// Prints this, says this on stderr, ends with this code. `R` in both is the reason.
    Answers(&'static str, &'static str, i32),
    /// The registered command is this, where `HOOK` is a program of the test's directory.
    Command(&'static str),
}
use Hook::{Answers, Command as Registered};

const NESTED: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"}}"#;
const FLAT: &str = r#"{"permissionDecision":"deny","permissionDecisionReason":"R","message":"R"}"#;
const DECISION: &str = r#"{"decision":"block","reason":"R"}"#;
/// The one deny that every host takes.
const DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"},"decision":"block","reason":"R"}"#;
const UNION: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"},"permissionDecision":"deny","permissionDecisionReason":"R","decision":"block","reason":"R"}"#;
const ASK: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"R"}}"#;
const ALLOW: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"R"}}"#;
const LOG_LINE: &str = r#"starting up
{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"},"decision":"block","reason":"R"}"#;
const UNKNOWN_KEY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"},"decision":"block","reason":"R","message":"R"}"#;

const fn way(name: &'static str, hook: Hook, seen: [Seen; 3]) -> Way {
    Way { name, hook, seen }
}

/// Ways that one session can show one after the other: one registered program that answers by the call.
const ANSWERS: &[Way] = &[
    way("deny-object-stderr-exit-2", Answers(DENY, "R", 2), [Told, Told, Stopped]),
    way("deny-object", Answers(DENY, "", 0), [Told, Told, Told]),
    way("deny-object-exit-2", Answers(DENY, "", 2), [Told, Ran, Stopped]),
    way("nested-deny", Answers(NESTED, "", 0), [Told, Told, Told]),
    way("nested-deny-stderr-exit-2", Answers(NESTED, "R", 2), [Told, Told, Stopped]),
    way("nested-deny-exit-1", Answers(NESTED, "R", 1), [Told, Ran, Stopped]),
    way("flat-deny", Answers(FLAT, "", 0), [Ran, Ran, Told]),
    way("decision-block", Answers(DECISION, "", 0), [Told, Told, Ran]),
    way("union-of-all", Answers(UNION, "", 0), [Told, Ran, Told]),
    way("union-of-all-stderr-exit-2", Answers(UNION, "R", 2), [Told, Told, Stopped]),
    way("deny-object-with-unknown-key", Answers(UNKNOWN_KEY, "", 0), [Told, Ran, Told]),
    way("ask", Answers(ASK, "", 0), [Told, Ran, Told]),
    way("allow", Answers(ALLOW, "", 0), [Ran, Ran, Ran]),
    way("exit-1", Answers("", "R", 1), [Ran, Ran, Stopped]),
    way("exit-2-stderr", Answers("", "R", 2), [Told, Told, Stopped]),
    way("exit-2-silent", Answers("", "", 2), [Stopped, Ran, Stopped]),
    way("exit-3", Answers("", "R", 3), [Ran, Ran, Stopped]),
    way("garbage", Answers("no JSON, R", "", 0), [Ran, Ran, Ran]),
    way("garbage-exit-2-silent", Answers("no JSON, R", "", 2), [Stopped, Ran, Stopped]),
    way("log-line-before-the-object", Answers(LOG_LINE, "", 0), [Ran, Ran, Ran]),
    way("empty-object", Answers("{}", "", 0), [Ran, Ran, Ran]),
    way("silence", Answers("", "", 0), [Ran, Ran, Ran]),
    way("words-on-stderr", Answers("", "R", 0), [Ran, Ran, Ran]),
];

/// Ways that need a registration of their own.
const FAILURES: &[Way] = &[
    way("missing", Registered("HOOK/missing pre-tool-use"), [Ran, Ran, Stopped]),
    // Copilot sets the missing bit itself and runs the program, which denies.
    way("no-execute-bit", Registered("HOOK/no-x pre-tool-use"), [Ran, Ran, Stopped]),
    way("sigkill", Registered("HOOK/sigkill pre-tool-use"), [Ran, Ran, Stopped]),
    way("sigsegv", Registered("HOOK/sigsegv pre-tool-use"), [Ran, Ran, Stopped]),
    way("slower-than-its-time", Registered("HOOK/slow pre-tool-use"), [Ran, Ran, Ran]),
    way("guarded-missing", Registered(GUARDED_MISSING), [Told, Told, Stopped]),
    way("guarded-no-execute-bit", Registered(GUARDED_NO_X), [Told, Told, Stopped]),
    way("guarded-sigkill", Registered(GUARDED_SIGKILL), [Told, Told, Stopped]),
    way("guarded-sigsegv", Registered(GUARDED_SIGSEGV), [Told, Told, Stopped]),
    way("guarded-exit-1", Registered(GUARDED_EXIT_1), [Told, Told, Stopped]),
    way("guarded-silence", Registered(GUARDED_SILENCE), [Ran, Ran, Ran]),
];

macro_rules! guarded {
    ($program:literal) => {
        concat!(
            "HOOK/",
            $program,
            " pre-tool-use || { s=$?; [ $s = 2 ] || echo 'guard did not run' >&2; exit 2; }"
        )
    };
}
const GUARDED_MISSING: &str = guarded!("missing");
const GUARDED_NO_X: &str = guarded!("no-x-either");
const GUARDED_SIGKILL: &str = guarded!("sigkill");
const GUARDED_SIGSEGV: &str = guarded!("sigsegv");
const GUARDED_EXIT_1: &str = guarded!("exit-1");
const GUARDED_SILENCE: &str = guarded!("silence");

/// Seconds that a registration gives its hook here.
const TIMEOUT: u32 = 2;

/// Everything that the hooks of a test are made of, in one directory without blanks in its name.
fn write_hooks(directory: &Path) {
    let program = |name: &str, mode: u32, script: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = directory.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for name in ["no-x", "no-x-either"] {
        program(name, 0o644, "echo 'it ran all the same' >&2; exit 2");
    }
    program("sigkill", 0o755, "kill -KILL $$");
    program("sigsegv", 0o755, "kill -SEGV $$");
    program("exit-1", 0o755, "exit 1");
    program("silence", 0o755, "cat >/dev/null");
    program("slow", 0o755, &format!("exec sleep {}", TIMEOUT + 3));
    // The name of the way is the name of the file that the call would make.
    program(
        "answers",
        0o755,
        &format!(
            "payload=$(cat); way=${{payload#*touch way-}}; way=${{way%%[!a-z0-9-]*}}; . {}/answer-$way",
            directory.display()
        ),
    );
    for way in ANSWERS {
        let Answers(stdout, stderr, code) = way.hook else { panic!("{} is no answer", way.name) };
        let (stdout, stderr) = (with_reason(stdout, way.name), with_reason(stderr, way.name));
        let script = format!(
            "cat <<'END_OF_ANSWER'\n{stdout}\nEND_OF_ANSWER\n[ -z '{stderr}' ] || echo '{stderr}' >&2\nexit {code}"
        );
        let script = if stdout.is_empty() {
            script.replacen("cat <<'END_OF_ANSWER'\n\nEND_OF_ANSWER\n", "", 1)
        } else {
            script
        };
        program(&format!("answer-{}", way.name), 0o755, &script);
    }
}

/// The reason of one way stands nowhere else in a conversation.
fn with_reason(text: &str, way: &str) -> String {
    if text == "R" {
        return reason(way);
    }
    text.replace("\"R\"", &format!("\"{}\"", reason(way))).replace(", R", &format!(", {}", reason(way)))
}

fn reason(way: &str) -> String {
    format!("reason-of-{way}-here")
}

/// The agent's own way to have hooks for one run: events with the commands that answer them.
fn registration(agent: AgentBinary, hooks: &[(&str, String)], directory: &Path) -> Vec<OsString> {
    if agent == AgentBinary::Codex {
        let mut line = Vec::new();
        for (event, command) in hooks {
            // What JSON escapes in this text TOML escapes alike.
            let command = serde_json::to_string(command).unwrap();
            let hook = format!("{{type=\"command\",command={command},timeout={TIMEOUT}}}");
            line.push("-c".into());
            line.push(format!("hooks.{event}=[{{matcher=\"*\",hooks=[{hook}]}}]").into());
        }
        line.push("--dangerously-bypass-hook-trust".into());
        return line;
    }
    let (plugin, files) = (directory.join(".claude-plugin"), directory.join("hooks"));
    std::fs::create_dir_all(&plugin).unwrap();
    std::fs::create_dir_all(&files).unwrap();
    let manifest = json!({"name": "guard", "version": "1.0.0", "description": "one hook"});
    std::fs::write(plugin.join("plugin.json"), manifest.to_string()).unwrap();
    let mut events = serde_json::Map::new();
    for (event, command) in hooks {
        let hook = json!({"type": "command", "command": command, "timeout": TIMEOUT});
        events.insert((*event).to_owned(), json!([{"matcher": "*", "hooks": [hook]}]));
    }
    std::fs::write(files.join("hooks.json"), json!({"hooks": events}).to_string()).unwrap();
    vec!["--plugin-dir".into(), directory.into()]
}

/// Runs one prompt with these hooks. `calls`: the shell commands that the model asks for, one after the other.
async fn run(
    agent: AgentBinary,
    program: &Path,
    server: &ModelServer,
    (name, calls): (&str, Vec<String>),
    hooks: impl FnOnce(&Path) -> Vec<OsString> + Send + 'static,
    look: impl Fn(&Path) -> Vec<bool> + Send + 'static,
) -> (Vec<bool>, Outcome) {
    let calls = calls.into_iter().map(|command| ScriptedReply::Tool { command });
    server.set_script(name, ModelScript::new(calls.chain([ScriptedReply::Text(DONE.to_owned())])));
    let base_url = server.base_url(ModelScenario::Script, name);
    let program = program.to_owned();
    tokio::task::spawn_blocking(move || {
        let (home, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let plugin = tempfile::tempdir().unwrap();
        let place = work.path().canonicalize().unwrap();
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-cache");
        let options = LoopbackOptions { cache: Some(&cache), workspace: Some(&place) };
        let loopback = prepare_loopback(agent, &base_url, home.path(), options).unwrap();
        let mut line: Vec<OsString> = arguments(agent).iter().map(Into::into).collect();
        // Behind Codex's verb and before its marker for stdin; the others take it anywhere.
        line.splice(1..1, hooks(plugin.path()));
        let mut agent = Command::new(program);
        agent
            .args(line)
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TERM", "xterm")])
            .envs(loopback.env)
            .current_dir(&place);
        let outcome = finish(&mut agent, b"do it".to_vec());
        (look(&place), outcome)
    })
    .await
    .unwrap()
}

/// Runs one session with one registered hook; the model calls `touch way-NAME` for each of `ways`.
async fn session(
    agent: AgentBinary,
    program: &Path,
    server: &ModelServer,
    hooks: &Path,
    command: &str,
    ways: &[&'static str],
) -> (Vec<Seen>, Outcome) {
    let name = format!("hooks-{}", ways[0]);
    let calls = ways.iter().map(|way| format!("touch way-{way}")).collect();
    let command = command.replace("HOOK", &hooks.display().to_string());
    let names = ways.to_vec();
    let look =
        move |place: &Path| names.iter().map(|way| place.join(format!("way-{way}")).exists()).collect();
    let (ran, outcome) = run(
        agent,
        program,
        server,
        (&name, calls),
        move |directory| registration(agent, &[("PreToolUse", command)], directory),
        look,
    )
    .await;
    let told = |way: &str| {
        [reason(way).as_str(), "guard did not run"]
            .iter()
            .any(|text| server.find_text(&name, text).iter().any(|said| said.role == "tool"))
    };
    let seen = ways.iter().zip(ran).map(|(way, ran)| match ran {
        true => Ran,
        false if told(way) => Told,
        false => Stopped,
    });
    (seen.collect(), outcome)
}

/// Holds one agent against its column of the table.
async fn column(agent: AgentBinary, index: usize) {
    let Some(program) = program(agent) else { return };
    let hooks = tempfile::tempdir().unwrap();
    let hooks = hooks.path();
    write_hooks(hooks);
    let server = ModelServer::start().await.unwrap();
    let mut differences = String::new();
    let mut compare = |ways: &[Way], seen: &[Seen], outcome: &Outcome| {
        for (way, seen) in ways.iter().zip(seen) {
            if way.seen[index] != *seen {
                let expected = way.seen[index];
                let _ = writeln!(differences, "{}: expected {expected:?}, seen {seen:?}", way.name);
            }
        }
        // A session that broke off shows nothing of the calls that it did not come to.
        if !outcome.stdout.contains(DONE) || outcome.code != Some(0) {
            let _ = writeln!(differences, "{}: {}", ways[0].name, outcome.report);
        }
    };
    let names: Vec<&'static str> = ANSWERS.iter().map(|way| way.name).collect();
    let (seen, outcome) = session(agent, &program, &server, hooks, "HOOK/answers", &names).await;
    compare(ANSWERS, &seen, &outcome);
    for way in FAILURES {
        let Registered(command) = way.hook else { panic!("{} is no registration", way.name) };
        let (seen, outcome) = session(agent, &program, &server, hooks, command, &[way.name]).await;
        compare(std::slice::from_ref(way), &seen, &outcome);
    }
    assert!(differences.is_empty(), "{agent}:\n{differences}");
}

/// What the model hears of words that a hook adds: of the nested object, and of the flat one.
const WORDS: &[(&str, &str, [bool; 3])] = &[
    ("SessionStart", "nested", [true, true, false]),
    ("UserPromptSubmit", "nested", [true, true, false]),
    ("PostToolUse", "nested", [true, true, false]),
    ("SessionStart", "flat", [false, false, true]),
    ("UserPromptSubmit", "flat", [false, false, true]),
    ("PostToolUse", "flat", [false, false, true]),
];

/// Holds one agent against its column of [`WORDS`], and against the claim that a stop hook gives it one turn more.
async fn words(agent: AgentBinary, index: usize) {
    let Some(program) = program(agent) else { return };
    let server = ModelServer::start().await.unwrap();
    let mut differences = String::new();
    for shape in ["nested", "flat"] {
        let answer = |event: &str| {
            let words = format!("words-of-{event}-{shape}");
            let answer = match shape {
                "nested" => {
                    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": words}})
                }
                _ => json!({"additionalContext": words}),
            };
            format!("cat >/dev/null; echo '{answer}'")
        };
        let stop = json!({"decision": "block", "reason": "words-of-Stop"});
        let stop = format!("case $(cat) in *'stop_hook_active\":true'*) ;; *) echo '{stop}' ;; esac");
        let mut hooks: Vec<_> = ["SessionStart", "UserPromptSubmit", "PostToolUse"]
            .into_iter()
            .map(|event| (event, answer(event)))
            .collect();
        hooks.push(("Stop", stop));
        let calls = vec!["true".to_owned()];
        let (_, outcome) = run(
            agent,
            &program,
            &server,
            (shape, calls),
            move |directory| registration(agent, &hooks, directory),
            |_| Vec::new(),
        )
        .await;
        for (event, _, heard) in WORDS.iter().filter(|(_, of, _)| *of == shape) {
            let found = server.find_text(shape, &format!("words-of-{event}-{shape}"));
            if found.is_empty() == heard[index] {
                let roles: Vec<_> = found.into_iter().map(|said| said.role).collect();
                let _ = writeln!(differences, "{event} {shape}: expected {}, seen {roles:?}", heard[index]);
            }
        }
        if server.find_text(shape, "words-of-Stop").is_empty() || outcome.code != Some(0) {
            let _ = writeln!(differences, "{shape}: Stop was not held\n{}", outcome.report);
        }
    }
    assert!(differences.is_empty(), "{agent}:\n{differences}");
}

#[tokio::test]
async fn claude_does_with_each_answer_what_the_table_says() {
    column(AgentBinary::Claude, 0).await;
}

#[tokio::test]
async fn codex_does_with_each_answer_what_the_table_says() {
    column(AgentBinary::Codex, 1).await;
}

#[tokio::test]
async fn copilot_does_with_each_answer_what_the_table_says() {
    column(AgentBinary::Copilot, 2).await;
}

#[tokio::test]
async fn claude_hears_what_hooks_add() {
    words(AgentBinary::Claude, 0).await;
}

#[tokio::test]
async fn codex_hears_what_hooks_add() {
    words(AgentBinary::Codex, 1).await;
}

#[tokio::test]
async fn copilot_hears_what_hooks_add() {
    words(AgentBinary::Copilot, 2).await;
}

/// A stand-in for the hook binary: writes down how it is called, answers with the code of its launch, and denies what holds the word `forbidden`.
const STAND_IN: &str = r#"#!/bin/sh
echo "$*" >>"$(dirname "$0")/calls"
previous= code=0
for word; do
  case $previous in --code) code=$word ;; esac
  previous=$word
done
case $1.$(cat) in pre-tool-use.*forbidden*) echo 'reason-of-forbidden-here' >&2; exit $((code + 1)) ;; esac
exit "$code"
"#;

/// The injection of a launch works on the real CLI: every event arrives, the forbidden call is stopped, the other one runs.
async fn injected(agent: AgentBinary, told: bool) {
    let Some(program) = program(agent) else { return };
    let hooks = tempfile::Builder::new().prefix("it's \"a hook\" ").tempdir().unwrap();
    let binary = hooks.path().join("amplihack-hooks");
    std::fs::write(&binary, STAND_IN).unwrap();
    std::fs::set_permissions(&binary, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let facts =
        RegistrationFacts { headless: true, policy: Some("standard"), ..RegistrationFacts::default() };
    let directory = hooks.path().join("launch");
    let snapshot = PolicySnapshot::capture(&Env::empty(), hooks.path(), "standard", None).unwrap();
    let started =
        StartContext { env: &Env::empty(), cwd: &directory, theirs: None, is_held: false, words: &[] };
    let injection =
        build_injection(agent, &HookProgram::from_binary(&binary), &directory, facts, &snapshot, started)
            .unwrap();
    let written = injection.write().unwrap();
    let flag = match agent {
        AgentBinary::Claude => "--settings",
        AgentBinary::Codex => "-c",
        _ => "--plugin-dir",
    };
    let args: Vec<OsString> =
        injection.values.iter().flat_map(|value| [flag.into(), value.clone()]).collect();
    let server = ModelServer::start().await.unwrap();
    let calls = ["forbidden", "harmless"].map(|name| format!("touch way-{name}")).to_vec();
    let look = |place: &Path| {
        ["forbidden", "harmless"].map(|name| place.join(format!("way-{name}")).exists()).to_vec()
    };
    let (ran, outcome) = run(agent, &program, &server, ("injected", calls), move |_| args, look).await;
    drop(written);
    assert_eq!(ran, [false, true], "{}", outcome.report);
    let heard = server.find_text("injected", &reason("forbidden"));
    assert_eq!(heard.iter().any(|said| said.role == "tool"), told, "{}", outcome.report);
    let seen = std::fs::read_to_string(hooks.path().join("calls")).unwrap();
    for event in
        ["session-start", "user-prompt-submit", "pre-tool-use", "post-tool-use", "stop", "session-stop"]
    {
        let line = format!("{event} --host {agent} --headless --launch ");
        assert!(seen.lines().any(|seen| seen.starts_with(&line)), "{event} is missing:\n{seen}");
    }
}

#[tokio::test]
async fn claude_takes_the_injection_of_a_launch() {
    injected(AgentBinary::Claude, true).await;
}

#[tokio::test]
async fn codex_takes_the_injection_of_a_launch() {
    injected(AgentBinary::Codex, true).await;
}

/// The stand-in ends with code 2, with which Copilot drops every reason.
#[tokio::test]
async fn copilot_takes_the_injection_of_a_launch() {
    injected(AgentBinary::Copilot, false).await;
}
