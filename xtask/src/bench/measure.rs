//! Running two jobs in turns, and how long each takes.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::stage::Stage;
use crate::{Failure, shell, ui};

/// Pairs that are run first and not counted; they also fill caches.
pub(crate) const WARM_UP: usize = 10;

/// A command line.
pub(crate) struct Job {
    program: PathBuf,
    args: Vec<OsString>,
    /// What it reads; nothing without it.
    stdin: Option<PathBuf>,
    /// Where it runs; the stage's repository without it.
    directory: Option<PathBuf>,
    /// Variables beside the stage's.
    variables: Vec<(&'static str, OsString)>,
}

impl Job {
    pub(crate) fn new(program: impl AsRef<Path>, args: &[&str]) -> Self {
        let args = args.iter().map(OsString::from).collect();
        Self {
            program: program.as_ref().to_owned(),
            args,
            stdin: None,
            directory: None,
            variables: Vec::new(),
        }
    }

    /// The same, with a file to read.
    pub(crate) fn reading(self, file: PathBuf) -> Self {
        Self { stdin: Some(file), ..self }
    }

    /// The same, in another directory.
    pub(crate) fn at(self, directory: PathBuf) -> Self {
        Self { directory: Some(directory), ..self }
    }

    /// The same, with a variable more, or with another value.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// The command, on `stage`.
    pub(crate) fn command(&self, stage: &Stage) -> Result<Command, Failure> {
        let open = |file: &PathBuf| {
            let opened = std::fs::File::open(file);
            opened.map(Stdio::from).map_err(|error| format!("failed to open {}: {error}", file.display()))
        };
        let stdin = self.stdin.as_ref().map_or_else(|| Ok(Stdio::null()), open)?;
        let mut command = stage.command(&self.program);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.args(&self.args).stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }
}

/// What ends a measurement.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// The end of the process.
    End,
    /// The first byte of its stdout.
    FirstByte,
}

/// Both sides' times, pair by pair.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) ours: Vec<Duration>,
    pub(crate) against: Vec<Duration>,
}

impl Pairs {
    /// Adds a pair, in nanoseconds.
    pub(crate) fn push(&mut self, ours: u64, against: u64) {
        self.ours.push(Duration::from_nanos(ours));
        self.against.push(Duration::from_nanos(against));
    }
}

/// One measurement: ours against the least that the same job could cost.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) goal: &'static str,
    pub(crate) ours: Job,
    pub(crate) against: Job,
    pub(crate) until: Until,
    pub(crate) runs: usize,
}

impl Entry {
    /// An entry that is measured to the end of the processes.
    pub(crate) fn to_end(name: &str, goal: &'static str, ours: Job, against: Job, runs: usize) -> Self {
        Self { name: name.to_owned(), goal, ours, against, until: Until::End, runs }
    }
}

/// A row of a table: its name, its goal, what was measured.
pub(crate) type Row = (String, &'static str, Pairs);

/// Measures each entry, in order.
pub(crate) fn rows(stage: &Stage, entries: Vec<Entry>) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for Entry { name, goal, ours, against, until, runs } in entries {
        ui::say(&format!("{name}, {runs} pairs"));
        let measured = measure(stage, &ours, &against, until, runs)?;
        rows.push((name, goal, measured));
    }
    Ok(rows)
}

fn measure(stage: &Stage, ours: &Job, against: &Job, until: Until, runs: usize) -> Result<Pairs, Failure> {
    let mut pairs = Pairs::default();
    for turn in 0..WARM_UP + runs {
        let (first, second);
        // Whoever runs second finds warmer caches, so they take turns at that too.
        if turn % 2 == 0 {
            first = once(ours.command(stage)?, until)?;
            second = once(against.command(stage)?, until)?;
        } else {
            second = once(against.command(stage)?, until)?;
            first = once(ours.command(stage)?, until)?;
        }
        if turn >= WARM_UP {
            pairs.ours.push(first);
            pairs.against.push(second);
        }
    }
    Ok(pairs)
}

fn once(mut command: Command, until: Until) -> Result<Duration, Failure> {
    let started = Instant::now();
    match until {
        Until::End => {
            shell::run(&mut command)?;
            Ok(started.elapsed())
        }
        Until::FirstByte => {
            let name = shell::shown(&command);
            let mut child = command
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|error| format!("failed to start {name}: {error}"))?;
            let mut byte = [0];
            let read = child.stdout.take().map_or(Ok(0), |mut stdout| stdout.read(&mut byte));
            let elapsed = started.elapsed();
            let status = child.wait().map_err(|error| format!("failed to wait for {name}: {error}"))?;
            match read {
                Ok(1) if status.success() => Ok(elapsed),
                _ => Err(format!("{name} ended with {status}, and said {read:?}")),
            }
        }
    }
}
