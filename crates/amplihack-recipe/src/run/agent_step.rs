//! A step's agent: by the launcher of this project with its stream of events, or by another launcher as a plain program.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use amplihack_agent::command::relay::{RelayRun, relay_args};
use amplihack_agent::event::{EndEvent, FailKind, RunEndSummary, RunOutcome, UsageTotals};
use amplihack_agent::{
    AgentBinary, AgentCapability, AgentEvent, AgentRunOptions, Installed, PermissionLevel, RunMode,
    agent_profile,
};
use amplihack_config::LayeredConfig;
use amplihack_config::launcher_context::SessionId;
use amplihack_config::prompt_delivery::PromptDelivery;
use amplihack_hooks::registration::HookProgram;
use amplihack_launcher::discover::{VersionSource, discover_agent};
use amplihack_launcher::live::LiveUsage;
use amplihack_launcher::{
    EventOptions, LaunchHosting, LaunchNotice, LaunchReport, LaunchRequest, LaunchStreams, LaunchTask,
    LaunchedEvents, plan_launch, start_events,
};
use amplihack_session::journal::JournaledRun;
use amplihack_session::step::StepProgram;
use amplihack_session::{Deadlines, EndEvidence, RunEnd, RunError};
use amplihack_sys::Signal;
use amplihack_sys::push_text;
use jiff::Timestamp;
use tokio::sync::watch;

use super::bounds::RecipeBounds;
use super::process::{self, FinishedRecipeTask};
use super::{AgentAnswer, RecipeRunResources, RecipeTask, ScriptOutput, StepAgentQuestion, TaskResult};
use crate::journal::RecipeRunEntry;

/// The way by which agents are launched.
pub enum AgentDoor {
    /// As the predecessor did: another program takes the agent's arguments behind `--`.
    Launcher(StepLauncherProgram),
    /// By this project's launcher.
    Own(Box<StepLaunchConfig>),
}

/// A program that launches agents: `PROGRAM AGENT -- ARGS`.
#[derive(Debug, Clone)]
pub struct StepLauncherProgram {
    /// The program.
    pub program: OsString,
    /// The agent.
    pub agent: AgentBinary,
    /// The agent may use its tools without asking.
    pub allow_tools: bool,
}

/// The settings with which agents are launched.
pub struct StepLaunchConfig {
    /// The agent.
    pub agent: AgentBinary,
    /// The configuration.
    pub config: LayeredConfig,
    /// The permissions of the agent to act without asking.
    pub permissions: Option<PermissionLevel>,
    /// The program that answers the guard's hooks; `None` leaves the guard out.
    pub guard: Option<HookProgram>,
    /// The requested delivery of prompts.
    pub requested: PromptDelivery,
    /// The role of this process toward the agents' runs.
    pub hosting: LaunchHosting,
    /// The agent's program, once it was discovered.
    installed: OnceCell<Installed>,
}

impl StepLaunchConfig {
    /// Launches of `agent` without a guard and with the agent's own permissions.
    pub fn new(agent: AgentBinary, config: LayeredConfig) -> Self {
        Self {
            agent,
            config,
            permissions: None,
            guard: None,
            requested: PromptDelivery::Auto,
            hosting: LaunchHosting::Binary,
            installed: OnceCell::new(),
        }
    }
}

impl AgentDoor {
    /// The agent's name.
    pub fn agent(&self) -> AgentBinary {
        match self {
            Self::Launcher(launcher) => launcher.agent,
            Self::Own(own) => own.agent,
        }
    }
}

/// The instruction that every agent of a recipe gets by the predecessor's door.
const NO_REENTRY: &str = "You are one step of a recipe that is already running. Do this step yourself: do not start recipes, \
                              workflows or orchestrators, and do not launch further agents unless the step says so.";

/// The end of each prompt by the predecessor's door.
const ALONE: &str = "\n\nWork on your own: nobody can answer questions. Decide, and report what you decided.";

