//! A prompt from the command line, its answer on standard output: `cargo run --example task_runner -- "What does this project do?"`.
//!
//! Add `--real` to ask the Amp that is installed.

mod common;

use std::process::ExitCode;

use amp_sdk::testing::{FakeAmp, FakeReply};
use common::{cli, say};

fn main() -> ExitCode {
    match task() {
        Ok(answer) => {
            say(format_args!("{answer}\n"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(format_args!("[{}] failed to {error}\n", error.kind()));
            ExitCode::FAILURE
        }
    }
}

fn task() -> amp_sdk::Result<String> {
    let fake = FakeAmp::new().with_run(FakeReply::success("A control plane for coding agents."));
    let (options, _fake) = cli(fake)?;
    amp_sdk::blocking::run(prompt("What does this project do?"), options)
}

/// The first word of the command line that is no flag.
fn prompt(default: &str) -> String {
    std::env::args().skip(1).find(|arg| !arg.starts_with("--")).unwrap_or_else(|| default.to_owned())
}
