//! Runs for people.

use amplihack_agent::event::UsageTotals;
use amplihack_session::journal::JournaledRun;
use amplihack_sys::{push_line, push_text};
use comfy_table::{Table, presets};
use serde_json::{Value, json};

use crate::commands::fit_terminal;

pub(super) fn plain_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    fit_terminal(&mut table);
    table
}

/// Renders the facts known about one run, one a line.
pub(super) fn session_facts(run: &JournaledRun) -> String {
    let record = &run.record;
    let mut out = String::new();
    let mut fact = |name: &str, value: &str| {
        push_line!(out, "{name}: {value}");
    };
    fact("session", run.id.as_str());
    fact("agent", record.agent.name());
    if let Some(model) = &record.model {
        fact("model", model);
    }
    if let Some(session) = &record.agent_session {
        fact("agent's session", session);
    }
    fact("directory", &record.cwd);
    fact("started", &record.started_at.to_string());
    if let Some(ended) = record.ended_at {
        fact("ended", &ended.to_string());
    }
    fact("state", record.state_name());
    let UsageTotals { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, .. } = record.usage;
    fact(
        "tokens",
        &format!(
            "{input_tokens} in, {output_tokens} out, {cache_read_tokens} from cache, {cache_write_tokens} to cache"
        ),
    );
    if record.usage.cost_usd.is_some() {
        fact("cost", &format_cost(&record.usage));
    }
    if let Some(text) = record.end.as_ref().and_then(|end| end.event.summary.text.as_ref()) {
        push_text!(out, "\n{}\n", text.trim_end_matches('\n'));
    }
    out
}

fn total_usage(runs: &[JournaledRun]) -> UsageTotals {
    let mut sum = UsageTotals::default();
    for run in runs {
        sum.add_amounts(&run.record.usage);
    }
    sum
}

/// Renders the usage of runs, by run and in total.
pub(super) fn cost_table(runs: &[JournaledRun]) -> String {
    let mut table = plain_table(&["session", "agent", "in", "out", "from cache", "to cache", "cost"]);
    let row = |name: String, agent: String, usage: &UsageTotals| {
        [
            name,
            agent,
            usage.input_tokens.to_string(),
            usage.output_tokens.to_string(),
            usage.cache_read_tokens.to_string(),
            usage.cache_write_tokens.to_string(),
            format_cost(usage),
        ]
    };
    for run in runs {
        table.add_row(row(run.id.to_string(), run.record.agent.to_string(), &run.record.usage));
    }
    table.add_row(row("total".to_owned(), String::new(), &total_usage(runs)));
    format!("{}\n", table.trim_fmt())
}

/// Returns the usage of runs, by run and in total, as JSON.
pub(super) fn cost_object(runs: &[JournaledRun]) -> Value {
    let each = |run: &JournaledRun| json!({ "id": run.id.as_str(), "agent": run.record.agent, "usage": run.record.usage });
    json!({ "sessions": runs.iter().map(each).collect::<Vec<_>>(), "together": total_usage(runs) })
}

/// Only what an agent itself says: prices are not ours to know.
pub(super) fn format_cost(usage: &UsageTotals) -> String {
    usage.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.4}"))
}
