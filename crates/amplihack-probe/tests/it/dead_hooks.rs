//! What each real agent CLI does with a call whose hook's shell is killed, in each form in which it could ask first.
//!
//! The forms are those that a launch uses, and those that were tried and are of no use; the table says which is which.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_probe::loopback::{LoopbackOptions, prepare_loopback};
use amplihack_probe::model::{DONE, ModelScenario, ModelScript, ModelServer, ScriptedReply};
use serde_json::json;

use super::real::{finish, program};

/// A hook that is killed, with its shell, before it says anything.
const KILLED: &str = "kill -9 $$";
/// A hook that denies on stderr before it is killed.
const DENIED: &str = "echo '{\"decision\":\"deny\",\"reason\":\"no\"}' >&2; kill -9 $$";
/// A hook that has no objection.
const SILENT: &str = "cat >/dev/null";
/// Hooks that say that the call may run, before it and at the question about it.
const ALLOWS: &str = r#"cat >/dev/null; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"r"}}'"#;
const PERMITS: &str = r#"cat >/dev/null; echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'"#;

/// A form in which an agent is started: its hooks, what else it is told, and which of the two calls then run: one that writes, one that reads.
struct Form {
    name: &'static str,
    before: &'static str,
    /// The hook of the question, if there is one.
    question: Option<&'static str>,
    /// Claude: the rules by which it asks. Codex: its policy for approvals.
    asks: Option<&'static str>,
    ran: [bool; 2],
}

const fn form(
    name: &'static str,
    before: &'static str,
    question: Option<&'static str>,
    asks: Option<&'static str>,
    ran: [bool; 2],
) -> Form {
    Form { name, before, question, asks, ran }
}

const ALL: Option<&str> = Some("*");

const CLAUDE: &[Form] = &[
    form("killed", KILLED, None, None, [true, true]),
    // A call is asked about, whoever skips permissions, and nobody answers.
    form("asked", KILLED, None, ALL, [false, false]),
    form("question-killed", KILLED, Some(KILLED), ALL, [false, false]),
    form("question-answered", KILLED, Some(PERMITS), ALL, [true, true]),
    form("judged-and-killed", SILENT, Some(KILLED), ALL, [false, false]),
    form("as-launched", SILENT, Some(PERMITS), ALL, [true, true]),
    // The hook before the call lifts no rule.
    form("allowed-before", ALLOWS, None, ALL, [false, false]),
];

const CODEX: &[Form] = &[
    form("killed", KILLED, None, None, [true, true]),
    // Nothing outside of a sandbox is asked about.
    form("on-request", KILLED, Some(KILLED), Some("\"on-request\""), [true, true]),
    form(
        "granular",
        KILLED,
        Some(KILLED),
        Some("{granular={sandbox_approval=true,rules=true,mcp_elicitations=true}}"),
        [true, true],
    ),
    // The policy that would ask is refused.
    form("untrusted", KILLED, Some(KILLED), Some("\"untrusted\""), [false, false]),
];

const COPILOT: &[Form] = &[form("killed", KILLED, None, None, [false, false])];

const GEMINI: &[Form] = &[
    form("killed", KILLED, None, None, [true, true]),
    form("denied-first", DENIED, None, None, [false, false]),
];

/// The hooks of `form` by their events.
fn hooks(form: &Form, before: &'static str) -> serde_json::Value {
    let group = |command: &str| json!([{"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": 5000}]}]);
    let mut hooks = serde_json::Map::new();
    hooks.insert(before.to_owned(), group(form.before));
    if let Some(question) = form.question {
        hooks.insert("PermissionRequest".to_owned(), group(question));
    }
    hooks.into()
}

