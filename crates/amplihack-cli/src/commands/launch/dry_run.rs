//! Output of `--dry-run`: the whole launch, with prompt and secrets taken out.

use std::ffi::OsStr;

use amplihack_agent::{RowEvidence, RowTrust};
use amplihack_config::secret::is_secret_name;
use amplihack_launcher::LaunchPlan;
use amplihack_sys::push_line;

/// `plan` in words, one fact a line.
pub(crate) fn render_plan(plan: &LaunchPlan) -> String {
    let mut out = String::new();
    let version = plan.installed.version.as_ref().map_or("version unknown".to_owned(), ToString::to_string);
    push_line!(out, "agent: {} ({version})", plan.installed.agent);
    push_line!(out, "mode: {}", plan.mode);
    push_line!(out, "directory: {}", plan.cwd.display());
    write_channel(&mut out, plan);
    push_line!(out, "command:\n  {}", plan.command.get_program().to_string_lossy());
    let prompt_argument = plan.delivery.and_then(|delivery| delivery.prompt_argument);
    let mut secret_follows = false;
    for (index, word) in plan.command.get_args().enumerate() {
        if Some(index) == prompt_argument {
            push_line!(out, "  {}", prompt_word(word, plan));
        } else if secret_follows {
            push_line!(out, "  [redacted]");
        } else {
            push_line!(out, "  {}", without_secret(word));
        }
        secret_follows = is_flag(word) && !has_value(word) && is_secret_flag(word);
    }
    push_line!(out, "environment:");
    for change in &plan.changes {
        let name = change.name.to_string_lossy();
        match &change.value {
            None => push_line!(out, "  - {name}"),
            Some(_) if is_secret_name(&change.name) => push_line!(out, "  + {name}=[redacted]"),
            Some(value) => push_line!(out, "  + {name}={}", value.to_string_lossy()),
        }
    }
    out
}

fn write_channel(out: &mut String, plan: &LaunchPlan) {
    let Some(delivery) = plan.delivery else {
        push_line!(out, "prompt: not looked for; arguments and stdin pass through");
        return;
    };
    let Some(row) = delivery.channel else {
        push_line!(out, "prompt: none");
        return;
    };
    push_line!(
        out,
        "prompt: {} bytes by {} (requested {}), as `{}`",
        delivery.prompt_bytes,
        delivery.selected,
        delivery.requested,
        row.shape
    );
    let evidence = match row.evidence {
        RowEvidence::Probe(versions, test) => format!("probe {test} at {versions}"),
        RowEvidence::Documented(source) => format!("documented: {source}"),
    };
    let trust = match delivery.trust {
        Some(RowTrust::UnknownVersion) => "; not proved at this version",
        _ => "",
    };
    push_line!(out, "evidence: {evidence}{trust}");
    if let Some(note) = row.note {
        push_line!(out, "note: {note}");
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
