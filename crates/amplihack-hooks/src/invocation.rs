//! The hook binary's command line: an event, and what the registration knows that a payload does not say.

use std::ffi::OsString;
use std::path::PathBuf;

use amplihack_utils::agent_binary::AgentBinary;

use crate::event::HookEvent;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Answer one event of a host.
    Event(HookEvent),
    /// Answer as the XPIA hook: flat.
    Xpia,
    /// Join the answers of two hooks.
    Aggregate,
    /// Answer one event together with a script of the user's.
    WithScript(HookEvent),
}

impl Action {
    /// Whether its silence would let a call run.
    pub fn is_guard(self) -> bool {
        match self {
            Self::Event(event) | Self::WithScript(event) => event.is_guard(),
            Self::Xpia | Self::Aggregate => true,
        }
    }
}

/// A command line, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// What is to be done.
    pub action: Action,
    /// The host that the registration names.
    pub host: Option<AgentBinary>,
    /// Whether the registration says that nobody is there to answer.
    pub headless: bool,
    /// The policy mode that the registration pins.
    pub policy: Option<String>,
    /// The directory of the launch that waits for denials.
    pub launch: Option<PathBuf>,
    /// The user's script that runs before ours.
    pub script: Option<PathBuf>,
    /// A payload on the command line, which only the XPIA hook takes.
    pub payload: Option<OsString>,
}

/// A command line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; use amplihack-hooks <event> [--host HOST] [--headless] [--policy MODE] [--launch DIR]")]
pub struct UsageError(String);

/// The help of the hook binary.
const HELP: &str = "\
Answers one hook of an agent CLI: one JSON document on stdin, at most one JSON object on stdout.

Usage: amplihack-hooks <event> [--host HOST] [--headless] [--policy MODE] [--launch DIR]
       amplihack-hooks aggregate <event> --script FILE [--host HOST]
       amplihack-hooks aggregate
       amplihack-hooks xpia [JSON]

Registrations and wrappers that `amplihack install` makes call it; there is no need to call it by hand.

Events:
";

/// What is printed for a person who asks for help or the version; `None` for the command lines of registrations.
pub(crate) fn information(arguments: &[OsString]) -> Option<String> {
    let [only] = arguments else { return None };
    match only.to_str()? {
        "--help" | "-h" | "help" => {
            let events = HookEvent::ALL.into_iter().map(|event| format!("  {event}\n"));
            Some(events.fold(HELP.to_owned(), |text, event| text + &event))
        }
        "--version" | "-V" => Some(format!("amplihack-hooks {}\n", env!("CARGO_PKG_VERSION"))),
        _ => None,
    }
}

impl Invocation {
    /// Reads the arguments behind the program's name.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, UsageError> {
        let mut arguments = arguments.into_iter();
        let name = arguments.next().ok_or_else(|| UsageError("no event is named".to_owned()))?;
        let name = name.to_string_lossy();
        let event = |name: &str| {
            HookEvent::from_name(name).ok_or_else(|| UsageError(format!("unknown event {name:?}")))
        };
        let action = match name.as_ref() {
            "xpia" => Action::Xpia,
            "aggregate" => match arguments.next() {
                None => Action::Aggregate,
                Some(name) => Action::WithScript(event(&name.to_string_lossy())?),
            },
            other => Action::Event(event(other)?),
        };
        let mut read = Self {
            action,
            host: None,
            headless: false,
            policy: None,
            launch: None,
            script: None,
            payload: None,
        };
        while let Some(argument) = arguments.next() {
            let mut value = |flag: &str| {
                let value = arguments.next().and_then(|value| value.into_string().ok());
                value.ok_or_else(|| UsageError(format!("{flag} needs a value")))
            };
            match argument.to_str() {
                Some("--headless") => read.headless = true,
                Some("--host") => {
                    let host = value("--host")?;
                    let unknown = |_| UsageError(format!("unknown host {host:?}"));
                    read.host = Some(host.parse::<AgentBinary>().map_err(unknown)?);
                }
                Some("--policy") => read.policy = Some(value("--policy")?),
                Some("--launch") => read.launch = Some(value("--launch")?.into()),
                Some("--script") if matches!(action, Action::WithScript(_)) => {
                    read.script = Some(value("--script")?.into());
                }
                _ if action == Action::Xpia && read.payload.is_none() => read.payload = Some(argument),
                _ => return Err(UsageError(format!("unknown argument {}", argument.display()))),
            }
        }
        if matches!(action, Action::WithScript(_)) && read.script.is_none() {
            return Err(UsageError("aggregate needs a --script beside its event".to_owned()));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<Invocation, UsageError> {
        Invocation::parse(line.iter().map(OsString::from))
    }

    #[test]
    fn an_event_comes_first_and_what_the_registration_knows_after_it() {
        let read = parse(&[
            "pre-tool-use",
            "--host",
            "codex",
            "--headless",
            "--policy",
            "strict",
            "--launch",
            "/run/it",
        ])
        .unwrap();
        let expected = Invocation {
            action: Action::Event(HookEvent::PreToolUse),
            host: Some(AgentBinary::Codex),
            headless: true,
            policy: Some("strict".to_owned()),
            launch: Some("/run/it".into()),
            script: None,
            payload: None,
        };
        assert_eq!(read, expected);
        assert_eq!(parse(&["xpia", "{}"]).unwrap().payload, Some("{}".into()));
        let read = parse(&["aggregate", "stop", "--script", "x.user", "--host", "copilot"]).unwrap();
        assert_eq!(read.action, Action::WithScript(HookEvent::Stop));
        assert_eq!((read.script, read.host), (Some("x.user".into()), Some(AgentBinary::Copilot)));
    }

    #[test]
    fn whatever_is_not_understood_is_an_error() {
        for line in [
            &[][..],
            &["PreToolUse"],
            &["stop", "{}"],
            &["stop", "--host"],
            &["stop", "--host", "vi"],
            &["xpia", "{}", "{}"],
            &["pre-tool-use", "--verbose"],
            &["pre-tool-use", "--script", "x"],
            &["aggregate", "pre-tool-use"],
            &["aggregate", "xpia", "--script", "x"],
        ] {
            assert!(
                parse(line).unwrap_err().to_string().contains("; use amplihack-hooks <event>"),
                "{line:?}"
            );
        }
    }
}
