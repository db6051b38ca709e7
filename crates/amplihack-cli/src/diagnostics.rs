//! Diagnostics: events of `tracing`, on stderr and in a file if one is named. Never on stdout; secrets are replaced.
//!
//! Without a wish only warnings are seen, on stderr; a file that is asked for then has everything up to `debug`. Prompts are in no event of
//! this project, at no level.

mod file;
mod redacting;

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use amplihack_utils::env::Env;
use amplihack_utils::log::JsonLog;
use clap::{Args, ValueEnum};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::ui::{self, Failure};
use file::JsonLines;
use redacting::Redacting;

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
    log_level: Option<Level>,
    /// Also append diagnostics to this file, one JSON object per line; default level: debug
    #[arg(long, global = true, value_name = "FILE", help_heading = "Diagnostics")]
    log_file: Option<PathBuf>,
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Nothing
    Off,
    /// What ended something
    Error,
    /// What a person should know
    Warn,
    /// What was done
    Info,
    /// Why
    Debug,
    /// Everything
    Trace,
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Off => Self::OFF,
            Level::Error => Self::ERROR,
            Level::Warn => Self::WARN,
            Level::Info => Self::INFO,
            Level::Debug => Self::DEBUG,
            Level::Trace => Self::TRACE,
        }
    }
}

/// Begins to tell what `args` and the environment ask for.
pub(crate) fn begin(args: &LogArgs, env: &Env) -> Result<(), Failure> {
    let wish = args
        .log_level
        .map(|level| Targets::new().with_default(LevelFilter::from(level)))
        .or_else(|| wished(env));
    let or = |level| wish.clone().unwrap_or_else(|| Targets::new().with_default(level));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| Redacting(io::stderr()))
        .with_ansi(false)
        .without_time();
    let stderr = lines.with_filter(or(LevelFilter::WARN));
    let file = args.log_file.as_ref().map(|path| JsonLog::open(path)).transpose()?;
    let file = file.map(|log| JsonLines(Mutex::new(log)).with_filter(or(LevelFilter::DEBUG)));
    tracing_subscriber::registry().with(stderr).with(file).init();
    Ok(())
}

/// What `AMPLIHACK_LOG` asks for; one that cannot be read is told of.
fn wished(env: &Env) -> Option<Targets> {
    let directives = env.text("AMPLIHACK_LOG")?;
    directives
        .parse()
        .inspect_err(|error| ui::note("warning", format!("AMPLIHACK_LOG is ignored: {error}")))
        .ok()
}
