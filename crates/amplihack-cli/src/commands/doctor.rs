//! `amplihack doctor`: what is true on this machine.

mod hooks;

use amplihack_agent::{AgentBinary, RowTrust};
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_config::prompt_delivery::DeliveryMode;
use amplihack_launcher::discover::discover_all;
use amplihack_probe::bench::ProbeBench;
use amplihack_probe::drive::DriveError;
use amplihack_probe::model::ModelServer;
use amplihack_probe::prove;
use amplihack_setup::doctor::{AgentChannels, DoctorReport, FoundAgent, ProbeSummary, examine_machine};
use amplihack_sys::push_line;
use serde_json::{Value, json};

use crate::cli::LocalDoctorArgs;
use crate::commands::{build_runtime, current_dir};
use crate::ui::{self, CommandFailure, TonedPart, WordTone};

/// Prints the report; 1 if something is broken. With `--prove` drives the installed agents first.
pub(crate) fn run_doctor(args: &LocalDoctorArgs, env: &Env) -> Result<u8, CommandFailure> {
    let cwd = current_dir()?;
    let config = LayeredConfig::load(env, &cwd, &[])?;
    super::config::show_warnings(&config);
    let unproved = match &args.prove {
        Some(agents) => prove_all(agents, env, &config)?,
        None => Vec::new(),
    };
    let mut report = examine_machine(env, &config, &cwd);
    report.broken.extend(unproved);
    if args.json {
        ui::print_data(&format!("{:#}\n", as_json(&report)))?;
    } else {
        ui::print_report(&as_text(&report, env), report_tone)?;
    }
    Ok(u8::from(!report.broken.is_empty()))
}

/// Proves the agents `named`, or all; says what was seen, and returns what is broken besides refuted channels and guards,
/// which the report finds in the stored proofs.
fn prove_all(
    named: &[AgentBinary],
    env: &Env,
    config: &LayeredConfig,
) -> Result<Vec<String>, CommandFailure> {
    let agents = if named.is_empty() { &AgentBinary::ALL } else { named };
    let runtime = build_runtime()?;
    let server = runtime.block_on(ModelServer::start()).map_err(|source| DriveError::Io {
        what: "the loopback model server could not be started",
        source,
    })?;
    let bench = ProbeBench::new(env.get("PATH"), server)?;
    let mut broken = Vec::new();
    std::thread::scope(|scope| {
        // The report asks every agent for its version; that takes seconds of those that are not proved, too.
        scope.spawn(|| discover_all(agents, env, config));
        let on = (&bench, &runtime);
        let proofs: Vec<_> = agents
            .iter()
            .map(|agent| (*agent, scope.spawn(move || prove::prove_agent(*agent, env, config, on))))
            .collect();
        for (agent, proof) in proofs {
            let result = proof.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            for line in prove::report_lines(agent, &result) {
                ui::print_note("prove", line);
            }
            match &result {
                // Who names an agent wants a proof; otherwise one that is not there or cannot be proved is a note.
                Err(error) if !named.is_empty() || !error.is_expected() => {
                    broken.push(format!("{agent}: nothing proved: {error}"));
                }
                Ok(proof) => broken.extend(prove::unknown_lines(agent, proof)),
                Err(_) => {}
            }
        }
    });
    Ok(broken)
}

/// Titles stand out, and what is missing or broken does.
fn report_tone(line: &str) -> TonedPart {
    let whole = 0..line.len();
    match line {
        "nothing is broken" => Some((whole, WordTone::Good)),
        line if line.starts_with("broken:") => Some((0.."broken:".len(), WordTone::Bad)),
        line if line.starts_with("no agent was found") => Some((whole, WordTone::Bad)),
        line if line.starts_with(' ') => {
            let missing = "not found";
            line.find(missing).map(|at| (at..at + missing.len(), WordTone::Doubtful))
        }
        _ => Some((whole, WordTone::Title)),
    }
}

