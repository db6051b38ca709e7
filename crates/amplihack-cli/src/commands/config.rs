//! `amplihack config`: what is configured, and from where.

use std::fmt::Write;

use amplihack_utils::config::{Config, trust};
use amplihack_utils::env::Env;
use serde_json::json;

use crate::cli::ConfigCommand;
use crate::commands::current_dir;
use crate::ui::{self, Failure};

/// Shows the configuration, or trusts a repository.
pub(crate) fn run(command: ConfigCommand, env: &Env) -> Result<u8, Failure> {
    match command {
        ConfigCommand::Show { origin, json } => show(env, origin, json),
        ConfigCommand::Trust { dir } => {
            let trust = trust(env, &dir)?;
            let verb = if trust.added { "now trusted" } else { "was trusted before" };
            ui::data(&format!("{} {verb}, see {}\n", trust.repository.display(), trust.file.display()))?;
            Ok(0)
        }
    }
}

fn show(env: &Env, origin: bool, as_json: bool) -> Result<u8, Failure> {
    let config = Config::load(env, &current_dir()?, &[])?;
    show_warnings(&config);
    let entries = config.entries();
    let mut out = String::new();
    if as_json {
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| {
                json!({
                    "key": entry.key,
                    "value": entry.value,
                    "layer": entry.origin.layer.name(),
                    "origin": entry.origin.to_string(),
                })
            })
            .collect();
        let _ = writeln!(out, "{:#}", json!(entries));
    } else {
        for entry in &entries {
            let _ = write!(out, "{} = {}", entry.key, entry.value);
            let _ = if origin { writeln!(out, "  # {}", entry.origin) } else { writeln!(out) };
        }
    }
    ui::data(&out)?;
    Ok(0)
}

/// What has no effect although someone wrote it.
pub(crate) fn show_warnings(config: &Config) {
    for warning in &config.warnings {
        ui::note("warning", warning);
    }
    for ignored in &config.ignored {
        ui::note("warning", ignored);
    }
}
