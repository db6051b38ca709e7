//! `amplihack`: a control plane for coding-agent CLIs.

mod cli;
mod commands;
mod diagnostics;
mod input;
mod misread;
mod ui;

use std::process::ExitCode;

use amplihack_utils::env::Env;
use clap::Parser;
use diagnostics::LogArgs;

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
    if amplihack_launcher::copilot::shim::is_called(&args) {
        if let Err(failure) = diagnostics::begin(&LogArgs::default(), &env) {
            return ExitCode::from(failure.show(ui::Format::Text));
        }
        let failure = commands::copilot::become_copilot(args.get(1..).unwrap_or_default(), &env);
        return ExitCode::from(failure.show(ui::Format::Text));
    }
    let cli = match cli::Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let error = misread::printable(error);
            // Help and version go to stdout with 0, everything else to stderr with 2.
            let code = if amplihack_utils::sabotage::active("remote-exit-usage") {
                1
            } else {
                u8::try_from(error.exit_code()).unwrap_or(2)
            };
            if code != 0 && cli::asks_for_json(&args) {
                return ExitCode::from(cli::misused(&error).show(ui::Format::Json));
            }
            return match error.print() {
                Ok(()) => ExitCode::from(code),
                Err(failed) if failed.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(code),
                Err(failed) => ExitCode::from(
                    ui::Failure::system("stdout could not be written", &failed).show(ui::Format::Text),
                ),
            };
        }
    };
    let (format, only_prints) = (cli.format(), cli.only_prints());
    let done = diagnostics::begin(&cli.log, &env).and_then(|()| commands::run(cli, &env));
    match done {
        Ok(code) => ExitCode::from(code),
        // Whoever stopped reading has read enough.
        Err(failure) if only_prints && failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.show(format)),
    }
}
