//! The launches for a step: its script, its agent, the recipe inside, hooks around it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::scope::{ActiveRecipeStep, RecipeScope, RecipeStepPhase};
use super::super::{RecipeTask, RecipeTaskWork, StepAgentQuestion};
use super::{RecipeContext, RecipeMachine, RecipeRunEntry, StepKind, StepOutput};
use crate::script::PreparedRecipeScript;
use crate::value::RecipeValue;

/// The longest time that a hook may take.
const HOOK: Duration = Duration::from_secs(30);

impl ActiveRecipeStep {
    pub(super) fn new(
        scope: usize,
        index: usize,
        path: String,
        context: RecipeContext,
        now: Duration,
    ) -> Self {
        Self {
            scope,
            index,
            path,
            context,
            phase: RecipeStepPhase::Before,
            began: now,
            launches: 0,
            attempt: 0,
            asked: 0,
            agent: None,
            warnings: Vec::new(),
            result: None,
            replayed: None,
            prompt: String::new(),
            over: false,
            merge: Vec::new(),
        }
    }
}

impl RecipeMachine {
    /// Does what the step is for.
    pub(super) fn start_work(&mut self, id: usize) {
        self.actives[id].phase = RecipeStepPhase::Work;
        let step = self.step_of(id);
        match &step.kind {
            StepKind::Bash { script } => {
                let prepared = script.prepare_with(&self.actives[id].context);
                let timeout = self.step_timeout(id);
                let cwd = self.step_directory(id);
                if let Err(error) = self.count_step(id) {
                    return self.fail_step(id, error);
                }
                self.warn_missing(id, &prepared.missing);
                self.spawn_task(
                    id,
                    RecipeTaskWork::Script { prepared, cwd, timeout },
                    "step",
                    None,
                    Duration::ZERO,
                );
            }
            StepKind::Agent { prompt, .. } => {
                let context = &self.actives[id].context;
                let missing = prompt.as_ref().map(|prompt| prompt.missing_names(context)).unwrap_or_default();
                let prompt = prompt.as_ref().map(|prompt| prompt.render(context)).unwrap_or_default();
                if let Err(error) = self.count_step(id) {
                    return self.fail_step(id, error);
                }
                self.warn_missing(id, &missing);
                self.ask_agent(id, prompt);
            }
            StepKind::Recipe { .. } => self.enter_recipe(id),
        }
    }

    fn warn_missing(&mut self, id: usize, names: &[String]) {
        for name in names {
            let message = format!("{{{{{name}}}}} has no value here");
            self.record_entry(RecipeRunEntry::Warning { path: self.actives[id].path.clone(), message });
        }
    }

    fn step_timeout(&self, id: usize) -> Option<Duration> {
        self.step_of(id).timeout.or(self.settings.step_timeout).filter(|limit| !limit.is_zero())
    }

    /// Returns the working directory of a step.
    pub(super) fn step_directory(&self, id: usize) -> PathBuf {
        let context = &self.actives[id].context;
        let own = self.step_of(id).working_dir.as_ref().map(|template| template.render(context));
        own.filter(|own| !own.is_empty())
            .map_or_else(|| self.settings.cwd.clone(), |own| join_clean(&self.settings.cwd, &own))
    }

    /// Puts a question to the step's agent for the first time.
    pub(super) fn ask_agent(&mut self, id: usize, prompt: String) {
        self.actives[id].attempt = 0;
        self.actives[id].prompt = prompt;
        self.ask_again(id, None, Duration::ZERO);
    }

    /// Puts the same question again.
    pub(super) fn ask_again(&mut self, id: usize, why: Option<String>, pause: Duration) {
        let retry = self.settings.retry;
        let recovering = self.actives[id].phase == RecipeStepPhase::Recovery;
        let active = &mut self.actives[id];
        active.attempt += 1;
        active.asked += 1;
        let last = active.attempt > 1 && active.attempt == retry.times + 1;
        let prompt = active.prompt.clone();
        let scope = active.scope;
        let step = self.step_of(id);
        let model = match &step.kind {
            StepKind::Agent { model, .. } => model.clone(),
            _ => None,
        };
        let model = if last && retry.fallback_auto { Some("auto".to_owned()) } else { model };
        let resolved = &self.plan.recipes[self.scopes[scope].recipe].steps[self.actives[id].index];
        let definition = resolved.agent.as_ref().map(|definition| definition.text.clone());
        let timeout = if recovering { self.settings.step_timeout } else { self.step_timeout(id) };
        let ask = StepAgentQuestion { prompt, definition, model, cwd: self.step_directory(id), timeout };
        self.spawn_task(id, RecipeTaskWork::Agent(ask), "step", why, pause);
    }

