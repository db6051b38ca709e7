//! A recipe after it was read: typed steps, each with the place where it was written.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::condition::StepCondition;
use crate::context::RecipeContext;
use crate::diagnostic::RecipeDiagnostic;
pub use crate::diagnostic::{RecipeSource, RecipeSourceSpan};
use crate::script::RecipeScript;
use crate::template::TextTemplate;
use crate::value::RecipeValue;

/// A recipe.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// The source that the recipe was read from.
    pub source: RecipeSource,
    /// The name of the recipe; not empty.
    pub name: String,
    /// The purpose of the recipe, for people.
    pub description: String,
    /// The version of the recipe; `1.0.0` if the file has none.
    pub version: String,
    /// The author of the recipe; empty if the file has none.
    pub author: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Values that names have at the start.
    pub context: RecipeContext,
    /// Checks on values before the first step, by name.
    pub context_validation: BTreeMap<String, ContextCheck>,
    /// Limits on the depth and the length of the recipe's runs.
    pub limits: RecipeLimits,
    /// Scripts around steps.
    pub hooks: RecipeHooks,
    /// The recipe whose steps come first.
    pub extends: Option<SpannedField<String>>,
    /// The steps of the recipe, in order.
    pub steps: Vec<RecipeStep>,
    /// Warnings about the recipe.
    pub warnings: Vec<RecipeDiagnostic>,
}

/// Something with the place where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpannedField<T> {
    /// The thing.
    pub value: T,
    /// The place of the value in the recipe's source.
    pub span: RecipeSourceSpan,
}

/// A check on a value before the first step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextCheck {
    /// The value is there and not blank.
    Nonempty,
    /// The value names a path that exists.
    Path,
    /// The value names a directory in a git repository.
    GitRepo,
    /// Nothing.
    Optional,
    /// A word that means nothing; it is warned about.
    Unknown(String),
}

/// The limits in a recipe's file; `None`: the file has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecipeLimits {
    /// Recipes inside recipes.
    pub max_depth: Option<u32>,
    /// Steps in all, those of sub-recipes with them.
    pub max_total_steps: Option<u32>,
}

/// Scripts around steps.
#[derive(Debug, Clone, Default)]
pub struct RecipeHooks {
    /// Before each step.
    pub pre_step: Option<RecipeScript>,
    /// After each step that did not fail.
    pub post_step: Option<RecipeScript>,
    /// After each step that failed.
    pub on_error: Option<RecipeScript>,
}

/// A step of a recipe.
#[derive(Debug, Clone)]
pub struct RecipeStep {
    /// The id of the step; not empty.
    pub id: String,
    /// The kind of the step, with the fields of that kind.
    pub kind: StepKind,
    /// The name that its output gets.
    pub output: Option<String>,
    /// The condition of the step. An error is kept: `recipe-runner-rs` fails the step for it, `amplihack` the recipe.
    pub condition: Option<Result<StepCondition, RecipeDiagnostic>>,
    /// True if the step's output is searched for JSON.
    pub parse_json: bool,
    /// Without JSON in its output it has failed.
    pub parse_json_required: bool,
    /// The working directory of the step, if not the run's directory.
    pub working_dir: Option<TextTemplate>,
    /// The longest time that the step may take. Zero is no limit.
    pub timeout: Option<Duration>,
    /// True if the step's failure ends the recipe.
    pub fatal: bool,
    /// Neighbours with the same group run at the same time.
    pub parallel_group: Option<String>,
    /// Tags that choose it.
    pub when_tags: Vec<String>,
    /// The JSON Schema that the step's output has to fit.
    pub outputs_schema: Option<serde_json::Value>,
    /// The place of the step's id in its source.
    pub span: RecipeSourceSpan,
    /// The recipe that it was written in, if that is a parent.
    pub source: RecipeSource,
}

/// The kind of a step, with the fields of that kind.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// Runs a script.
    Bash {
        /// For bash.
        script: RecipeScript,
    },
    /// Asks an agent.
    Agent {
        /// A reference to its definition.
        agent: Option<SpannedField<String>>,
        /// The prompt for the agent.
        prompt: Option<TextTemplate>,
        /// The model.
        model: Option<String>,
        /// A word that the predecessor accepts and ignores.
        mode: Option<String>,
        /// True if the agent's changes are staged; `None`: the run's setting holds.
        auto_stage: Option<bool>,
    },
    /// Runs another recipe.
    Recipe {
        /// The name of the recipe.
        recipe: Option<SpannedField<String>>,
        /// The names and values that the recipe gets.
        context: Vec<(String, SubRecipeArgument)>,
        /// An agent is asked to mend a failure.
        recovery_on_failure: bool,
    },
}

impl StepKind {
    /// `bash`, `agent` or `recipe`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bash { .. } => "bash",
            Self::Agent { .. } => "agent",
            Self::Recipe { .. } => "recipe",
        }
    }
}

/// A value that is handed to a sub-recipe, with templates at any depth.
#[derive(Debug, Clone, PartialEq)]
pub enum SubRecipeArgument {
    /// Without templates.
    Value(RecipeValue),
    /// A string.
    Template(TextTemplate),
    /// A list.
    List(Vec<Self>),
    /// A map.
    Map(Vec<(String, Self)>),
}

impl SubRecipeArgument {
    /// With values in place. A string that is one placeholder becomes the value itself, with its type.
    pub fn render(&self, context: &RecipeContext) -> RecipeValue {
        match self {
            Self::Value(value) => value.clone(),
            Self::Template(template) => template.render_value(context),
            Self::List(items) => {
                let items: Vec<RecipeValue> = items.iter().map(|item| item.render(context)).collect();
                RecipeValue::from_items(items.iter())
            }
            Self::Map(entries) => {
                let entries: Vec<(&str, RecipeValue)> =
                    entries.iter().map(|(name, item)| (name.as_str(), item.render(context))).collect();
                RecipeValue::from_entries(entries.iter().map(|(name, value)| (*name, value)))
            }
        }
    }

    /// The names in its templates.
    pub fn template_names(&self) -> Vec<&str> {
        match self {
            Self::Value(_) => Vec::new(),
            Self::Template(template) => template.placeholder_names().collect(),
            Self::List(items) => items.iter().flat_map(Self::template_names).collect(),
            Self::Map(entries) => entries.iter().flat_map(|(_, item)| item.template_names()).collect(),
        }
    }
}

impl RecipeStep {
    /// Every name that its templates insert.
    pub fn template_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match &self.kind {
            StepKind::Bash { script } => script.placeholder_names().collect(),
            StepKind::Agent { prompt, .. } => {
                prompt.iter().flat_map(TextTemplate::placeholder_names).collect()
            }
            StepKind::Recipe { context, .. } => {
                context.iter().flat_map(|(_, item)| item.template_names()).collect()
            }
        };
        names.extend(self.working_dir.iter().flat_map(TextTemplate::placeholder_names));
        names
    }
}
