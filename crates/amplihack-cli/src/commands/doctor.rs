//! `amplihack doctor`: what is true on this machine.

mod hooks;

use std::fmt::Write;

use amplihack_agent::{AgentBinary, Trust};
use amplihack_launcher::doctor::{Channels, Found, Probed, Report, examine};
use amplihack_probe::prove;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::prompt_delivery::DeliveryMode;
use serde_json::{Value, json};

use crate::cli::DoctorArgs;
use crate::commands::{current_dir, runtime};
use crate::ui::{self, Failure};

/// Prints the report; 1 if something is broken. With `--prove` drives the installed agents first.
pub(crate) fn run(args: &DoctorArgs, env: &Env) -> Result<u8, Failure> {
    let cwd = current_dir()?;
    let config = Config::load(env, &cwd, &[])?;
    super::config::show_warnings(&config);
    let unproved = match &args.prove {
        Some(agents) => prove_all(agents, env, &config)?,
        None => Vec::new(),
    };
    let mut report = examine(env, &config, &cwd);
    report.broken.extend(unproved);
    if args.json {
        ui::data(&format!("{:#}\n", as_json(&report)))?;
    } else {
        ui::data(&as_text(&report, env))?;
    }
    Ok(u8::from(!report.broken.is_empty()))
}

/// Proves the agents `named`, or all; says what was seen, and returns what is broken besides refuted channels and guards,
/// which the report finds in the stored proofs.
fn prove_all(named: &[AgentBinary], env: &Env, config: &Config) -> Result<Vec<String>, Failure> {
    let agents = if named.is_empty() { &AgentBinary::ALL } else { named };
    let runtime = runtime()?;
    let mut broken = Vec::new();
    for agent in agents {
        let result = prove::prove(*agent, env, config, &runtime);
        for line in prove::lines(*agent, &result) {
            ui::note("prove", line);
        }
        // Who names an agent wants a proof; otherwise one that is not there or cannot be proved is a note.
        if let Err(error) = &result
            && (!named.is_empty() || !error.is_expected())
        {
            broken.push(format!("{agent}: nothing proved: {error}"));
        }
    }
    Ok(broken)
}

fn as_text(report: &Report, env: &Env) -> String {
    let mut out = String::from("Prompt delivery\n");
    let _ = writeln!(out, "  requested: {}", report.requested);
    let _ = writeln!(out, "  auto threshold: {} bytes", report.auto_threshold);
    if amplihack_utils::sabotage::active("delivery-doctor-raw-value") {
        let _ = writeln!(out, "  value: {:?}", env.get("AMPLIHACK_PROMPT_DELIVERY"));
    }
    if amplihack_utils::sabotage::active("delivery-doctor-deterministic") {
        let _ = writeln!(out, "  process: {}", std::process::id());
    }
    for channels in &report.channels {
        let _ = writeln!(out, "\n  {}", channels.agent);
        channels_text(&mut out, channels);
    }
    let _ = writeln!(out, "\nActive agent\n  {} ({})", report.resolved.agent, report.resolved.source);
    let _ = writeln!(out, "\nAgents");
    for agent in &report.agents {
        let _ = match &agent.found {
            Ok(found) => writeln!(out, "  {}: {}{}", agent.agent, found_text(found), guard_text(found)),
            Err(hint) => writeln!(out, "  {}: not found; {hint}", agent.agent),
        };
    }
    let _ = writeln!(out, "\nHooks");
    out += &hooks::as_text(&report.hooks, env);
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
    let _ = writeln!(out, "    capabilities: {}", names(&channels.capabilities));
    let _ = writeln!(out, "    note: {}", channels.note);
    let _ = writeln!(out, "    effective for long prompt: {}", channels.effective);
    if let Some(warning) = &channels.warning {
        let _ = writeln!(out, "    warning: {warning}");
    }
    if channels.launch_rejects {
        let _ = writeln!(out, "    launch: rejects explicit tempfile and stdin");
    }
}

fn names(modes: &[DeliveryMode]) -> String {
    modes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn found_text(found: &Found) -> String {
    let version = found.version.as_deref().unwrap_or("version unknown");
    let proof = match &found.probed {
        Some(probed) => seen(probed),
        None => trust(found.trust).to_owned(),
    };
    format!("{version}, {proof}, {}", found.path.display())
}

/// What a probe here showed, in a few words.
fn seen(probed: &Probed) -> String {
    let mut refuted = Vec::new();
    if !probed.refuted.is_empty() {
        refuted.push(format!("prompts by {}", names(&probed.refuted)));
    }
    if probed.guard.iter().any(|leg| !leg.held) {
        refuted.push("the guard".to_owned());
    }
    match refuted.join(" and ") {
        nothing if nothing.is_empty() => format!("proved here at {}", probed.at),
        refuted => format!("{refuted} refuted here at {}", probed.at),
    }
}

/// A line for each leg of the guard's proof.
fn guard_text(found: &Found) -> String {
    let legs = found.probed.iter().flat_map(|probed| &probed.guard);
    legs.fold(String::new(), |text, leg| text + &format!("\n    {leg}"))
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
                "probed_here_at": found.probed.as_ref().map(|probed| &probed.at),
                "refuted_here": found.probed.iter().flat_map(|probed| &probed.refuted)
                    .map(ToString::to_string).collect::<Vec<_>>(),
                "guard_here": found.probed.iter().flat_map(|probed| &probed.guard).map(|leg| json!({
                    "leg": leg.leg, "held": leg.held, "detail": leg.detail,
                })).collect::<Vec<_>>(),
            }),
            Err(hint) => json!({ "agent": agent.agent.name(), "found": false, "hint": hint }),
        }).collect::<Vec<_>>(),
        "hooks": hooks::as_json(&report.hooks),
        "tools": report.tools.iter().map(|tool| json!({ "name": tool.name, "version": tool.version })).collect::<Vec<_>>(),
        "broken": report.broken,
    })
}
