//! `amplihack`: a control plane for coding-agent CLIs.

mod cli;
mod commands;
mod diagnostics;
mod input;
mod own_command;
mod printable_error;
mod ui;
mod usage_tip;

use std::process::ExitCode;

use amplihack_config::env::Env;
use clap::Parser;
use diagnostics::LogArgs;

fn main() -> ExitCode {
    let env = Env::from_process();
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // Without it, only a limit of file sizes ends the process without a word.
    let _ = amplihack_sys::last_words::survive_size_limit();
    if let Some(code) = amplihack_probe::scripted::run_if_named(&args, &env) {
        return ExitCode::from(code);
    }
    // Before everything else: a hook's time is the agent's.
    if let [_, hook, rest @ ..] = &args[..]
        && hook == "hook"
    {
        return ExitCode::from(amplihack_hooks::guard::serve_guard(rest.iter().cloned(), &env));
    }
    // A process that enters a sandbox has one thread.
    let tell = |error: &dyn std::fmt::Display| ui::print_note("error", error);
    if let Some(code) = amplihack_sandbox::serve_stage(args.get(1..).unwrap_or_default(), tell) {
        return ExitCode::from(code);
    }
    if let Some(shell) = commands::completions::asking_shell(&env) {
        let done = commands::completions::answer_completions(shell, &args, &env);
        return done.map_or_else(
            |failure| ExitCode::from(failure.show_failure(ui::ErrorFormat::Text)),
            ExitCode::from,
        );
    }
    if amplihack_setup::shim::is_called(&args) {
        if let Err(failure) = diagnostics::install_subscriber(&LogArgs::default(), &env) {
            return ExitCode::from(failure.show_failure(ui::ErrorFormat::Text));
        }
        let failure = commands::copilot::become_copilot(args.get(1..).unwrap_or_default(), &env);
        return ExitCode::from(failure.show_failure(ui::ErrorFormat::Text));
    }
    let parsed = cli::AmplihackCli::try_parse_from(&args);
    // `amplihack codex resume --last`, as the agent's own help writes it; what parses keeps its meaning.
    let parsed = parsed.or_else(|error| {
        let own = own_command::as_own_command(&args, &error).ok_or(error)?;
        cli::AmplihackCli::try_parse_from(own)
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let error = printable_error::make_printable(usage_tip::with_tip(error, &args));
            // Help and version go to stdout with 0, everything else to stderr with 2.
            let code = if amplihack_sys::sabotage::is_active("remote-exit-usage") {
                1
            } else {
                u8::try_from(error.exit_code()).unwrap_or(2)
            };
            if code != 0 && cli::asks_for_json(&args) {
                return ExitCode::from(cli::usage_failure(&error).show_failure(ui::ErrorFormat::Json));
            }
            return match error.print() {
                Ok(()) => ExitCode::from(code),
                Err(failed) if failed.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(code),
                Err(failed) => ExitCode::from(
                    ui::CommandFailure::from_io_error("stdout could not be written", &failed)
                        .show_failure(ui::ErrorFormat::Text),
                ),
            };
        }
    };
    let (format, only_prints) = (cli.error_format(), cli.only_prints());
    let done =
        diagnostics::install_subscriber(&cli.log, &env).and_then(|()| commands::run_command(cli, &env));
    match done {
        Ok(code) => ExitCode::from(code),
        // Whoever stopped reading has read enough.
        Err(failure) if only_prints && failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.show_failure(format)),
    }
}
