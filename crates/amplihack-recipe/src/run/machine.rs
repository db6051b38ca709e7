//! A run as a state machine: recipes, steps, groups and recipes inside recipes, without processes, files or clocks.
//!
//! A step is a group of one, a recipe inside is a scope whose end is its step's: there is one way through all of them.

mod ends;
mod launch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::scope::{ActiveRecipeStep, RecipeScope, RecipeStepPhase};
use super::{RecipeRunSettings, StepInput, StepOutput, TaskId};
use crate::context::RecipeContext;
use crate::journal::RecipeRunEntry;
use crate::model::{Recipe, RecipeStep, StepKind};
use crate::plan::Plan;
use crate::result::{RunResult, StepResult, StepResultStatus};
use crate::value::RecipeValue;

/// The value that a dry run stores.
const DRY: &str = "(dry-run)";

/// The machine. Feed it with [`step`](Self::step).
pub struct RecipeMachine {
    plan: Arc<Plan>,
    settings: RecipeRunSettings,
    context: RecipeContext,
    scopes: Vec<RecipeScope>,
    actives: Vec<ActiveRecipeStep>,
    /// The waiting step of each task.
    tasks: BTreeMap<TaskId, usize>,
    next_task: TaskId,
    /// Scopes that may go on.
    ready: Vec<usize>,
    interrupted: Option<i32>,
    finished: bool,
    now: Duration,
    out: Vec<StepOutput>,
}

impl RecipeMachine {
    /// A run of the plan's first recipe, in which names have the values of `context` rather than the recipe's own.
    pub fn new(plan: Arc<Plan>, settings: RecipeRunSettings, context: RecipeContext) -> Self {
        Self {
            plan,
            settings,
            context,
            scopes: Vec::new(),
            actives: Vec::new(),
            tasks: BTreeMap::new(),
            next_task: 0,
            ready: Vec::new(),
            interrupted: None,
            finished: false,
            now: Duration::ZERO,
            out: Vec::new(),
        }
    }

    /// Takes one input at the time `now`, counted from the start, and says what to do. After [`StepOutput::Done`] it says
    /// nothing any more.
    #[must_use]
    pub fn step(&mut self, now: Duration, input: StepInput) -> Vec<StepOutput> {
        self.now = now;
        match input {
            StepInput::Start => self.open_first(),
            StepInput::Ended(task, end) => {
                if let Some(active) = self.tasks.remove(&task) {
                    self.task_ended(active, end);
                }
            }
            StepInput::Interrupted(signal) => {
                if self.interrupted.is_none() && !self.finished {
                    self.interrupted = Some(signal);
                    self.record_entry(RecipeRunEntry::Interrupted { signal });
                }
            }
        }
        while let Some(scope) = self.ready.pop() {
            self.advance_scope(scope);
        }
        if self.interrupted.is_some() && self.tasks.is_empty() && !self.finished {
            self.finish_run(false);
        }
        std::mem::take(&mut self.out)
    }

    fn record_entry(&mut self, entry: RecipeRunEntry) {
        self.out.push(StepOutput::Record(entry));
    }

    fn scope_recipe(&self, scope: usize) -> &Recipe {
        &self.plan.recipes[self.scopes[scope].recipe].recipe
    }

    fn step_of(&self, active: usize) -> &RecipeStep {
        let active = &self.actives[active];
        &self.scope_recipe(active.scope).steps[active.index]
    }

    fn open_first(&mut self) {
        let recipe = self.plan.root;
        let limits = self.plan.recipes[recipe].recipe.limits;
        let scope = RecipeScope {
            recipe,
            parent: None,
            path: String::new(),
            depth: 0,
            context: std::mem::take(&mut self.context),
            changed: BTreeSet::new(),
            next: 0,
            group: Vec::new(),
            results: Vec::new(),
            steps: 0,
            max_steps: Some(limits.max_total_steps.unwrap_or(self.settings.max_total_steps)),
            max_depth: Some(limits.max_depth.unwrap_or(self.settings.max_depth)),
            began: self.now,
            over: false,
            failed: false,
            closed: false,
        };
        self.open_scope(scope);
    }

    fn open_scope(&mut self, scope: RecipeScope) {
        let name = self.plan.recipes[scope.recipe].recipe.name.clone();
        self.record_entry(RecipeRunEntry::Recipe { path: scope.path.clone(), name });
        self.ready.push(self.scopes.len());
        self.scopes.push(scope);
    }

    /// Goes on with a recipe as far as it goes without waiting.
    fn advance_scope(&mut self, id: usize) {
        loop {
            let scope = &self.scopes[id];
            if scope.closed || scope.group.iter().any(|active| !self.actives[*active].over) {
                return;
            }
            self.merge_group(id);
            let scope = &self.scopes[id];
            if scope.over || scope.next >= self.scope_recipe(id).steps.len() {
                return self.close_scope(id);
            }
            if self.interrupted.is_some() {
                return;
            }
            self.begin_next(id);
        }
    }

