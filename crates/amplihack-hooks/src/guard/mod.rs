//! The guard itself: the hook plane with the policy, the machine and the audit put in.

mod engine;
mod files;
mod ledger;
mod machine;
mod policies;
mod snapshot;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_policy::policy::PolicyMode;
use amplihack_policy::{Event, Policy};
use amplihack_shell::Limits;
use amplihack_verdict::{Decision, RuleId, Verdict};

pub use engine::{ENGINE_VAR, UnknownEngine, check_engine};
pub use ledger::{AuditLedger, LedgerError};
pub use machine::GuardMachine;
pub use policies::{GuardError, POLICY_VAR, load_policy, policy_mode};
pub use snapshot::{PolicySnapshot, SNAPSHOT_FILE, SnapshotError};

use crate::hook_context::HookJudge;
use crate::invocation::HookInvocation;
use crate::once;
use crate::process::GuardParts;

/// The rule of everything that is refused because the policy cannot be loaded.
pub(crate) const NO_POLICY: RuleId = RuleId::new("hook/no-policy");

/// The rule of everything that is refused because the policy that was pinned at the launch is gone or changed.
pub(crate) const PINNED_POLICY: RuleId = RuleId::new("hook/pinned-policy");

/// The rule of a call that a person granted.
pub(crate) const GRANTED: RuleId = RuleId::new("once/granted");

/// Runs a hook process to its end, as [`crate::process::serve_process`], with the policy and the audit of this machine.
pub fn serve_guard(arguments: impl IntoIterator<Item = OsString>, env: &Env) -> u8 {
    let make = |invocation: &HookInvocation, env: &Env| {
        check_engine(env).map_err(|error| error.to_string())?;
        let guard = PolicyGuard::from_invocation(env, invocation);
        if let Some(cwd) = &invocation.cwd {
            guard.keep_directory(cwd);
        }
        let env = guard.machine.env().clone();
        Ok(GuardParts { judge: Box::new(guard), audit: Box::new(AuditLedger::new(&env)), env })
    };
    crate::process::serve_process(arguments, env, &make, &AuditLedger::new(env))
}

/// The reason why the guard would stop an agent that works in `cwd` from writing the file `path`; `None` if it would not.
pub fn refused_write(env: &Env, path: &Path, cwd: &Path) -> Option<String> {
    let verdict = PolicyGuard::new(env, None).judge(&Event::Write { path, cwd });
    (verdict.decision >= Decision::Ask).then_some(verdict.reason)
}

/// The policy of a launch as it was pinned, else that of this machine, loaded for the repository of the first thing that is judged.
#[derive(Debug)]
pub struct PolicyGuard {
    source: PolicySource,
    machine: GuardMachine,
    launch: Option<PathBuf>,
    loaded: OnceCell<Result<Policy, NotLoaded>>,
}

/// The origin of the policy.
#[derive(Debug)]
enum PolicySource {
    /// The policy's files, in the mode that the registration pins.
    Files(Option<String>),
    /// The snapshot of the launch.
    Pinned(Result<PolicySnapshot, SnapshotError>),
}

/// The reason why nothing can be judged, and the rule that it is denied by.
#[derive(Debug)]
struct NotLoaded {
    rule: RuleId,
    why: String,
}

impl PolicyGuard {
    /// A guard with the mode that its registration pins.
    pub fn new(env: &Env, pinned: Option<&str>) -> Self {
        Self {
            source: PolicySource::Files(pinned.map(str::to_owned)),
            machine: GuardMachine::new(env),
            launch: None,
            loaded: OnceCell::new(),
        }
    }

