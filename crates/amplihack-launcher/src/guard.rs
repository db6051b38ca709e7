//! The guard of a launch: decided with the plan, written before the start, asked for its denials at the end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_agent::command::own_trust;
use amplihack_agent::{
    AgentBinary, AgentCapability, GuardState, Installed, LineFinding, RowTrust, RunMode, own_directory,
    skips_permissions,
};
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::SessionId;
use amplihack_hooks::HookError;
use amplihack_hooks::guard::{GuardMachine, PolicySnapshot, check_engine};
use amplihack_hooks::injection::{
    Injection, StartContext, build_injection, launch_directories, reads_hooks_from,
};
use amplihack_hooks::registration::{HookProgram, RegistrationFacts};
use amplihack_hooks::switches::{switched_off, trusts_directory};
use amplihack_sys as sys;
use amplihack_sys::fs::may_write;

use crate::error::LaunchError;
use crate::installed::{InstallScope, RegistrationState, broken_registration, inspect_hooks};
use crate::notice::LaunchNotice;

/// The guard of a launch.
#[derive(Debug, Default)]
pub(crate) struct LaunchGuard {
    /// Hooks of the guard, if it can hold there.
    pub(crate) injection: Option<Injection>,
    /// True if it was shown at other versions of the agent only.
    pub(crate) unproved: bool,
    /// No hooks are called with the user's own arguments, so that the agent is to ask about every call instead.
    pub(crate) asks: bool,
}

/// The facts about a launch that decide its guard.
pub(crate) struct GuardRequest<'a> {
    /// Program that answers hooks; `None` if the user wants no guard.
    pub(crate) program: Option<&'a HookProgram>,
    pub(crate) installed: &'a Installed,
    pub(crate) mode: RunMode,
    pub(crate) session: &'a SessionId,
    pub(crate) cwd: &'a Path,
    /// The finding about the user's own arguments.
    pub(crate) line: LineFinding,
    /// The user's own arguments.
    pub(crate) words: &'a [OsString],
    /// True if the launch itself has the agent ask nobody for permission.
    pub(crate) is_full: bool,
    /// The user's own value of the flag that carries the hooks.
    pub(crate) theirs: Option<OsString>,
    /// True if the agent is kept from the repository.
    pub(crate) is_held: bool,
}

