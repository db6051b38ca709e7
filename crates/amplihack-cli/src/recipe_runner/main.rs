//! `recipe-runner-rs`: the predecessor's command over this project's recipes.

#[path = "../printable_error.rs"]
mod printable_error;
#[path = "../diagnostics/redacting.rs"]
mod redacting;

use std::io;
use std::process::ExitCode;

use amplihack_compat::recipe_runner::{PARSE, run_command_line};
use amplihack_config::env::Env;

fn main() -> ExitCode {
    let env = Env::from_process();
    // Without it, only a limit of file sizes ends the process without a word.
    let _ = amplihack_sys::last_words::survive_size_limit();
    warn_on_stderr();
    ExitCode::from(run_command_line(std::env::args_os(), &env).unwrap_or_else(|error| {
        let code = u8::try_from(error.exit_code()).unwrap_or(PARSE);
        printable_error::make_printable(error).print().map_or(1, |()| code)
    }))
}

/// Shows what the libraries below warn about, such as a value that names no agent.
fn warn_on_stderr() {
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_writer(|| redacting::RedactingWriter(io::stderr()))
        .with_ansi(false)
        .without_time()
        .init();
}
