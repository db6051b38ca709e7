//! Hooks for one launch: nothing is installed, nothing is written into the repository, nothing stays behind.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use amplihack_utils::agent_binary::AgentBinary;
use serde_json::{Map, Value, json};

use crate::error::HookError;
use crate::registration::{Facts, Hook, hooks};

/// What a launch adds to an agent's command line. The handle must live as long as the agent.
#[derive(Debug)]
pub struct Injection {
    /// Arguments, among the agent's options.
    pub args: Vec<OsString>,
    /// Variables for the agent's environment.
    pub env: Vec<(OsString, OsString)>,
    /// The directory of the hooks, where the agent needs one. Dropping it removes it.
    pub directory: Option<tempfile::TempDir>,
}

/// The hooks of one launch of `host`, answered by `binary`.
///
/// Claude Code and Copilot read one plugin directory in Claude's format; Codex takes hooks as configuration values, with its
/// bypass of the trust question for this run, since exactly these hooks are the caller's own.
pub fn injection(host: AgentBinary, binary: &Path, facts: Facts<'_>) -> Result<Injection, HookError> {
    let facts = Facts { host: Some(host), ..facts };
    let hooks = hooks(host, binary, facts)?;
    let env = Vec::new();
    if host == AgentBinary::Codex {
        return Ok(Injection { args: codex(&hooks), env, directory: None });
    }
    let directory = plugin(&hooks).map_err(|source| HookError::Io { source })?;
    let args = vec!["--plugin-dir".into(), directory.path().into()];
    Ok(Injection { args, env, directory: Some(directory) })
}

/// A directory that only this user can enter.
fn plugin(hooks: &[Hook]) -> std::io::Result<tempfile::TempDir> {
    let directory = tempfile::Builder::new()
        .prefix("amplihack-hooks-")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()?;
    let (about, files) = (directory.path().join(".claude-plugin"), directory.path().join("hooks"));
    fs::create_dir(&about)?;
    fs::create_dir(&files)?;
    let manifest = json!({
        "name": "amplihack",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "the guard of this amplihack launch",
    });
    fs::write(about.join("plugin.json"), format!("{manifest:#}\n"))?;
    fs::write(files.join("hooks.json"), format!("{:#}\n", claude_hooks(hooks)))?;
    Ok(directory)
}

/// `hooks` as Claude Code's settings and plugins hold them.
pub fn claude_hooks(hooks: &[Hook]) -> Value {
    let mut events = Map::new();
    for hook in hooks {
        let Some(name) = hook.event.claude_name() else { continue };
        let one = json!({"type": "command", "command": hook.command, "timeout": hook.timeout});
        let group = json!({"matcher": "*", "hooks": [one]});
        if let Value::Array(groups) = events.entry(name).or_insert_with(|| json!([])) {
            groups.push(group);
        }
    }
    json!({"hooks": events})
}

fn codex(hooks: &[Hook]) -> Vec<OsString> {
    let mut args = Vec::new();
    for hook in hooks {
        let Some(name) = hook.event.claude_name() else { continue };
        let (command, timeout) = (toml_string(&hook.command), hook.timeout);
        args.push("-c".into());
        args.push(
            format!("hooks.{name}=[{{matcher=\"*\",hooks=[{{type=\"command\",command={command},timeout={timeout}}}]}}]")
                .into(),
        );
    }
    args.push("--dangerously-bypass-hook-trust".into());
    args
}

/// A basic string of TOML.
fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.extend(format!("\\U{:08X}", u32::from(c)).chars()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts<'_> = Facts { host: None, headless: true, policy: None };

    fn of(host: AgentBinary) -> Injection {
        injection(host, Path::new("/opt/it's \"here\"/amplihack-hooks"), FACTS).unwrap()
    }

    #[test]
    fn one_private_directory_serves_claude_and_copilot_and_goes_away() {
        for host in [AgentBinary::Claude, AgentBinary::Copilot] {
            let Injection { args, directory, .. } = of(host);
            let directory = directory.unwrap();
            assert_eq!(args, ["--plugin-dir".into(), OsString::from(directory.path())]);
            assert_eq!(fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777, 0o700);
            let text = fs::read_to_string(directory.path().join("hooks/hooks.json")).unwrap();
            let hooks: Value = serde_json::from_str(&text).unwrap();
            let guard = &hooks["hooks"]["PreToolUse"][0];
            assert_eq!(guard["matcher"], "*");
            assert_eq!(guard["hooks"][0]["timeout"], 10);
            let command = guard["hooks"][0]["command"].as_str().unwrap();
            let start = format!(
                "'/opt/it'\\''s \"here\"/amplihack-hooks' pre-tool-use --host {host} --headless || {{"
            );
            assert!(command.starts_with(&start), "{command}");
            let manifest = fs::read_to_string(directory.path().join(".claude-plugin/plugin.json")).unwrap();
            assert!(manifest.contains("\"name\": \"amplihack\""));
            let path = directory.path().to_owned();
            drop(directory);
            assert!(!path.exists());
        }
    }

    #[test]
    fn codex_takes_its_hooks_as_values_and_needs_no_directory() {
        let Injection { args, directory, .. } = of(AgentBinary::Codex);
        assert!(directory.is_none());
        assert_eq!(args.last().unwrap(), "--dangerously-bypass-hook-trust");
        let guard = args.iter().find(|arg| arg.to_str().unwrap().starts_with("hooks.PreToolUse=")).unwrap();
        let value: toml::Table = toml::from_str(guard.to_str().unwrap()).unwrap();
        let hook = &value["hooks"]["PreToolUse"][0]["hooks"][0];
        let command = hook["command"].as_str().unwrap();
        assert!(command.starts_with("'/opt/it'\\''s \"here\"/amplihack-hooks' pre-tool-use --host codex"));
        assert!(command.ends_with("exit 2; }"));
        assert_eq!(hook["timeout"].as_integer(), Some(10));
    }

    #[test]
    fn toml_reads_every_string_back() {
        for text in ["", "a\"b\\c", "tab\tnew\nline\u{1}", "é漢\u{1f980}"] {
            let table: toml::Table = toml::from_str(&format!("x={}", toml_string(text))).unwrap();
            assert_eq!(table["x"].as_str(), Some(text));
        }
    }
}