/// Interval between looks at the usage that an agent does not report in its stream.
const LOOK: Duration = Duration::from_millis(200);

/// The longest prompt that is an argument, with its system prompt.
const ARGUMENT: usize = 100_000;

pub(super) async fn ask_agent(
    world: &RecipeRunResources,
    task: &RecipeTask,
    ask: &StepAgentQuestion,
    stop: watch::Receiver<Option<Signal>>,
) -> FinishedRecipeTask {
    match &world.door {
        AgentDoor::Launcher(launcher) => run_by_launcher(world, launcher, task, ask, stop).await,
        AgentDoor::Own(own) => run_by_own(world, own, task, ask).await.into(),
    }
}

async fn run_by_launcher(
    world: &RecipeRunResources,
    launcher: &StepLauncherProgram,
    task: &RecipeTask,
    ask: &StepAgentQuestion,
    stop: watch::Receiver<Option<Signal>>,
) -> FinishedRecipeTask {
    let adopted = task.adopt.as_deref().and_then(|name| process::adopt_program(world, name));
    let mut files = process::RecipeStepFiles::default();
    let mut ran: FinishedRecipeTask = match adopted {
        Some(ended) => ended.into(),
        None => match launcher_program(world, launcher, task, ask, &mut files) {
            Ok(program) => process::run_program(world, &task.name, &program, ask.timeout, stop).await,
            Err(error) => TaskResult::NotStarted(error).into(),
        },
    };
    if let TaskResult::Script(end) = ran.ended {
        let answer = answer_from_output(launcher, ask, end);
        for message in &answer.warnings {
            world.note_entry(RecipeRunEntry::Warning { path: task.path.clone(), message: message.clone() });
        }
        ran.ended = TaskResult::Agent(Box::new(answer));
    } else if let TaskResult::NotStarted(error) = ran.ended {
        let program = launcher.program.display();
        ran.ended =
            TaskResult::NotStarted(format!("agent step failed: {program} {}: {error}", launcher.agent));
    }
    ran
}

fn launcher_program(
    world: &RecipeRunResources,
    launcher: &StepLauncherProgram,
    task: &RecipeTask,
    ask: &StepAgentQuestion,
    files: &mut process::RecipeStepFiles,
) -> Result<StepProgram, String> {
    let system = match &ask.definition {
        Some(definition) => format!("{definition}\n\n{NO_REENTRY}"),
        None => NO_REENTRY.to_owned(),
    };
    let asked = agent_profile(launcher.agent).own_commands.to_literal(&ask.prompt);
    let mut prompt = format!("{asked}{ALONE}").replace('\0', "");
    if prompt.len() + system.len() > ARGUMENT {
        // No argument holds it.
        let path = files
            .write(world, &format!("{}.prompt.md", task.name), prompt.as_bytes())
            .map_err(|error| format!("the prompt cannot be written to a file: {error}"))?;
        prompt =
            format!("Your task is in the file {}. Read all of it, then do what it says.", path.display());
    }
    let cwd = ask.cwd.canonicalize().unwrap_or_else(|_| ask.cwd.clone());
    let args = relay_args(RelayRun {
        agent: launcher.agent,
        prompt: &prompt,
        system: &system,
        cwd: &cwd,
        model: ask.model.as_deref(),
        allow_tools: launcher.allow_tools,
    })
    .map_err(|error| error.to_string())?;
    Ok(StepProgram {
        path: PathBuf::from(&launcher.program),
        arguments: [launcher.agent.name().into(), "--".into()].into_iter().chain(args).collect(),
        environment: world.scripts.clone().into(),
        directory: ask.cwd.clone(),
    })
}