    /// The guard of a hook process: that of a launch is held to the snapshot which its registration names.
    pub(crate) fn from_invocation(env: &Env, invocation: &HookInvocation) -> Self {
        let launch = invocation.launch.as_deref();
        let (source, env) = match (launch, &invocation.pin) {
            (Some(launch), Some(pin)) => {
                let snapshot = PolicySnapshot::open(launch, pin);
                let env = snapshot.as_ref().map_or_else(|_| env.clone(), |snapshot| snapshot.pinned_env(env));
                (PolicySource::Pinned(snapshot), env)
            }
            _ => (PolicySource::Files(invocation.policy.clone()), env.clone()),
        };
        Self {
            source,
            machine: GuardMachine::for_launch(&env, launch),
            launch: launch.map(Path::to_owned),
            loaded: OnceCell::new(),
        }
    }

    /// The policy in force in `cwd`.
    fn loaded_policy(&self, cwd: &Path) -> &Result<Policy, NotLoaded> {
        self.loaded.get_or_init(|| {
            let env = self.machine.env();
            let failed = |error: GuardError| NotLoaded {
                rule: NO_POLICY,
                why: format!("the policy cannot be loaded, so every call is denied: {error}"),
            };
            match &self.source {
                PolicySource::Files(mode) => load_policy(env, cwd, mode.as_deref()).map_err(failed),
                PolicySource::Pinned(Ok(snapshot)) => snapshot.load_policy(env).map_err(failed),
                PolicySource::Pinned(Err(error)) => Err(NotLoaded {
                    rule: PINNED_POLICY,
                    why: format!("{error}, so every call is denied; start the session again"),
                }),
            }
        })
    }

    /// A call that was stopped may have been granted once; else it can be.
    ///
    /// Only a launch knows of grants: without one a call stays stopped.
    fn apply_grant(&self, event: &Event<'_>, asker: Option<&once::ToolCallKey>, verdict: Verdict) -> Verdict {
        let (Event::Shell { script, cwd }, Some(launch)) = (event, &self.launch) else { return verdict };
        if verdict.decision < Decision::Ask {
            return verdict;
        }
        match once::is_granted(launch, self.launcher_pid(), once::stopped_call(script, cwd, asker.cloned())) {
            Some(true) => Verdict {
                rule: Some(GRANTED),
                reason: "granted once by a person".to_owned(),
                ..Verdict::no_objection()
            },
            Some(false) => Verdict { reason: format!("{}{ALLOW_ONCE}", verdict.reason), ..verdict },
            None => verdict,
        }
    }
}

/// The end of the reason of a stopped call that the user can allow.
const ALLOW_ONCE: &str =
    "; to allow this exact call once, run `amplihack policy allow-once` in your own terminal";

/// The directory that decides which repository's policy holds.
fn event_directory<'e>(event: &Event<'e>) -> &'e Path {
    match *event {
        Event::Shell { cwd, .. }
        | Event::Write { cwd, .. }
        | Event::Read { cwd, .. }
        | Event::Fetch { cwd, .. } => cwd,
        _ => Path::new("/"),
    }
}

impl HookJudge for PolicyGuard {
    fn launcher_pid(&self) -> Option<u32> {
        match &self.source {
            PolicySource::Pinned(Ok(snapshot)) => Some(snapshot.launcher()),
            _ => None,
        }
    }

    fn judge(&self, event: &Event<'_>) -> Verdict {
        self.judge_for(event, None)
    }

    fn judge_for(&self, event: &Event<'_>, asker: Option<&once::ToolCallKey>) -> Verdict {
        match self.loaded_policy(event_directory(event)) {
            Ok(policy) => {
                self.apply_grant(event, asker, policy.judge(event, &self.machine, &Limits::default()))
            }
            // Text that was only read is never held back.
            Err(_) if matches!(event, Event::Content { .. }) => Verdict::no_objection(),
            Err(NotLoaded { rule, why }) => {
                Verdict::new(Decision::Deny, rule.clone(), why.as_str(), Vec::new())
            }
        }
    }

    fn user_places(&self) -> Vec<PathBuf> {
        let env = self.machine.env();
        let home = env.home().map(|home| home.join(".claude"));
        env.path("CLAUDE_CONFIG_DIR").into_iter().chain(home).collect()
    }

