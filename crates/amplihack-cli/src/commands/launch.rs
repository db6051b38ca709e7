//! `amplihack <agent>` and `amplihack launch`.

use std::path::PathBuf;

use amplihack_agent::event::{FailKind, RunOutcome};
use amplihack_agent::{AgentBinary, AgentRunOptions, RunMode, agent_profile};
use amplihack_config::LayeredConfig;

use amplihack_config::env::Env;
use amplihack_launcher::prompt_delivery::requested_delivery;
use amplihack_launcher::{
    EventOptions, LaunchHosting, LaunchNotice, LaunchRequest, LaunchStreams, LaunchTask, check_directory,
    own_program, plan_launch, start, working_directories,
};
use amplihack_session::ChildOutput;
use amplihack_session::Deadlines;
use amplihack_session::EndEvidence;
use amplihack_session::RunEnd;
use amplihack_session::describe_duration;

use crate::cli::{LaunchArgs, OutputFormat};
use crate::commands::{build_runtime, check_open_files, choose_agent, current_dir};
use crate::input::{GatheredInput, StandardTerminals, gather_input, utf8_text};
use crate::ui::{self, AgentPrinter, CommandFailure};

mod dry_run;
mod events;

/// Launches `agent`, or the agent in charge, and returns its exit code.
pub(crate) fn run_launch(
    agent: Option<AgentBinary>,
    args: LaunchArgs,
    env: &Env,
) -> Result<u8, CommandFailure> {
    if args.auto {
        return super::auto::launch_unattended(agent, args, env);
    }
    run_in(current_dir()?, agent, args, env)
}

