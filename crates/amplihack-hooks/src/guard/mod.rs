//! The guard itself: the hook plane with the policy, the machine and the audit put in.

mod engine;
mod ledger;
mod machine;
mod policies;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use amplihack_policy::policy::Mode;
use amplihack_policy::{Decision, Event, Limits, Policy, RuleId, Verdict};
use amplihack_utils::env::Env;

pub use amplihack_policy::audit::DIRECTORY as AUDIT_DIRECTORY;
pub use engine::{ENGINE_VAR, UnknownEngine, engine};
pub(crate) use ledger::expect_denials;
pub use ledger::{Ledger, denials};
pub use machine::Machine;
pub use policies::{GuardError, POLICY_VAR, mode, policy};

use crate::invocation::Invocation;
use crate::once;
use crate::plane::Judge;

/// The rule of everything that is refused because the policy cannot be loaded.
pub(crate) const NO_POLICY: RuleId = RuleId::new("hook/no-policy");

/// The rule of a call that a person granted.
pub(crate) const GRANTED: RuleId = RuleId::new("once/granted");

/// Runs a hook process to its end, as [`crate::process::serve`], with the policy and the audit of this machine.
pub fn serve(arguments: impl IntoIterator<Item = OsString>, env: &Env) -> u8 {
    let make = |invocation: &Invocation, env: &Env| -> Result<Box<dyn Judge>, String> {
        engine(env).map_err(|error| error.to_string())?;
        Ok(Box::new(Guard::of_launch(env, invocation.policy.as_deref(), invocation.launch.as_deref())))
    };
    crate::process::serve(arguments, env, &make, &Ledger::new(env))
}

/// Why the guard would stop an agent that works in `cwd` from writing the file `path`; `None` if it would not.
pub fn refused_write(env: &Env, path: &Path, cwd: &Path) -> Option<String> {
    let verdict = Guard::new(env, None).judge(&Event::Write { path, cwd });
    (verdict.decision >= Decision::Ask).then_some(verdict.reason)
}

/// The policy of this machine, loaded for the repository of the first thing that is judged.
#[derive(Debug)]
pub struct Guard {
    pinned: Option<String>,
    machine: Machine,
    loaded: OnceCell<Result<Policy, String>>,
}

impl Guard {
    /// A guard with the mode that its registration pins.
    pub fn new(env: &Env, pinned: Option<&str>) -> Self {
        Self::of_launch(env, pinned, None)
    }

    /// The same for the registration of a launch, which names the directory `launch`.
    pub fn of_launch(env: &Env, pinned: Option<&str>, launch: Option<&Path>) -> Self {
        Self {
            pinned: pinned.map(str::to_owned),
            machine: Machine::of_launch(env, launch),
            loaded: OnceCell::new(),
        }
    }

    /// The policy in force in `cwd`.
    fn policy(&self, cwd: &Path) -> &Result<Policy, String> {
        self.loaded.get_or_init(|| {
            policy(self.machine.env(), cwd, self.pinned.as_deref()).map_err(|error| error.to_string())
        })
    }

    /// A call that was stopped may have been granted once; else it is offered to be.
    fn with_a_persons_yes(
        &self,
        event: &Event<'_>,
        asker: Option<&once::Asker>,
        verdict: Verdict,
    ) -> Verdict {
        let (Event::Shell { script, cwd }, Some(home)) = (event, self.machine.env().amplihack_home()) else {
            return verdict;
        };
        let now = SystemTime::now();
        if verdict.decision < Decision::Ask {
            return verdict;
        }
        if once::take(&home, script, cwd, asker, now) {
            return Verdict {
                rule: Some(GRANTED),
                reason: "granted once by a person".to_owned(),
                ..Verdict::none()
            };
        }
        match once::offer(&home, script, cwd, now) {
            Some(id) => Verdict {
                reason: format!(
                    "{}; a person can let exactly this through once, in a terminal of their own: `amplihack policy allow-once {id}`",
                    verdict.reason
                ),
                ..verdict
            },
            None => verdict,
        }
    }
}

/// The directory that decides which repository's policy holds.
fn directory<'e>(event: &Event<'e>) -> &'e Path {
    match *event {
        Event::Shell { cwd, .. }
        | Event::Write { cwd, .. }
        | Event::Read { cwd, .. }
        | Event::Fetch { cwd, .. } => cwd,
        _ => Path::new("/"),
    }
}

impl Judge for Guard {
    fn judge(&self, event: &Event<'_>) -> Verdict {
        self.judge_for(event, None)
    }

    fn judge_for(&self, event: &Event<'_>, asker: Option<&once::Asker>) -> Verdict {
        match self.policy(directory(event)) {
            Ok(policy) => {
                self.with_a_persons_yes(event, asker, policy.judge(event, &self.machine, &Limits::default()))
            }
            // Text that was only read is never held back.
            Err(_) if matches!(event, Event::Content { .. }) => Verdict::none(),
            Err(why) => Verdict::new(Decision::Deny, NO_POLICY, no_policy(why), Vec::new()),
        }
    }

    fn notice(&self) -> Option<String> {
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        match self.policy(&cwd) {
            Ok(policy) if policy.mode() == Mode::Observe => Some(
                "The policy of this session only observes: nothing is refused, what would have been is in the audit."
                    .to_owned(),
            ),
            Ok(_) => None,
            Err(why) => Some(no_policy(why)),
        }
    }
}

fn no_policy(why: &str) -> String {
    format!("the policy cannot be loaded, so nothing is let through: {why}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repositorys_rules_on_hosts_reach_its_fetches() {
        let dir = tempfile::tempdir().unwrap();
        let repository = dir.path().join("r");
        std::fs::create_dir_all(repository.join(".git")).unwrap();
        std::fs::create_dir_all(repository.join(".amplihack")).unwrap();
        let rule = "[[rule]]\nhosts = ['bad.example']\ndecision = 'deny'\n";
        std::fs::write(repository.join(".amplihack/policy.toml"), rule).unwrap();
        let env = Env::empty().with("HOME", dir.path());
        let input = json!({"tool_name": "WebFetch", "tool_input": {"url": "https://bad.example/x"}});
        for (cwd, expected) in [(&*repository, Decision::Deny), (dir.path(), Decision::None)] {
            let payload = serde_json::to_vec(&input).unwrap();
            let call = crate::dialect::read(&payload, crate::HookEvent::PreToolUse, None, cwd).unwrap();
            assert_eq!(crate::events::judge(&call, &Guard::new(&env, None)).decision, expected);
        }
    }

    #[test]
    fn servers_tools_are_held_to_what_they_would_do() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with("HOME", dir.path());
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
                crate::dialect::read(&payload, crate::HookEvent::PreToolUse, None, dir.path()).unwrap();
            let verdict = crate::events::judge(&call, &Guard::new(&env, None));
            assert_eq!(verdict.decision, expected, "{tool} {input}: {verdict:?}");
        }
    }
}
