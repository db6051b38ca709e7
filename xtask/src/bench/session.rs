//! A launch that runs while something is measured, so that the command that it registers has somebody to report to.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use super::guard::evict_file;
use super::measure::Job;
use super::stage::{self, Stage};
use crate::Failure;

/// The agent's part: it writes its command line down, and waits until it may end.
const PART: &str = "tr '\\0' '\\n' < /proc/$PPID/cmdline > \"$BENCH_SESSION/arguments.new\"\n\
    mv \"$BENCH_SESSION/arguments.new\" \"$BENCH_SESSION/arguments\"\n\
    while [ ! -e \"$BENCH_SESSION/end\" ]; do sleep 0.1; done\n";

/// How long a launch may take, and its end.
const PATIENCE: Duration = Duration::from_secs(20);

/// A session of Claude Code that does nothing. It ends with this value.
pub(crate) struct Session {
    place: PathBuf,
    launch: Child,
    command: String,
}

impl Session {
    /// Launches it, with the hook binary beside the command, evicted from the page cache.
    pub(crate) fn begin(stage: &Stage) -> Result<Self, Failure> {
        let place = stage.file("session");
        let failed = |error| format!("failed to prepare {}: {error}", place.display());
        fs::create_dir_all(&place).map_err(failed)?;
        for (from, name) in [(stage.amplihack(), "amplihack"), (stage.guard(), "amplihack-hooks")] {
            crate::dist::place(from, &place.join(name))?;
            evict_file(&place.join(name))?;
        }
        let job = Job::new(place.join("amplihack"), &["claude", "-p", "--prompt", "hi"])
            .with("FAKE_AGENT_SCRIPT", stage::part(PART))
            .with("BENCH_SESSION", &place);
        let launch = job.command(stage)?.spawn().map_err(|error| format!("failed to launch: {error}"))?;
        let mut session = Self { place, launch, command: String::new() };
        session.command = session.registered()?;
        Ok(session)
    }

    /// The shell command of the hook that the host calls before a tool.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    fn registered(&mut self) -> Result<String, Failure> {
        let (arguments, end) = (self.place.join("arguments"), Instant::now() + PATIENCE);
        loop {
            if let Ok(text) = fs::read_to_string(&arguments) {
                let found = command_in(&text).or_else(|| {
                    // A launch may name a directory with the registration instead.
                    let mut lines = text.lines().skip_while(|line| *line != "--plugin-dir");
                    let hooks = PathBuf::from(lines.nth(1)?).join("hooks/hooks.json");
                    command_in(&fs::read_to_string(hooks).ok()?)
                });
                return found.ok_or_else(|| format!("the launch registers no hook: {text}"));
            }
            if Instant::now() > end || self.launch.try_wait().is_ok_and(|ended| ended.is_some()) {
                return Err("the launch did not start its agent".to_owned());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = fs::write(self.place.join("end"), "");
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end && self.launch.try_wait().is_ok_and(|ended| ended.is_none()) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.launch.kill();
        let _ = self.launch.wait();
    }
}

/// The command of the event before a tool, in a text that holds settings of Claude Code as JSON.
fn command_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("\"PreToolUse\"")?;
    // The word is a value as well: the kind of the hook.
    let value = |rest: &'_ str| {
        rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"').map(str::to_owned)
    };
    let text = rest.split("\"command\"").skip(1).find_map(value)?;
    let mut letters = text.chars();
    let mut command = String::new();
    loop {
        match letters.next()? {
            '"' => return Some(command),
            '\\' => match letters.next()? {
                'n' => command.push('\n'),
                't' => command.push('\t'),
                'u' => {
                    let digits: String = letters.by_ref().take(4).collect();
                    command.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                other => command.push(other),
            },
            other => command.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_is_read_out_of_settings() {
        let text = "--settings\n{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"a \\\"b\\\" \\u007c\\n\"}]}]}}";
        assert_eq!(super::command_in(text).as_deref(), Some("a \"b\" |\n"));
        assert_eq!(super::command_in("--settings\n{}"), None);
    }
}