/// Builds the answer from the output of a launcher's program.
fn answer_from_output(
    launcher: &StepLauncherProgram,
    ask: &StepAgentQuestion,
    end: ScriptOutput,
) -> AgentAnswer {
    let who = format!("{} {}", launcher.program.display(), launcher.agent);
    let failed = if end.timed_out {
        let limit = ask.timeout.map(|limit| format!(" after {}s", limit.as_secs())).unwrap_or_default();
        Some(format!("agent step failed: {who} timed out{limit}"))
    } else {
        match end.exit {
            Some(exit) if exit.is_success() => None,
            Some(exit) => Some(format!("agent step failed: {who} failed (exit {}, {exit})", exit.code())),
            None => Some(format!("agent step failed: it is unknown how {who} ended")),
        }
    };
    // There are no events of it: that a limit stopped the agent is known only by its text.
    let kind = if end.timed_out || !says_rate_limit(&end.error, &end.output) {
        FailKind::Exit
    } else {
        FailKind::RateLimit
    };
    let mut run = match &failed {
        None => RunEnd::new(EndEvent::of_success(RunEndSummary::default()), EndEvidence::Exit),
        Some(reason) if end.timed_out => RunEnd::from_outcome(RunOutcome::Budget, reason, EndEvidence::Clock),
        Some(reason) => RunEnd::new(EndEvent::bare_failure(kind, reason), EndEvidence::Exit),
    };
    run.event.summary.exit = end.exit;
    let failure = failed.map(|mut text| {
        for (name, said) in
            [("stdout", text_tail(&end.output, 2000)), ("stderr", text_tail(&end.error, 4000))]
        {
            if !said.trim().is_empty() {
                push_text!(text, "\n--- {name} (tail) ---\n{}", said.trim_end());
            }
        }
        text
    });
    AgentAnswer {
        agent: launcher.agent.name().to_owned(),
        text: if failure.is_some() { String::new() } else { end.output },
        text_bytes: end.output_bytes,
        failure,
        session: None,
        run,
        warnings: end.warnings,
    }
}

