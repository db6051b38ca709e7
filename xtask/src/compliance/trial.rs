//! Runs of single tests, with a fault chosen or without one, each with an end.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::build::{Program, Test, choice, target};
use crate::{Failure, ui};

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Passed(Duration),
    /// With the last lines that it printed.
    Failed(String),
    /// It did not end in its time, and was killed.
    TimedOut,
}

/// Makes each worker's runs independent of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workers {
    /// Each run has the file of its fault mounted over the common one, in a mount namespace of its own.
    Isolated(usize),
    /// Every process reads the one file, so that only one fault at a time can be chosen.
    One,
}

impl Workers {
    /// As many as wanted, or one for each processor, if this machine allows mount namespaces.
    pub(crate) fn of_this_machine(wanted: Option<usize>) -> Self {
        let mut unshare = Command::new("unshare");
        unshare
            .args(["--mount", "--", "mount", "--bind", "/", "/"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let allowed = unshare.status().is_ok_and(|status| status.success());
        let count = wanted.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
        if allowed && count > 1 { Self::Isolated(count) } else { Self::One }
    }

    fn count(self) -> usize {
        if let Self::Isolated(count) = self { count } else { 1 }
    }
}

/// Does `work` for each of `items`, by as many threads as there are workers; the results are in the items' order.
pub(crate) fn each<T: Sync, R: Send>(
    workers: Workers,
    items: &[T],
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let queue: Mutex<VecDeque<usize>> = Mutex::new((0..items.len()).collect());
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..workers.count() {
            let (queue, done, work) = (&queue, &done, &work);
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(item) = next.and_then(|index| items.get(index).map(|item| (index, item))) else {
                        break;
                    };
                    let result = (item.0, work(worker, item.1));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs one test with `fault` chosen, none if it is empty.
pub(crate) fn run(
    workers: Workers,
    worker: usize,
    fault: &str,
    (program, test): (&Program, &Test),
    limit: Duration,
) -> Result<End, Failure> {
    let failed = |error| format!("failed to run {}: {error}", test.name);
    let own = target().join(format!("fault-{worker}"));
    let output = target().join(format!("output-{worker}.txt"));
    let mut command = if workers == Workers::One {
        fs::write(choice(), fault).map_err(failed)?;
        Command::new(&program.path)
    } else {
        fs::write(&own, fault).map_err(failed)?;
        let mut command = Command::new("unshare");
        let script = r#"mount --bind "$1" "$2" && shift 2 && exec "$@""#;
        command.args(["--mount", "--", "/bin/sh", "-c", script, "sh"]).args([&own, &choice(), &program.path]);
        command
    };
    command.args(["--exact", &test.name, "--test-threads", "1"]).current_dir(&program.directory);
    command.env("CARGO_MANIFEST_DIR", &program.directory);
    command.env("RUST_BACKTRACE", "0");
    // A test that fails on purpose leaves nothing in the source tree.
    command.env("INSTA_UPDATE", "no").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
    let file = File::create(&output).map_err(failed)?;
    command.stdin(Stdio::null()).stdout(file.try_clone().map_err(failed)?).stderr(file).process_group(0);
    let begun = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let Some(status) = wait(&mut child, limit).map_err(failed)? else { return Ok(End::TimedOut) };
    let printed = printed(&output);
    if status.success() && printed.contains("test result: ok. 1 passed;") {
        Ok(End::Passed(begun.elapsed()))
    } else {
        let lines: Vec<&str> = printed.lines().collect();
        Ok(End::Failed(lines[lines.len().saturating_sub(25)..].join("\n")))
    }
}

fn printed(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

/// `None`: it did not end within `limit`, and was killed with its process group.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        sleep(Duration::from_millis(10));
    }
    // The group is the child's own; what it started elsewhere ends with its pipes.
    let group = format!("-{}", child.id());
    let killed = Command::new("/bin/kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    if !killed.is_ok_and(|status| status.success()) {
        ui::warn(&format!("the process group {group} could not be killed"));
        child.kill()?;
    }
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_the_order_stays() {
        let items: Vec<usize> = (0..50).collect();
        let doubled = each(Workers::Isolated(4), &items, |worker, item| {
            assert!(worker < 4);
            item * 2
        });
        assert_eq!(doubled, (0..50).map(|item| item * 2).collect::<Vec<_>>());
    }

    #[test]
    fn what_does_not_end_is_killed_with_its_group() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 60 & wait"]).process_group(0);
        let mut child = command.spawn().expect("sh is there");
        let begun = Instant::now();
        assert_eq!(wait(&mut child, Duration::from_millis(100)).expect("it is waited for"), None);
        assert!(begun.elapsed() < Duration::from_secs(30));
        let mut quick = Command::new("/bin/true").process_group(0).spawn().expect("true is there");
        assert!(
            wait(&mut quick, Duration::from_secs(30))
                .expect("it ends")
                .is_some_and(|status| status.success())
        );
    }
}
