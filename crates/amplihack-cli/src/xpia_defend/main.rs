//! `xpia-defend`: the policy for programs that know the predecessor's defender; the same sub-commands, the same JSON.

mod answer;
mod args;
mod judge;
#[path = "../misread.rs"]
mod misread;
mod tables;

use std::io::{self, Write};
use std::process::ExitCode;

use amplihack_utils::env::Env;
use clap::Parser;
use serde_json::{Value, json};

use args::{Command, Defend};

fn main() -> ExitCode {
    let env = Env::from_process();
    let (answer, code) = match Defend::try_parse() {
        Ok(defend) => run(defend.command, &env).unwrap_or_else(|why| broken(&why)),
        Err(error) => {
            // Help and version go to stdout with 0; what cannot be read is explained on stderr.
            let error = misread::printable(error);
            let told = error.print().is_ok();
            if error.exit_code() == 0 {
                return if told { ExitCode::SUCCESS } else { ExitCode::from(2) };
            }
            broken("the command line cannot be read; see stderr")
        }
    };
    let mut out = io::stdout().lock();
    let said = writeln!(out, "{answer}").and_then(|()| out.flush());
    if said.is_ok() { ExitCode::from(code) } else { ExitCode::from(2) }
}

/// The answer and the exit code: 0 valid, 1 blocked. The error says why neither can be told.
fn run(command: Command, env: &Env) -> Result<(Value, u8), String> {
    let answer = match command {
        Command::ValidateContent(args) => judge::content(&args, env)?,
        Command::ValidateBash(args) => judge::bash(&args, env)?,
        Command::ValidateWebfetch(args) => judge::webfetch(&args, env)?,
        Command::ValidateAgent(args) => judge::agent(&args, env)?,
        Command::Health => return Ok((tables::health(env)?, 0)),
        Command::Patterns => return Ok((tables::patterns(), 0)),
        Command::Config => return Ok((tables::config(env)?, 0)),
    };
    Ok((answer.as_json(), u8::from(!answer.is_valid())))
}

/// Nothing can be told, so nothing is valid.
fn broken(why: &str) -> (Value, u8) {
    (json!({ "error": true, "message": why, "is_valid": false, "risk_level": "critical" }), 2)
}
