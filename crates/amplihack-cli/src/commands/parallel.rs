//! `amplihack parallel`: many tasks side by side, or one task for several agents.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use amplihack_agent::AgentBinary;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::SessionId;
use amplihack_orchestration::parallel::{ParallelJob, is_ambiguous, run_jobs, split_tasks, task_title};
use amplihack_orchestration::parallel_journal::{self, RunGroup, carry_out};
use amplihack_orchestration::race::{RunRace, combined_exit_code};
use amplihack_orchestration::turns::VerificationResult;
use amplihack_orchestration::{AutoError, AutoProgress, AutoRunSpec, AutoRunSummary, RunExtension};
use amplihack_session::InterruptSignals;
use amplihack_sys::error::ErrorExplanation;
use amplihack_sys::{push_line, push_text};
use serde_json::{Value, json};

use super::auto::display::{ProgressDisplay, diff_size};
use super::auto::{UnattendedContext, await_with_ticks, run_extension, warn_of_permissions};
use super::sessions::first_words;
use super::{build_runtime, check_open_files};
use crate::cli::{AgentRunArgs, ParallelArgs, UnattendedArgs};
use crate::input::task_text;
use crate::ui::{self, CommandFailure, json_line};

/// Runs the command and returns the exit code.
pub(crate) fn run_parallel(args: ParallelArgs, env: &Env) -> Result<u8, CommandFailure> {
    let interrupts = InterruptSignals::listen_from_now();
    let ParallelArgs { task_file, one_per_line, agents, max, race, resume, running, unattended } = args;
    if let Some(id) = resume {
        return continue_group(&id, running, unattended, env, interrupts);
    }
    let Some(task_file) = task_file else {
        return Err(CommandFailure::bad_usage("there is no task", "give --task-file FILE, or --resume ID"));
    };
    let unattended = UnattendedArgs { worktree: true, ..unattended };
    let text = task_text(&task_file)?;
    let house = UnattendedContext::for_current_dir(env, interrupts)?;
    let agents = if agents.is_empty() { vec![house.agent_here()] } else { agents };
    let asked: Vec<(AgentBinary, String)> = if race {
        agents.into_iter().map(|agent| (agent, text.clone())).collect()
    } else {
        let parts = split_tasks(&text);
        if !one_per_line && is_ambiguous(&text) {
            return Err(cut_unseen(&task_file, &parts));
        }
        agents.into_iter().cycle().zip(parts).collect()
    };
    if asked.is_empty() {
        return Err(CommandFailure::bad_usage(
            format!("{} holds no task", task_file.display()),
            "write one a line, or separate them by lines of ---",
        ));
    }
    if running.permissions.is_none() {
        warn_of_permissions();
    }
    let specs = asked
        .into_iter()
        .map(|(agent, task)| house.run_spec(agent, task, &running, unattended.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    // In a race all have to be under way, whatever else was asked for.
    let max = if race { specs.len() } else { usize::try_from(max).unwrap_or(1) };
    check_open_files(max.min(specs.len()))?;
    let home = env.amplihack_home().ok_or(AutoError::NoHome)?;
    finish_group(&house, RunGroup::begin(&home, specs, max, race)?, &RunExtension::default(), running.json)
}

/// Continues the group of runs that is meant by `id`, in the directory that is recorded for it.
fn continue_group(
    id: &str,
    running: AgentRunArgs,
    unattended: UnattendedArgs,
    env: &Env,
    interrupts: InterruptSignals,
) -> Result<u8, CommandFailure> {
    let json = running.json;
    let extension = run_extension(running, unattended)?;
    let home = env.amplihack_home().ok_or(AutoError::NoHome)?;
    let group = RunGroup::open(&home, parallel_journal::find_group(&home, id)?)?;
    // A group that is complete needs no directory; a run that is not names the one that is gone.
    let cwd = group.specs.first().map(|spec| &spec.cwd).filter(|cwd| cwd.is_dir()).unwrap_or(&home);
    let house = UnattendedContext::for_directory(cwd.clone(), env, interrupts)?;
    check_open_files(group.max.min(group.specs.len()))?;
    finish_group(&house, group, &extension, json)
}

/// Carries a group of runs out, prints its table, and returns the exit code.
fn finish_group(
    house: &UnattendedContext<'_>,
    group: RunGroup,
    extension: &RunExtension,
    json: bool,
) -> Result<u8, CommandFailure> {
    let (id, specs, race) = (group.id.clone(), group.specs.clone(), group.race);
    show_tasks(&specs, race, json)?;
    if json {
        ui::print_data(&json_line(&json!({ "type": "parallel", "id": id.as_str(), "tasks": specs.len() }))?)?;
    } else {
        ui::print_note("parallel", format_args!("{id}, {} tasks", specs.len()));
    }
    let results = drive_group(house, group, extension, json)?;
    let arrived = results.arrived.into_inner();
    let winner = race.then(|| {
        RunRace::pick_winner(&arrived, |number| {
            results.ends.get(number).and_then(|end| end.as_ref().ok()).map(|summary| summary.end.outcome())
        })
    });
    let rows: Vec<TaskRow<'_>> = specs
        .iter()
        .zip(&results.ends)
        .enumerate()
        .map(|(number, (spec, result))| TaskRow {
            number,
            spec,
            result,
            won: winner.flatten() == Some(number),
        })
        .collect();
    if json {
        let objects: Vec<Value> = rows.iter().map(TaskRow::to_json).collect();
        let shared =
            shared_files(&rows).into_iter().map(|(file, tasks)| json!({ "file": file, "tasks": tasks }));
        let shared: Vec<Value> = shared.collect();
        ui::print_data(&json_line(
            &json!({ "type": "table", "id": id.as_str(), "runs": objects, "shared": shared }),
        )?)?;
    } else {
        ui::print_visible(&render_table(&rows, race))?;
    }
    for summary in results.ends.iter().flatten() {
        super::telemetry::report_run(summary.id.as_str(), house.env);
    }
    let unfinished =
        results.ends.iter().any(|end| !end.as_ref().is_ok_and(|summary| summary.end.is_success()));
    if unfinished && winner.flatten().is_none() && !json {
        ui::print_note(
            "hint",
            format_args!(
                "`amplihack parallel --resume {id}` continues what a signal or a kill ended and begins the rest; \
                 with a new limit, such as --max-turns 5, it continues all that is not done"
            ),
        );
    }
    let all = combined_exit_code(&results.ends);
    // A race is won by one.
    Ok(match winner {
        Some(Some(_)) => 0,
        Some(None) => all.max(1),
        None => all,
    })
}

/// Results of all runs: their ends by number, and the order of their ends.
struct ParallelResults {
    ends: Vec<Result<AutoRunSummary, AutoError>>,
    arrived: RefCell<Vec<usize>>,
}

fn drive_group(
    house: &UnattendedContext<'_>,
    mut group: RunGroup,
    extension: &RunExtension,
    json: bool,
) -> Result<ParallelResults, CommandFailure> {
    let (tasks, max, racing) = (group.specs.len(), group.max, group.race);
    let titles = group.specs.iter().map(|spec| run_label(spec, racing)).collect();
    let board = &ProgressDisplay::new(json, titles, house.env);
    let told: Vec<_> = (0..tasks)
        .map(|number| {
            move |id: &SessionId, progress: &AutoProgress| board.show_progress(number, id, progress)
        })
        .collect();
    let race = RunRace::with_runs(tasks);
    for (number, end) in group.recorded_ends(house.env).into_iter().filter(|_| racing) {
        race.record_end(number, end);
    }
    let shared = group.shared_budget(house.env, extension)?;
    let group = RefCell::new(group);
    let arrived = RefCell::new(Vec::new());
    let mut jobs: Vec<ParallelJob<'_, Result<AutoRunSummary, AutoError>>> = Vec::new();
    for (number, told) in told.iter().enumerate() {
        let Some(lane) = race.status_receiver(number) else { continue };
        let place = house.run_context(told, lane, shared.as_ref());
        jobs.push(Box::pin(carry_out(place, &group, number, extension)));
    }
    let done = |number: usize, result: &Result<AutoRunSummary, AutoError>| {
        arrived.borrow_mut().push(number);
        if let Err(error) = group.borrow_mut().record_end(number, result) {
            ui::print_note(
                "warning",
                format_args!("the end of task {} is not recorded: {error}", number + 1),
            );
        }
        match result {
            // The signal was for all of them, those that wait included.
            Ok(summary) if summary.end.signal.is_some() => race.give_up(),
            Ok(summary) if racing => race.record_end(number, summary.end.outcome()),
            _ => {}
        }
    };
    let ends = build_runtime()?.block_on(await_with_ticks(board, run_jobs(jobs, max, &done)));
    Ok(ParallelResults { ends, arrived })
}

/// Reports whether a run that failed with `error` was begun at all: the others wait for a resume.
fn is_begun(error: &AutoError) -> bool {
    !matches!(error, AutoError::GivenUp | AutoError::Interrupted { .. } | AutoError::BudgetSpent { .. })
}

/// Returns the name of a run for a person: the first words of its task; in a race, its agent.
fn run_label(spec: &AutoRunSpec, racing: bool) -> String {
    if racing { spec.agent.to_string() } else { task_title(&spec.task) }
}

/// Shows the tasks before any of them begins.
fn show_tasks(specs: &[AutoRunSpec], race: bool, json: bool) -> Result<(), CommandFailure> {
    if json {
        let task = |(number, spec): (usize, &AutoRunSpec)| json!({ "task": number + 1, "agent": spec.agent, "title": task_title(&spec.task) });
        let tasks: Vec<Value> = specs.iter().enumerate().map(task).collect();
        return ui::print_data(&json_line(&json!({ "type": "tasks", "tasks": tasks }))?);
    }
    if let Some(spec) = specs.first().filter(|_| race) {
        ui::print_note("one task", task_title(&spec.task));
        return Ok(());
    }
    for (number, spec) in specs.iter().enumerate() {
        ui::print_note(
            &format!("task {}", number + 1),
            format_args!("{} ({})", task_title(&spec.task), spec.agent),
        );
    }
    Ok(())
}

/// Refuses a file that its author may have meant as fewer tasks than it has lines.
fn cut_unseen(file: &Path, parts: &[String]) -> CommandFailure {
    const SHOWN: usize = 8;
    let mut message = format!("{} looks like Markdown, and would be {} tasks:", file.display(), parts.len());
    for (number, part) in parts.iter().take(SHOWN).enumerate() {
        push_text!(message, "\n  task {}: {}", number + 1, task_title(part));
    }
    if parts.len() > SHOWN {
        push_text!(message, "\n  … and {} more", parts.len() - SHOWN);
    }
    CommandFailure::bad_usage(
        message,
        "separate the tasks by lines of ---, or give --one-per-line if each line is a task",
    )
}

/// A row of the table.
struct TaskRow<'a> {
    number: usize,
    spec: &'a AutoRunSpec,
    result: &'a Result<AutoRunSummary, AutoError>,
    won: bool,
}

impl TaskRow<'_> {
    fn to_json(&self) -> Value {
        let Self { number, spec, result, won } = self;
        let words = first_words(&spec.task, WORDS);
        match result {
            Ok(summary) => json!({
                "task": number + 1,
                "words": words,
                "agent": summary.agent,
                "run": summary.id.as_str(),
                "end": summary.end.outcome(),
                "reason": summary.end.reason(),
                "evidence": summary.end.evidence,
                "turns": summary.turns,
                "used": summary.end.usage,
                "baseline": summary.baseline.as_ref().map(|baseline| baseline.outcome),
                "limit": summary.limit,
                "check_changed": summary.check_changed,
                "won": won,
                "worktree": summary.worktree.as_ref().map(|tree| &tree.path),
                "branch": summary.worktree.as_ref().map(|tree| &tree.branch),
                "stat": summary.stat,
                "files": summary.files,
                "check": summary.check,
                "kept": summary.kept,
            }),
            Err(error) => json!({
                "task": number + 1,
                "words": words,
                "agent": spec.agent,
                "end": if is_begun(error) { "failed" } else { "not_begun" },
                "reason": error.to_string(),
                "error": error.kind(),
                "won": false,
            }),
        }
    }

    /// The line of the table, and the lines below it.
    fn to_text(&self, race: bool) -> String {
        let number = self.number + 1;
        let words = first_words(&self.spec.task, WORDS);
        let summary = match self.result {
            Ok(summary) => summary,
            Err(error) => {
                let end = if is_begun(error) { "failed" } else { "not begun" };
                return format_row([&number.to_string(), &words, end, "-", "-", "-"])
                    + &format!("      {}: {error}\n", self.spec.agent);
            }
        };
        let end = format!("{}{}", summary.end.name(), if race && self.won { " (won)" } else { "" });
        let changed = match summary.stat {
            Some(stat) if stat.files > 0 => diff_size(stat),
            _ if summary.changed == Some(true) => "changed".to_owned(),
            Some(_) => "nothing".to_owned(),
            None => "-".to_owned(),
        };
        let check = summary.check.map_or("-", checked_word);
        let cost = summary.end.usage.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.4}"));
        let mut out = format_row([&number.to_string(), &words, &end, &changed, check, &cost]);
        if !summary.end.is_success() {
            push_line!(out, "      {}: {}", summary.agent, summary.end.reason());
        }
        if summary.worktree.is_some() {
            push_line!(out, "      amplihack sessions merge {}", summary.id);
        } else {
            push_line!(out, "      amplihack sessions show {}", summary.id);
        }
        out
    }
}

