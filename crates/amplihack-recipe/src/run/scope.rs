//! The state of the recipes and steps that the machine is in.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::context::RecipeContext;
use crate::result::{AgentRecord, StepResult};
use crate::value::RecipeValue;

/// A recipe that is being run.
pub(super) struct RecipeScope {
    /// The number of the recipe in the plan.
    pub(super) recipe: usize,
    /// The step that it is inside of.
    pub(super) parent: Option<usize>,
    /// The path of that step; empty for the first recipe.
    pub(super) path: String,
    /// Recipes above.
    pub(super) depth: u32,
    pub(super) context: RecipeContext,
    /// Names that have, or may have, another value than they had outside.
    pub(super) changed: BTreeSet<String>,
    /// The number of the step that comes next.
    pub(super) next: usize,
    /// Steps that are being done: one, or a group.
    pub(super) group: Vec<usize>,
    pub(super) results: Vec<StepResult>,
    /// Steps that were begun here and inside.
    pub(super) steps: u32,
    pub(super) max_steps: Option<u32>,
    pub(super) max_depth: Option<u32>,
    pub(super) began: Duration,
    /// No further step is begun.
    pub(super) over: bool,
    pub(super) failed: bool,
    /// True if the recipe's end was recorded.
    pub(super) closed: bool,
}

/// A step that is being done.
pub(super) struct ActiveRecipeStep {
    /// Warnings from the launches of the step's agent, each once.
    pub(super) warnings: Vec<String>,
    pub(super) scope: usize,
    /// The number of the step in the recipe.
    pub(super) index: usize,
    pub(super) path: String,
    /// The context of the step: the scope's names when it began.
    pub(super) context: RecipeContext,
    pub(super) phase: RecipeStepPhase,
    pub(super) began: Duration,
    /// Times that something was launched for it.
    pub(super) launches: u32,
    /// Times that its agent was asked, for one question.
    pub(super) attempt: u32,
    pub(super) asked: u32,
    pub(super) agent: Option<AgentRecord>,
    /// The result of the step, once that is known.
    pub(super) result: Option<StepResult>,
    /// The step is over, its hooks too.
    pub(super) over: bool,
    /// Names and values that the recipe inside has changed.
    pub(super) merge: Vec<(String, RecipeValue)>,
    /// The prompt for the step's agent.
    pub(super) prompt: String,
    /// The result that an earlier runner recorded, for a recipe that is gone through again.
    pub(super) replayed: Option<StepResult>,
}

/// The phase of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecipeStepPhase {
    Before,
    Work,
    /// An agent is asked for JSON once more.
    Json,
    /// An agent is asked to mend what a recipe has failed at.
    Recovery,
    Stage,
    After,
}
