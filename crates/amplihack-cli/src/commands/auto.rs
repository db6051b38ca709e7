//! `amplihack auto`, and `--auto` on the verbs of agents.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_hooks::registration::Program;
use amplihack_launcher::{enterable, own_program};
use amplihack_orchestration::budget::SharedBudget;
use amplihack_orchestration::race::Lane;
use amplihack_orchestration::worktree::WorktreeOptions;
use amplihack_orchestration::{
    AutoError, Place, Progress, RunExtension, Spec, append::append, begin, complete, journal, resume,
};
use amplihack_session::Interrupts;
use amplihack_utils::agent_binary::{System, resolve_in};
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::launcher_context::SessionId;

use crate::cli::{AutoArgs, AutoCommand, LaunchArgs, OutputFormat, Running, Unattended};
use crate::commands::{current_dir, runtime};
use crate::input::{Terminals, gather, task_text, utf8};
use crate::ui::{self, Failure};

pub(super) mod board;

use board::Board;

/// How often a person sees the time go on.
const TICK: Duration = Duration::from_secs(1);

/// Runs the command and returns the exit code.
pub(crate) fn run(args: AutoArgs, env: &Env) -> Result<u8, Failure> {
    let AutoArgs { command, agent, task, task_file, resume, running, unattended } = args;
    if let Some(AutoCommand::Append { id, text }) = command {
        let home = env.amplihack_home().ok_or(AutoError::NoHome)?;
        let id = append(&home, &id, &text)?;
        ui::note("appended", format_args!("the next turn of {id} is told"));
        return Ok(0);
    }
    // Before anything is written: no signal is missed from here to the end.
    let interrupts = Interrupts::listen();
    if let Some(id) = resume {
        return continued(&id, running, unattended, env, interrupts);
    }
    let house = House::open(env, interrupts)?;
    let task = match (task, task_file) {
        (Some(task), _) => utf8(task, "the task")?,
        (None, Some(path)) => task_text(&path)?,
        (None, None) => {
            return Err(Failure::usage(
                "there is no task",
                "give --task TEXT or --task-file FILE, or --resume ID",
            ));
        }
    };
    let agent = agent.unwrap_or_else(|| house.in_charge());
    house.work(house.spec(agent, task, &running, unattended)?, running.json)
}

/// `--auto` on the verb of an agent, or of the one in charge.
pub(crate) fn launch(agent: Option<AgentBinary>, mut args: LaunchArgs, env: &Env) -> Result<u8, Failure> {
    let house = House::open(env, Interrupts::listen())?;
    let agent = agent.unwrap_or_else(|| house.in_charge());
    args.print = true;
    let gathered = gather(agent, &args, Terminals::of_this_process())?;
    let Some(task) = gathered.prompt else {
        return Err(Failure::usage(
            "--auto needs a prompt",
            "give it after --, with --prompt or with --prompt-file",
        ));
    };
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
        return Err(Failure::usage(format!("{what} cannot be used with --auto"), "leave it out, or --auto"));
    }
    let running = Running {
        permissions: args.permissions,
        model: args.model.map(|model| utf8(model, "--model")).transpose()?,
        fail_on_denial: args.fail_on_denial,
        no_hooks: args.no_hooks,
        idle_timeout: args.idle_timeout,
        json: args.output != OutputFormat::Text,
    };
    let mut unattended = args.unattended;
    unattended.deadline = unattended.deadline.or(args.timeout);
    house.work(house.spec(agent, task, &running, unattended)?, running.json)
}

/// Continues the run that is meant by `id`, in the directory that is recorded for it; one that is complete answers with its result.
fn continued(
    id: &str,
    running: Running,
    unattended: Unattended,
    env: &Env,
    interrupts: Interrupts,
) -> Result<u8, Failure> {
    let json = running.json;
    let extension = extension(running, unattended)?;
    let home = env.amplihack_home().ok_or(AutoError::NoHome)?;
    let id = journal::find(&home, id)?;
    let story = journal::read(&home, &id)?;
    if let Some(summary) = complete(&id, &story) {
        Board::new(json, Vec::new(), env).take(0, &id, &Progress::ended(&summary));
        if !json {
            ui::shown(&board::told_at_the_end(&summary))?;
        }
        return Ok(summary.end.code());
    }
    let house = House::at(story.required_directory()?.to_owned(), env, interrupts)?;
    house.drive(json, Work::Resume(id, Box::new(extension)))
}

