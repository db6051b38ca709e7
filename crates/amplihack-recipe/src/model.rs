//! A recipe after it was read: typed steps, each with the place where it was written.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::condition::Condition;
use crate::context::Context;
use crate::diagnostic::Diagnostic;
pub use crate::diagnostic::{Source, Span};
use crate::script::Script;
use crate::template::Template;
use crate::value::Value;

/// A recipe.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Where it was read from.
    pub source: Source,
    /// Its name; not empty.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its version; `1.0.0` if it does not say.
    pub version: String,
    /// Who wrote it.
    pub author: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Values that names have at the start.
    pub context: Context,
    /// What is asked of values before the first step.
    pub context_validation: BTreeMap<String, Check>,
    /// How deep and how long it may run.
    pub limits: RecipeLimits,
    /// Scripts around steps.
    pub hooks: Hooks,
    /// The recipe whose steps come first.
    pub extends: Option<Spanned<String>>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What is odd about it.
    pub warnings: Vec<Diagnostic>,
}

/// Something with the place where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The thing.
    pub value: T,
    /// Its place in the recipe's source.
    pub span: Span,
}

/// What is asked of a value before the first step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// It is there and not blank.
    Nonempty,
    /// It names something that exists.
    Path,
    /// It names a directory in a git repository.
    GitRepo,
    /// Nothing.
    Optional,
    /// A word that means nothing; it is warned about.
    Unknown(String),
}

/// What a recipe says about its own limits; `None`: nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecipeLimits {
    /// Recipes inside recipes.
    pub max_depth: Option<u32>,
    /// Steps in all, those of sub-recipes with them.
    pub max_total_steps: Option<u32>,
}

/// Scripts around steps.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    /// Before each step.
    pub pre_step: Option<Script>,
    /// After each step that did not fail.
    pub post_step: Option<Script>,
    /// After each step that failed.
    pub on_error: Option<Script>,
}

/// One step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its name; not empty.
    pub id: String,
    /// What it does.
    pub kind: StepKind,
    /// The name that its output gets.
    pub output: Option<String>,
    /// Whether it is done at all. An error is kept: `recipe-runner-rs` fails the step for it, `amplihack` the recipe.
    pub condition: Option<Result<Condition, Diagnostic>>,
    /// Its output is searched for JSON.
    pub parse_json: bool,
    /// Without JSON in its output it has failed.
    pub parse_json_required: bool,
    /// Where it runs, if not in the run's directory.
    pub working_dir: Option<Template>,
    /// How long it may take. Zero is no limit.
    pub timeout: Option<Duration>,
    /// Its failure ends the recipe.
    pub fatal: bool,
    /// Neighbours with the same group run at the same time.
    pub parallel_group: Option<String>,
    /// Tags that choose it.
    pub when_tags: Vec<String>,
    /// What its output has to look like: a JSON Schema.
    pub outputs_schema: Option<serde_json::Value>,
    /// Where it was written: the place of its id.
    pub span: Span,
    /// The recipe that it was written in, if that is a parent.
    pub source: Source,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// Runs a script.
    Bash {
        /// For bash.
        script: Script,
    },
    /// Asks an agent.
    Agent {
        /// A reference to its definition.
        agent: Option<Spanned<String>>,
        /// What it is asked.
        prompt: Option<Template>,
        /// The model.
        model: Option<String>,
        /// A word that the predecessor accepts and ignores.
        mode: Option<String>,
        /// Whether what it changed is staged; `None`: as the run says.
        auto_stage: Option<bool>,
    },
    /// Runs another recipe.
    Recipe {
        /// Its name.
        recipe: Option<Spanned<String>>,
        /// What its names are set to.
        context: Vec<(String, Argument)>,
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
pub enum Argument {
    /// Without templates.
    Value(Value),
    /// A string.
    Template(Template),
    /// A list.
    List(Vec<Self>),
    /// A map.
    Map(Vec<(String, Self)>),
}

impl Argument {
    /// With values in place. A string that is one placeholder becomes the value itself, with its type.
    pub fn render(&self, context: &Context) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Template(template) => template.value(context),
            Self::List(items) => {
                let items: Vec<Value> = items.iter().map(|item| item.render(context)).collect();
                Value::list(items.iter())
            }
            Self::Map(entries) => {
                let entries: Vec<(&str, Value)> =
                    entries.iter().map(|(name, item)| (name.as_str(), item.render(context))).collect();
                Value::object(entries.iter().map(|(name, value)| (*name, value)))
            }
        }
    }

    /// The names in its templates.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Value(_) => Vec::new(),
            Self::Template(template) => template.names().collect(),
            Self::List(items) => items.iter().flat_map(Self::names).collect(),
            Self::Map(entries) => entries.iter().flat_map(|(_, item)| item.names()).collect(),
        }
    }
}

impl Step {
    /// Every name that its templates insert.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match &self.kind {
            StepKind::Bash { script } => script.names().collect(),
            StepKind::Agent { prompt, .. } => prompt.iter().flat_map(Template::names).collect(),
            StepKind::Recipe { context, .. } => context.iter().flat_map(|(_, item)| item.names()).collect(),
        };
        names.extend(self.working_dir.iter().flat_map(Template::names));
        names
    }
}
