//! The ends of tasks and of recipes inside, and their effect on steps.

use super::super::scope::RecipeStepPhase;
use super::super::{AgentAnswer, TaskResult, outcome};
use super::{RecipeMachine, RecipeRunEntry, StepKind, StepResult, StepResultStatus};
use crate::answer::{OutputJson, parse_json};
use crate::result::{AgentRecord, render_report};
use crate::schema::check_schema;
use amplihack_sys::push_text;

/// The reminder for an agent that did not answer in JSON.
const REMINDER: &str =
    "\n\nIMPORTANT: answer with valid JSON only: no text before or after it, no markdown fences.";

/// The reason of a failure by a rate limit.
fn take_rate_limit(end: &mut AgentAnswer) -> Option<String> {
    if end.is_rate_limited() { end.failure.take() } else { None }
}

impl RecipeMachine {
    pub(super) fn task_ended(&mut self, id: usize, end: TaskResult) {
        if matches!(end, TaskResult::Interrupted) {
            // Not recorded: a resume does it again.
            return;
        }
        match self.actives[id].phase {
            RecipeStepPhase::Before => self.judge_condition(id),
            RecipeStepPhase::Stage => self.conclude_step(id),
            RecipeStepPhase::After => self.ready_after_hook(id),
            RecipeStepPhase::Work | RecipeStepPhase::Json | RecipeStepPhase::Recovery => match end {
                TaskResult::Agent(end) => self.agent_ended(id, *end),
                end => {
                    let step = self.step_of(id);
                    let result = outcome::task_result(step, step.kind.name(), end);
                    self.step_answered(id, result);
                }
            },
        }
    }

    fn ready_after_hook(&mut self, id: usize) {
        let active = &mut self.actives[id];
        active.over = true;
        let scope = active.scope;
        self.ready.push(scope);
    }

    /// An agent's run ended: a rate limit is waited for, anything else is an answer.
    fn agent_ended(&mut self, id: usize, end: AgentAnswer) {
        let active = &mut self.actives[id];
        let record = active.agent.get_or_insert_with(AgentRecord::default);
        record.agent.clone_from(&end.agent);
        record.session = end.session.clone().or_else(|| record.session.take());
        record.usage.add_amounts(&end.run.usage);
        record.run = Some(Box::new(end.run.clone()));
        for warning in &end.warnings {
            if !active.warnings.contains(warning) {
                active.warnings.push(warning.clone());
            }
        }
        let attempt = active.attempt;
        let retry = self.settings.retry;
        let mut end = end;
        if let Some(failure) = take_rate_limit(&mut end) {
            if attempt <= retry.times {
                let pause = retry.pause_before(attempt + 1);
                let why = format!("rate limit, attempt {} of {}", attempt + 1, retry.times + 1);
                return self.ask_again(id, Some(why), pause);
            }
            end.failure = Some(format!(
                "rate limit persisted after {} retries ({attempt} total attempts): {failure}",
                attempt - 1
            ));
        }
        let step = self.step_of(id);
        let result = outcome::agent_result(step, step.kind.name(), end);
        self.step_answered(id, result);
    }

    fn step_answered(&mut self, id: usize, result: StepResult) {
        match self.actives[id].phase {
            RecipeStepPhase::Recovery => self.recovery_answered(id, &result),
            RecipeStepPhase::Json => {
                let first = self.actives[id].result.take();
                let result = match first {
                    // The first answer is better than none.
                    Some(first) if result.status == StepResultStatus::Failed => first,
                    _ => result,
                };
                self.look_for_json(id, result, false);
            }
            _ => self.look_for_json(id, result, true),
        }
    }

    fn look_for_json(&mut self, id: usize, mut result: StepResult, first: bool) {
        let step = self.step_of(id);
        let wanted = step.parse_json || step.parse_json_required || step.outputs_schema.is_some();
        if !wanted || result.status == StepResultStatus::Failed {
            return self.finish_step(id, result);
        }
        let required = step.parse_json_required || step.outputs_schema.is_some();
        let is_agent = matches!(step.kind, StepKind::Agent { .. });
        let fault = if result.output.is_empty() && !required {
            return self.finish_step(id, result);
        } else {
            match parse_json(&result.output) {
                Some(OutputJson { value, output }) => {
                    let exact = value.json_text();
                    let fits =
                        step.outputs_schema.as_ref().map_or(Ok(()), |schema| check_schema(schema, &exact));
                    match fits {
                        Ok(()) => {
                            result.exact = (exact != output.as_str()).then(|| (*exact).into());
                            result.output = output.into();
                            result.json = true;
                            return self.finish_step(id, result);
                        }
                        Err(fault) => format!("the output is not what `outputs` asks for: {fault}"),
                    }
                }
                None => "parse_json failed: output is not valid JSON".to_owned(),
            }
        };
        // An agent is asked once more, since it may answer in another form; a script would print what it has printed.
        if is_agent && first {
            let prompt = format!("{}{REMINDER}", self.actives[id].prompt);
            self.actives[id].phase = RecipeStepPhase::Json;
            self.actives[id].result = Some(result);
            return self.ask_agent(id, prompt);
        }
        if required {
            result.status = StepResultStatus::Failed;
            result.error = fault;
            result.output = "".into();
        } else {
            result.status = StepResultStatus::Degraded;
        }
        self.finish_step(id, result);
    }

