//! Hook processes that do not answer: stopped, hanging or slow, also before their first instruction.
//!
//! A host lets a tool run when a hook takes too long. The guard denies at a deadline of its own, so a process of it that is still there
//! long after that is one that cannot: the launch looks for those in the table of processes.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use amplihack_hooks::HookEvent;
use amplihack_sys::fs::read_limited;
use amplihack_sys::list_processes;

/// Longest time of a hook. Above the guard's own deadline, and below what hosts are told to wait.
pub(super) const PATIENCE: Duration = Duration::from_secs(8);

/// Time in which a process may become another program.
const YOUNG: Duration = Duration::from_secs(3);

/// Bytes of a command line that are looked at: the registered command of the longest launch.
const LIMIT: u64 = 64 * 1024;

/// The hook processes of a launch, each with the time when it was first seen.
#[derive(Debug)]
pub(super) struct HookProcesses {
    /// The end of the command line of each hook of the guard: the launch's directory.
    launch: Vec<u8>,
    /// Processes by id and start: since when they are known, and whether they are hooks of this launch.
    known: BTreeMap<(u32, u64), (Instant, bool)>,
}

impl HookProcesses {
    pub(super) fn for_launch(launch: &Path) -> Self {
        Self { launch: launch.as_os_str().as_bytes().to_vec(), known: BTreeMap::new() }
    }

    /// Looks at all processes at the time `now`. How long the oldest hook that answers too late is there, if there is one.
    pub(super) fn check_processes(&mut self, now: Instant) -> Option<Duration> {
        let table = list_processes().ok()?;
        let mut known = BTreeMap::new();
        for process in table.iter().filter(|process| !process.dead) {
            let key = (process.pid, process.start_time);
            let (since, was_hook) = self.known.get(&key).copied().unwrap_or((now, false));
            // A young one may be between its making and its program.
            let is_hook =
                was_hook || now.saturating_duration_since(since) < YOUNG && self.is_hook(process.pid);
            known.insert(key, (since, is_hook));
        }
        self.known = known;
        let hooks = self.known.values().filter(|(_, is_hook)| *is_hook);
        let oldest = hooks.map(|(since, _)| since).min()?;
        let age = now.saturating_duration_since(*oldest);
        (age >= PATIENCE).then_some(age)
    }

    fn is_hook(&self, pid: u32) -> bool {
        let line = read_limited(Path::new(&format!("/proc/{pid}/cmdline")), LIMIT);
        line.is_ok_and(|line| is_hook(&line, &self.launch))
    }
}

/// Reports whether a command line, its arguments ended by NUL, is of a hook of the launch at the directory `launch`: the program, or
/// the shell that a host runs the registered command with. The agent's own may hold that command too, among others.
fn is_hook(line: &[u8], launch: &[u8]) -> bool {
    let words: Vec<&[u8]> = line.strip_suffix(b"\0").unwrap_or(line).split(|byte| *byte == 0).collect();
    let events = [HookEvent::PreToolUse, HookEvent::PermissionRequest].map(|event| event.name().as_bytes());
    let has = |text: &[u8], part: &[u8]| !part.is_empty() && text.windows(part.len()).any(|at| at == part);
    let is_program = || events.iter().any(|event| words.contains(event)) && words.contains(&launch);
    let is_shell = || {
        // Copilot's shell has options of its own in front: `bash --norc --noprofile -c …`.
        let [program, options @ .., option, command] = &words[..] else { return false };
        program.ends_with(b"sh")
            && options.iter().all(|word| word.starts_with(b"-"))
            && option.starts_with(b"-")
            && option.ends_with(b"c")
            && events.iter().any(|event| has(command, event))
            && has(command, launch)
    };
    is_program() || is_shell()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_known_by_its_own_command_and_the_agent_is_none() {
        let launch = b"/h/s/hooks";
        for (line, expected) in [
            (&b"/opt/amplihack-hooks\0pre-tool-use\0--host\0claude\0--launch\0/h/s/hooks\0"[..], true),
            (b"/bin/sh\0-c\0g=$(/opt/amplihack-hooks pre-tool-use --launch /h/s/hooks); x\0", true),
            (b"/bin/bash\0-lc\0/opt/amplihack-hooks pre-tool-use --launch /h/s/hooks || {\0", true),
            (b"/bin/bash\0--norc\0--noprofile\0-c\0g=$(x pre-tool-use --launch /h/s/hooks); x\0", true),
            (b"codex\0-c\0hooks.PreToolUse=[pre-tool-use --launch /h/s/hooks]\0", false),
            (b"/opt/amplihack-hooks\0pre-tool-use\0--launch\0/h/t/hooks\0", false),
            (b"/opt/amplihack-hooks\0post-tool-use\0--launch\0/h/s/hooks\0", false),
            (
                b"codex\0-c\0hooks.PreToolUse=[pre-tool-use --launch /h/s/hooks]\0exec\0--json\0--\0hello\0",
                false,
            ),
            (b"claude\0--plugin-dir\0/h/s/hooks\0", false),
            (b"", false),
        ] {
            assert_eq!(is_hook(line, launch), expected, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn a_hook_that_does_not_end_is_found_when_its_time_is_over() {
        let dir = tempfile::tempdir().unwrap();
        // It waits by itself: a child that it forked would look like it until it is another program.
        let command = format!(": pre-tool-use --launch {}; read line", dir.path().display());
        let mut shell = std::process::Command::new("/bin/sh");
        let mut hook = shell.args(["-c", &command]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mut processes = HookProcesses::for_launch(dir.path());
        let now = Instant::now();
        assert_eq!(processes.check_processes(now), None);
        assert_eq!(processes.check_processes(now + PATIENCE), Some(PATIENCE));
        hook.kill().unwrap();
        hook.wait().unwrap();
        assert_eq!(processes.check_processes(now + PATIENCE), None);
    }
}
