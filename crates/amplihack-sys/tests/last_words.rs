//! Last words of a real process: whatever kills it, stdout holds exactly the prepared answer.
//!
//! This file is its own harness: run again with `--die WAY` it is the process that dies, and a test harness would print
//! to the stdout that is looked at.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy's allowance for tests leaves out test programs without a harness"
)]

use std::borrow::Cow;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use amplihack_sys::last_words::{self, LastWords};

const OUT: &[u8] = b"{\"decision\":\"block\"}\n";
const ERR: &[u8] = b"the guard broke\n";

static WORDS: LastWords = LastWords { stdout: Cow::Borrowed(OUT), stderr: Cow::Borrowed(ERR), code: 2 };

/// Ways to die, with what must be seen: stdout, stderr, code.
const WAYS: &[(&str, &[u8], &[u8], i32)] = &[
    ("overflow", OUT, ERR, 2),
    ("overflow-on-a-thread", OUT, ERR, 2),
    ("abort", OUT, ERR, 2),
    ("segv", OUT, ERR, 2),
    ("bus", OUT, ERR, 2),
    ("ill", OUT, ERR, 2),
    ("panic", OUT, ERR, 2),
    ("panic-on-a-thread", OUT, ERR, 2),
    ("slow-from-the-start", OUT, ERR, 2),
    ("slow", OUT, ERR, 2),
    ("slow-in-a-loop", OUT, ERR, 2),
    ("replaced", b"other\n", b"", 0),
    ("after-the-answer", b"answer\n", ERR, 2),
    ("in-time", b"answer\n", b"", 0),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--die", way] => die(way),
        _ if words.contains(&"--list") => {
            for (way, ..) in WAYS.iter().filter(|_| !words.contains(&"--ignored")) {
                println!("{way}: test");
            }
        }
        _ => {
            let exact = words.contains(&"--exact");
            let filter = words.iter().find(|word| !word.starts_with('-'));
            let chosen = |way: &str| filter.is_none_or(|f| if exact { way == *f } else { way.contains(f) });
            for (way, stdout, stderr, code) in WAYS.iter().filter(|(way, ..)| chosen(way)) {
                check(way, stdout, stderr, *code);
                println!("{way}: ok");
            }
        }
    }
}

fn check(way: &str, stdout: &[u8], stderr: &[u8], code: i32) {
    let begin = Instant::now();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--die", way])
        .stdin(Stdio::null())
        .output()
        .expect("this program runs itself");
    let seen = (output.stdout.as_slice(), output.stderr.as_slice(), output.status.code());
    assert_eq!(seen, (stdout, stderr, Some(code)), "{way}: {output:?}");
    assert!(begin.elapsed() < Duration::from_secs(20), "{way}");
}

fn die(way: &str) {
    let time = if way == "slow-from-the-start" { 20 } else { 30_000 };
    last_words::arm_words(&WORDS, Duration::from_millis(time)).unwrap();
    match way {
        "overflow" => drop(deeper(0)),
        "overflow-on-a-thread" => drop(std::thread::spawn(|| deeper(0)).join()),
        "abort" => std::process::abort(),
        "segv" => raise("SEGV"),
        "bus" => raise("BUS"),
        "ill" => raise("ILL"),
        "panic" => panic!("this text must not be seen"),
        "panic-on-a-thread" => drop(std::thread::spawn(|| panic!("nor this")).join()),
        "slow-from-the-start" => std::thread::sleep(Duration::from_secs(30)),
        "slow" => {
            last_words::set_deadline(Duration::from_millis(20)).unwrap();
            std::thread::sleep(Duration::from_secs(30));
        }
        "slow-in-a-loop" => {
            last_words::set_deadline(Duration::from_millis(20)).unwrap();
            let mut n = 0_u64;
            while std::hint::black_box(n) < u64::MAX {
                n += 1;
            }
        }
        "replaced" => {
            last_words::replace_words(LastWords {
                stdout: b"other\n".into(),
                stderr: Cow::default(),
                code: 0,
            });
            std::process::abort();
        }
        "after-the-answer" => {
            last_words::mark_answered();
            std::io::stdout().write_all(b"answer\n").unwrap();
            std::io::stdout().flush().unwrap();
            std::process::abort();
        }
        "in-time" => {
            last_words::set_deadline(Duration::from_millis(20)).unwrap();
            last_words::no_deadline().unwrap();
            std::thread::sleep(Duration::from_millis(60));
            last_words::mark_answered();
            std::io::stdout().write_all(b"answer\n").unwrap();
        }
        other => panic!("{other} is no way to die"),
    }
}

/// Uses up the stack.
#[expect(unconditional_recursion, reason = "the overflow is the test")]
fn deeper(n: u64) -> u64 {
    let frame = std::hint::black_box([n; 64]);
    std::hint::black_box(frame[3] + deeper(frame[2] + 1))
}

fn raise(signal: &str) {
    let me = std::process::id().to_string();
    Command::new("kill").args([&format!("-{signal}"), &me]).status().unwrap();
    std::thread::sleep(Duration::from_secs(30));
}
