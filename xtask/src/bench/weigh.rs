//! What a program costs with all that it starts: processor time, the clock, memory, as GNU `time` has it from the kernel.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{Failure, requirements, shell};

/// One run of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    /// User and system time of the process and of every descendant that was waited for. The kernel's steps are 10 ms here.
    pub(crate) cpu: Duration,
    /// By the clock.
    pub(crate) wall: Duration,
    /// The largest resident set of any one of these processes, in KiB.
    pub(crate) peak_kib: u64,
}

/// Makes sure that there is a `time` that can be asked.
pub(crate) fn ensure() -> Result<(), Failure> {
    requirements::require_program(Path::new(TIME), "time")
}

const TIME: &str = "/usr/bin/time";

/// Runs `command` to its end. Returns what it cost and what it printed; stderr is kept for the error.
pub(crate) fn weigh(command: &Command, log: &Path) -> Result<(Weight, String), Failure> {
    let mut timed = Command::new(TIME);
    timed.args(["-f", "%U %S %e %M", "-o"]).arg(log).arg(command.get_program()).args(command.get_args());
    // What was set on the command is all that there is: the commands of a bench clear their environment first.
    timed.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        timed.current_dir(directory);
    }
    timed.stdin(Stdio::null());
    let name = shell::shown(command);
    let output = timed.output().map_err(|error| format!("failed to start {name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.trim_end().lines().last().unwrap_or_default();
        return Err(format!("{name} ended with {}: {last}", output.status));
    }
    let text =
        std::fs::read_to_string(log).map_err(|error| format!("failed to read {}: {error}", log.display()))?;
    let weight = read(&text).ok_or_else(|| format!("{TIME} said {text:?}"))?;
    Ok((weight, String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// `USER SYSTEM ELAPSED MAXRSS`, the last line of the log.
fn read(log: &str) -> Option<Weight> {
    let mut words = log.trim_end().lines().last()?.split(' ');
    let mut seconds = || Duration::try_from_secs_f64(words.next()?.parse().ok()?).ok();
    let (user, system, wall) = (seconds()?, seconds()?, seconds()?);
    Some(Weight { cpu: user + system, wall, peak_kib: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::{Weight, read};
    use std::time::Duration;

    #[test]
    fn what_time_says_is_read() {
        let weight =
            Weight { cpu: Duration::from_millis(270), wall: Duration::from_millis(610), peak_kib: 2764 };
        assert_eq!(read("0.25 0.02 0.61 2764\n"), Some(weight));
        assert_eq!(read("Command exited with non-zero status 1\n"), None);
    }
}
