//! The hook binary's command line: an event, and what the registration knows that a payload does not say.

use std::ffi::OsString;
use std::path::PathBuf;

use amplihack_config::agent_binary::AgentBinary;

use crate::answer_code::{self, AnswerCode};
use crate::event::HookEvent;
use crate::token;

/// The task of a hook process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAction {
    /// Answer one event of a host.
    Event(HookEvent),
    /// Answer as the XPIA hook: flat.
    Xpia,
    /// Join the answers of two hooks.
    Aggregate,
    /// Answer one event together with a script of the user's.
    WithScript(HookEvent),
}

impl HookAction {
    /// Reports whether silence of the hook would let a call run.
    pub fn is_guard(self) -> bool {
        match self {
            Self::Event(event) | Self::WithScript(event) => event.is_guard(),
            Self::Xpia | Self::Aggregate => true,
        }
    }
}

/// A command line, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookInvocation {
    /// The task of the process.
    pub action: HookAction,
    /// The host that the registration names.
    pub host: Option<AgentBinary>,
    /// `true` if the registration records that nobody is there to answer.
    pub headless: bool,
    /// The policy mode that the registration pins.
    pub policy: Option<String>,
    /// The directory of the launch, which listens there for reports.
    pub launch: Option<PathBuf>,
    /// The hash of the policy that was pinned at that launch.
    pub pin: Option<String>,
    /// The directory in which the session was launched.
    pub cwd: Option<PathBuf>,
    /// The code by which the registration knows the answer, which then goes to its descriptor.
    pub code: Option<AnswerCode>,
    /// `true` if a wrapper asks for its token in front of the answer.
    pub is_signed: bool,
    /// The user's script that runs before ours.
    pub script: Option<PathBuf>,
    /// A payload on the command line, which only the XPIA hook takes.
    pub payload: Option<OsString>,
}

/// A command line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}; use amplihack-hooks <event> [--host HOST] [--headless] [--policy MODE | --launch DIR --pin HASH] [--cwd DIR]"
)]
pub struct UsageError(String);

/// The help of the hook binary.
const HELP: &str = "\
Answers one hook of an agent CLI: one JSON document on stdin, at most one JSON object on stdout.

Usage: amplihack-hooks <event> [--host HOST] [--headless] [--policy MODE | --launch DIR --pin HASH] [--cwd DIR]
       amplihack-hooks aggregate <event> --script FILE [--host HOST]
       amplihack-hooks aggregate
       amplihack-hooks xpia [JSON]

Registrations and wrappers that `amplihack install` makes call it; there is no need to call it by hand.

Events:
";

/// The text for a person who asks for help or the version; `None` for the command lines of registrations.
pub(crate) fn information_text(arguments: &[OsString]) -> Option<String> {
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

impl HookInvocation {
    /// The invocation for `action` whose registration names nothing else.
    pub fn new(action: HookAction) -> Self {
        Self {
            action,
            host: None,
            headless: false,
            policy: None,
            launch: None,
            pin: None,
            cwd: None,
            code: None,
            is_signed: false,
            script: None,
            payload: None,
        }
    }

    /// Reads the arguments behind the program's name.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, UsageError> {
        let mut arguments = arguments.into_iter();
        let name = arguments.next().ok_or_else(|| UsageError("no event is named".to_owned()))?;
        let name = name.to_string_lossy();
        let event = |name: &str| {
            HookEvent::from_name(name).ok_or_else(|| UsageError(format!("unknown event {name:?}")))
        };
        let action = match name.as_ref() {
            "xpia" => HookAction::Xpia,
            "aggregate" => match arguments.next() {
                None => HookAction::Aggregate,
                Some(name) => HookAction::WithScript(event(&name.to_string_lossy())?),
            },
            other => HookAction::Event(event(other)?),
        };
        let mut read = Self::new(action);
        while let Some(argument) = arguments.next() {
            let mut value = |flag: &str| {
                let value = arguments.next().and_then(|value| value.into_string().ok());
                value.ok_or_else(|| UsageError(format!("{flag} needs a value")))
            };
            match argument.to_str() {
                Some("--headless") => read.headless = true,
                Some(token::FLAG) => read.is_signed = true,
                Some(answer_code::FLAG) => {
                    let code = value(answer_code::FLAG)?;
                    let unknown = || UsageError(format!("{code:?} is no code of an answer"));
                    read.code = Some(AnswerCode::parse(&code).ok_or_else(unknown)?);
                }
                Some("--host") => {
                    let host = value("--host")?;
                    let unknown = |_| UsageError(format!("unknown host {host:?}"));
                    read.host = Some(host.parse::<AgentBinary>().map_err(unknown)?);
                }
                Some("--policy") => read.policy = Some(value("--policy")?),
                Some("--launch") => read.launch = Some(value("--launch")?.into()),
                Some("--pin") => read.pin = Some(value("--pin")?),
                Some("--cwd") => read.cwd = Some(value("--cwd")?.into()),
                Some("--script") if matches!(action, HookAction::WithScript(_)) => {
                    read.script = Some(value("--script")?.into());
                }
                _ if action == HookAction::Xpia && read.payload.is_none() => read.payload = Some(argument),
                _ => return Err(UsageError(format!("unknown argument {}", argument.display()))),
            }
        }
        // The pinned policy says everything: a mode beside it would have no effect, and whoever wrote it expects one.
        if read.pin.is_some() && read.policy.is_some() {
            return Err(UsageError(
                "--policy has no effect beside --pin, which names the whole policy".to_owned(),
            ));
        }
        if matches!(action, HookAction::WithScript(_)) && read.script.is_none() {
            return Err(UsageError("aggregate needs a --script beside its event".to_owned()));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<HookInvocation, UsageError> {
        HookInvocation::parse(line.iter().map(OsString::from))
    }

    #[test]
    fn a_mode_beside_a_pinned_policy_is_refused() {
        let line = ["pre-tool-use", "--policy", "strict", "--launch", "/run/it", "--pin", "0af"];
        let error = parse(&line).unwrap_err().to_string();
        assert!(error.starts_with("--policy has no effect beside --pin"), "{error}");
        let line = ["pre-tool-use", "--policy", "strict", "--launch", "/run/it"];
        assert_eq!(parse(&line).unwrap().policy.as_deref(), Some("strict"));
    }

    #[test]
    fn an_event_comes_first_and_what_the_registration_knows_after_it() {
        let read = parse(&[
            "pre-tool-use",
            "--host",
            "codex",
            "--headless",
            "--launch",
            "/run/it",
            "--pin",
            "0af",
            "--cwd",
            "/w",
            "--sign",
            "--code",
            "90",
        ])
        .unwrap();
        let expected = HookInvocation {
            action: HookAction::Event(HookEvent::PreToolUse),
            host: Some(AgentBinary::Codex),
            headless: true,
            policy: None,
            launch: Some("/run/it".into()),
            pin: Some("0af".to_owned()),
            cwd: Some("/w".into()),
            code: AnswerCode::parse("90"),
            is_signed: true,
            script: None,
            payload: None,
        };
        assert_eq!(read, expected);
        assert_eq!(parse(&["xpia", "{}"]).unwrap().payload, Some("{}".into()));
        let read = parse(&["aggregate", "stop", "--script", "x.user", "--host", "copilot"]).unwrap();
        assert_eq!(read.action, HookAction::WithScript(HookEvent::Stop));
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
            &["pre-tool-use", "--code", "0"],
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
