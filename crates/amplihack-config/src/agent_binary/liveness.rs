//! Launching processes that still live, told by their ids and start times, and those of them from which a process descends.

use std::path::{Path, PathBuf};

use super::{AgentBinary, MARK_VAR};
use crate::env::Env;
use crate::launcher_context::{LaunchIndex, SessionContext, SessionId};
use amplihack_sys as sys;

/// Number of processes that are looked at on the way up from the one that asks.
pub(crate) const MAX_ANCESTORS: usize = 64;

/// The launch that a process descends from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AncestorLaunch {
    /// Agent of the launch.
    pub agent: AgentBinary,
    /// Session of the launch; `None` if the launcher runs several of that agent and nothing tells which one it is.
    pub session: Option<SessionId>,
}

/// Questions of the resolver about processes. A trait, so that tests can answer.
pub trait LaunchLiveness {
    /// Reports whether the launcher of `session` is known to have ended. `false` if that cannot be found out.
    fn launcher_ended(&self, session: &SessionId) -> bool;

    /// Reports whether process `pid` lives and, if `start_time` is given (clock ticks since boot), is still that process.
    fn process_lives(&self, pid: u32, start_time: Option<u64>) -> bool;

    /// The launch, still running, whose launcher is the nearest ancestor of this process that has one.
    fn nearest_ancestor(&self) -> Option<AncestorLaunch> {
        None
    }
}

/// The truth: session files under `$AMPLIHACK_HOME`, and `/proc`.
#[derive(Debug, Clone)]
pub struct SystemLiveness {
    home: Option<PathBuf>,
}

impl SystemLiveness {
    /// Looks below the home directory that `env` names.
    pub fn new(env: &Env) -> Self {
        Self { home: env.amplihack_home() }
    }
}

impl LaunchLiveness for SystemLiveness {
    /// A session without a context file has ended: a launch writes it before its agent starts, and removes it at its
    /// end. A file that cannot be read proves nothing.
    fn launcher_ended(&self, session: &SessionId) -> bool {
        let Some(home) = &self.home else { return false };
        match SessionContext::read(home, session) {
            Ok(Some(context)) => !self.process_lives(context.pid, Some(context.start_time)),
            Ok(None) => true,
            Err(error) => {
                tracing::warn!(session = %session, error = %error, "cannot tell whether a launch has ended");
                false
            }
        }
    }

    fn process_lives(&self, pid: u32, expected: Option<u64>) -> bool {
        let found = sys::living_process(pid).map(|process| process.start_time);
        found.is_some_and(|found| expected.is_none_or(|expected| expected == found))
    }

    /// Looks at one empty directory, where no launch runs.
    fn nearest_ancestor(&self) -> Option<AncestorLaunch> {
        // A launch that cannot be found by its index is found by its file, as one of another home.
        let read = |home: &Path| LaunchIndex::read(home).unwrap_or_default();
        let index = self.home.as_deref().map(read);
        if index.as_ref().is_some_and(LaunchIndex::is_empty) {
            return None;
        }
        let list_ancestors = sys::list_ancestors(MAX_ANCESTORS);
        // A process whose environment was cleared has no home of its own.
        let above = || list_ancestors.iter().find_map(|above| Env::of_process(above.pid)?.amplihack_home());
        let index = index.or_else(|| Some(read(&above()?)))?;
        let mut below = vec![std::process::id()];
        for above in &list_ancestors {
            let launches = index.launches_of(above.pid, above.start_time);
            if !launches.is_empty() {
                return one_of(launches, &below);
            }
            below.push(above.pid);
        }
        None
    }
}

