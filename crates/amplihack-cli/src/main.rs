//! `amplihack`: a control plane for coding-agent CLIs.

mod cli;
mod commands;
mod input;
mod ui;

use std::process::ExitCode;

use amplihack_utils::env::Env;
use clap::Parser;

fn main() -> ExitCode {
    let env = Env::from_process();
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if let Some(code) = amplihack_probe::scripted::dispatch(&args, &env) {
        return ExitCode::from(code);
    }
    // Before everything else: a hook's time is the agent's.
    if let [_, hook, rest @ ..] = &args[..]
        && hook == "hook"
    {
        return ExitCode::from(amplihack_hooks::guard::serve(rest.iter().cloned(), &env));
    }
    diagnostics(&env);
    if amplihack_launcher::copilot::shim::is_called(&args) {
        let failure = commands::copilot::become_copilot(args.get(1..).unwrap_or_default(), &env);
        return ExitCode::from(failure.show(ui::Format::Text));
    }
    let cli = match cli::Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with 0, everything else to stderr with 2.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return match error.print() {
                Ok(()) => ExitCode::from(code),
                Err(failed) => ExitCode::from(
                    ui::Failure::system("stdout could not be written", &failed).show(ui::Format::Text),
                ),
            };
        }
    };
    let format = cli.format();
    match commands::run(cli, &env) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => ExitCode::from(failure.show(format)),
    }
}

/// Diagnostics go to stderr; `AMPLIHACK_LOG` says which.
fn diagnostics(env: &Env) {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::prelude::*;
    let filter = env
        .text("AMPLIHACK_LOG")
        .and_then(|directives| directives.parse::<Targets>().ok())
        .unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).without_time();
    tracing_subscriber::registry().with(lines).with(filter).init();
}
