//! The machine, played by hand: no process, no clock.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use amplihack_agent::event::{EndEvent, FailKind, RunEndSummary};
use amplihack_config::env::Env;
use amplihack_session::{EndEvidence, RunEnd};
use amplihack_sys::ProcessExit;

use super::*;
use crate::find::RecipeDiscovery;
use crate::plan::{PlanCompileMode, compile_plan};
use crate::result::StepResultStatus;

/// A machine for the recipe `text`, which may name the recipe `inner`.
fn machine(text: &str, inner: &str, change: impl FnOnce(&mut RecipeRunSettings)) -> RecipeMachine {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("top.yaml");
    std::fs::write(&path, text).unwrap();
    std::fs::write(dir.path().join("inner.yaml"), inner).unwrap();
    let discovery = RecipeDiscovery::new(&Env::empty(), dir.path(), &[]);
    let plan = compile_plan(&path, &discovery, PlanCompileMode::AsPredecessor, &[]).unwrap();
    let mut settings = RecipeRunSettings {
        run_id: "run".to_owned(),
        cwd: Path::new("/nowhere").to_owned(),
        dry_run: false,
        auto_stage: false,
        include_tags: Vec::new(),
        exclude_tags: Vec::new(),
        step_timeout: None,
        max_depth: 6,
        max_total_steps: 100,
        retry: RateLimitRetry::default(),
        done: CompletedRecipeWork::default(),
    };
    change(&mut settings);
    let context = plan.root().recipe.context.clone();
    RecipeMachine::new(Arc::new(plan), settings, context)
}

/// Plays a machine to its end: `answer` says how each task ends. Tasks that are there together end in reverse.
fn play(
    machine: &mut RecipeMachine,
    mut answer: impl FnMut(&RecipeTask) -> TaskResult,
) -> (RunResult, Vec<RecipeRunEntry>) {
    let (mut tasks, mut entries) = (Vec::new(), Vec::new());
    let mut outputs = machine.step(Duration::ZERO, StepInput::Start);
    let mut result = None;
    loop {
        for output in outputs {
            match output {
                StepOutput::Record(entry) => entries.push(entry),
                StepOutput::Spawn(task) => tasks.push(task),
                StepOutput::Done(done) => result = Some(*done),
            }
        }
        if let Some(result) = result {
            assert!(tasks.is_empty(), "{tasks:?}");
            return (result, entries);
        }
        let task = tasks.pop().expect("a machine that is not done waits for something");
        let end = answer(&task);
        outputs = machine.step(Duration::from_secs(1), StepInput::Ended(task.id, end));
    }
}

fn code(code: i32, output: &str) -> TaskResult {
    TaskResult::Script(ScriptOutput {
        exit: Some(ProcessExit::Code(code)),
        output: output.to_owned(),
        ..ScriptOutput::default()
    })
}

fn answer_of(run: RunEnd) -> AgentAnswer {
    let agent = "claude".to_owned();
    AgentAnswer {
        agent,
        text: String::new(),
        text_bytes: None,
        failure: None,
        session: None,
        run,
        warnings: Vec::new(),
    }
}

fn said(text: &str) -> TaskResult {
    let run = RunEnd::new(EndEvent::of_success(RunEndSummary::default()), EndEvidence::Record);
    TaskResult::Agent(Box::new(AgentAnswer { text: text.to_owned(), ..answer_of(run) }))
}

/// What a script echoes is its output.
fn echo(task: &RecipeTask) -> TaskResult {
    match &task.work {
        RecipeTaskWork::Script { prepared, .. } => {
            let mut text = prepared.text.clone();
            for (name, value) in &prepared.env {
                text =
                    text.replace(&format!("\"${{{name}}}\""), value).replace(&format!("\"${name}\""), value);
            }
            code(i32::from(text.contains("fail")), text.trim_start_matches("echo ").trim())
        }
        RecipeTaskWork::Agent(ask) => said(&ask.prompt),
    }
}

fn statuses(result: &RunResult) -> Vec<(&str, StepResultStatus)> {
    result.step_results.iter().map(|step| (step.step_id.as_str(), step.status)).collect()
}

