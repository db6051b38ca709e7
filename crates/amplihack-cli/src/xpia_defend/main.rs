//! `xpia-defend`: the policy for programs that know the predecessor's defender; the same sub-commands, the same JSON.

mod answer;
mod args;
mod judge;
#[path = "../printable_error.rs"]
mod printable_error;
mod tables;

use std::io::{self, Write};
use std::process::ExitCode;

use amplihack_config::env::Env;
use clap::Parser;
use serde_json::{Value, json};

use args::{XpiaDefendCli, XpiaDefendCommand};

fn main() -> ExitCode {
    let env = Env::from_process();
    // Without it, only a limit of file sizes ends the process without a word.
    let _ = amplihack_sys::last_words::survive_size_limit();
    let (answer, code) = match XpiaDefendCli::try_parse() {
        Ok(defend) => answer_command(defend.command, &env).unwrap_or_else(|why| broken_answer(&why)),
        Err(error) => {
            // Help and version go to stdout with 0; what cannot be read is explained on stderr.
            let error = printable_error::make_printable(error);
            let told = error.print().is_ok();
            if error.exit_code() == 0 {
                return if told { ExitCode::SUCCESS } else { ExitCode::from(2) };
            }
            broken_answer("the command line cannot be read; see stderr")
        }
    };
    let mut out = io::stdout().lock();
    let said = writeln!(out, "{answer}").and_then(|()| out.flush());
    if said.is_ok() { ExitCode::from(code) } else { ExitCode::from(2) }
}

/// The answer and the exit code: 0 valid, 1 blocked. The error says why neither can be told.
fn answer_command(command: XpiaDefendCommand, env: &Env) -> Result<(Value, u8), String> {
    let answer = match command {
        XpiaDefendCommand::ValidateContent(args) => judge::judge_content(&args, env)?,
        XpiaDefendCommand::ValidateBash(args) => judge::judge_bash(&args, env)?,
        XpiaDefendCommand::ValidateWebfetch(args) => judge::judge_webfetch(&args, env)?,
        XpiaDefendCommand::ValidateAgent(args) => judge::judge_agent_message(&args, env)?,
        XpiaDefendCommand::Health => return Ok((tables::health_json(env)?, 0)),
        XpiaDefendCommand::Patterns => return Ok((tables::patterns_json(), 0)),
        XpiaDefendCommand::Config => return Ok((tables::config_json(env)?, 0)),
    };
    Ok((answer.as_json(), u8::from(!answer.is_valid())))
}

/// Nothing can be told, so nothing is valid.
fn broken_answer(why: &str) -> (Value, u8) {
    (json!({ "error": true, "message": why, "is_valid": false, "risk_level": "critical" }), 2)
}