fn text_tail(text: &str, bytes: usize) -> &str {
    text.get(text.floor_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or_default()
}

/// Reports whether a program that only prints text met a rate limit: by the words that agents use for it, near its end.
fn says_rate_limit(error: &str, output: &str) -> bool {
    let says = |line: &str| {
        let line = line.to_lowercase();
        let status = [
            "http 429",
            "http/1.1 429",
            "http/2 429",
            "status 429",
            "status: 429",
            "status code 429",
            "error 429",
            "error: 429",
        ];
        let words = ["rate limit", "rate_limit_error", "too many requests", "usage limit reached"];
        status.iter().chain(&words).any(|phrase| line.contains(phrase))
    };
    error.lines().any(says) || output.lines().rev().take(5).any(says)
}

async fn run_by_own(
    world: &RecipeRunResources,
    own: &StepLaunchConfig,
    task: &RecipeTask,
    ask: &StepAgentQuestion,
) -> TaskResult {
    if let Some(end) = task.adopt.as_deref().and_then(|session| adopt_session(world, own, session)) {
        return TaskResult::Agent(Box::new(end));
    }
    match Box::pin(launch_agent(world, own, task, ask)).await {
        Ok(ended) => ended,
        Err(error) => TaskResult::NotStarted(format!("agent step failed: {error}")),
    }
}

/// The end of a session that an earlier runner began, if its journal has one.
fn adopt_session(world: &RecipeRunResources, own: &StepLaunchConfig, session: &str) -> Option<AgentAnswer> {
    let home = world.env.amplihack_home()?;
    let found = JournaledRun::read(&home, &SessionId::parse(session).ok()?).ok()??;
    let end = found.record.end?;
    end.is_success().then(|| answer_from_end(own, end, session))
}

async fn launch_agent(
    world: &RecipeRunResources,
    own: &StepLaunchConfig,
    task: &RecipeTask,
    ask: &StepAgentQuestion,
) -> Result<TaskResult, String> {
    let env = &world.agents;
    let installed = if let Some(installed) = own.installed.get() {
        installed.clone()
    } else {
        let found = discover_agent(own.agent, env, &own.config, VersionSource::Cached)
            .map_err(|error| error.to_string())?;
        own.installed.get_or_init(|| found).clone()
    };
    // One that reads no system prompt from a file finds the definition in front of its prompt: a command line is for everybody to read.
    let takes = installed.can(AgentCapability::AppendSystemPromptFile, RunMode::Headless).is_ok();
    let (prompt, system) = match &ask.definition {
        Some(definition) if takes => (ask.prompt.clone(), Some(definition.replace('\0', ""))),
        Some(definition) => (format!("{definition}\n\n{}", ask.prompt), None),
        None => (ask.prompt.clone(), None),
    };
    let budget = world.bounds.as_deref().filter(|bounds| bounds.is_budget_set());
    let dollars = budget.and_then(RecipeBounds::dollars_left);
    let keeps = installed.can(AgentCapability::BudgetUsd, RunMode::Headless).is_ok();
    let request = LaunchRequest {
        agent: own.agent,
        installed: Some(installed),
        mode: RunMode::Headless,
        task: LaunchTask::Prompt {
            prompt: Some(prompt),
            requested: own.requested,
            options: AgentRunOptions {
                model: ask.model.as_ref().map(OsString::from),
                append_system_prompt: system,
                permissions: own.permissions,
                stream: true,
                // A value of a recipe is data.
                literal: true,
                off_command_line: true,
                live_usage: budget.is_some(),
                budget_usd: dollars.filter(|_| keeps).map(|dollars| format!("{dollars:.6}")),
                ..AgentRunOptions::default()
            },
            before_verb: Vec::new(),
            extra: Vec::new(),
        },
        guard: own.guard.clone(),
        cwd: ask.cwd.clone(),
    };
    let ours = world.directory.join(format!("{}.spans.jsonl", task.name));
    let live = LiveUsage::new(own.agent, env, &ours, Timestamp::now(), UsageTotals::default());
    let env = if budget.is_some() { &live.prepare_env(env) } else { env };
    let mut plan = plan_launch(request, env, &own.config).map_err(|error| error.to_string())?;
    plan.interrupts = Some(world.interrupts.clone());
    plan.record = Some(world.spool.process_list().map_err(|error| error.to_string())?);
    // Told at once: whoever waits for a long step knows by then that nothing guards it.
    let tell = |notices: &[LaunchNotice]| {
        let told: Vec<String> = notices.iter().map(ToString::to_string).collect();
        for message in &told {
            world.note_entry(RecipeRunEntry::Warning { path: task.path.clone(), message: message.clone() });
        }
        told
    };
    // Said once for the whole run, by whoever read the configuration; in the result of each step that it concerns.
    let mut warnings: Vec<String> = own.config.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(tell(&std::mem::take(&mut plan.notices)));
    let deadlines = Deadlines { total: ask.timeout, ..Deadlines::default() };
    let streams = LaunchStreams { deadlines, ..LaunchStreams::default() };
    let wanted = EventOptions { raw: false, fail_on_denial: false };
    let (launched, more) =
        start_events(plan, own.hosting, streams, wanted).await.map_err(|error| error.to_string())?;
    warnings.extend(tell(&more));
    let session = launched.session().to_string();
    world.note_entry(RecipeRunEntry::Session {
        path: task.path.clone(),
        agent: own.agent.name().to_owned(),
        session: session.clone(),
    });
    let mut report = match budget {
        None => launched.finish_run().await,
        Some(bounds) => Box::pin(run_within_bounds(launched, live, bounds)).await,
    }
    .map_err(|error| error.to_string())?;
    // There need not be one.
    let _ = std::fs::remove_file(ours);
    if let Some(bounds) =
        world.bounds.as_deref().filter(|bounds| bounds.is_late() && !report.end.is_success())
    {
        let reason = "the deadline of the run has passed".to_owned();
        bounds.record_end(&reason);
        report.end.settle_outcome(RunOutcome::Deadline, reason, EndEvidence::Clock);
    }
    warnings.extend(tell(&report.notices));
    if report.end.signal.is_some() {
        return Ok(TaskResult::Interrupted);
    }
    Ok(TaskResult::Agent(Box::new(AgentAnswer { warnings, ..answer_from_end(own, report.end, &session) })))
}

/// Watches an agent to its end, which comes when the run's budget is used up.
async fn run_within_bounds(
    mut launched: LaunchedEvents,
    mut live: LiveUsage,
    bounds: &RecipeBounds,
) -> Result<LaunchReport, RunError> {
    let session = launched.session().to_string();
    let (mut agent_session, mut stop) = (None, None);
    // It has said its last word: there is nothing left to interrupt.
    let mut through = false;
    loop {
        let event = tokio::select! {
            event = launched.next() => Some(event?),
            () = tokio::time::sleep(LOOK), if stop.is_none() => None,
        };
        match event {
            Some(None) => break,
            Some(Some(envelope)) => {
                through = match &envelope.event {
                    AgentEvent::Usage(usage) => usage.total,
                    AgentEvent::End(_) => true,
                    AgentEvent::Text(_) | AgentEvent::ToolCall(_) | AgentEvent::TurnStarted(_) => false,
                    _ => through,
                };
                live.observe_event(&envelope.event);
                if let AgentEvent::Started(started) = &envelope.event {
                    agent_session = started.agent_session.clone().or(agent_session);
                }
            }
            None => {}
        }
        if stop.is_none() && !through {
            stop = bounds
                .reached_bound(&session, &live.current_usage(agent_session.as_deref(), launched.usage()));
            if stop.is_some() {
                launched.interrupt_agent()?;
            }
        }
    }
    let used = live.final_usage(agent_session.as_deref(), launched.usage());
    let mut report = launched.finish_run().await?;
    report.end.usage = bounds.record_use(&session, &used);
    if stop.is_some() {
        // It was this process that interrupted the agent, and no signal.
        report.end.signal = None;
    }
    if let Some(reason) = stop.filter(|_| !report.end.is_success()) {
        bounds.record_end(&reason);
        report.end.settle_outcome(RunOutcome::Budget, reason, EndEvidence::Usage);
    } else if report.end.outcome() == RunOutcome::Budget {
        bounds.record_end(report.end.reason());
    }
    Ok(report)
}

fn answer_from_end(own: &StepLaunchConfig, mut run: RunEnd, session: &str) -> AgentAnswer {
    let failure = (!run.is_success()).then(|| {
        let stderr = String::from_utf8_lossy(&run.stderr.bytes);
        let said = text_tail(&stderr, 4000).trim();
        let timed_out = if run.outcome() == RunOutcome::Budget && run.evidence == EndEvidence::Clock {
            "timed out: "
        } else {
            ""
        };
        let reason = run.reason();
        let mut text = format!("agent step failed: {} {}: {timed_out}{reason}", own.agent, run.name());
        if !said.is_empty() && !reason.contains(said) {
            push_text!(text, "\n--- stderr (tail) ---\n{said}");
        }
        text
    });
    // Kept once: as the step's output.
    let text = run.event.summary.text.take().map(|text| text.trim().to_owned()).unwrap_or_default();
    AgentAnswer {
        agent: own.agent.name().to_owned(),
        text,
        text_bytes: None,
        failure,
        session: Some(session.to_owned()),
        run,
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::says_rate_limit;

    #[test]
    fn a_rate_limit_is_what_agents_say_and_not_a_line_number() {
        for line in [
            "You've hit your rate limit, reset in 3 minutes",
            "HTTP 429 Too Many Requests",
            "API error: status 429",
        ] {
            assert!(says_rate_limit(line, ""), "{line}");
            assert!(says_rate_limit("", line), "{line}");
        }
        for line in ["src/main.rs:1429: error", "429 tests passed", "reset in 3", "error[E0429]"] {
            assert!(!says_rate_limit(line, line), "{line}");
        }
    }
}