    fn adds_reminder(&self, cwd: &Path) -> bool {
        LayeredConfig::load(self.machine.env(), cwd, &[]).is_ok_and(|config| config.prompt_reminder())
    }

    fn keep_directory(&self, directory: &Path) {
        self.machine.keep_directory(directory);
    }

    fn session_notice(&self) -> Option<String> {
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        match self.loaded_policy(&cwd) {
            Ok(policy) if policy.mode() == PolicyMode::Observe => Some(
                "The policy of this session only observes: no call is denied, and the audit log records what would have been."
                    .to_owned(),
            ),
            Ok(_) => None,
            Err(NotLoaded { why, .. }) => Some(why.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repositorys_rules_on_hosts_reach_its_fetches() {
        let dir = tempfile::tempdir().unwrap();
        let repository = dir.path().join("r");
        amplihack_testkit::create_repository(&repository);
        std::fs::create_dir_all(repository.join(".amplihack")).unwrap();
        let rule = "[[rule]]\nhosts = ['bad.example']\ndecision = 'deny'\n";
        std::fs::write(repository.join(".amplihack/policy.toml"), rule).unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        let input = json!({"tool_name": "WebFetch", "tool_input": {"url": "https://bad.example/x"}});
        for (cwd, expected) in [(&*repository, Decision::Deny), (dir.path(), Decision::None)] {
            let payload = serde_json::to_vec(&input).unwrap();
            let call = crate::dialect::read_call(&payload, crate::HookEvent::PreToolUse, None, cwd).unwrap();
            assert_eq!(crate::events::judge_call(&call, &PolicyGuard::new(&env, None)).decision, expected);
        }
    }

    #[test]
    fn servers_tools_are_held_to_what_they_would_do() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        for (tool, input, expected) in [
            ("mcp__desktop__start_process", json!({"command": "rm -rf /"}), Decision::Deny),
            ("mcp__ci__trigger", json!({"command": "rm -rf /"}), Decision::Deny),
            ("mcp__ci__trigger", json!({"cmd": ["rm", "-rf", "/"]}), Decision::Deny),
            ("mcp__ci__trigger", json!({"command": "rm", "args": ["-rf", "/"]}), Decision::Deny),
            ("mcp__ci__trigger", json!({"steps": {"shell_command": "rm -rf /"}}), Decision::Deny),
            ("mcp__ci__trigger", json!({"commands": ["ls -l", "rm -rf /"]}), Decision::Deny),
            ("exec_command", json!({"cmd": "rm -rf etc", "workdir": "/"}), Decision::Deny),
            ("exec_command", json!({"cmd": "rm -rf target", "workdir": "sub"}), Decision::None),
            ("mcp__files__write_file", json!({"path": ".claude/settings.json"}), Decision::Deny),
            (
                "mcp__files__move_file",
                json!({"source": "x", "destination": ".claude/settings.json"}),
                Decision::Deny,
            ),
            ("mcp__web__fetch", json!({"url": "http://169.254.169.254/"}), Decision::Deny),
            ("files/read_file", json!({"path": "/etc/shadow"}), Decision::Deny),
            // A command of another language.
            ("mcp__db__query", json!({"command": "SELECT 'it''s' FROM (a"}), Decision::None),
            ("mcp__db__query", json!({"command": {"find": "users"}}), Decision::None),
            ("mcp__files__write_file", json!({"path": "src/x.rs"}), Decision::None),
            ("mcp__ci__trigger", json!({"command": "cargo test"}), Decision::None),
        ] {
            let payload = serde_json::to_vec(&json!({"tool_name": tool, "tool_input": input})).unwrap();
            let call =
                crate::dialect::read_call(&payload, crate::HookEvent::PreToolUse, None, dir.path()).unwrap();
            let verdict = crate::events::judge_call(&call, &PolicyGuard::new(&env, None));
            assert_eq!(verdict.decision, expected, "{tool} {input}: {verdict:?}");
        }
    }
}
