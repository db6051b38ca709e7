//! The commands that are registered with hosts, and the hooks that each host is given.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use serde_json::{Map, Value, json};

use crate::answer_code::{self, AnswerCode};
use crate::dialect::{self, HookDialect};
use crate::error::HookError;
use crate::event::HookEvent;
use crate::host::{HookHost, hook_host};
use crate::settings::RegisteredCommand;

/// Seconds of a hook that judges nothing, which may be given up.
const SHORT: u32 = 10;

/// The program that a registration starts: the small hook binary, or `amplihack hook`, which is the same code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram {
    /// The file; has to be absolute.
    pub path: PathBuf,
    /// The words before the event.
    pub words: &'static [&'static str],
}

impl HookProgram {
    /// The name of the hook binary.
    pub const NAME: &'static str = "amplihack-hooks";

    /// The hook binary at `path`.
    pub fn from_binary(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), words: &[] }
    }

    /// The hook binary beside `amplihack`, which starts faster, else `amplihack hook`.
    pub fn from_amplihack(amplihack: &Path) -> Self {
        let binary = amplihack.with_file_name(Self::NAME);
        let runs = |found: std::fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
        if std::fs::metadata(&binary).is_ok_and(runs) {
            return Self::from_binary(binary);
        }
        Self { path: amplihack.to_owned(), words: &["hook"] }
    }

    /// The beginning of a shell command.
    fn shell_words(&self) -> Result<String, HookError> {
        let mut words = vec![binary_word(&self.path)?];
        words.extend(self.words.iter().map(|word| shell_quoted(word)));
        Ok(words.join(" "))
    }
}

/// Facts that a registration knows and a payload does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegistrationFacts<'a> {
    /// The host; `None` for a registration that several hosts read.
    pub host: Option<AgentBinary>,
    /// `true` if nobody is there to answer.
    pub headless: bool,
    /// The policy mode to pin: in a hook process a variable can then only tighten.
    pub policy: Option<&'a str>,
    /// The directory of a launch, which listens there for reports.
    pub launch: Option<&'a Path>,
    /// The code of that launch's answers; without one, that of installed registrations.
    pub code: Option<AnswerCode>,
    /// The hash of the policy that was pinned at that launch.
    pub pin: Option<&'a str>,
    /// The directory in which a session is launched, which no call of it may take away.
    pub cwd: Option<&'a Path>,
    /// `true` if the agent is to do everything without asking a person: a host that can be made to ask a hook then runs nothing without its
    /// answer.
    pub skips_permissions: bool,
}

/// A hook of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRegistration {
    /// The event.
    pub event: HookEvent,
    /// The host's name of the event.
    pub name: &'static str,
    /// The shell command.
    pub command: String,
    /// The longest time that the hook may take, as the host counts it: most count seconds.
    pub timeout: u32,
}

/// Events of a registration in Claude's dialect, with the seconds of those that are no guard.
const EVENTS: &[(HookEvent, u32)] = &[
    (HookEvent::SessionStart, SHORT),
    (HookEvent::UserPromptSubmit, SHORT),
    (HookEvent::PreToolUse, 0),
    (HookEvent::PostToolUse, SHORT),
    (HookEvent::Stop, 120),
    (HookEvent::SubagentStop, SHORT),
    (HookEvent::PreCompact, 30),
    (HookEvent::SessionStop, SHORT),
];

/// The hooks that `agent` is given, each as the shell command that its registration holds.
pub fn build_hooks(
    agent: AgentBinary,
    program: &HookProgram,
    facts: RegistrationFacts<'_>,
) -> Result<Vec<HookRegistration>, HookError> {
    let program = program.shell_words()?;
    let launch = facts.launch.map(launch_word).transpose()?;
    let host = hook_host(agent).map_err(|instead| HookError::NoHooks { binary: agent, instead })?;
    let permitting = permission_event(host).filter(|_| facts.skips_permissions);
    Ok(registered_events(host)
        .chain(permitting)
        .map(|(event, name, seconds)| HookRegistration {
            event,
            name,
            command: hook_command(agent, &program, event, facts, launch.as_deref()),
            timeout: seconds,
        })
        .collect())
}

/// The events that a host is given hooks for, its names of them, and their time as it counts.
///
/// The guard has the longest time that the host keeps, because at the end of it every host lets the call run; the guard's own deadline
/// is far below.
fn registered_events(host: &HookHost) -> impl Iterator<Item = (HookEvent, &'static str, u32)> {
    let named = |(event, seconds): &(HookEvent, u32)| {
        let time = match event {
            HookEvent::SessionStop => host.end_seconds.min(*seconds) * host.second,
            event if event.is_guard() => host.longest,
            _ => seconds * host.second,
        };
        Some((*event, (host.event_name)(*event)?, time))
    };
    EVENTS.iter().filter_map(named)
}

