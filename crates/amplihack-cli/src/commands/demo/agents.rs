//! The scene `agents`: the main job on every agent found, in a table at the end.

use amplihack_agent::Installed;
use amplihack_probe::demo::{self, Shown};
use amplihack_probe::drive::DriveError;
use amplihack_probe::guarding::Forbidden;
use comfy_table::{Table, presets};

use super::{Stage, mark};
use crate::ui::{self, Failure};

/// Shows the main job on every agent found. Returns whether everything held.
pub(super) fn show(stage: &mut Stage<'_>) -> Result<bool, Failure> {
    let agents = demo::agents(stage.env, &stage.config, &stage.bench, stage.scripted)?;
    if agents.iter().all(demo::is_scripted) {
        let why =
            if stage.scripted { "As you asked" } else { "No agent that runs without an account was found" };
        ui::data(&format!("{why}: the built-in scripted agent takes the place of a real one.\n"))?;
    }
    let mut rows = Vec::new();
    for installed in &agents {
        ui::data(&format!("\n{}\n", demo::title(installed)))?;
        // One broken agent must not hide the others.
        let shown = demo::show(&mut stage.bench, &stage.runtime, &stage.server, installed);
        ui::data(&match &shown {
            Ok(shown) => steps(shown),
            Err(error) => format!("  FAIL the agent could not be driven: {error}\n"),
        })?;
        rows.push((installed, shown));
    }
    ui::data(&format!("\n{}\n", table(&rows)))?;
    let holds = |(_, shown): &Row<'_>| shown.as_ref().is_ok_and(Shown::holds);
    Ok(rows.iter().all(holds))
}

/// An agent, and what was seen of it or why nothing was.
type Row<'a> = (&'a Installed, Result<Shown, DriveError>);

const VERDICT: [&str; 2] = ["holds", "does not hold"];

fn steps(shown: &Shown) -> String {
    let descendant = shown.descendant.as_deref().unwrap_or("no answer");
    format!(
        "  {} a prompt of {} bytes with quotes, $(…) and backticks by {}: {}\n\
         \x20 {} a descendant with a cleared environment asks which agent is in charge: {descendant}\n\
         \x20 {} a harmless tool call: {}\n\
         \x20 {} a forbidden tool call, `git commit --no-verify`: {}\n\
         \x20 {} the agent ended with {} after {:.1} s\n",
        mark(shown.prompt.0),
        demo::PROMPT_BYTES,
        shown.channel,
        shown.prompt.1,
        mark(shown.descendant.as_deref() == Some(shown.agent.name())),
        mark(shown.tool_ran),
        if shown.tool_ran { "ran" } else { "did not run" },
        mark(matches!(shown.forbidden, Forbidden::Stopped(_))),
        match &shown.forbidden {
            Forbidden::Stopped(rule) => format!("stopped by {rule}"),
            other => other.to_string(),
        },
        mark(shown.code == 0),
        shown.code,
        shown.took.as_secs_f32(),
    )
}

fn table(rows: &[Row<'_>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "agent",
        "version",
        "prompt",
        "descendants see",
        "harmless call",
        "forbidden call",
        "exit",
        "verdict",
    ]);
    for (installed, shown) in rows {
        let (agent, version) = (installed.agent.to_string(), demo::version(installed));
        let Ok(row) = shown else {
            table.add_row([&agent, &version, "-", "-", "-", "-", "-", VERDICT[1]]);
            continue;
        };
        table.add_row([
            agent,
            version,
            format!("{} by {}", if row.prompt.0 { "intact" } else { "not intact" }, row.channel),
            row.descendant.clone().unwrap_or_else(|| "nothing".to_owned()),
            if row.tool_ran { "ran" } else { "did not run" }.to_owned(),
            row.forbidden.to_string(),
            row.code.to_string(),
            VERDICT[usize::from(!row.holds())].to_owned(),
        ]);
    }
    table.to_string()
}
