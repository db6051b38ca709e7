//! The policy of each place, and the machine that it asks.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::guard::{self, GuardMachine};
use amplihack_policy::policy::VerdictExplanation;
use amplihack_policy::{Event, FileText, Policy, World};
use amplihack_shell::Limits;
use serde_json::{Value, json};

use crate::commands::current_dir;
use crate::ui::CommandFailure;

/// Directories whose policy is kept.
const KEPT: usize = 64;

/// Judges commands of any place as a hook there would.
pub(super) struct DirectoryPolicies<'e> {
    env: &'e Env,
    here: PathBuf,
    machine: GuardMachine,
    known: HashMap<PathBuf, Policy>,
}

impl<'e> DirectoryPolicies<'e> {
    pub(super) fn new(env: &'e Env) -> Result<Self, CommandFailure> {
        Ok(Self { env, here: current_dir()?, machine: GuardMachine::new(env), known: HashMap::new() })
    }

    /// Returns the explanation of `script` in `cwd`, which is relative to the current directory, with `branch` checked out.
    pub(super) fn explain_script(
        &mut self,
        script: &[u8],
        cwd: Option<&Path>,
        branch: Option<&str>,
    ) -> Result<VerdictExplanation, CommandFailure> {
        let cwd = cwd.map_or_else(|| self.here.clone(), |cwd| self.here.join(cwd));
        if !self.known.contains_key(&cwd) {
            if self.known.len() >= KEPT {
                self.known.clear();
            }
            self.known.insert(cwd.clone(), guard::load_policy(self.env, &cwd, None)?);
        }
        let policy = &self.known[&cwd];
        let world = MachineOnBranch { machine: &self.machine, branch };
        Ok(policy.explain(&Event::Shell { script, cwd: &cwd }, &world, &Limits::default()))
    }
}

/// The machine, but for the branch.
struct MachineOnBranch<'w> {
    machine: &'w GuardMachine,
    branch: Option<&'w str>,
}

impl World for MachineOnBranch<'_> {
    fn branch(&self, dir: &Path) -> Option<String> {
        self.branch.map(str::to_owned).or_else(|| self.machine.branch(dir))
    }

    fn dirty(&self, dir: &Path) -> Option<bool> {
        self.machine.dirty(dir)
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        self.machine.real(path)
    }

    fn home(&self) -> Option<PathBuf> {
        self.machine.home()
    }

    fn state_directories(&self) -> Vec<PathBuf> {
        self.machine.state_directories()
    }

    fn git_alias(&self, dir: &Path, name: &str) -> Option<String> {
        self.machine.git_alias(dir, name)
    }

    fn guard_directories(&self) -> Vec<(PathBuf, &'static str)> {
        self.machine.guard_directories()
    }

    fn guard_programs(&self) -> Vec<PathBuf> {
        self.machine.guard_programs()
    }

    fn kept_directories(&self) -> Vec<PathBuf> {
        self.machine.kept_directories()
    }

    fn env_variable(&self, name: &str) -> Option<String> {
        self.machine.env_variable(name)
    }

    fn path_exists(&self, path: &Path) -> Option<bool> {
        self.machine.path_exists(path)
    }

    fn file_text(&self, path: &Path) -> Option<FileText> {
        self.machine.file_text(path)
    }

    fn reaches_no_model(&self, agent: AgentBinary, args: &[OsString]) -> bool {
        self.machine.reaches_no_model(agent, args)
    }
}

/// A verdict for programs.
pub(super) fn as_json(explanation: &VerdictExplanation) -> Value {
    let verdict = &explanation.verdict;
    json!({
        "verdict": verdict.decision.to_string(),
        "rule": verdict.rule.as_ref().map(ToString::to_string),
        "reason": verdict.reason,
        "commands": explanation.commands.iter().map(|command| &command.words).collect::<Vec<_>>(),
    })
}

/// A verdict for people: the decision, its rule, its reason, in one line.
pub(super) fn as_text(explanation: &VerdictExplanation) -> String {
    let verdict = &explanation.verdict;
    let decision = match verdict.would_be {
        Some(would_be) => format!("{} (the policy only observes; else {would_be})", verdict.decision),
        None => verdict.decision.to_string(),
    };
    match &verdict.rule {
        Some(rule) => format!("{decision} by {rule}: {}\n", verdict.reason),
        None => format!("{decision}: no rule applies\n"),
    }
}
