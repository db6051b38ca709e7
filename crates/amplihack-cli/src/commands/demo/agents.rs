//! The scene `agents`: the main job on every agent found, in a table at the end.

use amplihack_agent::Installed;
use amplihack_probe::demo::{self, DemoFindings};
use amplihack_probe::drive::DriveError;
use amplihack_probe::guard_proof::ForbiddenCall;
use comfy_table::{Table, presets};

use super::{DemoContext, result_mark};
use crate::commands::fit_terminal;
use crate::ui::{self, CommandFailure};

/// Shows the main job on every agent found. Returns whether everything held.
pub(super) fn show_agents(stage: &mut DemoContext<'_>) -> Result<bool, CommandFailure> {
    let agents = demo::demo_agents(stage.env, &stage.config, &stage.bench, stage.scripted)?;
    if agents.iter().all(demo::is_scripted) {
        let why =
            if stage.scripted { "As you asked" } else { "No agent that runs without an account was found" };
        ui::print_data(&format!("{why}: the built-in scripted agent takes the place of a real one.\n"))?;
    }
    let stage = &*stage;
    let rows = std::thread::scope(|scope| {
        // Each agent waits for most of its time; the bench has as many places as the machine can bear.
        let shown: Vec<_> = agents
            .iter()
            .map(|agent| (agent, scope.spawn(|| demo::run_demo(&stage.bench, &stage.runtime, agent))))
            .collect();
        let mut rows = Vec::new();
        for (installed, shown) in shown {
            ui::print_data(&format!("\n{}\n", demo::agent_title(installed)))?;
            // One broken agent must not hide the others.
            let shown = shown.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ui::print_data(&match &shown {
                Ok(shown) => steps_text(shown),
                Err(error) => format!("  FAIL the agent could not be driven: {error}\n"),
            })?;
            rows.push((installed, shown));
        }
        Ok::<_, CommandFailure>(rows)
    })?;
    ui::print_data(&format!("\n{}\n", summary_table(&rows)))?;
    Ok(rows.iter().all(|(_, shown)| shown.as_ref().is_ok_and(|shown| shown.overall_verdict() == Some(true))))
}

/// An agent, and what was seen of it or why nothing was.
type DemoAgentRow<'a> = (&'a Installed, Result<DemoFindings, DriveError>);

const fn verdict_word(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "unknown",
    }
}

fn steps_text(shown: &DemoFindings) -> String {
    let descendant = shown.descendant.as_deref().unwrap_or("no answer");
    let tools = shown.tools.as_ref().map_or_else(String::new, |tools| {
        format!(
            "  {} a call of each tool that the agent offers: {tools}\n",
            result_mark(tools.tools_verdict())
        )
    });
    let too_slow = shown.too_slow.as_ref().map_or_else(String::new, |why| {
        format!("  ?    this machine was too slow to tell ({why}); try again when it is quieter\n")
    });
    format!(
        "  {} a prompt of {} bytes with quotes, $(…) and backticks by {}: {}\n\
         \x20 {} a descendant with a cleared environment asks which agent is in charge: {descendant}\n\
         \x20 {} a harmless tool call: {}\n\
         \x20 {} a forbidden tool call, `git commit --no-verify`: {}\n{tools}\
         \x20 {} the agent ended with {} after {:.1} s\n{too_slow}",
        result_mark(shown.prompt.0),
        demo::PROMPT_BYTES,
        shown.channel,
        shown.prompt.1,
        result_mark(shown.step_verdict(shown.descendant.as_deref() == Some(shown.agent.name()))),
        result_mark(shown.step_verdict(shown.tool_ran)),
        if shown.tool_ran { "ran" } else { "did not run" },
        result_mark(match shown.forbidden {
            ForbiddenCall::Ran => Some(false),
            ForbiddenCall::Stopped(_) => Some(true),
            ForbiddenCall::NotReached => shown.step_verdict(false),
        }),
        match &shown.forbidden {
            ForbiddenCall::Stopped(rule) => format!("stopped by {rule}"),
            other => other.to_string(),
        },
        result_mark(shown.step_verdict(shown.code == 0)),
        shown.code,
        shown.took.as_secs_f32(),
    )
}

fn summary_table(rows: &[DemoAgentRow<'_>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    fit_terminal(&mut table);
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
        let (agent, version) = (installed.agent.to_string(), demo::version_text(installed));
        let Ok(row) = shown else {
            table.add_row([&agent, &version, "-", "-", "-", "-", "-", verdict_word(Some(false))]);
            continue;
        };
        table.add_row([
            agent,
            version,
            format!("{} by {}", intact_word(row.prompt.0), row.channel),
            row.descendant.clone().unwrap_or_else(|| "nothing".to_owned()),
            if row.tool_ran { "ran" } else { "did not run" }.to_owned(),
            row.forbidden.to_string(),
            row.code.to_string(),
            verdict_word(row.overall_verdict()).to_owned(),
        ]);
    }
    table.to_string()
}

const fn intact_word(arrived: Option<bool>) -> &'static str {
    match arrived {
        Some(true) => "intact",
        Some(false) => "not intact",
        None => "unknown",
    }
}