/// What a run that continues gets on the command line of its resume.
pub(super) fn extension(running: Running, unattended: Unattended) -> Result<RunExtension, Failure> {
    // By name, so that no option is forgotten here.
    let Unattended {
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
    let Running { permissions, model, fail_on_denial, no_hooks, idle_timeout, json: _ } = running;
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
        return Err(Failure::usage(
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

/// What every unattended run of this process stands on.
pub(super) struct House<'a> {
    pub(super) env: &'a Env,
    pub(super) config: Config,
    pub(super) cwd: PathBuf,
    guard: Program,
    interrupts: Interrupts,
}

impl<'a> House<'a> {
    /// The house in the current directory.
    pub(super) fn open(env: &'a Env, interrupts: Interrupts) -> Result<Self, Failure> {
        Self::at(current_dir()?, env, interrupts)
    }

    /// The house in `cwd`.
    pub(super) fn at(cwd: PathBuf, env: &'a Env, interrupts: Interrupts) -> Result<Self, Failure> {
        enterable(&cwd)?;
        let config = Config::load(env, &cwd, &[])?;
        super::config::show_warnings(&config);
        let guard = own_program()
            .map_err(|error| Failure::system("the guard's program could not be found", &error))?;
        Ok(Self { env, config, cwd, guard, interrupts })
    }

    /// The agent that is in charge here.
    pub(super) fn in_charge(&self) -> AgentBinary {
        resolve_in(&self.cwd, self.env, &System::new(self.env), jiff::Timestamp::now()).agent
    }

    /// What a run of `task` by `agent` is asked to do. Says once what follows from leaving out the permissions.
    pub(super) fn spec(
        &self,
        agent: AgentBinary,
        task: String,
        running: &Running,
        unattended: Unattended,
    ) -> Result<Spec, Failure> {
        if let (Some(option), false) = (unattended.of_worktrees(), unattended.worktree) {
            return Err(Failure::usage(
                format!("{option} needs --worktree"),
                "add --worktree, or leave it out",
            ));
        }
        let new = Spec::new(agent, task, self.cwd.clone());
        if new.task.trim().is_empty() {
            return Err(Failure::usage("the task is empty", "say what is to be done"));
        }
        let mut spec = Spec {
            fallback: unattended.fallback,
            verify: unattended.verify,
            verify_timeout: unattended.verify_timeout.unwrap_or(new.verify_timeout),
            no_baseline: unattended.no_baseline,
            strict_verify: unattended.strict_verify,
            expect_changes: unattended.expect_changes,
            max_turns: unattended.max_turns.unwrap_or(new.max_turns),
            end_on_denial: running.fail_on_denial,
            budget: amplihack_orchestration::budget::Budget {
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
        spec.configure(&self.config)?;
        Ok(spec)
    }

    /// Where a run goes on; `lane` tells it whether it may.
    pub(super) fn place<'b>(
        &'b self,
        board: &'b dyn Fn(&SessionId, &Progress),
        lane: tokio::sync::watch::Receiver<Lane>,
        shared: Option<&'b SharedBudget>,
    ) -> Place<'b> {
        Place {
            env: self.env,
            config: &self.config,
            guard: Some(self.guard.clone()),
            told: board,
            interrupts: self.interrupts.clone(),
            lane,
            shared,
        }
    }

    fn work(&self, spec: Spec, json: bool) -> Result<u8, Failure> {
        if spec.commit && !spec.worktree {
            return Err(Failure::usage(
                "--commit needs --worktree: on your own branch you commit yourself",
                "add --worktree, or leave --commit out",
            ));
        }
        if spec.permissions.is_none() {
            warn_of_permissions();
        }
        self.drive(json, Work::Begin(Box::new(spec)))
    }

    fn drive(&self, json: bool, work: Work) -> Result<u8, Failure> {
        let board = Board::new(json, Vec::new(), self.env);
        let told = |id: &SessionId, progress: &Progress| board.take(0, id, progress);
        // Nobody gives a single run up.
        let never = tokio::sync::watch::Sender::new(Lane::Open);
        let place = self.place(&told, never.subscribe(), None);
        let run = async {
            match work {
                Work::Begin(spec) => begin(place, *spec).await,
                Work::Resume(id, extension) => resume(place, id, *extension).await,
            }
        };
        let summary = runtime()?.block_on(ticking(&board, run))?;
        if !json {
            ui::shown(&board::told_at_the_end(&summary))?;
        }
        super::telemetry::of_run(summary.id.as_str(), self.env);
        Ok(summary.end.code())
    }
}

/// What is to be driven.
enum Work {
    Begin(Box<Spec>),
    Resume(SessionId, Box<RunExtension>),
}

/// Without leave most agents write nothing; that is said once.
pub(super) fn warn_of_permissions() {
    ui::note(
        "warning",
        "no --permissions: the agent's own default applies, with which most agents write nothing; use --permissions edit or full",
    );
}

/// Awaits `work` while the board shows that time goes on.
pub(super) async fn ticking<T>(board: &Board, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(TICK), if board.is_live() => board.tick(),
        }
    }
}
