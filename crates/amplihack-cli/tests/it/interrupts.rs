//! Signals at random instants: none is swallowed, nothing is left running, and what was interrupted continues.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use amplihack_testkit::{Output, Run, Running, Sandbox, long, loud, procs};
use jiff::Timestamp;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::Value;

use crate::auto::claude;
use crate::world::{amplihack, prepare};

const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];
/// Works in small steps, and is done after two turns.
const WORKER: &str = r#"
own=$(git rev-parse --git-dir)
say working; sleep 0.05
echo x >> work; echo x >> "$own/turns"
if [ $(wc -l < "$own/turns") -ge 2 ]; then result done; else result working; fi
"#;

/// How many deliveries.
fn rounds() -> u32 {
    if long() { 200 } else { 6 }
}

/// Every run's journal.
fn journals(sandbox: &Sandbox) -> Vec<(PathBuf, Vec<Value>)> {
    let Ok(all) = fs::read_dir(sandbox.home().join(".amplihack/sessions")) else { return Vec::new() };
    let journals = all.flatten().filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("auto.jsonl")).ok()?;
        Some((entry.path(), text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()))
    });
    journals.collect()
}

/// When a run's end was recorded.
fn ended(journal: &[Value]) -> Option<Timestamp> {
    let end = journal.iter().rev().find(|entry| entry["entry"] == "ended")?;
    end["at"].as_str().unwrap().parse().ok()
}

/// What came of one delivery.
struct Delivery {
    round: u32,
    signal: Signal,
    at: Timestamp,
    output: Output,
}

impl Delivery {
    /// Claims that the signal was not swallowed, and that nothing is left; says whether it came after the end.
    fn check(&self, sandbox: &Sandbox) -> bool {
        let Self { round, signal, at, output } = self;
        procs::assert_none(&sandbox.everything());
        let runs = journals(sandbox);
        for (directory, journal) in &runs {
            assert!(
                ended(journal).is_some(),
                "round {round}: {} has no end: {}",
                directory.display(),
                output.stdout_text()
            );
        }
        if output.code == Some(128 + signal.as_raw()) {
            return false;
        }
        if runs.is_empty() {
            // It came before the program was there to hear it, and did what it does to each program.
            assert!(output.code != Some(0), "round {round}: {output}");
            return false;
        }
        let before =
            runs.iter().filter(|(_, journal)| ended(journal).is_some_and(|ended| ended < *at)).count();
        assert_eq!(
            before,
            runs.len(),
            "round {round}: signal {} at {at} was swallowed\n{output}",
            signal.as_raw()
        );
        output.assert_code(0);
        true
    }
}

/// The instant of a round, anywhere in a run that takes `took`, and its signal.
fn instant(round: u32, took: Duration) -> (Duration, Signal) {
    let part = (f64::from(round) + f64::from(Timestamp::now().subsec_nanosecond() % 1000) / 1000.0)
        / f64::from(rounds());
    (took.mul_f64(part), SIGNALS[usize::try_from(round).unwrap() % SIGNALS.len()])
}

fn tell(what: &str, late: u32) {
    let all = rounds();
    loud(&format!("{what}: {all} signals delivered, {late} of them after the end, 0 swallowed"));
}

#[test]
fn no_signal_to_auto_is_swallowed() {
    let args = [
        &["auto", "--agent", "claude", "--json", "--task", "do it", "--worktree"][..],
        &["--verify", "sleep 0.05; test -s work", "--notify", "sleep 0.05; echo told >> \"$HOME/told\""],
    ]
    .concat();
    let sandbox = claude(WORKER);
    let begun = Instant::now();
    prepare(&sandbox, &args).output().assert_code(0);
    let took = begun.elapsed().mul_f64(1.1);
    let mut late = 0;
    for round in 0..rounds() {
        let sandbox = claude(WORKER);
        let (wait, signal) = instant(round, took);
        let running = prepare(&sandbox, &args).spawn();
        sleep(wait);
        let at = Timestamp::now();
        running.signal(signal);
        let delivery = Delivery { round, signal, at, output: running.wait() };
        late += u32::from(delivery.check(&sandbox));
        if let Some((directory, _)) = journals(&sandbox).first() {
            let id = directory.file_name().unwrap().to_str().unwrap().to_owned();
            let resumed = prepare(&sandbox, &["auto", "--resume", &id, "--json"]).output();
            resumed.assert_code(0).assert_stdout_has("\"end\":\"verified\"");
            procs::assert_none(&sandbox.everything());
        }
    }
    tell("auto", late);
}

/// A program on a terminal whose keyboard is held here.
struct OnTerminal {
    keys: File,
    running: Running,
}

impl OnTerminal {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let keys = openpt(flags).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let peer: File = ioctl_tiocgptpeer(&keys, flags).unwrap().into();
        let mut command: Command = sandbox.command("setsid");
        command.args(["--ctty", "--wait"]).arg(amplihack()).args(args).stdin(Stdio::from(peer));
        let mut running = Run::new(command).stdin_as_given().spawn();
        // Before that, nobody gets what is typed.
        running.until("its session", |_| rustix::termios::tcgetpgrp(&keys).is_ok());
        Self { keys: keys.into(), running }
    }
}

#[test]
fn no_ctrl_c_to_parallel_is_swallowed() {
    let tasks = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
    let sandbox = || {
        let sandbox = claude(WORKER);
        sandbox.write("tasks", tasks);
        sandbox
    };
    let args = |sandbox: &Sandbox| {
        let file = sandbox.root().join("tasks").to_str().unwrap().to_owned();
        [
            "parallel",
            "--agents",
            "claude",
            "--json",
            "--max",
            "4",
            "--verify",
            "test -s work",
            "--task-file",
            &file,
        ]
        .map(str::to_owned)
    };
    let first = sandbox();
    let begun = Instant::now();
    prepare(&first, &args(&first).each_ref().map(String::as_str)).output().assert_code(0);
    let took = begun.elapsed().mul_f64(1.1);
    let mut late = 0;
    for round in 0..rounds() {
        let sandbox = sandbox();
        let args = args(&sandbox);
        let args = args.each_ref().map(String::as_str);
        let (wait, signal) = instant(round, took);
        let (signal, at, output) = if round % 2 == 0 {
            let mut typed = OnTerminal::start(&sandbox, &args);
            sleep(wait);
            let at = Timestamp::now();
            typed.keys.write_all(b"\x03").unwrap();
            (Signal::INT, at, typed.running.wait())
        } else {
            let running = prepare(&sandbox, &args).spawn();
            sleep(wait);
            let at = Timestamp::now();
            running.signal(signal);
            (signal, at, running.wait())
        };
        let delivery = Delivery { round, signal, at, output };
        late += u32::from(delivery.check(&sandbox));
        let Some(line) = delivery.output.stdout_text().lines().last().map(str::to_owned) else { continue };
        let table: Value = serde_json::from_str(&line).unwrap();
        for row in table["runs"].as_array().into_iter().flatten() {
            let end = row["end"].as_str().unwrap();
            assert!(["verified", "interrupted", "not_begun"].contains(&end), "round {round}: {row}");
        }
    }
    tell("parallel", late);
}