fn as_text(report: &DoctorReport, env: &Env) -> String {
    let mut out = String::from("Agents\n");
    for agent in &report.agents {
        match &agent.found {
            Ok(found) => push_line!(out, "  {}: {}{}", agent.agent, found_text(found), guard_text(found)),
            Err(hint) => push_line!(out, "  {}: not found; {hint}", agent.agent),
        }
    }
    push_line!(out, "\nActive agent\n  {} ({})", report.resolved.agent, report.resolved.source);
    if report.chosen.instead_of.is_some() {
        push_line!(out, "  it is not installed: a launch that names no agent starts {}", report.chosen.agent);
    }
    push_line!(out, "\nHooks");
    out += &hooks::as_text(&report.hooks, env);
    delivery_text(&mut out, report, env);
    push_line!(out, "\nTools");
    for tool in &report.tools {
        push_line!(out, "  {}: {}", tool.name, tool.version.as_deref().unwrap_or("not found"));
    }
    push_line!(out);
    for broken in &report.broken {
        push_line!(out, "broken: {broken}");
    }
    if report.agents.iter().all(|agent| agent.found.is_err()) {
        push_line!(out, "no agent was found: install one of those above, then run `amplihack doctor` again");
    } else if report.broken.is_empty() {
        push_line!(out, "nothing is broken");
    }
    out
}

fn delivery_text(out: &mut String, report: &DoctorReport, env: &Env) {
    push_line!(out, "\nPrompt delivery");
    push_line!(out, "  requested: {}", report.requested);
    push_line!(out, "  auto threshold: {} bytes", report.auto_threshold);
    if amplihack_sys::sabotage::is_active("delivery-doctor-raw-value") {
        push_line!(out, "  value: {:?}", env.get("AMPLIHACK_PROMPT_DELIVERY"));
    }
    if amplihack_sys::sabotage::is_active("delivery-doctor-deterministic") {
        push_line!(out, "  process: {}", std::process::id());
    }
    for channels in &report.channels {
        push_line!(out, "\n  {}", channels.agent);
        channels_text(out, channels);
    }
}

fn channels_text(out: &mut String, channels: &AgentChannels) {
    push_line!(out, "    capabilities: {}", mode_names(&channels.capabilities));
    push_line!(out, "    note: {}", channels.note);
    push_line!(out, "    effective for long prompt: {}", channels.effective);
    if let Some(warning) = &channels.warning {
        push_line!(out, "    warning: {warning}");
    }
    if channels.launch_rejects {
        push_line!(out, "    launch: rejects explicit tempfile and stdin");
    }
}

fn mode_names(modes: &[DeliveryMode]) -> String {
    modes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn found_text(found: &FoundAgent) -> String {
    let version = found.version.as_deref().unwrap_or("version unknown");
    let proof = match &found.probed {
        Some(probed) => probe_summary(probed),
        None => trust_text(found.trust).to_owned(),
    };
    format!("{version}, {proof}{}, {}", unproved_guard(found), found.path.display())
}

/// Returns the remark about a guard that was not proved for this program.
fn unproved_guard(found: &FoundAgent) -> &'static str {
    let is_tried = found.probed.as_ref().is_some_and(|probed| !probed.guard.is_empty());
    match found.guard_trust {
        Some(RowTrust::Proved) | None => "",
        Some(_) if is_tried => "",
        Some(RowTrust::Documented) => ", the guard documented, not proved",
        Some(RowTrust::UnknownVersion) => {
            ", the guard not proved at this version: `doctor --prove` shows whether it holds"
        }
    }
}

/// Returns a few words on the result of a probe here.
fn probe_summary(probed: &ProbeSummary) -> String {
    let mut refuted = Vec::new();
    if !probed.refuted.is_empty() {
        refuted.push(format!("prompts by {}", mode_names(&probed.refuted)));
    }
    if probed.guard.iter().any(|leg| leg.held == Some(false)) {
        refuted.push("the guard".to_owned());
    }
    match refuted.join(" and ") {
        nothing if nothing.is_empty() => format!("proved here at {}", probed.at),
        refuted => format!("{refuted} refuted here at {}", probed.at),
    }
}

/// A line for each leg of the guard's proof.
fn guard_text(found: &FoundAgent) -> String {
    let legs = found.probed.iter().flat_map(|probed| &probed.guard);
    legs.fold(String::new(), |text, leg| text + &format!("\n    {leg}"))
}

fn trust_text(trust: RowTrust) -> &'static str {
    match trust {
        RowTrust::Proved => "prompt channels proved at this version",
        RowTrust::Documented => "prompt channels documented, not proved",
        RowTrust::UnknownVersion => "prompt channels not proved at this version",
    }
}

fn as_json(report: &DoctorReport) -> Value {
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
                "proved": found.trust == RowTrust::Proved,
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
