//! Run of a program to its end within a deadline, with bounded output: for processes too small for a session.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};

use super::{ChildOptions, prepare_child};

/// Output of a program, and its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// Bytes of stdout.
    pub stdout: Vec<u8>,
    /// Bytes of stderr, where that is kept.
    pub stderr: Vec<u8>,
}

/// Runs `command` with nothing on stdin and stderr thrown away.
///
/// The program is killed, and the call fails, when it has not ended after `deadline` ([`io::ErrorKind::TimedOut`]) or when
/// it prints more than `limit` bytes ([`io::ErrorKind::FileTooLarge`]). What it leaves behind in its group is killed too.
pub fn capture_output(mut command: Command, deadline: Duration, limit: usize) -> io::Result<ProgramOutput> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    run_captured(command, deadline, limit)
}

/// Runs `command` with `input` on stdin and keeps its stderr too; else like [`capture_output`].
///
/// The input is a file in memory: a program that does not read it holds nobody up.
pub fn capture_fed(
    mut command: Command,
    input: &[u8],
    deadline: Duration,
    limit: usize,
) -> io::Result<ProgramOutput> {
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(input)?;
    file.rewind()?;
    command.stdin(file).stdout(Stdio::piped()).stderr(Stdio::piped());
    run_captured(command, deadline, limit)
}

fn run_captured(mut command: Command, deadline: Duration, limit: usize) -> io::Result<ProgramOutput> {
    let end = Instant::now() + deadline;
    prepare_child(&mut command, ChildOptions { group: true, death_signal: true });
    let mut child = command.spawn()?;
    let read = read_until(&mut child, end, limit);
    let code = match read {
        Ok(_) => wait_until(&mut child, end),
        Err(_) => Ok(None),
    };
    // A leader that is not reaped keeps its group's id taken; a group that is empty is no error.
    let killed = super::send_to_group(child.id(), super::Signal::KILL);
    let status = child.wait()?;
    killed.or_else(|error| if code.is_ok() { Ok(()) } else { Err(error) })?;
    let [stdout, stderr] = read?;
    code?;
    Ok(ProgramOutput { code: status.code(), stdout, stderr })
}

fn timed_out_error() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it did not end in time")
}

/// Everything that the child prints on stdout and on stderr, until both are closed.
fn read_until(child: &mut Child, end: Instant, limit: usize) -> io::Result<[Vec<u8>; 2]> {
    let mut printed = [Vec::new(), Vec::new()];
    let stdout = child.stdout.take().map(|pipe| (0, File::from(OwnedFd::from(pipe))));
    let stderr = child.stderr.take().map(|pipe| (1, File::from(OwnedFd::from(pipe))));
    let mut open: Vec<(usize, File)> = stdout.into_iter().chain(stderr).collect();
    let mut part = [0_u8; 8192];
    while !open.is_empty() {
        let left = end.checked_duration_since(Instant::now()).ok_or_else(timed_out_error)?;
        let left = left.try_into().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut ready: Vec<PollFd<'_>> =
            open.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN)).collect();
        match poll(&mut ready, Some(&left)) {
            Ok(0) => return Err(timed_out_error()),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let Some(at) = ready.iter().position(|pipe| !pipe.revents().is_empty()) else { continue };
        let Some((stream, pipe)) = open.get_mut(at) else { continue };
        let length = pipe.read(&mut part)?;
        if let Some(bytes) = printed.get_mut(*stream) {
            bytes.extend_from_slice(part.get(..length).unwrap_or_default());
            if bytes.len() > limit {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {limit} bytes")));
            }
        }
        if length == 0 {
            open.remove(at);
        }
    }
    Ok(printed)
}

/// Waits without reaping, so that the group can still be killed under its own id.
fn wait_until(child: &mut Child, end: Instant) -> io::Result<Option<()>> {
    let started = super::start_time(child.id()).unwrap_or_default();
    let Ok(pidfd) = super::open_pidfd(child.id(), started) else { return Ok(None) };
    loop {
        let left = end.checked_duration_since(Instant::now()).ok_or_else(timed_out_error)?;
        let left = left.try_into().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&left)) {
            Ok(0) => return Err(timed_out_error()),
            Ok(_) => return Ok(Some(())),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_code_come_back() {
        let captured = capture_output(shell("echo out; echo err >&2; exit 3"), LONG, 100).unwrap();
        assert_eq!(captured, ProgramOutput { code: Some(3), stdout: b"out\n".to_vec(), stderr: Vec::new() });
        let captured = capture_output(shell("kill -KILL $$"), LONG, 100).unwrap();
        assert_eq!(captured.code, None);
    }

    #[test]
    fn a_fed_program_reads_its_input_or_leaves_it_and_both_streams_come_back() {
        let input = "x".repeat(300_000);
        let script = "wc -c; i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done";
        let captured = capture_fed(shell(script), input.as_bytes(), LONG, 1 << 20).unwrap();
        assert_eq!(captured.stdout.trim_ascii(), b"300000");
        assert_eq!(captured.stderr.len(), 2000 * 41);
        let captured = capture_fed(shell("exit 2"), input.as_bytes(), LONG, 100).unwrap();
        assert_eq!(captured.code, Some(2));
    }

    #[test]
    fn a_slow_program_is_ended_also_when_it_has_closed_its_output() {
        for script in ["sleep 30", "exec >&-; sleep 30"] {
            let begin = Instant::now();
            let error = capture_output(shell(script), Duration::from_millis(100), 100).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!(begin.elapsed() < LONG);
        }
    }

    #[test]
    fn endless_output_is_ended() {
        let error = capture_output(shell("yes"), LONG, 1000).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = capture_output(Command::new("/nonexistent/x"), LONG, 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
