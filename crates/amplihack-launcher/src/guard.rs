//! The guard of a launch: decided with the plan, written before the start, asked for its denials at the end.

use std::path::{Path, PathBuf};

use amplihack_agent::{AgentBinary, Capability, Installed, RunMode, Trust};
use amplihack_hooks::HookError;
use amplihack_hooks::guard::{Machine, engine, policy};
use amplihack_hooks::injection::{Injection, injection, reads};
use amplihack_hooks::registration::{Facts, Program};
use amplihack_hooks::switches::{switched_off, trusts};
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::fs::may_write;
use amplihack_utils::launcher_context::SessionId;
use amplihack_utils::sys;

use crate::error::LaunchError;
use crate::install::{Scope, State, broken_registration, inspect};
use crate::notice::Notice;

/// The guard of a launch.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// Its hooks, if it can hold there.
    pub(crate) injection: Option<Injection>,
    /// Whether it was shown at other versions of the agent only.
    pub(crate) unproved: bool,
}

/// What a launch that takes a prompt needs to know for its guard.
pub(crate) struct Asked<'a> {
    /// What answers hooks; `None` if the user wants no guard.
    pub(crate) program: Option<&'a Program>,
    pub(crate) installed: &'a Installed,
    pub(crate) mode: RunMode,
    pub(crate) session: &'a SessionId,
    pub(crate) cwd: &'a Path,
}

