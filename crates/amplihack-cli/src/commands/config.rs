//! `amplihack config`: what is configured, and from where.

use std::path::Path;

use amplihack_config::env::Env;
use amplihack_config::{LayeredConfig, record_trust};
use amplihack_hooks::once;
use amplihack_launcher::repository::{trust_repository, trust_root};
use amplihack_sys::{push_line, push_text};
use serde_json::json;

use crate::cli::ConfigCommand;
use crate::commands::current_dir;
use crate::ui::{self, CommandFailure};

/// Shows the configuration, or trusts a repository.
pub(crate) fn run_config_command(command: ConfigCommand, env: &Env) -> Result<u8, CommandFailure> {
    match command {
        ConfigCommand::Show { origin, json } => show_config(env, origin, json),
        ConfigCommand::Trust { dir } => {
            let trust = record_trust(env, &dir)?;
            let verb = if trust.added { "now trusted" } else { "was trusted before" };
            ui::print_data(&format!(
                "{} {verb}, see {}\n",
                trust.repository.display(),
                trust.file.display()
            ))?;
            trust_acting_files(env, &trust.repository, &trust.repository)?;
            Ok(0)
        }
    }
}

/// Trusts what agents would start of the repository around `directory`, as it is now, and names it: with its root where that is another
/// one than that of `known`.
pub(crate) fn trust_acting_files(env: &Env, directory: &Path, known: &Path) -> Result<(), CommandFailure> {
    if let Some(mark) = once::session_mark(env) {
        return Err(CommandFailure::permission_denied(
            format!(
                "only you can trust a repository, and {} shows that this is an agent session",
                mark.display()
            ),
            "run it in your own terminal",
        ));
    }
    let new = trust_repository(env, directory).map_err(|error| {
        CommandFailure::from_io_error("the trust in this repository could not be recorded", &error)
    })?;
    let root = trust_root(directory, env);
    let is_known = root == trust_root(known, env);
    for file in new {
        let path = if is_known { file.path } else { root.join(file.path) };
        let line = format!("{} ({})", path.display().to_string().escape_debug(), file.what.escape_debug());
        ui::print_note("trusted", line);
    }
    Ok(())
}

fn show_config(env: &Env, origin: bool, as_json: bool) -> Result<u8, CommandFailure> {
    let config = LayeredConfig::load(env, &current_dir()?, &[])?;
    show_warnings(&config);
    let entries = config.list_entries();
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
        push_line!(out, "{:#}", json!(entries));
    } else {
        for entry in &entries {
            push_text!(out, "{} = {}", entry.key, entry.value);
            if origin {
                push_text!(out, "  # {}", entry.origin);
            }
            out.push('\n');
        }
    }
    ui::print_data(&out)?;
    Ok(0)
}

/// Prints a warning for each setting that someone wrote although it has no effect.
pub(crate) fn show_warnings(config: &LayeredConfig) {
    for warning in &config.warnings {
        ui::print_note("warning", warning);
    }
    for ignored in &config.ignored {
        ui::print_note("warning", ignored);
    }
}
