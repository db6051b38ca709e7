//! The scripted agent's hooks: those of its settings and plugins that are asked before a tool call, obeyed as Claude Code obeys them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_session::{ChildInput, ChildOutput, Deadlines, EndCause, ProcessExit, RunSpec, run_blocking};
use serde_json::{Value, json};

/// As long as a hook may take that does not say how long.
const TIMEOUT: u64 = 60;
/// The most that is read of what a hook says.
const MAX_ANSWER: usize = 64 * 1024;
const GRACE: Duration = Duration::from_millis(500);

/// Hooks before a tool call.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ScriptedHooks(Vec<ScriptedHook>);

#[derive(Debug, PartialEq)]
struct ScriptedHook {
    /// Names of tools, with `|` between them; `*` or nothing for all.
    matcher: String,
    command: String,
    timeout: Duration,
}

impl ScriptedHooks {
    /// The hooks in `settings` and in `hooks/hooks.json` of each of `plugins`, unless `settings` switch all hooks off. An error is what the
    /// agent complains about.
    pub(crate) fn load(plugins: &[PathBuf], settings: Option<&str>) -> Result<Self, String> {
        let mut hooks = Vec::new();
        if let Some(settings) = settings {
            let settings: Value = serde_json::from_str(settings)
                .map_err(|error| format!("option '--settings' argument is no JSON: {error}"))?;
            if settings["disableAllHooks"] == true {
                return Ok(Self::default());
            }
            hooks.extend(
                parse_hooks(&settings).map_err(|why| format!("option '--settings' cannot be used: {why}"))?,
            );
        }
        for plugin in plugins {
            let file = plugin.join("hooks/hooks.json");
            let text = match std::fs::read(&file) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(format!("cannot read {}: {error}", file.display())),
            };
            let cannot = |why: String| format!("cannot use {}: {why}", file.display());
            let text = serde_json::from_slice(&text).map_err(|error| cannot(error.to_string()))?;
            hooks.extend(parse_hooks(&text).map_err(cannot)?);
        }
        Ok(Self(hooks))
    }

    /// Asks the hooks about `call`, one after the other: the reason of the first that stops it.
    pub(crate) fn stop_reason(
        &self,
        call: &Value,
        session: &str,
        permission_mode: &str,
        env: &Env,
    ) -> Option<String> {
        let cwd = std::env::current_dir().unwrap_or_default();
        let payload = json!({
            "session_id": session,
            "cwd": cwd.to_string_lossy(),
            "permission_mode": permission_mode,
            "hook_event_name": "PreToolUse",
            "tool_name": call["name"],
            "tool_input": call["input"],
            "tool_use_id": call["id"],
        })
        .to_string();
        let tool = call["name"].as_str().unwrap_or_default();
        self.0
            .iter()
            .filter(|hook| hook.matches_tool(tool))
            .find_map(|hook| hook.run_hook(&payload, &cwd, env))
    }
}

fn parse_hooks(file: &Value) -> Result<Vec<ScriptedHook>, String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut hooks = Vec::new();
    for group in list(&file["hooks"]["PreToolUse"]) {
        for hook in list(&group["hooks"]) {
            let command = hook["command"].as_str().ok_or("a hook without a command")?;
            hooks.push(ScriptedHook {
                matcher: group["matcher"].as_str().unwrap_or_default().to_owned(),
                command: command.to_owned(),
                timeout: Duration::from_secs(hook["timeout"].as_u64().unwrap_or(TIMEOUT)),
            });
        }
    }
    Ok(hooks)
}

impl ScriptedHook {
    fn matches_tool(&self, tool: &str) -> bool {
        matches!(self.matcher.as_str(), "" | "*") || self.matcher.split('|').any(|name| name == tool)
    }

    /// The reason why the call must not run. A hook that cannot be started, or takes too long, stops nothing.
    fn run_hook(&self, payload: &str, cwd: &Path, env: &Env) -> Option<String> {
        let mut run = Command::new("/bin/sh");
        run.arg("-c").arg(&self.command).env_clear().envs(env.iter()).env("CLAUDE_PROJECT_DIR", cwd);
        let outcome = run_blocking(RunSpec {
            stdin: ChildInput::Bytes(payload.as_bytes().to_vec()),
            stdout: ChildOutput::Head(MAX_ANSWER),
            stderr: ChildOutput::Head(MAX_ANSWER),
            deadlines: Deadlines { total: Some(self.timeout), ..Deadlines::default() },
            grace: GRACE,
            ..RunSpec::new(run)
        })
        .ok()?;
        if matches!(outcome.cause, EndCause::Deadline(_)) {
            return None;
        }
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let blocked = outcome.exit == ProcessExit::Code(2);
        refusal_reason(&said(&outcome.stdout.bytes)).or_else(|| blocked.then(|| said(&outcome.stderr.bytes)))
    }
}

