//! A recipe with everything that it can reach: parents merged, sub-recipes and agents found, mistakes known before the first step.

mod describe;
mod extends;
mod names;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use describe::describe_plan;

use crate::diagnostic::{RecipeDiagnostic, RecipeSeverity, RecipeSource, RecipeSourceSpan};
use crate::find::{
    AgentDefinition, NotFound, RecipeDiscovery, RecipeReadError, read_partly, read_recipe, recipe_identity,
};
use crate::model::{Recipe, RecipeStep, StepKind};

/// The time at which mistakes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanCompileMode {
    /// Before the first step: every mistake in everything that can be reached.
    Strict,
    /// As `recipe-runner-rs` has it: only what keeps the recipe itself from being read. A condition that cannot be read and a
    /// sub-recipe that is not there fail their step.
    AsPredecessor,
}

/// A recipe with everything that it can reach.
#[derive(Debug)]
pub struct Plan {
    /// The recipes, each once.
    pub recipes: Vec<PlannedRecipe>,
    /// The one that is run.
    pub root: usize,
    /// Warnings: unknown fields, agents that are not there, names that nothing sets.
    pub warnings: Vec<RecipeDiagnostic>,
}

impl Plan {
    /// The recipe that is run.
    pub fn root(&self) -> &PlannedRecipe {
        &self.recipes[self.root]
    }
}

/// A recipe, its parents' steps before its own.
#[derive(Debug)]
pub struct PlannedRecipe {
    /// The recipe.
    pub recipe: Recipe,
    /// The references of each of the recipe's steps, in step order.
    pub steps: Vec<StepReferences>,
}

/// The recipe or agent that a step refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepReferences {
    /// Of a recipe step: the place of its recipe in the plan, or why it has none.
    pub target: Option<Result<usize, String>>,
    /// Of an agent step: its definition, if it names one that is there.
    pub agent: Option<AgentDefinition>,
}

/// The reason that there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The recipe is not there.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The recipe's file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The file is no recipe, or (strictly) something that it reaches has a mistake.
    #[error("{}", join_diagnostics(.0))]
    Invalid(Vec<RecipeDiagnostic>),
    /// A parent cannot be found or read, or is its own parent.
    #[error("{}", join_diagnostics(.0))]
    Extends(Vec<RecipeDiagnostic>),
}

impl CompileError {
    /// The diagnostics, if there are any.
    pub fn diagnostics(&self) -> &[RecipeDiagnostic] {
        match self {
            Self::Invalid(found) | Self::Extends(found) => found,
            Self::NotFound(_) | Self::File { .. } => &[],
        }
    }
}

impl From<RecipeReadError> for CompileError {
    fn from(error: RecipeReadError) -> Self {
        match error {
            RecipeReadError::File { path, error } => Self::File { path, error },
            RecipeReadError::Invalid(found) => Self::Invalid(found),
        }
    }
}

fn join_diagnostics(found: &[RecipeDiagnostic]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
}

/// Compiles the recipe in the file `entry`. `given` are the names that the command line sets.
pub fn compile_plan(
    entry: &Path,
    discovery: &RecipeDiscovery,
    mode: PlanCompileMode,
    given: &[String],
) -> Result<Plan, CompileError> {
    let mut compiler = PlanCompiler {
        discovery,
        top: entry,
        mode,
        known: HashMap::new(),
        plan: Vec::new(),
        errors: Vec::new(),
        warnings: Vec::new(),
        has_no_parent: false,
    };
    let root = compiler.load_recipe(entry)?;
    // Those that are found on the way are put behind.
    let mut next = root;
    while next < compiler.plan.len() {
        compiler.resolve_steps(next);
        next += 1;
    }
    let PlanCompiler { plan: recipes, mut warnings, mut errors, has_no_parent, .. } = compiler;
    warnings.extend(names::warn_unset_names(&recipes, given));
    if mode == PlanCompileMode::Strict {
        for mut control in warnings.extract_if(.., |warning| warning.is_control) {
            control.severity = RecipeSeverity::Error;
            errors.push(control);
        }
    }
    if mode == PlanCompileMode::AsPredecessor || errors.is_empty() {
        return Ok(Plan { recipes, root, warnings });
    }
    // What is known by an error needs no warning as well; the rest is told with the errors, in the order of the files.
    warnings.retain(|warning| !errors.iter().any(|error| error.place() == warning.place()));
    errors.extend(warnings);
    errors.sort_by(|a, b| (a.path != entry, a.place()).cmp(&(b.path != entry, b.place())));
    errors.dedup();
    Err(if has_no_parent { CompileError::Extends(errors) } else { CompileError::Invalid(errors) })
}