    /// Goes into the recipe inside.
    fn enter_recipe(&mut self, id: usize) {
        let outer = self.actives[id].scope;
        let recipe = self.scopes[outer].recipe;
        let target = match self.plan.recipes[recipe].steps[self.actives[id].index].target.clone() {
            Some(Ok(target)) => target,
            Some(Err(error)) => return self.fail_step(id, error),
            None => return self.fail_step(id, "the step has no `recipe`"),
        };
        if let Some((limit, name)) = self.too_deep(outer) {
            let way = self.step_trail(id);
            let error = format!(
                "Maximum recipe recursion depth ({limit}) of recipe '{name}' reached at {way}; raise recursion.max_depth"
            );
            return self.fail_step(id, error);
        }
        let inner = &self.plan.recipes[target].recipe;
        let (limits, mut context) = (inner.limits, inner.context.clone());
        let outside = &self.actives[id].context;
        // Only these go out again at its end: the rest came from outside, where a step of its group may have changed it.
        let mut changed: std::collections::BTreeSet<String> = context
            .iter()
            .filter(|(name, _)| outside.get(name).is_none())
            .map(|(name, _)| name.to_owned())
            .collect();
        let given: Vec<(String, RecipeValue)> = match &self.step_of(id).kind {
            StepKind::Recipe { context: arguments, .. } => {
                arguments.iter().map(|(name, argument)| (name.clone(), argument.render(outside))).collect()
            }
            _ => Vec::new(),
        };
        // Values outside win over its defaults, as in the recipe runner before this one; what the step gives wins over both.
        context.overlay_with(outside);
        for (name, value) in given {
            changed.insert(name.clone());
            context.set_value(name, value);
        }
        let scope = RecipeScope {
            recipe: target,
            parent: Some(id),
            path: self.actives[id].path.clone(),
            depth: self.scopes[outer].depth + 1,
            context,
            changed,
            next: 0,
            group: Vec::new(),
            results: Vec::new(),
            steps: 0,
            max_steps: limits.max_total_steps,
            max_depth: limits.max_depth,
            began: self.now,
            over: false,
            failed: false,
            closed: false,
        };
        self.open_scope(scope);
    }

    /// The limit that a recipe inside `scope` would exceed, and whose it is.
    fn too_deep(&self, scope: usize) -> Option<(u32, String)> {
        let depth = self.scopes[scope].depth;
        let mut at = Some(scope);
        while let Some(id) = at {
            let found = &self.scopes[id];
            if let Some(limit) = found.max_depth.filter(|limit| depth - found.depth >= *limit) {
                return Some((limit, self.scope_recipe(id).name.clone()));
            }
            at = found.parent.map(|parent| self.actives[parent].scope);
        }
        None
    }

    /// Starts the hook of a phase. False: there is none.
    pub(super) fn start_hook(&mut self, id: usize, phase: RecipeStepPhase) -> bool {
        let hooks = &self.scope_recipe(self.actives[id].scope).hooks;
        let result = self.actives[id].result.as_ref();
        let failed = result.is_some_and(|result| result.status == crate::result::StepResultStatus::Failed);
        let script = match phase {
            RecipeStepPhase::Before => &hooks.pre_step,
            _ if failed => &hooks.on_error,
            _ => &hooks.post_step,
        };
        let Some(script) = script else { return false };
        let mut context = self.actives[id].context.clone();
        let facts = [
            ("id", self.step_of(id).id.as_str()),
            ("status", result.map_or("", |result| result.status.name())),
            ("error", result.map_or("", |result| result.error.as_str())),
        ];
        for (name, value) in facts {
            context.set_value(format!("step_{name}"), RecipeValue::from_string(value));
        }
        let mut prepared = script.prepare_with(&context);
        for (name, value) in facts {
            let value: String = value.replace('\0', "").chars().take(4096).collect();
            prepared.env.push((format!("RECIPE_STEP_{}", name.to_ascii_uppercase()), value));
        }
        self.actives[id].phase = phase;
        let work = RecipeTaskWork::Script { prepared, cwd: self.settings.cwd.clone(), timeout: Some(HOOK) };
        self.spawn_task(id, work, "hook", None, Duration::ZERO);
        true
    }

    /// Starts the staging of what an agent changed.
    pub(super) fn start_staging(&mut self, id: usize) {
        self.actives[id].phase = RecipeStepPhase::Stage;
        let text = "git rev-parse --is-inside-work-tree >/dev/null 2>&1 && git add -A".to_owned();
        let prepared = PreparedRecipeScript { text, ..PreparedRecipeScript::default() };
        let work = RecipeTaskWork::Script { prepared, cwd: self.step_directory(id), timeout: Some(HOOK) };
        self.spawn_task(id, work, "stage", None, Duration::ZERO);
    }

    fn spawn_task(
        &mut self,
        id: usize,
        work: RecipeTaskWork,
        what: &str,
        again: Option<String>,
        pause: Duration,
    ) {
        if self.interrupted.is_some() {
            // The step stays undone.
            return;
        }
        let active = &mut self.actives[id];
        active.launches += 1;
        let path = active.path.clone();
        let before = self.settings.done.launches.get(&path).copied().unwrap_or_default();
        let name = format!("{path}-{}", before + active.launches);
        let adopt = (what == "step").then(|| self.settings.done.adopt.remove(&path)).flatten();
        if adopt.is_none() {
            let pause = (!pause.is_zero()).then_some(pause.as_secs_f64());
            let (path, name, what) = (path.clone(), name.clone(), what.to_owned());
            self.record_entry(RecipeRunEntry::Launch { path, name, what, again, pause });
        }
        let task = self.next_task;
        self.next_task += 1;
        self.tasks.insert(task, id);
        self.out.push(StepOutput::Spawn(RecipeTask { id: task, path, name, delay: pause, work, adopt }));
    }
}

/// `path` as seen from `base`, without `.` in it.
fn join_clean(base: &Path, path: &str) -> PathBuf {
    base.join(path).components().collect()
}