    /// Takes over what the steps of the last group have brought, in the order of the file.
    fn merge_group(&mut self, id: usize) {
        for active in std::mem::take(&mut self.scopes[id].group) {
            let step = self.step_of(active);
            let (name, fatal) = (step.output.clone(), step.fatal);
            let active = &mut self.actives[active];
            let merge = std::mem::take(&mut active.merge);
            let Some(result) = active.result.take() else { continue };
            let dry = self.settings.dry_run;
            let scope = &mut self.scopes[id];
            for (name, value) in merge {
                scope.changed.insert(name.clone());
                scope.context.set_value(name, value);
            }
            let stores =
                matches!(result.status, StepResultStatus::Completed | StepResultStatus::Degraded) || dry;
            if let Some(name) = name.filter(|_| stores) {
                let value = if dry { RecipeValue::from_string(DRY) } else { stored_value(&result) };
                scope.changed.insert(name.clone());
                scope.context.set_value(name, value);
            }
            if result.status == StepResultStatus::Failed && fatal {
                scope.over = true;
                scope.failed = true;
            }
            scope.results.push(result);
        }
    }

    /// The next step, or the next neighbours of one group, begin.
    fn begin_next(&mut self, id: usize) {
        let scope = &self.scopes[id];
        let steps = &self.scope_recipe(id).steps;
        let first = scope.next;
        let group = &steps[first].parallel_group;
        let together =
            steps[first..].iter().take_while(|step| group.is_some() && step.parallel_group == *group);
        let count = together.count().max(1);
        let prefix = if scope.path.is_empty() { String::new() } else { format!("{}.", scope.path) };
        let context = scope.context.clone();
        let members: Vec<usize> = (first..first + count)
            .map(|index| {
                self.actives.push(ActiveRecipeStep::new(
                    id,
                    index,
                    format!("{prefix}{index}"),
                    context.clone(),
                    self.now,
                ));
                self.actives.len() - 1
            })
            .collect();
        self.scopes[id].next += count;
        self.scopes[id].group.clone_from(&members);
        for member in members {
            self.begin_step(member);
        }
    }

    fn begin_step(&mut self, id: usize) {
        let step = self.step_of(id);
        let (step_id, kind) = (step.id.clone(), step.kind.name());
        if let Some(reason) = self.exclusion_reason(step) {
            let skipped = StepResult::new(&step_id, kind, StepResultStatus::Skipped);
            return self.settle_step(id, StepResult { skipped_reason: Some(reason), ..skipped });
        }
        if self.settings.dry_run {
            let result = dry_result(step);
            return self.settle_step(id, result);
        }
        if let Some(result) = self.settings.done.ended.remove(&self.actives[id].path) {
            return self.replay_step(id, result);
        }
        self.record_entry(RecipeRunEntry::Begin {
            path: self.actives[id].path.clone(),
            step: step_id,
            kind: kind.to_owned(),
        });
        if !self.start_hook(id, RecipeStepPhase::Before) {
            self.judge_condition(id);
        }
    }

    /// The reason that the tags leave a step out, if they do.
    fn exclusion_reason(&self, step: &RecipeStep) -> Option<String> {
        let of = |tags: &[String]| step.when_tags.iter().find(|tag| tags.contains(tag)).cloned();
        if let Some(tag) = of(&self.settings.exclude_tags) {
            return Some(format!("its tag {tag} is excluded"));
        }
        let include = &self.settings.include_tags;
        let left_out = !include.is_empty() && !step.when_tags.is_empty() && of(include).is_none();
        left_out.then(|| "none of its tags is included".to_owned())
    }

    /// A step that an earlier runner has done. A recipe is gone through again, for what it left in names: nothing of it runs.
    fn replay_step(&mut self, id: usize, result: StepResult) {
        if matches!(self.step_of(id).kind, StepKind::Recipe { .. })
            && result.status != StepResultStatus::Skipped
        {
            self.actives[id].replayed = Some(result);
            return self.start_work(id);
        }
        if result.status != StepResultStatus::Skipped {
            // What it counted for then, it counts for now.
            let _ = self.count_step(id);
        }
        self.settle_step(id, result);
    }

    fn judge_condition(&mut self, id: usize) {
        let step = self.step_of(id);
        let judged = match &step.condition {
            None => Ok(true),
            Some(Err(diagnostic)) => Err(diagnostic.message.clone()),
            Some(Ok(condition)) => {
                condition.is_met(&self.actives[id].context).map_err(|error| error.to_string())
            }
        };
        let (step_id, kind) = (step.id.clone(), step.kind.name());
        match judged {
            Ok(true) => self.start_work(id),
            Ok(false) => {
                let skipped = StepResult::new(&step_id, kind, StepResultStatus::Skipped);
                let skipped_reason = Some("its condition does not hold".to_owned());
                self.finish_step(id, StepResult { skipped_reason, ..skipped });
            }
            Err(error) => {
                let error = format!("Condition error: {error}");
                self.finish_step(id, StepResult::from_failure(&step_id, kind, error));
            }
        }
    }

