//! Whether a launching process still lives, told by its id and start time.

use std::path::PathBuf;

use crate::env::Env;
use crate::launcher_context::{SessionContext, SessionId};
use crate::sys;

/// What the resolver asks about processes. A trait, so that tests can answer.
pub trait Liveness {
    /// Whether the launcher of `session` is known to have ended. `false` if that cannot be found out.
    fn launcher_ended(&self, session: &SessionId) -> bool;

    /// Whether process `pid` lives and, if `start_time` is given (clock ticks since boot), is still the same one.
    fn process_lives(&self, pid: u32, start_time: Option<u64>) -> bool;
}

/// The truth: session files under `$AMPLIHACK_HOME`, and `/proc`.
#[derive(Debug, Clone)]
pub struct System {
    home: Option<PathBuf>,
}

impl System {
    /// Looks below the home directory that `env` names.
    pub fn new(env: &Env) -> Self {
        Self { home: env.amplihack_home() }
    }
}

impl Liveness for System {
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
        let found = sys::living(pid).map(|process| process.start_time);
        found.is_some_and(|found| expected.is_none_or(|expected| expected == found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_binary::AgentBinary;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_lives_until_it_ends_also_before_it_is_reaped() {
        let system = System { home: None };
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

    #[test]
    fn a_launcher_has_ended_only_on_evidence() {
        let dir = tempfile::tempdir().unwrap();
        let system = System::new(&Env::empty().with("AMPLIHACK_HOME", dir.path()));
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
        assert!(!System::new(&Env::empty()).launcher_ended(&id), "nowhere to look is unknown");
    }
}