/// The one of a launcher's `launches` that `below` descends from: the processes between it and the one that asks.
fn one_of(mut launches: Vec<(SessionId, SessionContext)>, below: &[u32]) -> Option<AncestorLaunch> {
    let found = |(id, context): (SessionId, SessionContext)| AncestorLaunch {
        agent: context.agent,
        session: Some(id),
    };
    if launches.len() == 1 {
        return launches.pop().map(found);
    }
    // What a launch starts has its mark, until somebody clears it; the process next to the launcher is the likeliest to.
    let marked = below.iter().rev().find_map(|pid| {
        let mark = Env::of_process(*pid)?;
        let (session, _) = mark.text(MARK_VAR)?.split_once(':')?;
        launches.iter().position(|(id, _)| id.as_str() == session)
    });
    if let Some(marked) = marked {
        return Some(found(launches.swap_remove(marked)));
    }
    let (_, first) = launches.first()?;
    let alike = launches.iter().all(|(_, other)| other.agent == first.agent);
    alike.then_some(AncestorLaunch { agent: first.agent, session: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_lives_until_it_ends_also_before_it_is_reaped() {
        let system = SystemLiveness { home: None };
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let started = sys::start_time(child.id()).unwrap();
        assert!(system.process_lives(child.id(), None));
        assert!(system.process_lives(child.id(), Some(started)));
        assert!(!system.process_lives(child.id(), Some(started + 1)), "another process with that id");
        drop(child.stdin.take());
        // Not reaped yet: the table keeps its entry as a zombie.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while system.process_lives(child.id(), Some(started)) {
            assert!(std::time::Instant::now() < deadline, "a zombie counts as living");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child.wait().unwrap();
        assert!(!system.process_lives(child.id(), Some(started)));
        assert!(!system.process_lives(0, None));
    }

    /// This process's parent, as the launcher of `launches`.
    fn launched_above(home: &Path, launches: &[(&str, AgentBinary)]) {
        let parent = std::os::unix::process::parent_id();
        for (id, agent) in launches {
            let mut context = SessionContext::of_this_process(*agent, home);
            context.pid = parent;
            context.start_time = sys::start_time(parent).unwrap();
            context.write(home, &SessionId::parse(id).unwrap()).unwrap();
        }
    }

    #[test]
    fn the_launch_above_is_that_of_an_ancestor_and_not_ones_own() {
        let dir = tempfile::tempdir().unwrap();
        let system = SystemLiveness::new(&Env::empty().with_variable("AMPLIHACK_HOME", dir.path()));
        let own = SessionId::parse("own").unwrap();
        SessionContext::of_this_process(AgentBinary::Claude, dir.path()).write(dir.path(), &own).unwrap();
        assert_eq!(system.nearest_ancestor(), None, "no process is its own ancestor");
        launched_above(dir.path(), &[("s1", AgentBinary::Codex)]);
        let session = Some(SessionId::parse("s1").unwrap());
        assert_eq!(system.nearest_ancestor(), Some(AncestorLaunch { agent: AgentBinary::Codex, session }));
        SessionContext::remove(dir.path(), &SessionId::parse("s1").unwrap()).unwrap();
        assert_eq!(system.nearest_ancestor(), None, "it has ended");
    }

    #[test]
    fn of_several_launches_of_one_launcher_only_what_they_agree_on_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let system = SystemLiveness::new(&Env::empty().with_variable("AMPLIHACK_HOME", dir.path()));
        launched_above(dir.path(), &[("s1", AgentBinary::Codex), ("s2", AgentBinary::Codex)]);
        let alike = AncestorLaunch { agent: AgentBinary::Codex, session: None };
        assert_eq!(system.nearest_ancestor(), Some(alike));
        launched_above(dir.path(), &[("s3", AgentBinary::Amp)]);
        assert_eq!(system.nearest_ancestor(), None);
    }

    #[test]
    fn a_launcher_has_ended_only_on_evidence() {
        let dir = tempfile::tempdir().unwrap();
        let system = SystemLiveness::new(&Env::empty().with_variable("AMPLIHACK_HOME", dir.path()));
        let id = SessionId::parse("s1").unwrap();
        assert!(system.launcher_ended(&id), "removed at its end");

        let mut context = SessionContext::of_this_process(AgentBinary::Amp, dir.path());
        context.write(dir.path(), &id).unwrap();
        assert!(!system.launcher_ended(&id));
        context.start_time += 1;
        context.write(dir.path(), &id).unwrap();
        assert!(system.launcher_ended(&id), "its process id was given to another process");

        std::fs::write(dir.path().join("sessions/s1/context.json"), "{").unwrap();
        assert!(!system.launcher_ended(&id), "unreadable is unknown");
        assert!(!SystemLiveness::new(&Env::empty()).launcher_ended(&id), "nowhere to look is unknown");
    }
}