/// The most characters of a task in the table.
const WORDS: usize = 24;

fn format_row([task, words, end, changed, check, cost]: [&str; 6]) -> String {
    let text = format!("{task:>4}  {words:<WORDS$}  {end:<11} {changed:<19} {check:<7} {cost}");
    format!("{}\n", text.trim_end())
}

/// Returns the result of the checks of a run, in a word.
fn checked_word(checked: VerificationResult) -> &'static str {
    match checked {
        VerificationResult::Passed => "passed",
        VerificationResult::Unproved => "none",
        VerificationResult::Refuted => "failed",
        VerificationResult::Unchanged => "nothing",
    }
}

fn render_table(rows: &[TaskRow<'_>], race: bool) -> String {
    let mut out = format_row(["task", "", "end", "changed", "check", "cost"]);
    for one in rows {
        out.push_str(&one.to_text(race));
    }
    // In a race all have changed the same, and one is taken.
    for (file, tasks) in shared_files(rows).into_iter().filter(|_| !race) {
        let numbers: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        let (last, others) =
            numbers.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
        push_line!(out, "tasks {} and {last} both changed {}", others.join(", "), file.display());
    }
    out
}

/// The files that more than one task changed, with the numbers of the tasks.
fn shared_files<'a>(rows: &[TaskRow<'a>]) -> BTreeMap<&'a Path, Vec<usize>> {
    let mut tasks: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
    for row in rows {
        for file in row.result.as_ref().map(|summary| &*summary.files).unwrap_or_default() {
            tasks.entry(file).or_default().push(row.number + 1);
        }
    }
    tasks.retain(|_, tasks| tasks.len() > 1);
    tasks
}
