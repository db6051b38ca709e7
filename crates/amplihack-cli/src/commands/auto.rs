//! `amplihack auto`, and `--auto` on the verbs of agents.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_agent::lookup::on_path;
use amplihack_config::LayeredConfig;

use amplihack_config::env::Env;
use amplihack_config::launcher_context::SessionId;
use amplihack_hooks::registration::HookProgram;
use amplihack_launcher::{check_directory, own_program};
use amplihack_orchestration::budget::SharedBudget;
use amplihack_orchestration::race::RaceStatus;
use amplihack_orchestration::worktree::WorktreeOptions;
use amplihack_orchestration::{
    AutoError, AutoProgress, AutoRunContext, AutoRunSpec, RunExtension, append::append_message, begin_run,
    completed_summary, journal, resume_run,
};
use amplihack_session::InterruptSignals;
use amplihack_sys::error::ExitKind;

use crate::cli::{AgentRunArgs, AutoArgs, AutoCommand, LaunchArgs, OutputFormat, UnattendedArgs};
use crate::commands::{build_runtime, check_open_files, choose_agent, current_dir};
use crate::input::{StandardTerminals, gather_input, task_text, utf8_text};
use crate::ui::{self, CommandFailure};

pub(super) mod display;

use display::ProgressDisplay;

/// Interval at which a person sees the time advance.
const TICK: Duration = Duration::from_secs(1);

/// Runs the command and returns the exit code.
pub(crate) fn run_auto_command(args: AutoArgs, env: &Env) -> Result<u8, CommandFailure> {
    let AutoArgs { command, agent, task, task_file, resume, running, unattended } = args;
    if let Some(AutoCommand::Append { id, text }) = command {
        let home = env.amplihack_home().ok_or(AutoError::NoHome)?;
        let id = append_message(&home, &id, &text)?;
        ui::print_note("appended", format_args!("the next turn of {id} is told"));
        return Ok(0);
    }
    // Before anything is written: no signal is missed from here to the end.
    let interrupts = InterruptSignals::listen_from_now();
    if let Some(id) = resume {
        return continue_run(&id, running, unattended, env, interrupts);
    }
    let house = UnattendedContext::for_current_dir(env, interrupts)?;
    let task = match (task, task_file) {
        (Some(task), _) => utf8_text(task, "the task")?,
        (None, Some(path)) => task_text(&path)?,
        (None, None) => {
            return Err(CommandFailure::bad_usage(
                "there is no task",
                "give --task TEXT or --task-file FILE, or --resume ID",
            ));
        }
    };
    let agent = agent.unwrap_or_else(|| house.agent_here());
    house.begin_run(house.run_spec(agent, task, &running, unattended)?, running.json)
}

/// `--auto` on the verb of an agent, or of the one in charge.
pub(crate) fn launch_unattended(
    agent: Option<AgentBinary>,
    mut args: LaunchArgs,
    env: &Env,
) -> Result<u8, CommandFailure> {
    let house = UnattendedContext::for_current_dir(env, InterruptSignals::listen_from_now())?;
    let agent = agent.unwrap_or_else(|| house.agent_here());
    args.print = true;
    let gathered = gather_input(agent, &args, StandardTerminals::of_this_process())?;
    let Some(task) = gathered.prompt else {
        return Err(CommandFailure::bad_usage(
            "--auto needs a prompt",
            "give it after --, with --prompt or with --prompt-file",
        ));
    };
    // Refused, not dropped: an unattended run builds the arguments of each turn itself, and these would not be among them.
    let foreign = [
        (!gathered.extra.is_empty() || !gathered.before_verb.is_empty(), "arguments of the agent's own"),
        (args.resume.is_some() || args.continue_latest, "--resume and --continue"),
        (args.dry_run, "--dry-run"),
        (args.include_raw, "--include-raw"),
        (!args.add_dir.is_empty(), "--add-dir"),
        (!args.mcp_config.is_empty(), "--mcp-config"),
        (args.append_system_prompt.is_some(), "--append-system-prompt"),
    ];
    if let Some((_, what)) = foreign.into_iter().find(|(given, _)| *given) {
        return Err(CommandFailure::bad_usage(
            format!("{what} cannot be used with --auto"),
            "leave it out, or --auto",
        ));
    }
    let running = AgentRunArgs {
        permissions: args.permissions,
        model: args.model.map(|model| utf8_text(model, "--model")).transpose()?,
        fail_on_denial: args.fail_on_denial,
        no_hooks: args.no_hooks,
        idle_timeout: args.idle_timeout,
        json: args.output != OutputFormat::Text,
    };
    let mut unattended = args.unattended;
    unattended.deadline = unattended.deadline.or(args.timeout);
    house.begin_run(house.run_spec(agent, task, &running, unattended)?, running.json)
}

