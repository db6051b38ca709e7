//! Validation of options before anything is done.

use crate::client::{Client, invalid_input};
use crate::error::{ErrorContext, RemoteError};
use crate::options::{ExecOptions, StartOptions};

/// The most turns.
const TURNS: std::ops::RangeInclusive<u32> = 1..=50;
/// The longest `exec`, in minutes.
const MINUTES: std::ops::RangeInclusive<u64> = 5..=480;

impl Client {
    pub(crate) fn validate_exec(&self, options: &ExecOptions) -> Result<(), RemoteError> {
        validate_prompt(&options.prompt)?;
        validate_turns(options.max_turns)?;
        let is_let_through = match options.timeout_minutes {
            ..5 => amplihack_sys::sabotage::is_active("remote-minutes-low"),
            481.. => amplihack_sys::sabotage::is_active("remote-minutes-high"),
            _ => false,
        };
        if !MINUTES.contains(&options.timeout_minutes) && !is_let_through {
            return Err(invalid_input(format!(
                "a timeout of {} minutes is not between 5 and 480",
                options.timeout_minutes
            )));
        }
        if amplihack_sys::sabotage::is_active("remote-exec-key") {
            return Ok(());
        }
        self.validate_key(&options.api_key)
    }

    pub(crate) fn validate_start(&self, options: &StartOptions) -> Result<(), RemoteError> {
        if options.prompts.is_empty() && !amplihack_sys::sabotage::is_active("remote-prompts-none") {
            return Err(invalid_input("there is no prompt"));
        }
        let seen =
            if amplihack_sys::sabotage::is_active("remote-prompts-each") { 1 } else { options.prompts.len() };
        for text in options.prompts.iter().take(seen) {
            validate_prompt(text)?;
        }
        validate_turns(options.max_turns)?;
        if amplihack_sys::sabotage::is_active("remote-start-key") {
            return Ok(());
        }
        self.validate_key(&options.api_key)
    }

    fn validate_key(&self, key: &str) -> Result<(), RemoteError> {
        let names = amplihack_agent::agent_profile(self.agent).keys;
        if key.trim().is_empty() {
            let names = names.join(" or ");
            return Err(RemoteError::Validation(
                ErrorContext::new(format!("there is no key for {}", self.agent.name()))
                    .with_fact("hint", format!("set {names}")),
            ));
        }
        if key.contains(['\n', '\r', '\0']) {
            return Err(invalid_input("the key has more than one line"));
        }
        for (name, value) in &self.env {
            if !is_variable(name) {
                return Err(invalid_input(format!("'{name}' is no name for a variable")));
            }
            if value.expose().contains('\0') {
                return Err(invalid_input(format!("the value of {name} holds a NUL, which no variable can")));
            }
        }
        Ok(())
    }
}

fn validate_prompt(text: &str) -> Result<(), RemoteError> {
    if text.trim().is_empty() && !amplihack_sys::sabotage::is_active("remote-prompt-empty") {
        return Err(invalid_input("the prompt is empty"));
    }
    if text.contains('\0') {
        return Err(invalid_input("the prompt holds a NUL, which agents do not take"));
    }
    Ok(())
}

fn validate_turns(turns: u32) -> Result<(), RemoteError> {
    let is_let_through = match turns {
        0 => amplihack_sys::sabotage::is_active("remote-turns-low"),
        51.. => amplihack_sys::sabotage::is_active("remote-turns-high"),
        _ => false,
    };
    if TURNS.contains(&turns) || is_let_through {
        return Ok(());
    }
    Err(invalid_input(format!("{turns} turns are not between 1 and 50")))
}

/// Reports whether a shell can export a variable of this name.
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
