//! Output of `--dry-run`: the whole launch, with prompt and secrets taken out.

use std::ffi::OsStr;
use std::fmt::Write;

use amplihack_agent::{RowEvidence, RowTrust};
use amplihack_config::secret::is_secret_name;
use amplihack_launcher::LaunchPlan;

/// `plan` in words, one fact a line.
pub(crate) fn render_plan(plan: &LaunchPlan) -> String {
    let mut out = String::new();
    let version = plan.installed.version.as_ref().map_or("version unknown".to_owned(), ToString::to_string);
    let _ = writeln!(out, "agent: {} ({version})", plan.installed.agent);
    let _ = writeln!(out, "mode: {}", plan.mode);
    let _ = writeln!(out, "directory: {}", plan.cwd.display());
    write_channel(&mut out, plan);
    let _ = writeln!(out, "command:\n  {}", plan.command.get_program().to_string_lossy());
    let prompt_argument = plan.delivery.and_then(|delivery| delivery.prompt_argument);
    let mut secret_follows = false;
    for (index, word) in plan.command.get_args().enumerate() {
        if Some(index) == prompt_argument {
            let _ = writeln!(out, "  {}", prompt_word(word, plan));
        } else if secret_follows {
            let _ = writeln!(out, "  [redacted]");
        } else {
            let _ = writeln!(out, "  {}", without_secret(word));
        }
        secret_follows = is_flag(word) && !has_value(word) && is_secret_flag(word);
    }
    let _ = writeln!(out, "environment:");
    for change in &plan.changes {
        let name = change.name.to_string_lossy();
        let _ = match &change.value {
            None => writeln!(out, "  - {name}"),
            Some(_) if is_secret_name(&change.name) => writeln!(out, "  + {name}=[redacted]"),
            Some(value) => writeln!(out, "  + {name}={}", value.to_string_lossy()),
        };
    }
    out
}

fn write_channel(out: &mut String, plan: &LaunchPlan) {
    let Some(delivery) = plan.delivery else {
        let _ = writeln!(out, "prompt: not looked for; arguments and stdin pass through");
        return;
    };
    let Some(row) = delivery.channel else {
        let _ = writeln!(out, "prompt: none");
        return;
    };
    let _ = writeln!(
        out,
        "prompt: {} bytes by {} (requested {}), as `{}`",
        delivery.prompt_bytes, delivery.selected, delivery.requested, row.shape
    );
    let evidence = match row.evidence {
        RowEvidence::Probe(versions, test) => format!("probe {test} at {versions}"),
        RowEvidence::Documented(source) => format!("documented: {source}"),
    };
    let trust = match delivery.trust {
        Some(RowTrust::UnknownVersion) => "; not proved at this version",
        _ => "",
    };
    let _ = writeln!(out, "evidence: {evidence}{trust}");
    if let Some(note) = row.note {
        let _ = writeln!(out, "note: {note}");
    }
}

/// The argument that holds the prompt, without it.
fn prompt_word(word: &OsStr, plan: &LaunchPlan) -> String {
    let bytes = plan.delivery.map_or(0, |delivery| delivery.prompt_bytes);
    let shape = plan.delivery.and_then(|delivery| delivery.channel).map(|row| row.shape);
    match shape {
        Some(amplihack_agent::matrix::ArgShape::FlagEq(flag)) => format!("{flag}=[prompt, {bytes} bytes]"),
        _ => format!("[prompt, {} bytes]", word.len()),
    }
}

fn is_flag(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

fn has_value(word: &OsStr) -> bool {
    word.as_encoded_bytes().contains(&b'=')
}

/// `--api-key`, `--auth-token=…`: a flag that is named like a secret variable.
fn is_secret_flag(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    let name = text.split('=').next().unwrap_or_default().trim_start_matches('-').replace('-', "_");
    is_secret_name(OsStr::new(&name.to_uppercase()))
}

fn without_secret(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    match text.split_once('=') {
        // `--auth-token=…`, and `-c providers.x.api_key=…` as well.
        Some((name, _)) if is_secret_flag(word) => format!("{name}=[redacted]"),
        _ => text.into_owned(),
    }
}
