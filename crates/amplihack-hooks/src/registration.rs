//! The commands that are registered with hosts, and the hooks that each host is given.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use serde_json::{Map, Value, json};

use crate::error::HookError;
use crate::event::HookEvent;
use crate::host::{Host, host};
use crate::settings::Registered;

/// What follows a guard's command: whatever kept the guard from answering, the call does not run. Exit code 2 with words on
/// stderr was shown to stop a call on Claude Code, Codex and Copilot.
pub(crate) const GUARD: &str = " || { s=$?; [ $s = 2 ] || echo 'guard did not run' >&2; exit 2; }";

/// Seconds that a registration gives the guard. The guard's own deadline is far below it.
pub(crate) const GUARD_TIMEOUT: u32 = 10;

/// The program that a registration starts: the small hook binary, or `amplihack hook`, which is the same code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file; has to be absolute.
    pub path: PathBuf,
    /// The words before the event.
    pub words: &'static [&'static str],
}

impl Program {
    /// The name of the hook binary.
    pub const NAME: &'static str = "amplihack-hooks";

    /// The hook binary at `path`.
    pub fn binary(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), words: &[] }
    }

    /// The hook binary beside `amplihack`, which starts faster, else `amplihack hook`.
    pub fn beside(amplihack: &Path) -> Self {
        let binary = amplihack.with_file_name(Self::NAME);
        let runs = |found: std::fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
        if std::fs::metadata(&binary).is_ok_and(runs) {
            return Self::binary(binary);
        }
        Self { path: amplihack.to_owned(), words: &["hook"] }
    }

    /// The beginning of a shell command.
    fn shell(&self) -> Result<String, HookError> {
        let mut words = vec![shell_path(&self.path)?];
        words.extend(self.words.iter().map(|word| quoted(word)));
        Ok(words.join(" "))
    }
}

/// What a registration knows that a payload does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts<'a> {
    /// The host; `None` for a registration that several hosts read.
    pub host: Option<AgentBinary>,
    /// Whether nobody is there to answer.
    pub headless: bool,
    /// The policy mode to pin: in a hook process a variable can then only tighten.
    pub policy: Option<&'a str>,
    /// The directory of a launch that wants to know of denials.
    pub launch: Option<&'a Path>,
}

/// One hook of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The event.
    pub event: HookEvent,
    /// The host's name of the event.
    pub name: &'static str,
    /// The shell command.
    pub command: String,
    /// How long it may take, as the host counts it: most count seconds.
    pub timeout: u32,
}

/// Events of a registration in Claude's dialect, with their time.
const EVENTS: &[(HookEvent, u32)] = &[
    (HookEvent::SessionStart, 10),
    (HookEvent::UserPromptSubmit, 10),
    (HookEvent::PreToolUse, GUARD_TIMEOUT),
    (HookEvent::PostToolUse, 10),
    (HookEvent::Stop, 120),
    (HookEvent::SubagentStop, 10),
    (HookEvent::PreCompact, 30),
    (HookEvent::SessionStop, 10),
];

/// The hooks that `agent` is given, each as the shell command that its registration holds.
pub fn hooks(agent: AgentBinary, program: &Program, facts: Facts<'_>) -> Result<Vec<Hook>, HookError> {
    let program = program.shell()?;
    let launch = facts.launch.map(shell_path).transpose()?;
    let host = host(agent).map_err(|instead| HookError::NoHooks { binary: agent, instead })?;
    Ok(told(host)
        .map(|(event, name, seconds)| Hook {
            event,
            name,
            command: command(&program, event, facts, launch.as_deref()),
            timeout: seconds * host.second,
        })
        .collect())
}

/// The events that a host is given hooks for, its names of them, and their seconds.
fn told(host: &Host) -> impl Iterator<Item = (HookEvent, &'static str, u32)> {
    let named = |(event, seconds): &(HookEvent, u32)| Some((*event, (host.event_name)(*event)?, *seconds));
    EVENTS.iter().filter_map(named)
}

/// The name of `event` in a registration with `agent`, and its seconds; `None` where it is not registered.
pub fn told_as(agent: AgentBinary, event: HookEvent) -> Option<(&'static str, u32)> {
    told(host(agent).ok()?).find(|(known, ..)| *known == event).map(|(_, name, seconds)| (name, seconds))
}

/// `hooks` as Claude Code's settings and plugins hold them; other hosts' settings have the same shape.
pub fn in_claudes_format(hooks: &[Hook]) -> Value {
    let mut events = Map::new();
    for hook in hooks {
        let one = json!({"type": "command", "command": hook.command, "timeout": hook.timeout});
        let group = json!({"matcher": "*", "hooks": [one]});
        if let Value::Array(groups) = events.entry(hook.name).or_insert_with(|| json!([])) {
            groups.push(group);
        }
    }
    json!({"hooks": events})
}

/// Whether `settings`, in Claude's format and found at `path`, hold one of our commands for every event of `agent`.
pub fn verify(settings: &Value, agent: AgentBinary, path: &Path) -> Result<(), HookError> {
    let known = host(agent).map_err(|instead| HookError::NoHooks { binary: agent, instead })?;
    for (event, name, _) in told(known) {
        let groups = settings["hooks"][name].as_array().into_iter().flatten();
        let mut commands = groups
            .flat_map(|group| group["hooks"].as_array().into_iter().flatten())
            .filter_map(|hook| hook["command"].as_str());
        // The reader by which an installation takes its commands out again: what the two know cannot differ.
        let ours = |command: &str| Registered::parse(command).is_some_and(|found| found.event == event);
        if amplihack_utils::sabotage::active("routing-missing-registration")
            || amplihack_utils::sabotage::active("routing-no-substitute") && agent == AgentBinary::Codex
        {
            continue;
        }
        if !commands.any(ours) {
            return Err(HookError::MissingHookForBinary {
                binary: agent,
                event: name.to_owned(),
                expected_path: path.to_owned(),
                remediation: if amplihack_utils::sabotage::active("routing-remediation") {
                    "it will do".to_owned()
                } else {
                    format!("run `amplihack install --agent {agent}`")
                },
            });
        }
    }
    Ok(())
}

