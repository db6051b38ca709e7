//! The system calls of a launch, counted by `strace`: numbers that no busy machine changes.

use std::fs;
use std::process::Stdio;

use super::measure::Job;
use super::stage::Stage;
use crate::{Failure, shell};

/// One paragraph about `amplihack claude -p --prompt hi` with a warm version cache.
pub(crate) fn of_a_launch(stage: &Stage) -> Result<String, Failure> {
    let Some(strace) = shell::find("strace") else {
        return Ok("System calls were not counted: strace is not installed.\n".to_owned());
    };
    let log = stage.file("strace");
    let (log_name, amplihack) = (log.to_string_lossy(), stage.amplihack().to_string_lossy());
    let job = Job::new(strace, &["-f", "-q", "-o", &log_name, &amplihack, "claude", "-p", "--prompt", "hi"]);
    shell::run(job.command(stage)?.stderr(Stdio::inherit()))?;
    let text =
        fs::read_to_string(&log).map_err(|error| format!("failed to read {}: {error}", log.display()))?;
    let counts = count(&text, &stage.agent().to_string_lossy())
        .ok_or_else(|| format!("strace saw no agent start in {}", text.lines().next().unwrap_or_default()))?;
    Ok(format!(
        "System calls of `amplihack claude -p --prompt hi`, counted by `strace -f`: {} up to the agent's exec, {} while the agent \
         runs, {} after its end.\n",
        counts.before, counts.during, counts.after
    ))
}

/// System calls of the launcher.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    before: usize,
    during: usize,
    after: usize,
}

/// Counts the lines of a log of `strace -f`: `PID call(…) = …`. A call that was interrupted by another process's line
/// counts where it began.
fn count(log: &str, agent: &str) -> Option<Counts> {
    let lines: Vec<(&str, &str)> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(pid, call)| (pid, call.trim_start()))
        .collect();
    let exec = lines.iter().position(|(_, call)| call.starts_with("execve(") && call.contains(agent))?;
    let (child, _) = lines.get(exec)?;
    let end = lines.iter().position(|(pid, call)| pid == child && call.starts_with("+++"))?;
    let of_launcher = |range: &[(&str, &str)], with_child: bool| {
        let calls = range.iter().filter(|(pid, call)| {
            (with_child || pid != child) && call.starts_with(|first: char| first.is_ascii_lowercase())
        });
        calls.count()
    };
    Some(Counts {
        before: of_launcher(lines.get(..exec)?, true),
        during: of_launcher(lines.get(exec..end)?, false),
        after: of_launcher(lines.get(end..)?, false),
    })
}

#[cfg(test)]
mod tests {
    use super::{Counts, count};

    #[test]
    fn calls_are_counted_around_the_agent() {
        let log = "\
1 execve(\"/x/amplihack\", [\"amplihack\"], 0x1 /* 3 vars */) = 0
1 brk(NULL) = 0x5
2 setpgid(0, 0) = 0
2 execve(\"/x/claude\", [\"claude\"], 0x1 /* 3 vars */ <unfinished ...>
1 epoll_wait(3,  <unfinished ...>
2 <... execve resumed>) = 0
2 read(0, \"\", 32) = 0
2 +++ exited with 0 +++
1 <... epoll_wait resumed>) = 1
1 --- SIGCHLD {si_signo=SIGCHLD} ---
1 wait4(2, NULL, 0, NULL) = 2
1 +++ exited with 0 +++
";
        assert_eq!(count(log, "/x/claude"), Some(Counts { before: 3, during: 1, after: 1 }));
        assert_eq!(count("1 brk(NULL) = 0\n", "/x/claude"), None);
    }
}
