//! `amplihack <agent>` and `amplihack launch`.

use std::path::PathBuf;

use amplihack_agent::{AgentBinary, Options, RunMode, profile};
use amplihack_launcher::doctor::requested;
use amplihack_launcher::{
    Hosting, LaunchRequest, Notice, Streams, Task, Wanted, enterable, own_program, plan, start,
};
use amplihack_session::Deadlines;
use amplihack_utils::agent_binary::{System, resolve_in};
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;

use crate::cli::{LaunchArgs, OutputFormat};
use crate::commands::{current_dir, runtime};
use crate::input::{Gathered, Terminals, gather, utf8};
use crate::ui::{self, Failure};

mod dry_run;
mod events;

/// Launches `agent`, or the agent in charge, and returns its exit code.
pub(crate) fn run(agent: Option<AgentBinary>, args: LaunchArgs, env: &Env) -> Result<u8, Failure> {
    if args.auto {
        return super::auto::launch(agent, args, env);
    }
    run_in(current_dir()?, agent, args, env)
}

/// The same in `cwd`, and not by `auto`.
pub(crate) fn run_in(
    cwd: PathBuf,
    agent: Option<AgentBinary>,
    mut args: LaunchArgs,
    env: &Env,
) -> Result<u8, Failure> {
    if args.auto {
        return Err(Failure::usage(
            "--auto cannot be used here",
            "`amplihack auto --resume` continues an unattended run",
        ));
    }
    if args.unattended.is_set() {
        return Err(Failure::usage(
            "options of unattended runs need --auto",
            "add --auto, or leave --verify, --max-turns, the budgets and the rest of them out",
        ));
    }
    // Before the configuration: a directory without rights is not the fault of a file in it.
    enterable(&cwd)?;
    let config = Config::load(env, &cwd, &[])?;
    super::config::show_warnings(&config);
    let agent =
        agent.unwrap_or_else(|| resolve_in(&cwd, env, &System::new(env), jiff::Timestamp::now()).agent);
    if args.idle_timeout.is_some() && args.output == OutputFormat::Text {
        return Err(Failure::usage(
            "--idle-timeout hears nothing of a run whose output passes through",
            "add --output json or stream-json, or use --timeout",
        ));
    }
    // Events come of a run that ends by itself.
    args.print |= args.output != OutputFormat::Text;
    let gathered = gather(agent, &args, Terminals::of_this_process())?;
    let requested = requested(&config);
    let (dry_run, fail_on_denial) = (args.dry_run, args.fail_on_denial);
    let output = args.output;
    let deadlines = Deadlines { startup: None, idle: args.idle_timeout, total: args.timeout };
    let wanted = Wanted { raw: args.include_raw, fail_on_denial };
    let guard = if args.no_hooks {
        None
    } else {
        Some(
            own_program()
                .map_err(|error| Failure::system("the guard's program could not be found", &error))?,
        )
    };
    let Gathered { prompt, mode, before_verb, extra, passthrough } = gathered;
    if passthrough && output != OutputFormat::Text {
        return Err(Failure::usage(
            "the agent's own command has no events",
            "leave --output out, or give a prompt",
        ));
    }
    // Whether such a prompt reached a model is only in the stream.
    let is_command = output == OutputFormat::Text
        && mode == RunMode::Headless
        && prompt.as_deref().is_some_and(|prompt| profile(agent).own_commands.word(prompt).is_some());
    let task = if passthrough {
        Task::Passthrough(extra)
    } else {
        Task::Prompt {
            prompt,
            requested,
            options: Options { stream: output != OutputFormat::Text || is_command, ..options(args)? },
            before_verb,
            extra,
        }
    };
    let plan = plan(LaunchRequest { agent, installed: None, mode, task, guard, cwd }, env, &config)?;
    show(&plan.notices);
    if dry_run {
        ui::data(&dry_run::render(&plan))?;
        return Ok(0);
    }
    if output != OutputFormat::Text || is_command {
        return events::run(plan, Streams { deadlines, ..Streams::default() }, wanted, output, env);
    }
    let report = runtime()?.block_on(async {
        let streams = Streams { deadlines, ..Streams::default() };
        let (launched, notices) = start(plan, Hosting::Binary, streams).await?;
        show(&notices);
        Ok::<_, Failure>(launched.failing_on_denial(fail_on_denial).wait().await?)
    })?;
    show(&report.notices);
    Ok(report.end.code())
}

fn show(notices: &[Notice]) {
    for notice in notices {
        ui::note("warning", notice);
    }
}

fn options(args: LaunchArgs) -> Result<Options, Failure> {
    Ok(Options {
        model: args.model,
        resume: args.resume,
        continue_latest: args.continue_latest,
        add_dirs: args.add_dir,
        mcp_configs: args.mcp_config,
        append_system_prompt: args
            .append_system_prompt
            .map(|text| utf8(text, "--append-system-prompt"))
            .transpose()?,
        permissions: args.permissions.map(Into::into),
        ..Options::default()
    })
}