/// The shell command of one event. `program` is already quoted.
fn command(program: &str, event: HookEvent, facts: Facts<'_>, launch: Option<&str>) -> String {
    let mut command = format!("{program} {event}");
    if amplihack_utils::sabotage::active("routing-native-hooks") {
        command = format!("python3 {event}.py");
    }
    if let Some(host) = facts.host {
        command.extend([" --host ", host.name()]);
    }
    if facts.headless {
        command.push_str(" --headless");
    }
    if let Some(policy) = facts.policy {
        command.extend([" --policy ", &quoted(policy)]);
    }
    if let Some(launch) = launch {
        command.extend([" --launch ", launch]);
    }
    if event.is_guard() {
        command.push_str(GUARD);
    }
    command
}

/// An absolute path as one word of a shell command.
fn shell_path(binary: &Path) -> Result<String, HookError> {
    let bad = |why| HookError::BadBinary { path: binary.to_owned(), why };
    if !binary.is_absolute() {
        return Err(bad("its path is not absolute"));
    }
    let text = binary.to_str().ok_or_else(|| bad("its path is not UTF-8, and registrations are JSON"))?;
    if text.chars().any(char::is_control) {
        return Err(bad("its path has control characters"));
    }
    Ok(quoted(text))
}

/// `text` as one word of a POSIX shell, unchanged where nothing in it means anything to a shell.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Facts<'_> = Facts { host: None, headless: false, policy: None, launch: None };

    fn at(path: &str) -> Program {
        Program::binary(path)
    }

    #[test]
    fn the_small_binary_is_taken_where_it_is_and_runs() {
        let dir = tempfile::tempdir().unwrap();
        let amplihack = dir.path().join("amplihack");
        let itself = Program { path: amplihack.clone(), words: &["hook"] };
        assert_eq!(Program::beside(&amplihack), itself);
        let small = dir.path().join("amplihack-hooks");
        std::fs::write(&small, "").unwrap();
        assert_eq!(Program::beside(&amplihack), itself);
        std::fs::set_permissions(&small, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(Program::beside(&amplihack), Program::binary(&small));
        let commands = hooks(AgentBinary::Claude, &itself, NONE).unwrap();
        assert_eq!(commands[0].command, format!("{} hook session-start", amplihack.display()));
    }

    #[test]
    fn only_the_guard_ends_in_a_deny() {
        let hooks = hooks(AgentBinary::Claude, &at("/opt/a b's/amplihack-hooks"), NONE).unwrap();
        for hook in &hooks {
            let program = r"'/opt/a b'\''s/amplihack-hooks'";
            let guard = if hook.event == HookEvent::PreToolUse { GUARD } else { "" };
            assert_eq!(hook.command, format!("{program} {}{guard}", hook.event));
        }
        assert_eq!(hooks.iter().filter(|hook| hook.event.is_guard()).count(), 1);
    }

    #[test]
    fn what_the_registration_knows_stands_in_its_commands() {
        let facts = Facts {
            host: Some(AgentBinary::Codex),
            headless: true,
            policy: Some("strict"),
            launch: Some(Path::new("/r u")),
        };
        let hooks = hooks(AgentBinary::Codex, &at("/b"), facts).unwrap();
        let guard = hooks.iter().find(|hook| hook.event.is_guard()).unwrap();
        assert!(
            guard
                .command
                .starts_with("/b pre-tool-use --host codex --headless --policy strict --launch '/r u' || {")
        );
        assert!(hooks.iter().all(|hook| hook.event != HookEvent::PreCompact));
    }

    #[test]
    fn a_binary_that_cannot_be_named_for_sure_is_refused() {
        for path in ["amplihack-hooks", "./x", "/a\nb"] {
            let error = hooks(AgentBinary::Claude, &at(path), NONE).unwrap_err();
            assert!(matches!(error, HookError::BadBinary { .. }), "{error}");
        }
    }

    #[test]
    fn agents_without_hooks_say_what_holds_them() {
        let error = hooks(AgentBinary::Amp, &at("/b"), NONE).unwrap_err();
        assert_eq!(error.to_string(), "amp has no command hooks; its permission rules hold it instead");
        assert!(hooks(AgentBinary::Amplifier, &at("/b"), NONE).is_err());
    }

    #[test]
    fn a_registration_without_one_of_its_events_is_missing() {
        let hooks = hooks(AgentBinary::Claude, &at("/b/amplihack-hooks"), NONE).unwrap();
        let mut settings = in_claudes_format(&hooks);
        let path = Path::new("/h/settings.json");
        verify(&settings, AgentBinary::Claude, path).unwrap();
        for theirs in [
            "their-hook pre-tool-use",
            "echo amplihack-hooks pre-tool-use",
            "/b/amplihack-hooks stop",
            "/b/amplihack-hooks pre-tool-use | true",
        ] {
            settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = theirs.into();
            let error = verify(&settings, AgentBinary::Claude, path).unwrap_err();
            assert_eq!(
                error.to_string(),
                "claude has no hook for PreToolUse at /h/settings.json; run `amplihack install --agent claude`",
                "{theirs}"
            );
        }
        assert!(verify(&Value::Null, AgentBinary::Codex, path).is_err());
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        for word in ["", "a", "it's", "$HOME `id` \"x\" \\", "a\tb*?[!]", "-n", "~", "é"] {
            let output = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
