//! `amplihack doctor`: what is true on this machine.

use std::fmt::Write;

use amplihack_agent::{AgentBinary, Trust};
use amplihack_launcher::doctor::{Channels, Found, Report, examine};
use amplihack_probe::prove;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use serde_json::{Value, json};

use crate::cli::DoctorArgs;
use crate::commands::{current_dir, runtime};
use crate::ui::{self, Failure};

/// Prints the report; 1 if something is broken. With `--prove` drives the installed agents first.
pub(crate) fn run(args: &DoctorArgs, env: &Env) -> Result<u8, Failure> {
    let cwd = current_dir()?;
    let config = Config::load(env, &cwd, &[])?;
    super::config::show_warnings(&config);
    let mut failed = Vec::new();
    if let Some(agents) = &args.prove {
        let agents = if agents.is_empty() { AgentBinary::ALL.to_vec() } else { agents.clone() };
        let runtime = runtime()?;
        for agent in agents {
            let result = prove::prove(agent, env, &config, &runtime);
            ui::note("prove", prove::line(agent, &result));
            if let Ok(proof) = &result
                && proof.delivery.iter().any(|channel| !channel.arrived)
            {
                failed.push(format!("{agent} {}: a prompt did not arrive as the matrix says", proof.version));
            }
        }
    }
    let mut report = examine(env, &config, &cwd);
    report.broken.extend(failed);
    if args.json {
        ui::data(&format!("{:#}\n", as_json(&report)))?;
    } else {
        ui::data(&as_text(&report))?;
    }
    Ok(u8::from(!report.broken.is_empty()))
}

fn as_text(report: &Report) -> String {
    let mut out = String::from("Prompt delivery\n");
    let _ = writeln!(out, "  requested: {}", report.requested);
    let _ = writeln!(out, "  auto threshold: {} bytes", report.auto_threshold);
    for channels in &report.channels {
        let _ = writeln!(out, "\n  {}", channels.agent);
        channels_text(&mut out, channels);
    }
    let _ = writeln!(out, "\nActive agent\n  {} ({})", report.resolved.agent, report.resolved.source);
    let _ = writeln!(out, "\nAgents");
    for agent in &report.agents {
        let _ = match &agent.found {
            Ok(found) => writeln!(out, "  {}: {}", agent.agent, found_text(found)),
            Err(hint) => writeln!(out, "  {}: not found; {hint}", agent.agent),
        };
    }
    let _ = writeln!(out, "\nTools");
    for tool in &report.tools {
        let _ = writeln!(out, "  {}: {}", tool.name, tool.version.as_deref().unwrap_or("not found"));
    }
    let _ = writeln!(out);
    for broken in &report.broken {
        let _ = writeln!(out, "broken: {broken}");
    }
    if report.broken.is_empty() {
        let _ = writeln!(out, "nothing is broken");
    }
    out
}

fn channels_text(out: &mut String, channels: &Channels) {
    let names: Vec<String> = channels.capabilities.iter().map(ToString::to_string).collect();
    let _ = writeln!(out, "    capabilities: {}", names.join(", "));
    let _ = writeln!(out, "    note: {}", channels.note);
    let _ = writeln!(out, "    effective for long prompt: {}", channels.effective);
    if let Some(warning) = &channels.warning {
        let _ = writeln!(out, "    warning: {warning}");
    }
    if channels.launch_rejects {
        let _ = writeln!(out, "    launch: rejects explicit tempfile and stdin");
    }
}

fn found_text(found: &Found) -> String {
    let version = found.version.as_deref().unwrap_or("version unknown");
    let proof = match &found.proved_at {
        Some(at) => format!("proved here at {at}"),
        None => trust(found.trust).to_owned(),
    };
    format!("{version}, {proof}, {}", found.path.display())
}

fn trust(trust: Trust) -> &'static str {
    match trust {
        Trust::Proved => "prompt channels proved at this version",
        Trust::Documented => "prompt channels documented, not proved",
        Trust::UnknownVersion => "prompt channels not proved at this version",
    }
}

fn as_json(report: &Report) -> Value {
    json!({
        "prompt_delivery": {
            "requested": report.requested.to_string(),
            "auto_threshold_bytes": report.auto_threshold,
            "agents": report.channels.iter().map(|channels| json!({
                "agent": channels.agent.name(),
                "capabilities": channels.capabilities.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "note": channels.note,
                "effective_for_long_prompt": channels.effective.to_string(),
                "warning": channels.warning.as_ref().map(ToString::to_string),
                "launch_rejects_explicit_tempfile_and_stdin": channels.launch_rejects,
            })).collect::<Vec<_>>(),
        },
        "active_agent": {
            "agent": report.resolved.agent.name(),
            "source": report.resolved.source.name(),
            "file": report.resolved.source.file(),
        },
        "agents": report.agents.iter().map(|agent| match &agent.found {
            Ok(found) => json!({
                "agent": agent.agent.name(),
                "found": true,
                "path": found.path,
                "version": found.version,
                "proved": found.trust == Trust::Proved,
                "proved_here_at": found.proved_at,
            }),
            Err(hint) => json!({ "agent": agent.agent.name(), "found": false, "hint": hint }),
        }).collect::<Vec<_>>(),
        "tools": report.tools.iter().map(|tool| json!({ "name": tool.name, "version": tool.version })).collect::<Vec<_>>(),
        "broken": report.broken,
    })
}
