//! Cost of a start of remote sessions on this side: `speed package REPOSITORY DIRECTORY N`, `speed state FILE N`. For `cargo xtask bench`.
//!
//! `package` says N lines of two numbers, in nanoseconds: a packaging that searches for secrets, and one that does not. `state` says how long
//! each of N changes of the state in FILE took, from the lock to the disk.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use amplihack_config::env::Env;
use amplihack_remote::package::{PackageOptions, SessionPackage};
use amplihack_remote::state::NewSession;
use amplihack_remote::{CommandMode, state_lock};
use jiff::Timestamp;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["package", repository, directory, times] => {
            package(Path::new(repository), Path::new(directory), times.parse()?)
        }
        ["state", file, times] => state(Path::new(file), times.parse()?),
        _ => Err("usage: speed package REPOSITORY DIRECTORY N | speed state FILE N".into()),
    }
}

fn package(repository: &Path, directory: &Path, times: usize) -> Result<(), Box<dyn Error>> {
    let env = Env::from_process();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let once = |number: usize, skip_secret_scan: bool| -> Result<Duration, Box<dyn Error>> {
        // A bundle that is there would not be made again.
        let directory = directory.join(format!("{number}-{skip_secret_scan}"));
        let options =
            PackageOptions { skip_secret_scan, ..PackageOptions::new(repository, &env, &directory) };
        let started = Instant::now();
        runtime.block_on(SessionPackage::build(options))?;
        Ok(started.elapsed())
    };
    let mut out = io::stdout().lock();
    for number in 0..times {
        let searched = once(number, false)?;
        writeln!(out, "{} {}", searched.as_nanos(), once(number, true)?.as_nanos())?;
    }
    Ok(())
}

fn state(file: &Path, times: usize) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    for _ in 0..times {
        let started = Instant::now();
        let id = state_lock::with_lock(file, |state| {
            let new = NewSession {
                prompt: "do it".to_owned(),
                command: CommandMode::Auto,
                max_turns: 10,
                memory_mb: None,
            };
            state.add_session(new, Timestamp::now())
        })?;
        writeln!(out, "state {}", started.elapsed().as_nanos())?;
        // So that the file stays as large as it was.
        state_lock::with_lock(file, |state| {
            state.sessions.remove(&id);
            Ok(())
        })?;
    }
    Ok(())
}