    /// The recipe inside has ended.
    pub(super) fn inner_ended(&mut self, id: usize, inner: usize) {
        let (name, took) =
            (self.scope_recipe(inner).name.clone(), self.now.saturating_sub(self.scopes[inner].began));
        let scope = &mut self.scopes[inner];
        let (results, success) = (std::mem::take(&mut scope.results), !scope.failed);
        let changed = std::mem::take(&mut scope.changed);
        let context = std::mem::take(&mut scope.context);
        self.actives[id].merge = changed
            .into_iter()
            .filter_map(|name| context.get(&name).cloned().map(|value| (name, value)))
            .collect();
        let step = self.step_of(id);
        let mut result = StepResult::new(&step.id, step.kind.name(), StepResultStatus::Completed);
        if success {
            result.output = render_report(&name, true, &results, took.as_secs_f64()).into();
        } else {
            result.status = StepResultStatus::Failed;
            result.error = sub_recipe_failure(&name, &results);
        }
        result.step_results = results;
        let recovers = matches!(step.kind, StepKind::Recipe { recovery_on_failure: true, .. });
        if !success && recovers && self.actives[id].replayed.is_none() {
            let prompt = format!(
                "The recipe '{name}' has failed as a step of a larger one.\n\n{}\n\nMend what it was to do, in the working directory. \
                 When it is done and checked, end your answer with the line\nSTATUS: COMPLETE\n\
                 If it cannot be done, say why, and end with the line\nSTATUS: FAILED",
                result.error
            );
            self.actives[id].phase = RecipeStepPhase::Recovery;
            self.actives[id].result = Some(result);
            return self.ask_agent(id, prompt);
        }
        self.finish_step(id, result);
    }

    /// An agent was asked to mend a failure. Only its own word for it counts, on a line of its own or as the answer's end.
    fn recovery_answered(&mut self, id: usize, answer: &StepResult) {
        let step = self.step_of(id);
        let (step_id, kind) = (step.id.clone(), step.kind.name());
        let failed = self.actives[id].result.take();
        let mut result = failed.unwrap_or_else(|| StepResult::new(&step_id, kind, StepResultStatus::Failed));
        let text = answer.output.to_lowercase();
        let says = text.contains("status: complete") || text.lines().any(|line| line.trim() == "recovered");
        if answer.status != StepResultStatus::Failed && says && !text.contains("status: failed") {
            result.status = StepResultStatus::Completed;
            result.output = answer.output.clone();
            result.error.clear();
        } else {
            let said: String =
                if answer.error.is_empty() { answer.output.to_string() } else { answer.error.clone() };
            let said: String = said.chars().take(500).collect();
            result.error = format!("{}\nRecovery failed: {said}", result.error);
        }
        self.finish_step(id, result);
    }

    /// The step's result is known.
    pub(super) fn finish_step(&mut self, id: usize, mut result: StepResult) {
        let active = &mut self.actives[id];
        if let Some(before) = active.replayed.take() {
            let step_results = std::mem::take(&mut result.step_results);
            return self.settle_step(id, StepResult { step_results, ..before });
        }
        let took = self.now.saturating_sub(active.began);
        result.duration = Some(took.as_secs_f64());
        result.attempts = (active.asked > 1).then_some(active.asked);
        result.agent = active.agent.take();
        result.warnings = std::mem::take(&mut active.warnings);
        if active.launches > 0 && result.output_bytes.is_some() {
            let before = self.settings.done.launches.get(&active.path).copied().unwrap_or_default();
            result.log = Some(format!("steps/{}-{}.out", active.path, before + active.launches));
        }
        let stages = match &self.step_of(id).kind {
            StepKind::Agent { auto_stage, .. } => auto_stage.unwrap_or(self.settings.auto_stage),
            _ => false,
        };
        let ran = self.actives[id].asked > 0 && result.status != StepResultStatus::Failed;
        self.actives[id].result = Some(result);
        if stages && ran && self.interrupted.is_none() {
            self.start_staging(id);
        } else {
            self.conclude_step(id);
        }
    }

    /// Writes the result down, then runs the hook that comes after.
    fn conclude_step(&mut self, id: usize) {
        let fatal = self.step_of(id).fatal;
        let active = &mut self.actives[id];
        let path = active.path.clone();
        if let Some(result) = &mut active.result {
            // What is inside has its own entries.
            let inner = std::mem::take(&mut result.step_results);
            let written = result.clone();
            result.step_results = inner;
            let fatal = fatal && written.status == StepResultStatus::Failed;
            self.record_entry(RecipeRunEntry::End { path, result: written, fatal, file: None });
        }
        if self.interrupted.is_some() || !self.start_hook(id, RecipeStepPhase::After) {
            self.ready_after_hook(id);
        }
    }
}

/// Describes the failure of a recipe inside.
fn sub_recipe_failure(name: &str, results: &[StepResult]) -> String {
    let mut text = format!("Sub-recipe '{name}' failed.\nFailed steps:");
    for step in results.iter().filter(|step| step.status == StepResultStatus::Failed) {
        push_text!(text, "\n- {}: {}", step.step_id, step.error);
    }
    let done: Vec<&str> = results
        .iter()
        .filter(|step| step.status == StepResultStatus::Completed)
        .map(|step| step.step_id.as_str())
        .collect();
    if !done.is_empty() {
        push_text!(text, "\nCompleted steps: {}", done.join(", "));
    }
    text
}