struct PlanCompiler<'a> {
    discovery: &'a RecipeDiscovery,
    top: &'a Path,
    mode: PlanCompileMode,
    /// Real paths of the recipes that are there, and their places.
    known: HashMap<PathBuf, usize>,
    plan: Vec<PlannedRecipe>,
    errors: Vec<RecipeDiagnostic>,
    warnings: Vec<RecipeDiagnostic>,
    /// A parent cannot be used: what a recipe has of its own is compiled all the same, to find its mistakes.
    has_no_parent: bool,
}

impl PlanCompiler<'_> {
    /// Reads a recipe with its parents; gives its place.
    fn load_recipe(&mut self, path: &Path) -> Result<usize, CompileError> {
        let real = recipe_identity(path);
        if let Some(&place) = self.known.get(&real) {
            return Ok(place);
        }
        let mut recipe = self.read_merged(path)?;
        self.warnings.append(&mut recipe.warnings);
        let place = self.plan.len();
        self.plan.push(PlannedRecipe { recipe, steps: Vec::new() });
        self.known.insert(real, place);
        Ok(place)
    }

    /// Reads a recipe with its parents. Where every mistake counts, those that leave something to look at are kept for later.
    fn read_merged(&mut self, path: &Path) -> Result<Recipe, CompileError> {
        if self.mode == PlanCompileMode::AsPredecessor {
            return extends::merge_parents(read_recipe(path)?, self.discovery, self.top);
        }
        let (recipe, errors) = read_partly(path)?;
        let Some(recipe) = recipe else { return Err(CompileError::Invalid(errors)) };
        self.errors.extend(errors);
        match extends::merge_parents(recipe.clone(), self.discovery, self.top) {
            Err(CompileError::Extends(errors)) => {
                self.has_no_parent |= path == self.top;
                self.errors.extend(errors);
                Ok(recipe)
            }
            merged => merged,
        }
    }

    /// Finds what the steps of a recipe refer to.
    fn resolve_steps(&mut self, place: usize) {
        let steps = self.plan[place].recipe.steps.clone();
        let resolved = steps.iter().map(|step| self.resolve_step(step)).collect();
        self.plan[place].steps = resolved;
    }

    fn resolve_step(&mut self, step: &RecipeStep) -> StepReferences {
        if let Some(Err(error)) = &step.condition {
            let mut error = error.clone();
            error.message = format!("condition of step `{}`: {}", step.id, error.message);
            self.errors.push(error);
        }
        let mut resolved = StepReferences::default();
        match &step.kind {
            StepKind::Bash { .. } | StepKind::Agent { agent: None, .. } => {}
            StepKind::Agent { agent: Some(reference), .. } => {
                match self.discovery.find_agent(&reference.value) {
                    Ok(definition) => resolved.agent = Some(definition),
                    Err(error) => self.warn_missing_agent(&step.source, reference.span, &error),
                }
            }
            StepKind::Recipe { recipe: None, .. } => {
                let what = format!("step `{}` has no `recipe`", step.id);
                self.errors.push(RecipeDiagnostic::error_at(&step.source, step.span, what.clone()));
                resolved.target = Some(Err(what));
            }
            StepKind::Recipe { recipe: Some(name), .. } => {
                resolved.target = Some(self.resolve_target(&step.source, name.span, &name.value));
            }
        }
        resolved
    }

    fn warn_missing_agent(&mut self, source: &RecipeSource, span: RecipeSourceSpan, error: &NotFound) {
        let help = match &error.reason {
            Some(reason) => reason.clone(),
            None => format!(
                "searched {}",
                error.searched.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ")
            ),
        };
        let what = format!("agent `{}` not found: the step runs without a system prompt", error.name);
        self.warnings.push(RecipeDiagnostic::warning_at(source, span, what).with_help(help));
    }

    fn resolve_target(
        &mut self,
        source: &RecipeSource,
        span: RecipeSourceSpan,
        name: &str,
    ) -> Result<usize, String> {
        let found = match self.discovery.find_sub_recipe(name, self.top, &source.path) {
            Ok(path) => self.load_recipe(&path),
            Err(error) => Err(error.into()),
        };
        found.map_err(|error| match &error {
            CompileError::NotFound(error) => {
                let what = format!("sub-recipe `{name}` not found");
                self.errors
                    .push(RecipeDiagnostic::error_at(source, span, what).with_help(searched_text(error)));
                error.to_string()
            }
            CompileError::File { .. } => {
                self.errors.push(RecipeDiagnostic::error_at(source, span, error.to_string()));
                error.to_string()
            }
            CompileError::Invalid(found) | CompileError::Extends(found) => {
                self.errors.extend(found.iter().cloned());
                let lines: Vec<String> = found.iter().map(RecipeDiagnostic::to_line).collect();
                format!("sub-recipe '{name}' cannot be used: {}", lines.join("; "))
            }
        })
    }
}

fn searched_text(error: &NotFound) -> String {
    if let Some(reason) = &error.reason {
        return reason.clone();
    }
    let there = error.searched.iter().filter(|dir| dir.is_dir());
    format!("searched {}", there.map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", "))
}