/// The event at which `host`, made to ask before every call, lets a hook give permission. Only launches register it: elsewhere the
/// permissions are the user's own.
fn permission_event(host: &HookHost) -> Option<(HookEvent, &'static str, u32)> {
    let event = HookEvent::PermissionRequest;
    Some((event, (host.event_name)(event)?, host.longest)).filter(|_| host.asks_before_each)
}

/// The name of `event` in a registration with `agent`, and its seconds; `None` where it is not registered.
pub fn registered_name(agent: AgentBinary, event: HookEvent) -> Option<(&'static str, u32)> {
    let host = hook_host(agent).ok()?;
    registered_events(host)
        .chain(permission_event(host))
        .find(|(known, ..)| *known == event)
        .map(|(_, name, time)| (name, time / host.second))
}

/// `hooks` as Claude Code's settings and plugins hold them; other hosts' settings have the same shape.
pub fn in_claudes_format(hooks: &[HookRegistration]) -> Value {
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

/// Checks that `settings`, in Claude's format and found at `path`, hold a command of ours for every event of `agent`.
pub fn verify_registration(settings: &Value, agent: AgentBinary, path: &Path) -> Result<(), HookError> {
    let known = hook_host(agent).map_err(|instead| HookError::NoHooks { binary: agent, instead })?;
    for (event, name, _) in registered_events(known) {
        let groups = settings["hooks"][name].as_array().into_iter().flatten();
        let mut commands = groups
            .flat_map(|group| group["hooks"].as_array().into_iter().flatten())
            .filter_map(|hook| hook["command"].as_str());
        // The reader by which an installation takes its commands out again: what the two know cannot differ.
        let ours =
            |command: &str| RegisteredCommand::parse(command).is_some_and(|found| found.event == event);
        if amplihack_sys::sabotage::is_active("routing-missing-registration")
            || amplihack_sys::sabotage::is_active("routing-no-substitute") && agent == AgentBinary::Codex
        {
            continue;
        }
        if !commands.any(ours) {
            return Err(HookError::MissingHookForBinary {
                binary: agent,
                event: name.to_owned(),
                expected_path: path.to_owned(),
                remediation: if amplihack_sys::sabotage::is_active("routing-remediation") {
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
fn hook_command(
    agent: AgentBinary,
    program: &str,
    event: HookEvent,
    facts: RegistrationFacts<'_>,
    launch: Option<&str>,
) -> String {
    let mut command = format!("{program} {event}");
    if amplihack_sys::sabotage::is_active("routing-native-hooks") {
        command = format!("python3 {event}.py");
    }
    if let Some(host) = facts.host {
        command.extend([" --host ", host.name()]);
    }
    if facts.headless {
        command.push_str(" --headless");
    }
    if let Some(policy) = facts.policy {
        command.extend([" --policy ", &shell_quoted(policy)]);
    }
    if let Some(launch) = launch {
        command.extend([" --launch ", launch]);
    }
    if let Some(pin) = facts.pin {
        command.extend([" --pin ", &shell_quoted(pin)]);
    }
    // A directory that cannot stand in a registration is the hook process's own, or the payload's.
    if let Some(cwd) = facts.cwd.and_then(|cwd| path_word(cwd).ok()).filter(|_| event.is_guard()) {
        command.extend([" --cwd ", &cwd]);
    }
    if event.is_guard() {
        let code = facts.code.unwrap_or(AnswerCode::INSTALLED);
        command.extend([" ", answer_code::FLAG, " ", &code.to_string()]);
        command = answer_code::demanding_command(&command, code, launch);
        if dialect::answer_effects(HookDialect::of_host(Some(agent))).stderr_counts {
            command = answer_code::denying_first(&command);
        }
    }
    command
}

/// The hook binary as one word of a shell command.
fn binary_word(binary: &Path) -> Result<String, HookError> {
    path_word(binary).map_err(|why| HookError::BadBinary { path: binary.to_owned(), why })
}

/// A launch's directory as one word of a shell command.
fn launch_word(directory: &Path) -> Result<String, HookError> {
    path_word(directory).map_err(|why| HookError::BadLaunchDirectory { path: directory.to_owned(), why })
}

/// An absolute path as one word of a shell command; what is wrong with one that cannot stand there.
fn path_word(path: &Path) -> Result<String, &'static str> {
    if !path.is_absolute() {
        return Err("its path is not absolute");
    }
    let text = path.to_str().ok_or("its path is not UTF-8, and registrations are JSON")?;
    if text.chars().any(char::is_control) {
        return Err("its path has control characters");
    }
    Ok(shell_quoted(text))
}

/// `text` as one word of a POSIX shell, unchanged where nothing in it means anything to a shell.
pub fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: RegistrationFacts<'_> = RegistrationFacts {
        host: None,
        headless: false,
        policy: None,
        launch: None,
        code: None,
        pin: None,
        cwd: None,
        skips_permissions: false,
    };

    fn at(path: &str) -> HookProgram {
        HookProgram::from_binary(path)
    }

    #[test]
    fn the_small_binary_is_taken_where_it_is_and_runs() {
        let dir = tempfile::tempdir().unwrap();
        let amplihack = dir.path().join("amplihack");
        let itself = HookProgram { path: amplihack.clone(), words: &["hook"] };
        assert_eq!(HookProgram::from_amplihack(&amplihack), itself);
        let small = dir.path().join("amplihack-hooks");
        std::fs::write(&small, "").unwrap();
        assert_eq!(HookProgram::from_amplihack(&amplihack), itself);
        std::fs::set_permissions(&small, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(HookProgram::from_amplihack(&amplihack), HookProgram::from_binary(&small));
        let commands = build_hooks(AgentBinary::Claude, &itself, NONE).unwrap();
        assert_eq!(commands[0].command, format!("{} hook session-start", amplihack.display()));
    }

    #[test]
    fn only_the_guard_ends_in_a_deny() {
        let hooks = build_hooks(AgentBinary::Claude, &at("/opt/a b's/amplihack-hooks"), NONE).unwrap();
        for hook in &hooks {
            let program = r"'/opt/a b'\''s/amplihack-hooks'";
            let plain = format!("{program} {}", hook.event);
            let expected = if hook.event == HookEvent::PreToolUse {
                answer_code::demanding_command(&format!("{plain} --code 79"), AnswerCode::INSTALLED, None)
            } else {
                plain
            };
            assert_eq!(hook.command, expected);
        }
        assert_eq!(hooks.iter().filter(|hook| hook.event.is_guard()).count(), 1);
    }

    #[test]
    fn what_the_registration_knows_stands_in_its_commands() {
        let facts = RegistrationFacts {
            host: Some(AgentBinary::Codex),
            headless: true,
            policy: None,
            launch: Some(Path::new("/r u")),
            code: AnswerCode::parse("90"),
            pin: Some("0af"),
            cwd: Some(Path::new("/w d")),
            skips_permissions: true,
        };
        let hooks = build_hooks(AgentBinary::Codex, &at("/b"), facts).unwrap();
        let guard = hooks.iter().find(|hook| hook.event.is_guard()).unwrap();
        assert!(hooks.iter().all(|hook| hook.event != HookEvent::PermissionRequest));
        assert!(
            guard
                .command
                .starts_with("/b pre-tool-use --host codex --headless --launch '/r u' --pin 0af --cwd '/w d' --code 90 3>&1 >/dev/null && false || case $? in 90) exit 0 ;; 91) exit 2 ;; ")
        );
        assert!(hooks.iter().all(|hook| hook.event != HookEvent::PreCompact));
    }

    #[test]
    fn a_binary_that_cannot_be_named_for_sure_is_refused() {
        for path in ["amplihack-hooks", "./x", "/a\nb"] {
            let error = build_hooks(AgentBinary::Claude, &at(path), NONE).unwrap_err();
            assert!(matches!(error, HookError::BadBinary { .. }), "{error}");
        }
    }

    #[test]
    fn agents_without_hooks_say_what_holds_them() {
        let error = build_hooks(AgentBinary::Amp, &at("/b"), NONE).unwrap_err();
        assert_eq!(error.to_string(), "amp has no command hooks; only permission rules of its own decide");
        assert!(build_hooks(AgentBinary::Amplifier, &at("/b"), NONE).is_err());
    }

    #[test]
    fn a_registration_without_one_of_its_events_is_missing() {
        let hooks = build_hooks(AgentBinary::Claude, &at("/b/amplihack-hooks"), NONE).unwrap();
        let mut settings = in_claudes_format(&hooks);
        let path = Path::new("/h/settings.json");
        verify_registration(&settings, AgentBinary::Claude, path).unwrap();
        for theirs in [
            "their-hook pre-tool-use",
            "echo amplihack-hooks pre-tool-use",
            "/b/amplihack-hooks stop",
            "/b/amplihack-hooks pre-tool-use | true",
        ] {
            settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = theirs.into();
            let error = verify_registration(&settings, AgentBinary::Claude, path).unwrap_err();
            assert_eq!(
                error.to_string(),
                "claude has no hook for PreToolUse at /h/settings.json; run `amplihack install --agent claude`",
                "{theirs}"
            );
        }
        assert!(verify_registration(&Value::Null, AgentBinary::Codex, path).is_err());
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        for word in ["", "a", "it's", "$HOME `id` \"x\" \\", "a\tb*?[!]", "-n", "~", "é"] {
            let output = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("printf %s {}", shell_quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