/// Continues the run that is meant by `id`, in the directory that is recorded for it; one that is complete answers with its result.
fn continue_run(
    id: &str,
    running: AgentRunArgs,
    unattended: UnattendedArgs,
    env: &Env,
    interrupts: InterruptSignals,
) -> Result<u8, CommandFailure> {
    let json = running.json;
    let extension = run_extension(running, unattended)?;
    let home = env.amplihack_home().ok_or(AutoError::NoHome)?;
    let id = journal::find_run(&home, id)?;
    let story = journal::read_run(&home, &id)?;
    if let Some(summary) = completed_summary(&id, &story) {
        ProgressDisplay::new(json, Vec::new(), env).show_progress(
            0,
            &id,
            &AutoProgress::from_summary(&summary),
        );
        if !json {
            ui::print_visible(&display::end_report(&summary))?;
        }
        return Ok(summary.end.code());
    }
    let house = UnattendedContext::for_directory(story.required_directory()?.to_owned(), env, interrupts)?;
    house.drive_run(json, UnattendedStart::Resume(id, Box::new(extension)))
}

/// Returns the limits and options that the command line of a resume gives to the run that continues.
pub(super) fn run_extension(
    running: AgentRunArgs,
    unattended: UnattendedArgs,
) -> Result<RunExtension, CommandFailure> {
    // By name, so that no option is forgotten here.
    let UnattendedArgs {
        verify,
        verify_timeout,
        no_baseline,
        strict_verify,
        expect_changes,
        max_turns,
        budget_usd,
        budget_tokens,
        deadline,
        worktree,
        worktree_dir,
        setup,
        submodules,
        commit,
        fallback,
        notify,
        max_calls,
    } = unattended;
    let AgentRunArgs { permissions, model, fail_on_denial, no_hooks, idle_timeout, json: _ } = running;
    let fixed = [
        (worktree, "--worktree"),
        (worktree_dir.is_some(), "--worktree-dir"),
        (setup.is_some(), "--setup"),
        (submodules, "--submodules"),
        (commit, "--commit"),
        (no_baseline, "--no-baseline"),
        (strict_verify, "--strict-verify"),
        (expect_changes, "--expect-changes"),
        (fallback.is_some(), "--fallback"),
        (notify.is_some(), "--notify"),
        (fail_on_denial, "--fail-on-denial"),
        (no_hooks, "--no-hooks"),
    ];
    if let Some((_, option)) = fixed.into_iter().find(|(given, _)| *given) {
        return Err(CommandFailure::bad_usage(
            format!("{option} is decided when a run begins, and cannot be used with --resume"),
            "leave it out, or start a new run",
        ));
    }
    Ok(RunExtension {
        max_turns,
        tokens: budget_tokens,
        usd: budget_usd,
        deadline,
        verify_timeout,
        verify: Some(verify).filter(|commands| !commands.is_empty()),
        permissions: permissions.map(Into::into),
        model,
        silence: idle_timeout,
        max_calls,
    })
}

/// Makes sure that git is installed, before anything begins.
fn require_git(env: &Env) -> Result<(), CommandFailure> {
    let is_missing = |path: &OsStr| on_path("git", path).is_none();
    if env.get("PATH").is_some_and(is_missing) {
        let text = "git was not found on PATH; unattended runs compare the files before and after with it";
        return Err(CommandFailure::new("git_not_found", text, "install git", ExitKind::NotFound));
    }
    Ok(())
}

/// Environment, configuration, directory and guard that every unattended run of this process uses.
pub(super) struct UnattendedContext<'a> {
    pub(super) env: &'a Env,
    pub(super) config: LayeredConfig,
    pub(super) cwd: PathBuf,
    guard: HookProgram,
    interrupts: InterruptSignals,
}

impl<'a> UnattendedContext<'a> {
    /// Prepares the context in the current directory.
    pub(super) fn for_current_dir(
        env: &'a Env,
        interrupts: InterruptSignals,
    ) -> Result<Self, CommandFailure> {
        Self::for_directory(current_dir()?, env, interrupts)
    }

    /// Prepares the context in `cwd`.
    pub(super) fn for_directory(
        cwd: PathBuf,
        env: &'a Env,
        interrupts: InterruptSignals,
    ) -> Result<Self, CommandFailure> {
        check_directory(&cwd)?;
        check_open_files(1)?;
        require_git(env)?;
        let config = LayeredConfig::load(env, &cwd, &[])?;
        super::config::show_warnings(&config);
        let guard = own_program().map_err(|error| {
            CommandFailure::from_io_error("the guard's program could not be found", &error)
        })?;
        Ok(Self { env, config, cwd, guard, interrupts })
    }

    /// The agent of a run that names none.
    pub(super) fn agent_here(&self) -> AgentBinary {
        choose_agent(&self.cwd, self.env, &self.config)
    }