/// Decides the guard. Nothing is written; the policy's files are read, so that a session never starts without one that holds.
pub(crate) fn decide_guard(
    asked: &GuardRequest<'_>,
    env: &Env,
    config: &LayeredConfig,
    notices: &mut Vec<LaunchNotice>,
) -> Result<LaunchGuard, LaunchError> {
    let agent = asked.installed.agent;
    let version = || asked.installed.version.clone();
    let needed = config.require_proof();
    if asked.line.state == GuardState::NotNeeded {
        return Ok(LaunchGuard::default());
    }
    let Some(program) = asked.program else {
        if needed {
            return Err(LaunchError::ProofRequired {
                agent,
                version: version(),
                why: "--no-hooks leaves the guard out".to_owned(),
            });
        }
        notices
            .push(LaunchNotice::Unguarded { agent, why: "--no-hooks: no guard holds this agent".to_owned() });
        return Ok(LaunchGuard::default());
    };
    let holds = holds_with_arguments(asked, needed, notices)?;
    if !holds && !asked.line.carries {
        return Ok(LaunchGuard::default());
    }
    check_engine(env)?;
    // Pinned before the hooks are described: their registration holds its hash, and hooks read nothing else.
    let outer = PolicySnapshot::from_outer_launch(env)?;
    let snapshot = PolicySnapshot::capture(env, asked.cwd, config.policy(), outer.as_ref())?;
    let facts = RegistrationFacts {
        headless: asked.mode == RunMode::Headless,
        cwd: Some(asked.cwd),
        skips_permissions: asked.is_full || skips_permissions(agent, asked.words),
        ..RegistrationFacts::default()
    };
    let brought = hooks_directory(agent, env, asked.session)
        .map(|directory| {
            let theirs = asked.theirs.as_deref();
            let started =
                StartContext { env, cwd: asked.cwd, theirs, is_held: asked.is_held, words: asked.words };
            build_injection(agent, program, &directory, facts, &snapshot, started)
        })
        .transpose();
    let guard = match brought {
        Ok(guard) => guard,
        Err(HookError::NoHooks { instead, .. }) if !needed => {
            if holds {
                notices.push(LaunchNotice::Unguarded {
                    agent,
                    why: format!("it has no command hooks; {instead}"),
                });
            }
            return Ok(LaunchGuard::default());
        }
        Err(HookError::NoHooks { .. }) => {
            let why = "it has no command hooks".to_owned();
            return Err(LaunchError::ProofRequired { agent, version: version(), why });
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(text) = guard.as_ref().and_then(|guard| guard.unasked_text.clone()) {
        notices.push(LaunchNotice::CallsNotAskedAbout { agent, text });
    }
    // Refused here rather than call by call: the guard lets no agent write in its state, so that no work could be done.
    if let Some(state) = GuardMachine::new(env).state_around(asked.cwd) {
        return Err(HookError::WorkInState { cwd: asked.cwd.to_owned(), state }.into());
    }
    let entered = own_directory(agent, asked.words).map(|directory| asked.cwd.join(directory));
    let directories = [Some(asked.cwd), entered.as_deref()];
    // An agent whose hooks are switched off, or that does not trust the folder, reports nothing and runs every call.
    let switched = directories.into_iter().flatten().find_map(|directory| {
        let read = (!asked.is_held).then_some(directory);
        switched_off(agent, env, read)
    });
    if let Some((file, setting)) = switched {
        return Err(HookError::SwitchedOff { binary: agent, file, setting }.into());
    }
    if !asked.is_held && own_trust(agent, asked.words).is_none() && !trusts_directory(agent, env, asked.cwd) {
        return Err(HookError::Untrusted { binary: agent }.into());
    }
    if guard.is_none() {
        installed_hooks(agent, env, asked.cwd)?;
        notices.push(LaunchNotice::InstalledGuard(agent));
    } else if let Some(why) = broken_registration(agent, env, asked.cwd) {
        notices.push(LaunchNotice::BrokenRegistration { agent, why });
    }
    let row = asked
        .installed
        .can(AgentCapability::Hooks, asked.mode)
        .map_err(amplihack_agent::DeliveryError::from)?;
    let refuted = asked.installed.proofs.guard == Some(false);
    let unproved = asked.installed.row_trust(row) == RowTrust::UnknownVersion;
    if needed && (refuted || unproved) {
        let why =
            if refuted { "a probe on this machine saw it fail" } else { "it was not proved at this version" };
        return Err(LaunchError::ProofRequired { agent, version: version(), why: why.to_owned() });
    }
    if refuted {
        notices.push(LaunchNotice::GuardRefuted { agent, version: version() });
    }
    if config.policy() == "observe" {
        notices.push(LaunchNotice::Observing(agent));
    }
    Ok(LaunchGuard { injection: guard, unproved: unproved && !refuted && holds, asks: !holds })
}

/// Reports whether the guard holds with the user's own arguments. Where it does not, that is told, or refused.
fn holds_with_arguments(
    asked: &GuardRequest<'_>,
    needed: bool,
    notices: &mut Vec<LaunchNotice>,
) -> Result<bool, LaunchError> {
    let Installed { agent, version, .. } = asked.installed;
    let word = asked.line.word.as_deref().unwrap_or_default();
    match asked.line.state {
        GuardState::InForce | GuardState::NotNeeded => Ok(true),
        GuardState::SwitchedOff(why) => {
            Err(LaunchError::GuardSwitchedOff { agent: *agent, word: word.to_owned(), why })
        }
        GuardState::Absent(why) => {
            let why = format!("{word}: {why}");
            if needed {
                return Err(LaunchError::ProofRequired { agent: *agent, version: version.clone(), why });
            }
            notices.push(LaunchNotice::Unguarded { agent: *agent, why });
            Ok(false)
        }
    }
}

/// Directory in which the hooks of a launch are written, if the agent would read them anywhere.
pub(crate) fn hooks_directory(agent: AgentBinary, env: &Env, session: &SessionId) -> Option<PathBuf> {
    let places = launch_directories(env, session);
    // What cannot be written is the temporary one's to say.
    let temporary = places.iter().rev().nth(1).cloned();
    let writable = |place: &PathBuf| place.ancestors().find(|path| path.exists()).is_some_and(may_write);
    let mut places = places.into_iter();
    places
        .find(|place| writable(place) && reads_hooks_from(agent, place))
        .or(temporary)
        .filter(|place| reads_hooks_from(agent, place))
}

/// The guard of an agent that reads a launch's hooks from no directory of this user: the hooks that are installed, if they hold.
fn installed_hooks(agent: AgentBinary, env: &Env, cwd: &Path) -> Result<(), HookError> {
    match inspect_hooks(agent, &InstallScope::User, env, cwd).map(|registration| registration.state) {
        Some(RegistrationState::Registered { fault: None, .. }) => Ok(()),
        Some(RegistrationState::Off(why)) => Err(HookError::InstalledOff { binary: agent, why }),
        _ => Err(HookError::NotRead { binary: agent }),
    }
}

/// Program that answers the hooks of launches of this process: beside its own program.
pub fn own_program() -> std::io::Result<HookProgram> {
    Ok(HookProgram::from_amplihack(&sys::own_file()?))
}

#[cfg(test)]
mod tests {
    use amplihack_agent::session_finding;
    use amplihack_config::launcher_context::new_session_id;
    use semver::Version;

    use super::*;

    fn installed(agent: AgentBinary, version: &str) -> Installed {
        Installed { version: Version::parse(version).ok(), ..Installed::from_agent(agent) }
    }

    fn decided(
        installed: &Installed,
        program: Option<&HookProgram>,
        file: &str,
    ) -> (Result<LaunchGuard, LaunchError>, Vec<LaunchNotice>) {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join(".config/amplihack");
        std::fs::create_dir_all(&user).unwrap();
        std::fs::write(user.join("config.toml"), file).unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        let config = LayeredConfig::load_with(Path::new("/nonexistent"), &env, dir.path(), &[]).unwrap();
        let session = new_session_id().unwrap();
        let line = session_finding(installed.agent, &[]);
        let asked = GuardRequest {
            program,
            installed,
            mode: RunMode::Headless,
            session: &session,
            cwd: dir.path(),
            line,
            words: &[],
            is_full: false,
            theirs: None,
            is_held: false,
        };
        let mut notices = Vec::new();
        (decide_guard(&asked, &env, &config, &mut notices), notices)
    }

    #[test]
    fn a_guard_is_described_with_the_pinned_mode_and_below_the_sessions_directory() {
        let program = HookProgram::from_binary("/opt/amplihack-hooks");
        let (guard, notices) = decided(&installed(AgentBinary::Codex, "0.171.0"), Some(&program), "");
        let guard = guard.unwrap().injection.unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        assert!(guard.directory.ends_with("hooks") && !guard.directory.exists());
        let values: Vec<_> = guard.values.iter().map(|value| value.to_string_lossy()).collect();
        assert!(values.iter().all(|value| value.contains("--host codex --headless --launch")));
    }

    #[test]
    fn what_was_not_proved_is_said_and_refused_where_proof_is_required() {
        let program = HookProgram::from_binary("/opt/amplihack-hooks");
        let old = installed(AgentBinary::Claude, "1.0.0");
        let (guard, notices) = decided(&old, Some(&program), "");
        let guard = guard.unwrap();
        assert!(guard.injection.is_some() && guard.unproved && notices.is_empty(), "{notices:?}");
        let proved = installed(AgentBinary::Claude, "2.1.332");
        let amplifier = installed(AgentBinary::Amplifier, "1.0.0");
        for (agent, program, refused) in [
            (&old, Some(&program), true),
            (&proved, Some(&program), false),
            (&proved, None, true),
            (&amplifier, Some(&program), true),
        ] {
            let (guard, _) = decided(agent, program, "require_proof = true\n");
            assert_eq!(matches!(guard, Err(LaunchError::ProofRequired { .. })), refused, "{guard:?}");
        }
        let mut refuted = proved;
        refuted.proofs.guard = Some(false);
        let (guard, notices) = decided(&refuted, Some(&program), "");
        assert!(guard.is_ok() && matches!(notices[..], [LaunchNotice::GuardRefuted { .. }]));
    }

    #[test]
    fn a_folder_that_gemini_does_not_trust_is_no_fault_where_the_launch_or_a_flag_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().join("work");
        std::fs::create_dir_all(cwd.join(".gemini")).unwrap();
        let env = Env::empty().with_variable("HOME", dir.path().join("home"));
        let env = env.with_variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH", dir.path().join("system.json"));
        let config = LayeredConfig::load_with(Path::new("/nonexistent"), &env, dir.path(), &[]).unwrap();
        let (session, program) = (new_session_id().unwrap(), HookProgram::from_binary("/b/amplihack-hooks"));
        let installed = installed(AgentBinary::Gemini, "0.61.0");
        let code = |line: &[&str], is_held: bool| {
            let words: Vec<OsString> = line.iter().map(Into::into).collect();
            let asked = GuardRequest {
                program: Some(&program),
                installed: &installed,
                mode: RunMode::Headless,
                session: &session,
                cwd: &cwd,
                line: session_finding(AgentBinary::Gemini, &words),
                words: &words,
                is_full: false,
                theirs: None,
                is_held,
            };
            // Where the launch's hooks may be read from depends on the machine.
            match decide_guard(&asked, &env, &config, &mut Vec::new()) {
                Ok(_) | Err(LaunchError::Hooks(HookError::NotRead { .. })) => "",
                Err(LaunchError::Hooks(HookError::Untrusted { .. })) => "untrusted",
                Err(LaunchError::Hooks(HookError::SwitchedOff { .. })) => "off",
                Err(other) => panic!("{other}"),
            }
        };
        assert_eq!((code(&[], false), code(&[], true)), ("untrusted", ""));
        for (line, expected) in [
            (&["--skip-trust"][..], ""),
            (&["-m", "x", "--skip-trust"], ""),
            (&["--skip-trust=false"], "untrusted"),
            (&["--skip-trust", "false"], "untrusted"),
            (&["--skip-trust", "--no-skip-trust"], "untrusted"),
            (&["--skip-trust", "--skipTrust=false"], "untrusted"),
            (&["--", "--skip-trust"], "untrusted"),
        ] {
            assert_eq!(code(line, false), expected, "{line:?}");
        }
        let settings = cwd.join(".gemini/settings.json");
        std::fs::write(settings, r#"{"hooksConfig": {"enabled": false}}"#).unwrap();
        assert_eq!((code(&["--skip-trust"], false), code(&[], true)), ("off", ""));
    }

    #[test]
    fn an_agent_without_hooks_and_a_launch_without_a_guard_say_so_in_one_line() {
        let program = HookProgram::from_binary("/opt/amplihack-hooks");
        for (agent, program) in [
            (AgentBinary::Amplifier, Some(&program)),
            (AgentBinary::Amp, Some(&program)),
            (AgentBinary::Claude, None),
        ] {
            let (guard, notices) = decided(&installed(agent, "1.0.0"), program, "");
            assert!(guard.unwrap().injection.is_none());
            assert!(matches!(notices[..], [LaunchNotice::Unguarded { .. }]), "{notices:?}");
        }
    }

    #[test]
    fn a_policy_that_cannot_be_read_starts_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join(".config/amplihack");
        std::fs::create_dir_all(&user).unwrap();
        std::fs::write(user.join("policy.toml"), "[[rule]\n").unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        let config = LayeredConfig::load_with(Path::new("/nonexistent"), &env, dir.path(), &[]).unwrap();
        let (session, program) = (new_session_id().unwrap(), HookProgram::from_binary("/b"));
        let installed = installed(AgentBinary::Claude, "2.1.332");
        let asked = GuardRequest {
            program: Some(&program),
            installed: &installed,
            mode: RunMode::Headless,
            session: &session,
            cwd: dir.path(),
            line: session_finding(AgentBinary::Claude, &[]),
            words: &[],
            is_full: false,
            theirs: None,
            is_held: false,
        };
        let error = decide_guard(&asked, &env, &config, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, LaunchError::Policy(_)), "{error}");
        assert!(error.to_string().contains("policy.toml"), "{error}");
    }
}