    fn fail_step(&mut self, id: usize, error: impl Into<String>) {
        let step = self.step_of(id);
        let result = StepResult::from_failure(&step.id, step.kind.name(), error);
        self.finish_step(id, result);
    }

    /// Counts a step for every recipe that it is in; `Err` names the one whose limit is reached, and the way there.
    fn count_step(&mut self, id: usize) -> Result<(), String> {
        let mut scope = Some(self.actives[id].scope);
        let mut reached = None;
        while let Some(at) = scope {
            let found = &mut self.scopes[at];
            found.steps += 1;
            let (steps, limit) = (found.steps, found.max_steps);
            if let Some(limit) = limit.filter(|limit| steps > *limit) {
                reached.get_or_insert((at, limit));
            }
            scope = self.scopes[at].parent.map(|parent| self.actives[parent].scope);
        }
        match reached {
            None => Ok(()),
            Some((at, limit)) => Err(format!(
                "Total step limit ({limit}) of recipe '{}' exceeded at {}; raise recursion.max_total_steps",
                self.scope_recipe(at).name,
                self.step_trail(id)
            )),
        }
    }

    /// The way to a step: recipes and steps from the first one on.
    fn step_trail(&self, id: usize) -> String {
        let mut parts = vec![self.step_of(id).id.clone()];
        let mut scope = self.actives[id].scope;
        loop {
            parts.push(self.scope_recipe(scope).name.clone());
            let Some(parent) = self.scopes[scope].parent else { break };
            parts.push(self.step_of(parent).id.clone());
            scope = self.actives[parent].scope;
        }
        parts.reverse();
        parts.join(" > ")
    }

    /// The step is over; its recipe may go on.
    fn settle_step(&mut self, id: usize, result: StepResult) {
        let active = &mut self.actives[id];
        active.result = Some(result);
        active.over = true;
        let scope = active.scope;
        self.ready.push(scope);
    }

    /// A recipe has come to its end.
    fn close_scope(&mut self, id: usize) {
        let scope = &mut self.scopes[id];
        scope.closed = true;
        let (success, parent) = (!scope.failed, scope.parent);
        let path = scope.path.clone();
        match parent {
            None => {
                self.record_entry(RecipeRunEntry::RecipeEnd { path, success });
                self.finish_run(success);
            }
            Some(parent) => {
                self.record_entry(RecipeRunEntry::RecipeEnd { path, success });
                self.inner_ended(parent, id);
            }
        }
    }

    fn finish_run(&mut self, success: bool) {
        self.finished = true;
        let signal = self.interrupted.filter(|_| !success);
        let mut results =
            self.scopes.first_mut().map(|scope| std::mem::take(&mut scope.results)).unwrap_or_default();
        if let (Some(signal), Some(scope)) = (signal, self.scopes.first()) {
            for active in &scope.group {
                let step = self.step_of(*active);
                let error = format!("ended by signal {signal}; a resume runs it again");
                let failed = StepResult::from_failure(&step.id, step.kind.name(), error);
                results.push(self.actives[*active].result.clone().unwrap_or(failed));
            }
        }
        let scope = self.scopes.first();
        let result = RunResult {
            run_id: self.settings.run_id.clone(),
            recipe_name: self.plan.root().recipe.name.clone(),
            success,
            interrupted: signal,
            step_results: results,
            context: scope.map(|scope| scope.context.clone()).unwrap_or_default(),
            duration: self.now.as_secs_f64(),
            usage: None,
            bound: None,
        };
        self.out.push(StepOutput::Done(Box::new(result)));
    }
}

/// Returns the value for a name that holds a step's output.
fn stored_value(result: &StepResult) -> RecipeValue {
    let found = if result.json {
        RecipeValue::from_json(result.exact.as_ref().unwrap_or(&result.output))
    } else {
        None
    };
    found.unwrap_or_else(|| RecipeValue::from_output(&*result.output))
}

/// Returns the result of a step in a dry run.
fn dry_result(step: &RecipeStep) -> StepResult {
    let output = if step.parse_json {
        serde_json::json!({ "dry_run": true, "step": step.id }).to_string()
    } else if step.parallel_group.is_some() {
        DRY.to_owned()
    } else {
        "[dry run]".to_owned()
    };
    let result = StepResult::new(&step.id, step.kind.name(), StepResultStatus::Skipped);
    StepResult { output: output.into(), skipped_reason: Some("dry run".to_owned()), ..result }
}