/// The command line of `agent` in `form`, headless and with everything allowed, and the variables that it needs.
fn line(agent: AgentBinary, form: &Form, directory: &Path) -> (Vec<OsString>, Vec<(&'static str, OsString)>) {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    match agent {
        AgentBinary::Claude => {
            let mut settings = json!({"hooks": hooks(form, "PreToolUse")});
            if let Some(rule) = form.asks {
                settings["permissions"] = json!({"ask": [rule]});
            }
            let settings = settings.to_string();
            (words(&["-p", "--dangerously-skip-permissions", "--settings", &settings]), Vec::new())
        }
        AgentBinary::Codex => {
            let mut line =
                words(&["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]);
            for (event, command) in [("PreToolUse", Some(form.before)), ("PermissionRequest", form.question)]
            {
                let Some(command) = command else { continue };
                let command = serde_json::to_string(command).unwrap();
                let hook = format!(
                    "hooks.{event}=[{{matcher=\"*\",hooks=[{{type=\"command\",command={command}}}]}}]"
                );
                line.extend(["-c".into(), hook.into()]);
            }
            match form.asks {
                Some(policy) => line.extend(words(&[
                    "--sandbox=danger-full-access",
                    "-c",
                    &format!("approval_policy={policy}"),
                ])),
                None => line.extend(words(&["--dangerously-bypass-approvals-and-sandbox"])),
            }
            line.push("-".into());
            (line, Vec::new())
        }
        AgentBinary::Copilot => {
            let (manifest, file) = (directory.join(".claude-plugin"), directory.join("hooks"));
            std::fs::create_dir_all(&manifest).unwrap();
            std::fs::create_dir_all(&file).unwrap();
            let plugin = json!({"name": "guard", "version": "1.0.0", "description": "one hook"});
            std::fs::write(manifest.join("plugin.json"), plugin.to_string()).unwrap();
            let text = json!({"hooks": hooks(form, "PreToolUse")}).to_string();
            std::fs::write(file.join("hooks.json"), text).unwrap();
            let mut line = words(&["--allow-all", "--plugin-dir"]);
            line.push(directory.into());
            (line, Vec::new())
        }
        _ => {
            let file = directory.join("settings.json");
            std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
            std::fs::write(&file, json!({"hooks": hooks(form, "BeforeTool")}).to_string()).unwrap();
            (words(&["--yolo"]), vec![("GEMINI_CLI_SYSTEM_SETTINGS_PATH", file.into())])
        }
    }
}

/// Runs a session in `form`: one call that writes a file, one that reads one.
async fn session(agent: AgentBinary, program: &Path, server: &ModelServer, form: &'static Form) -> [bool; 2] {
    let calls =
        ["touch written", "cat kept"].map(|command| ScriptedReply::Tool { command: command.to_owned() });
    let name = format!("dead-{}", form.name);
    server
        .set_script(&name, ModelScript::new(calls.into_iter().chain([ScriptedReply::Text(DONE.to_owned())])));
    let base_url = server.base_url(ModelScenario::Script, &name);
    let program = program.to_owned();
    let written = tokio::task::spawn_blocking(move || {
        let (home, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = work.path().canonicalize().unwrap();
        std::fs::write(place.join("kept"), "text-that-was-kept\n").unwrap();
        // Gemini reads settings only from below directories that are root's alone.
        let parent = if Path::new("/run").exists() { Path::new("/run") } else { home.path() };
        let directory = tempfile::tempdir_in(parent).or_else(|_| tempfile::tempdir()).unwrap();
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-cache");
        let options = LoopbackOptions { cache: Some(&cache), workspace: Some(&place) };
        let loopback = prepare_loopback(agent, &base_url, home.path(), options).unwrap();
        let (line, variables) = line(agent, form, directory.path());
        let mut agent = Command::new(program);
        agent
            .args(line)
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TERM", "xterm")])
            .envs(loopback.env)
            .envs(variables)
            .current_dir(&place);
        finish(&mut agent, b"do it".to_vec());
        place.join("written").exists()
    })
    .await
    .unwrap();
    let read = server.find_text(&name, "text-that-was-kept").iter().any(|said| said.role == "tool");
    [written, read]
}

async fn column(agent: AgentBinary, forms: &'static [Form]) {
    let Some(program) = program(agent) else { return };
    // As another user Gemini reads no settings of a launch.
    if agent == AgentBinary::Gemini && !amplihack_testkit::require_root() {
        return;
    }
    let server = ModelServer::start().await.unwrap();
    for form in forms {
        let ran = session(agent, &program, &server, form).await;
        assert_eq!(ran, form.ran, "{agent}: {}", form.name);
    }
}

#[tokio::test]
async fn claude_runs_no_call_that_it_asks_about_and_whose_hooks_are_killed() {
    column(AgentBinary::Claude, CLAUDE).await;
}

#[tokio::test]
async fn codex_runs_a_call_whose_hook_is_killed_and_asks_about_none() {
    column(AgentBinary::Codex, CODEX).await;
}

#[tokio::test]
async fn copilot_runs_no_call_whose_hook_is_killed() {
    column(AgentBinary::Copilot, COPILOT).await;
}

#[tokio::test]
async fn gemini_runs_no_call_whose_hook_denied_before_it_was_killed() {
    column(AgentBinary::Gemini, GEMINI).await;
}