/// Decides the guard. Nothing is written; the policy's files are read, so that a session never starts without one that holds.
pub(crate) fn decide(
    asked: &Asked<'_>,
    env: &Env,
    config: &Config,
    notices: &mut Vec<Notice>,
) -> Result<Guard, LaunchError> {
    let agent = asked.installed.agent;
    let version = || asked.installed.version.clone();
    let needed = config.require_proof();
    let Some(program) = asked.program else {
        if needed {
            return Err(LaunchError::ProofRequired {
                agent,
                version: version(),
                why: "--no-hooks leaves the guard out",
            });
        }
        notices.push(Notice::Unguarded { agent, why: "--no-hooks: no guard holds this agent".to_owned() });
        return Ok(Guard::default());
    };
    engine(env)?;
    policy(env, asked.cwd, Some(config.policy()))?;
    let facts = Facts {
        headless: asked.mode == RunMode::Headless,
        policy: Some(config.policy()),
        ..Facts::default()
    };
    let brought = directory(agent, env, asked.session)
        .map(|directory| injection(agent, program, &directory, facts, env))
        .transpose();
    let guard = match brought {
        Ok(guard) => guard,
        Err(error @ HookError::NoHooks { .. }) if !needed => {
            notices.push(Notice::Unguarded { agent, why: error.to_string() });
            return Ok(Guard::default());
        }
        Err(HookError::NoHooks { .. }) => {
            return Err(LaunchError::ProofRequired {
                agent,
                version: version(),
                why: "it has no command hooks",
            });
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(state) = Machine::new(env).state_around(asked.cwd) {
        return Err(HookError::WorkInState { cwd: asked.cwd.to_owned(), state }.into());
    }
    if let Some((file, setting)) = switched_off(agent, env, asked.cwd) {
        return Err(HookError::SwitchedOff { binary: agent, file, setting }.into());
    }
    if !trusts(agent, env, asked.cwd) {
        return Err(HookError::Untrusted { binary: agent }.into());
    }
    if guard.is_none() {
        installed_hooks(agent, env, asked.cwd)?;
        notices.push(Notice::InstalledGuard(agent));
    } else if let Some(why) = broken_registration(agent, env, asked.cwd) {
        notices.push(Notice::BrokenRegistration { agent, why });
    }
    let row =
        asked.installed.can(Capability::Hooks, asked.mode).map_err(amplihack_agent::DeliveryError::from)?;
    let refuted = asked.installed.proofs.guard == Some(false);
    let unproved = asked.installed.trust(row) == Trust::UnknownVersion;
    if needed && (refuted || unproved) {
        let why =
            if refuted { "a probe on this machine saw it fail" } else { "it was not proved at this version" };
        return Err(LaunchError::ProofRequired { agent, version: version(), why });
    }
    if refuted {
        notices.push(Notice::GuardRefuted { agent, version: version() });
    }
    if config.policy() == "observe" {
        notices.push(Notice::Observing(agent));
    }
    Ok(Guard { injection: guard, unproved: unproved && !refuted })
}

/// Where the hooks of a launch are written, if anywhere the agent would read them: below amplihack's home, else with the temporary
/// files, else, for root only, where root's programs keep what they need while they run.
fn directory(agent: AgentBinary, env: &Env, session: &SessionId) -> Option<PathBuf> {
    let named = |parent: PathBuf| parent.join(format!("amplihack-hooks-{session}"));
    let own = env.amplihack_home().map(|home| session.directory(&home).join("hooks"));
    let temporary = named(env.temporary_dir());
    let writable = |place: &PathBuf| place.ancestors().find(|path| path.exists()).is_some_and(may_write);
    let mut places = own.into_iter().chain([temporary.clone(), named("/run".into())]);
    // What cannot be written is the temporary one's to say.
    places
        .find(|place| writable(place) && reads(agent, place))
        .or(Some(temporary))
        .filter(|place| reads(agent, place))
}

/// The guard of an agent that reads a launch's hooks from no directory of this user: the hooks that are installed, if they hold.
fn installed_hooks(agent: AgentBinary, env: &Env, cwd: &Path) -> Result<(), HookError> {
    match inspect(agent, &Scope::User, env, cwd).map(|registration| registration.state) {
        Some(State::Registered { fault: None, .. }) => Ok(()),
        Some(State::Off(why)) => Err(HookError::InstalledOff { binary: agent, why }),
        _ => Err(HookError::NotRead { binary: agent }),
    }
}

/// What answers the hooks of launches of this process: beside its own program.
pub fn own_program() -> std::io::Result<Program> {
    Ok(Program::beside(&sys::own_file()?))
}

#[cfg(test)]
mod tests {
    use amplihack_utils::launcher_context::new_session_id;
    use semver::Version;

    use super::*;

    fn installed(agent: AgentBinary, version: &str) -> Installed {
        Installed { version: Version::parse(version).ok(), ..Installed::assumed(agent) }
    }

    fn decided(
        installed: &Installed,
        program: Option<&Program>,
        file: &str,
    ) -> (Result<Guard, LaunchError>, Vec<Notice>) {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join(".config/amplihack");
        std::fs::create_dir_all(&user).unwrap();
        std::fs::write(user.join("config.toml"), file).unwrap();
        let env = Env::empty().with("HOME", dir.path());
        let config = Config::load_with(Path::new("/nonexistent"), &env, dir.path(), &[]).unwrap();
        let session = new_session_id().unwrap();
        let asked = Asked { program, installed, mode: RunMode::Headless, session: &session, cwd: dir.path() };
        let mut notices = Vec::new();
        (decide(&asked, &env, &config, &mut notices), notices)
    }

    #[test]
    fn a_guard_is_described_with_the_pinned_mode_and_below_the_sessions_directory() {
        let program = Program::binary("/opt/amplihack-hooks");
        let (guard, notices) = decided(&installed(AgentBinary::Codex, "0.171.0"), Some(&program), "");
        let guard = guard.unwrap().injection.unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        assert!(guard.directory.ends_with("hooks") && !guard.directory.exists());
        let values: Vec<_> = guard.values.iter().map(|value| value.to_string_lossy()).collect();
        assert!(
            values.iter().all(|value| value.contains("--host codex --headless --policy standard --launch"))
        );
    }

    #[test]
    fn what_was_not_proved_is_said_and_refused_where_proof_is_required() {
        let program = Program::binary("/opt/amplihack-hooks");
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
        assert!(guard.is_ok() && matches!(notices[..], [Notice::GuardRefuted { .. }]));
    }

    #[test]
    fn an_agent_without_hooks_and_a_launch_without_a_guard_say_so_in_one_line() {
        let program = Program::binary("/opt/amplihack-hooks");
        for (agent, program) in [
            (AgentBinary::Amplifier, Some(&program)),
            (AgentBinary::Amp, Some(&program)),
            (AgentBinary::Claude, None),
        ] {
            let (guard, notices) = decided(&installed(agent, "1.0.0"), program, "");
            assert!(guard.unwrap().injection.is_none());
            assert!(matches!(notices[..], [Notice::Unguarded { .. }]), "{notices:?}");
        }
    }

    #[test]
    fn a_policy_that_cannot_be_read_starts_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join(".config/amplihack");
        std::fs::create_dir_all(&user).unwrap();
        std::fs::write(user.join("policy.toml"), "[[rule]\n").unwrap();
        let env = Env::empty().with("HOME", dir.path());
        let config = Config::load_with(Path::new("/nonexistent"), &env, dir.path(), &[]).unwrap();
        let (session, program) = (new_session_id().unwrap(), Program::binary("/b"));
        let installed = installed(AgentBinary::Claude, "2.1.332");
        let asked = Asked {
            program: Some(&program),
            installed: &installed,
            mode: RunMode::Headless,
            session: &session,
            cwd: dir.path(),
        };
        let error = decide(&asked, &env, &config, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, LaunchError::Policy(_)), "{error}");
        assert!(error.to_string().contains("policy.toml"), "{error}");
    }
}