/// The reason in an answer that refuses the call: a whole JSON object, or it says nothing. There is nobody to ask.
fn refusal_reason(stdout: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(stdout).ok()?;
    let specific = &answer["hookSpecificOutput"];
    let reason = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if matches!(specific["permissionDecision"].as_str(), Some("deny" | "ask")) {
        return Some(reason(&specific["permissionDecisionReason"]));
    }
    (answer["decision"] == "block").then(|| reason(&answer["reason"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Env {
        Env::from_iter([("PATH", "/usr/bin:/bin")])
    }

    fn hook(command: &str) -> ScriptedHook {
        ScriptedHook {
            matcher: "*".to_owned(),
            command: command.to_owned(),
            timeout: Duration::from_secs(TIMEOUT),
        }
    }

    fn stop(command: &str) -> Option<String> {
        let call = json!({"name": "Bash", "id": "toolu_1", "input": {"command": "it's"}});
        ScriptedHooks(vec![hook("true"), hook(command)]).stop_reason(&call, "s1", "default", &env())
    }

    /// The column of Claude Code in the table of what hosts make of a hook's answer, but for which texts reach the model.
    #[test]
    fn answers_count_as_they_do_for_claude_code() {
        let nested = r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"R"}}"#;
        let ask = nested.replace("deny", "ask");
        let stopped = Some("R".to_owned());
        for (command, expected) in [
            (format!("echo '{nested}'"), stopped.clone()),
            (format!("echo '{nested}'; exit 1"), stopped.clone()),
            (format!("echo '{ask}'"), stopped.clone()),
            (r#"echo '{"decision":"block","reason":"R"}'"#.to_owned(), stopped.clone()),
            ("echo R >&2; exit 2".to_owned(), stopped.clone()),
            (format!("echo '{nested}'; exit 2"), stopped),
            ("exit 2".to_owned(), Some(String::new())),
            (r#"echo '{"permissionDecision":"deny","permissionDecisionReason":"R"}'"#.to_owned(), None),
            (format!("echo starting; echo '{nested}'"), None),
            (format!("echo '{}'", nested.replace("deny", "allow")), None),
            ("echo R >&2; exit 1".to_owned(), None),
            ("/no/such/program".to_owned(), None),
            ("kill -SEGV $$".to_owned(), None),
            ("echo '{}'".to_owned(), None),
        ] {
            assert_eq!(stop(&command), expected, "{command}");
        }
    }

    #[test]
    fn a_hook_that_takes_too_long_stops_nothing() {
        let stuck = ScriptedHook { timeout: Duration::from_millis(300), ..hook("exec tail -f /dev/null") };
        assert_eq!(
            ScriptedHooks(vec![stuck]).stop_reason(&json!({"name": "Bash"}), "s1", "default", &env()),
            None
        );
    }

    #[test]
    fn a_hook_sees_the_call_as_claude_code_tells_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("payload");
        assert_eq!(stop(&format!("cat > '{}'", file.display())), None);
        let payload: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(
            (
                &payload["hook_event_name"],
                &payload["tool_name"],
                &payload["tool_input"],
                &payload["session_id"]
            ),
            (&"PreToolUse".into(), &"Bash".into(), &json!({"command": "it's"}), &"s1".into())
        );
        assert_eq!(payload["cwd"].as_str(), std::env::current_dir().unwrap().to_str());
    }

    #[test]
    fn hooks_come_from_plugins_and_are_chosen_by_tool() {
        let plugin = tempfile::tempdir().unwrap();
        let plugins = [plugin.path().to_owned()];
        assert_eq!(
            ScriptedHooks::load(&plugins, None),
            Ok(ScriptedHooks::default()),
            "a plugin without hooks"
        );
        std::fs::create_dir(plugin.path().join("hooks")).unwrap();
        let file = plugin.path().join("hooks/hooks.json");
        let text = json!({"hooks": {
            "Stop": [{"hooks": [{"command": "other"}]}],
            "PreToolUse": [
                {"matcher": "Write|Bash", "hooks": [{"type": "command", "command": "a", "timeout": 7}]},
                {"matcher": "Read", "hooks": [{"command": "b"}]},
                {"hooks": [{"command": "c"}]},
            ],
        }});
        std::fs::write(&file, text.to_string()).unwrap();
        let hooks = ScriptedHooks::load(&plugins, Some("{\"disableAllHooks\":false}")).unwrap();
        let chosen: Vec<&str> = hooks
            .0
            .iter()
            .filter(|hook| hook.matches_tool("Bash"))
            .map(|hook| hook.command.as_str())
            .collect();
        assert_eq!(chosen, ["a", "c"]);
        assert_eq!(
            (hooks.0[0].timeout, hooks.0[1].timeout),
            (Duration::from_secs(7), Duration::from_secs(TIMEOUT))
        );
        assert_eq!(
            ScriptedHooks::load(&plugins, Some("{\"disableAllHooks\":true}")),
            Ok(ScriptedHooks::default())
        );
        assert_eq!(ScriptedHooks::load(&[], Some(&text.to_string())).unwrap().0.len(), 3);
        assert!(ScriptedHooks::load(&plugins, Some("{")).unwrap_err().contains("--settings"));
        std::fs::write(&file, "{").unwrap();
        assert!(ScriptedHooks::load(&plugins, None).unwrap_err().contains("hooks.json"));
    }
}
