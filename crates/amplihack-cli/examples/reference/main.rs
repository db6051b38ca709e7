//! Prints a generated reference page on stdout: `reference NAME`. `cargo xtask docs` puts the pages in place.

mod amp_behavior;
mod configuration;
mod environment;
mod exit_codes;
mod flag_matrix;
mod hooks;
mod policy_rules;
mod schemas;
mod table;

use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let page = match std::env::args().nth(1).as_deref() {
        Some("amp-behavior") => amp_behavior::page(),
        Some("configuration") => configuration::page(),
        Some("environment") => environment::page(),
        Some("exit-codes") => exit_codes::page(),
        Some("flag-matrix") => flag_matrix::page(),
        Some("hooks") => hooks::page(),
        Some("policy-rules") => policy_rules::page(),
        Some(name) if let Some(schema) = name.strip_prefix("schema-").and_then(schemas::schema) => schema,
        _ => return ExitCode::from(2),
    };
    match io::stdout().write_all(page.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
