//! `xpia-defend`: the predecessor's sub-commands and its JSON, by the policy.

mod answer;
mod args;
mod judge;
mod tables;

use std::ffi::OsString;

use amplihack_config::env::Env;
use clap::Parser;
use serde_json::{Value, json};

use args::{XpiaDefendCli, XpiaDefendCommand};

/// The answer to a command line, with the exit code: 0 valid, 1 blocked, 2 nothing can be told.
///
/// # Errors
/// The command line cannot be read, or asks for the help.
pub fn answer_command_line(
    args: impl Iterator<Item = OsString>,
    env: &Env,
) -> Result<(Value, u8), clap::Error> {
    let defend = XpiaDefendCli::try_parse_from(args)?;
    Ok(answer_command(defend.command, env).unwrap_or_else(|why| broken_answer(&why)))
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

/// The answer where nothing can be told, so that nothing is valid.
pub fn broken_answer(why: &str) -> (Value, u8) {
    (json!({ "error": true, "message": why, "is_valid": false, "risk_level": "critical" }), 2)
}