#[test]
fn a_group_is_started_at_once_and_taken_over_in_the_order_of_the_file() {
    let text = "name: n\ncontext: {v: old}\nsteps:\n  - {id: a, command: echo A, output: v, parallel_group: g}\n  \
                - {id: b, command: echo B, output: v, parallel_group: g}\n  - {id: r, recipe: inner, parallel_group: g}\n  \
                - {id: p, prompt: 'p {{v}}', output: p, parallel_group: g}\n";
    let inner = "name: inner\nsteps:\n  - {id: x, command: echo X, output: x}\n";
    let mut machine = machine(text, inner, |_| {});
    let mut together = 0;
    let begun = machine.step(Duration::ZERO, StepInput::Start);
    together += begun.iter().filter(|output| matches!(output, StepOutput::Spawn(_))).count();
    assert_eq!(together, 4);
    let mut machine = self::machine(text, inner, |_| {});
    let (result, _) = play(&mut machine, echo);
    assert!(result.success);
    let value = |name: &str| result.context.get(name).map(|value| value.text().to_owned());
    assert_eq!(
        (value("v"), value("x"), value("p")),
        (Some("B".into()), Some("X".into()), Some("p old".into()))
    );
}

#[test]
fn everything_is_recorded_before_it_is_started_and_before_the_next_begins() {
    let text = "name: n\nhooks: {pre_step: echo pre, post_step: echo post}\nsteps:\n  - {id: a, command: echo A}\n  - {id: b, command: fail}\n";
    let (result, entries) = play(&mut machine(text, "", |_| {}), echo);
    assert_eq!(statuses(&result), [("a", StepResultStatus::Completed), ("b", StepResultStatus::Failed)]);
    let told: Vec<String> = entries
        .iter()
        .map(|entry| match entry {
            RecipeRunEntry::Recipe { name, .. } => format!("recipe {name}"),
            RecipeRunEntry::Begin { step, .. } => format!("begin {step}"),
            RecipeRunEntry::Launch { name, what, .. } => format!("launch {name} {what}"),
            RecipeRunEntry::End { path, fatal, .. } => format!("end {path} {fatal}"),
            RecipeRunEntry::RecipeEnd { success, .. } => format!("recipe end {success}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        told,
        [
            "recipe n",
            "begin a",
            "launch 0-1 hook",
            "launch 0-2 step",
            "end 0 false",
            "launch 0-3 hook",
            "begin b",
            "launch 1-1 hook",
            "launch 1-2 step",
            "end 1 true",
            "recipe end false"
        ]
    );
}

#[test]
fn what_is_done_is_not_started_again_and_its_values_are_there() {
    let text = "name: n\nsteps:\n  - {id: a, command: echo 1.10, output: a}\n  - {id: r, recipe: inner}\n  - {id: z, command: 'echo {{a}} {{x}}', output: z}\n";
    let inner =
        "name: inner\nsteps:\n  - {id: x, command: echo X, output: x}\n  - {id: y, command: echo Y}\n";
    let (whole, entries) = play(&mut machine(text, inner, |_| {}), echo);
    let ends: Vec<(String, StepResult)> = entries
        .into_iter()
        .filter_map(|entry| match entry {
            RecipeRunEntry::End { path, result, .. } => Some((path, result)),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 5);
    for count in 0..=ends.len() {
        let mut started = Vec::new();
        let mut again = machine(text, inner, |settings| {
            settings.done.ended = ends[..count].iter().cloned().collect();
        });
        let (result, _) = play(&mut again, |task| {
            started.push(task.path.clone());
            echo(task)
        });
        assert_eq!(
            serde_json::to_value(&result.context).unwrap(),
            serde_json::to_value(&whole.context).unwrap()
        );
        assert_eq!(statuses(&result), statuses(&whole));
        assert!(
            started.iter().all(|path| ends[..count].iter().all(|(done, _)| done != path)),
            "{count} {started:?}"
        );
    }
}

#[test]
fn a_rate_limit_is_waited_for_and_nothing_else_is() {
    let text = "name: n\nsteps:\n  - {id: p, prompt: hi, model: m}\n";
    let limited = |_: &RecipeTask| {
        let failure = Some("too many requests".to_owned());
        let run = RunEnd::from_failure(FailKind::RateLimit, "too many requests");
        TaskResult::Agent(Box::new(AgentAnswer { failure, ..answer_of(run) }))
    };
    let mut pauses = Vec::new();
    let mut models = Vec::new();
    let retry = RateLimitRetry { times: 4, fallback_auto: true, ..RateLimitRetry::default() };
    let (result, _) = play(&mut machine(text, "", |settings| settings.retry = retry), |task| {
        pauses.push(task.delay.as_secs());
        let RecipeTaskWork::Agent(ask) = &task.work else { panic!("{task:?}") };
        models.push(ask.model.clone().unwrap());
        limited(task)
    });
    assert_eq!(pauses, [0, 60, 120, 240, 480]);
    assert_eq!(models, ["m", "m", "m", "m", "auto"]);
    assert!(result.step_results[0].error.contains("rate limit persisted after 4 retries (5 total attempts)"));
    let mut asked = 0;
    let (result, _) = play(&mut machine(text, "", |_| {}), |_| {
        asked += 1;
        let run = RunEnd::from_failure(FailKind::Agent, "no");
        TaskResult::Agent(Box::new(AgentAnswer { failure: Some("no".into()), ..answer_of(run) }))
    });
    assert_eq!((asked, result.success), (1, false));
}

#[test]
fn json_is_asked_for_once_more_of_agents_only() {
    let text = "name: n\nsteps:\n  - {id: p, prompt: hi, parse_json: true, output: p}\n  - {id: b, command: echo no, parse_json: true}\n";
    let mut asked = 0;
    let (result, _) = play(&mut machine(text, "", |_| {}), |task| match &task.work {
        RecipeTaskWork::Agent(ask) => {
            asked += 1;
            assert_eq!(ask.prompt.contains("JSON"), asked == 2);
            said(if asked == 2 { "{\"a\": 1.50}" } else { "no json" })
        }
        RecipeTaskWork::Script { .. } => echo(task),
    });
    assert_eq!(statuses(&result), [("p", StepResultStatus::Completed), ("b", StepResultStatus::Degraded)]);
    assert_eq!((asked, result.step_results[0].attempts), (2, Some(2)));
    assert_eq!(serde_json::to_string(&result.context).unwrap(), "{\"p\":{\"a\":1.50}}");
}

#[test]
fn limits_name_the_recipe_and_the_way() {
    let text = "name: top\nrecursion: {max_total_steps: 2}\nsteps:\n  - {id: a, command: echo A}\n  - {id: r, recipe: inner}\n";
    let inner = "name: inner\nsteps:\n  - {id: x, command: echo X}\n  - {id: s, command: echo S, condition: 'false'}\n  - {id: y, command: echo Y}\n";
    let (result, _) = play(&mut machine(text, inner, |_| {}), echo);
    let error = &result.step_results[1].error;
    assert!(error.contains("limit (2) of recipe 'top' exceeded at top > r > inner > y"), "{error}");
    let itself = "name: inner\nsteps:\n  - {id: again, recipe: inner}\n";
    let (result, entries) =
        play(&mut machine("name: top\nsteps:\n  - {id: r, recipe: inner}\n", itself, |_| {}), echo);
    assert!(!result.success);
    let begun = entries.iter().filter(|entry| matches!(entry, RecipeRunEntry::Recipe { .. })).count();
    assert_eq!(begun, 7);
}

#[test]
fn a_signal_leaves_undone_what_it_ended() {
    let text = "name: n\nsteps:\n  - {id: a, command: echo A, parallel_group: g}\n  - {id: b, command: echo B, parallel_group: g}\n  - {id: c, command: echo C}\n";
    let mut machine = machine(text, "", |_| {});
    let begun = machine.step(Duration::ZERO, StepInput::Start);
    let tasks: Vec<RecipeTask> = begun
        .into_iter()
        .filter_map(|output| match output {
            StepOutput::Spawn(task) => Some(task),
            _ => None,
        })
        .collect();
    let told = machine.step(Duration::ZERO, StepInput::Interrupted(2));
    assert!(matches!(told[..], [StepOutput::Record(RecipeRunEntry::Interrupted { signal: 2 })]), "{told:?}");
    // One had just ended by itself: that is recorded.
    let told = machine.step(Duration::ZERO, StepInput::Ended(tasks[0].id, code(0, "A")));
    assert!(
        matches!(&told[..], [StepOutput::Record(RecipeRunEntry::End { path, .. })] if path == "0"),
        "{told:?}"
    );
    let told = machine.step(Duration::ZERO, StepInput::Ended(tasks[1].id, TaskResult::Interrupted));
    let [StepOutput::Done(result)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((result.success, result.interrupted), (false, Some(2)));
    assert_eq!(statuses(result), [("a", StepResultStatus::Completed), ("b", StepResultStatus::Failed)]);
}