/// Launches `agent` in `cwd`, but not by `auto`, and returns its exit code.
pub(crate) fn run_in(
    cwd: PathBuf,
    agent: Option<AgentBinary>,
    mut args: LaunchArgs,
    env: &Env,
) -> Result<u8, CommandFailure> {
    if args.auto {
        return Err(CommandFailure::bad_usage(
            "--auto cannot be used here",
            "`amplihack auto --resume` continues an unattended run",
        ));
    }
    if args.unattended.is_set() {
        return Err(CommandFailure::bad_usage(
            "options of unattended runs need --auto",
            "add --auto, or leave --verify, --max-turns, the budgets and the rest of them out",
        ));
    }
    // Before the configuration: a directory without rights is not the fault of a file in it.
    check_directory(&cwd)?;
    if !args.dry_run {
        check_open_files(1)?;
    }
    let config = LayeredConfig::load(env, &cwd, &[])?;
    super::config::show_warnings(&config);
    let agent = agent.unwrap_or_else(|| choose_agent(&cwd, env, &config));
    if args.idle_timeout.is_some() && args.output == OutputFormat::Text {
        return Err(CommandFailure::bad_usage(
            "--idle-timeout hears nothing of a run whose output passes through",
            "add --output json or stream-json, or use --timeout",
        ));
    }
    // Events come of a run that ends by itself.
    args.print |= args.output != OutputFormat::Text;
    let gathered = gather_input(agent, &args, StandardTerminals::of_this_process())?;
    let requested = requested_delivery(&config);
    let (dry_run, fail_on_denial) = (args.dry_run, args.fail_on_denial);
    if args.trust_repo && !dry_run {
        // The agent's own flag may lead it to another repository, of which it would start things too.
        let words: Vec<_> = gathered.before_verb.iter().chain(&gathered.extra).cloned().collect();
        for directory in working_directories(agent, &cwd, &words) {
            super::config::trust_acting_files(env, &directory, &cwd)?;
        }
    }
    let output = args.output;
    let deadlines = Deadlines { startup: None, idle: args.idle_timeout, total: args.timeout };
    let wanted = EventOptions { raw: args.include_raw, fail_on_denial };
    let guard = if args.no_hooks {
        None
    } else {
        Some(own_program().map_err(|error| {
            CommandFailure::from_io_error("the guard's program could not be found", &error)
        })?)
    };
    let GatheredInput { prompt, mode, before_verb, extra, passthrough } = gathered;
    if passthrough && output != OutputFormat::Text {
        return Err(CommandFailure::bad_usage(
            "the agent's own command has no events",
            "leave --output out, or give a prompt",
        ));
    }
    // Whether such a prompt reached a model is only in the stream.
    let is_command = output == OutputFormat::Text
        && mode == RunMode::Headless
        && prompt
            .as_deref()
            .is_some_and(|prompt| agent_profile(agent).own_commands.command_word(prompt).is_some());
    let task = if passthrough {
        LaunchTask::Passthrough(extra)
    } else {
        LaunchTask::Prompt {
            prompt,
            requested,
            options: AgentRunOptions {
                stream: output != OutputFormat::Text || is_command,
                ..launch_options(args)?
            },
            before_verb,
            extra,
        }
    };
    let plan = plan_launch(LaunchRequest { agent, installed: None, mode, task, guard, cwd }, env, &config)?;
    show_notices(&plan.notices);
    if dry_run {
        ui::print_data(&dry_run::render_plan(&plan))?;
        return Ok(0);
    }
    if output != OutputFormat::Text || is_command {
        return events::run_events(
            plan,
            LaunchStreams { deadlines, ..LaunchStreams::default() },
            wanted,
            output,
            env,
        );
    }
    // A run that would wait for a person's login is seen by what it prints.
    let profile = agent_profile(agent);
    let may_ask_for_login = mode == RunMode::Headless
        && !passthrough
        && profile.login_prompt.is_some()
        && !profile.keys.iter().any(|key| env.get(key).is_some_and(|value| !value.is_empty()));
    let stdout = if may_ask_for_login { ChildOutput::Stream } else { ChildOutput::Inherit };
    let report = build_runtime()?.block_on(async {
        let streams = LaunchStreams { deadlines, stdout, ..LaunchStreams::default() };
        let (launched, notices) = start(plan, LaunchHosting::Binary, streams).await?;
        show_notices(&notices);
        let mut tell = |notice| show_notices(&[notice]);
        let launched = launched.failing_on_denial(fail_on_denial);
        let report = if may_ask_for_login {
            let printer = AgentPrinter::start();
            let report = launched.wait_passing(&mut tell, &mut |bytes| printer.print(bytes)).await?;
            // Of a run that was ended, what nobody took in time is lost, as in the agent's own pipe.
            if report.end.evidence != EndEvidence::Clock {
                printer.finish()?;
            }
            report
        } else {
            launched.wait_telling(&mut tell).await?
        };
        Ok::<_, CommandFailure>(report)
    })?;
    show_notices(&report.notices);
    explain_end(&report.end, deadlines);
    Ok(report.end.code())
}

/// Prints why a run ended that the agent did not end itself, with the option that decided it.
fn explain_end(end: &RunEnd, deadlines: Deadlines) {
    let passed = match (end.evidence, end.outcome()) {
        (EndEvidence::Clock, RunOutcome::Budget) => deadlines.total.map(|limit| (limit, "", "--timeout")),
        (EndEvidence::Clock, RunOutcome::Stalled) => {
            deadlines.idle.map(|limit| (limit, " without output", "--idle-timeout"))
        }
        _ => None,
    };
    if let Some((limit, what, option)) = passed {
        ui::print_note("error", format!("ended after {}{what} ({option})", describe_duration(limit)));
    } else if end.event.kind == Some(FailKind::Auth) {
        ui::print_note("error", end.reason());
    }
}

fn show_notices(notices: &[LaunchNotice]) {
    for notice in notices {
        ui::print_note("warning", notice);
    }
}

fn launch_options(args: LaunchArgs) -> Result<AgentRunOptions, CommandFailure> {
    Ok(AgentRunOptions {
        model: args.model,
        resume: args.resume,
        continue_latest: args.continue_latest,
        add_dirs: args.add_dir,
        mcp_configs: args.mcp_config,
        append_system_prompt: args
            .append_system_prompt
            .map(|text| utf8_text(text, "--append-system-prompt"))
            .transpose()?,
        permissions: args.permissions.map(Into::into),
        ..AgentRunOptions::default()
    })
}