    /// Returns the specification of a run of `task` by `agent`. Prints once what follows from leaving out the permissions.
    pub(super) fn run_spec(
        &self,
        agent: AgentBinary,
        task: String,
        running: &AgentRunArgs,
        unattended: UnattendedArgs,
    ) -> Result<AutoRunSpec, CommandFailure> {
        if let (Some(option), false) = (unattended.worktree_only_option(), unattended.worktree) {
            return Err(CommandFailure::bad_usage(
                format!("{option} needs --worktree"),
                "add --worktree, or leave it out",
            ));
        }
        let new = AutoRunSpec::new(agent, task, self.cwd.clone());
        if new.task.trim().is_empty() {
            return Err(CommandFailure::bad_usage("the task is empty", "say what is to be done"));
        }
        let mut spec = AutoRunSpec {
            fallback: unattended.fallback,
            verify: unattended.verify,
            verify_timeout: unattended.verify_timeout.unwrap_or(new.verify_timeout),
            no_baseline: unattended.no_baseline,
            strict_verify: unattended.strict_verify,
            expect_changes: unattended.expect_changes,
            max_turns: unattended.max_turns.unwrap_or(new.max_turns),
            end_on_denial: running.fail_on_denial,
            budget: amplihack_orchestration::budget::RunBudget {
                tokens: unattended.budget_tokens,
                usd: unattended.budget_usd,
            },
            deadline: unattended.deadline,
            permissions: running.permissions.map(Into::into),
            model: running.model.clone(),
            worktree: unattended.worktree,
            worktree_options: WorktreeOptions {
                directory: unattended.worktree_dir.map(|directory| self.cwd.join(directory)),
                setup: unattended.setup,
                submodules: unattended.submodules,
                ..WorktreeOptions::default()
            },
            commit: unattended.commit,
            notify: unattended.notify,
            silence: running.idle_timeout.unwrap_or(new.silence),
            max_calls: unattended.max_calls.unwrap_or(new.max_calls),
            guarded: !running.no_hooks,
            ..new
        };
        // Last: whether a budget in dollars can be counted depends on the agents, the budget and the configured prices together.
        spec.apply_config(&self.config)?;
        Ok(spec)
    }

    /// Returns the context in which a run continues; `lane` tells it whether it may.
    pub(super) fn run_context<'b>(
        &'b self,
        board: &'b dyn Fn(&SessionId, &AutoProgress),
        lane: tokio::sync::watch::Receiver<RaceStatus>,
        shared: Option<&'b SharedBudget>,
    ) -> AutoRunContext<'b> {
        AutoRunContext {
            env: self.env,
            config: &self.config,
            guard: Some(self.guard.clone()),
            told: board,
            interrupts: self.interrupts.clone(),
            lane,
            shared,
        }
    }

    fn begin_run(&self, spec: AutoRunSpec, json: bool) -> Result<u8, CommandFailure> {
        if spec.commit && !spec.worktree {
            return Err(CommandFailure::bad_usage(
                "--commit needs --worktree: on your own branch you commit yourself",
                "add --worktree, or leave --commit out",
            ));
        }
        if spec.permissions.is_none() {
            warn_of_permissions();
        }
        self.drive_run(json, UnattendedStart::Begin(Box::new(spec)))
    }

    fn drive_run(&self, json: bool, work: UnattendedStart) -> Result<u8, CommandFailure> {
        let board = ProgressDisplay::new(json, Vec::new(), self.env);
        let told = |id: &SessionId, progress: &AutoProgress| board.show_progress(0, id, progress);
        // Nobody gives a single run up.
        let never = tokio::sync::watch::Sender::new(RaceStatus::Open);
        let place = self.run_context(&told, never.subscribe(), None);
        let run = async {
            match work {
                UnattendedStart::Begin(spec) => begin_run(place, *spec).await,
                UnattendedStart::Resume(id, extension) => resume_run(place, id, *extension).await,
            }
        };
        let summary = build_runtime()?.block_on(await_with_ticks(&board, run))?;
        if !json {
            ui::print_visible(&display::end_report(&summary))?;
        }
        super::telemetry::report_run(summary.id.as_str(), self.env);
        Ok(summary.end.code())
    }
}

/// A run to drive: a new one, or one to resume.
enum UnattendedStart {
    Begin(Box<AutoRunSpec>),
    Resume(SessionId, Box<RunExtension>),
}

/// Without leave most agents write nothing; that is said once.
pub(in crate::commands) fn warn_of_permissions() {
    ui::print_note(
        "warning",
        "no --permissions: the agent's own default applies, with which most agents write nothing; use --permissions edit or full",
    );
}

/// Awaits `work` while the display shows that time advances.
pub(super) async fn await_with_ticks<T>(board: &ProgressDisplay, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(TICK), if board.is_live() => board.redraw_lines(),
        }
    }
}
