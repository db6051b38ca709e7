//! Diagnostics: events of `tracing`, on stderr and in a file if one is named. Never on stdout; secrets are replaced.
//!
//! Without a wish only warnings are seen, on stderr; a file that is asked for then has everything up to `debug`. Prompts are in no event of
//! this project, at no level.

mod file;
mod redacting;

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use amplihack_config::env::Env;
use amplihack_sys::log::JsonLog;
use clap::{Args, ValueEnum};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::ui::{self, CommandFailure};
use file::JsonLogLayer;
use redacting::RedactingWriter;

// Options of every command.
#[derive(Debug, Default, Args)]
pub(crate) struct LogArgs {
    /// Level of diagnostics on stderr: off, error, warn, info, debug or trace; default: AMPLIHACK_LOG, else warn
    #[arg(
        long,
        global = true,
        value_name = "LEVEL",
        value_enum,
        hide_possible_values = true,
        help_heading = "Diagnostics"
    )]
    log_level: Option<DiagnosticLevel>,
    /// Also append diagnostics to this file, one JSON object per line; default level: debug
    #[arg(long, global = true, value_name = "FILE", help_heading = "Diagnostics")]
    log_file: Option<PathBuf>,
}

/// The least severity of diagnostics that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiagnosticLevel {
    /// Nothing
    Off,
    /// Errors that ended something
    Error,
    /// Warnings that a person should know
    Warn,
    /// Actions that were done
    Info,
    /// Reasons
    Debug,
    /// Everything
    Trace,
}

impl From<DiagnosticLevel> for LevelFilter {
    fn from(level: DiagnosticLevel) -> Self {
        match level {
            DiagnosticLevel::Off => Self::OFF,
            DiagnosticLevel::Error => Self::ERROR,
            DiagnosticLevel::Warn => Self::WARN,
            DiagnosticLevel::Info => Self::INFO,
            DiagnosticLevel::Debug => Self::DEBUG,
            DiagnosticLevel::Trace => Self::TRACE,
        }
    }
}

/// Begins to tell what `args` and the environment ask for.
pub(crate) fn install_subscriber(args: &LogArgs, env: &Env) -> Result<(), CommandFailure> {
    let wish = args
        .log_level
        .map(|level| Targets::new().with_default(LevelFilter::from(level)))
        .or_else(|| requested_targets(env));
    let or = |level| wish.clone().unwrap_or_else(|| Targets::new().with_default(level));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| RedactingWriter(io::stderr()))
        .with_ansi(false)
        .without_time();
    let stderr = lines.with_filter(or(LevelFilter::WARN));
    let file = args.log_file.as_ref().map(|path| JsonLog::open(path)).transpose()?;
    let file = file.map(|log| JsonLogLayer(Mutex::new(log)).with_filter(or(LevelFilter::DEBUG)));
    tracing_subscriber::registry().with(stderr).with(file).init();
    Ok(())
}

/// Returns the targets that `AMPLIHACK_LOG` asks for; warns of a value that cannot be parsed.
fn requested_targets(env: &Env) -> Option<Targets> {
    let directives = env.text("AMPLIHACK_LOG")?;
    directives
        .parse()
        .inspect_err(|error| ui::print_note("warning", format!("AMPLIHACK_LOG is ignored: {error}")))
        .ok()
}
