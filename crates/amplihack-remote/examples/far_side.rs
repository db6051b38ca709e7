//! `far_side remote runner VERSION VERB…`: what a machine where amplihack is installed answers, and nothing else of amplihack. The tests
//! run it as that program.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use amplihack_config::env::Env;
use amplihack_remote::far::{RunnerRequest, serve_verb};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let (again, asked) = (words.get(..4), words.get(3..));
    let (Some(again), Some(words)) = (again, asked) else { return ExitCode::from(64) };
    let request = RunnerRequest { again, words, env: &Env::from_process() };
    ExitCode::from(serve_verb(&request, &mut io::stdin(), &mut io::stdout(), &mut io::stderr()))
}
