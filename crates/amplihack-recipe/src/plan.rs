//! A recipe with everything that it can reach: parents merged, sub-recipes and agents found, mistakes known before the first step.

mod describe;
mod extends;
mod names;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use describe::describe;

use crate::diagnostic::{Diagnostic, Source, Span};
use crate::find::{AgentDefinition, Discovery, NotFound, ReadError, identity, read};
use crate::model::{Recipe, Step, StepKind};

/// When mistakes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
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
    pub recipes: Vec<Planned>,
    /// The one that is run.
    pub root: usize,
    /// What is odd: unknown fields, agents that are not there, names that nothing sets.
    pub warnings: Vec<Diagnostic>,
}

impl Plan {
    /// The recipe that is run.
    pub fn root(&self) -> &Planned {
        &self.recipes[self.root]
    }
}

/// A recipe, its parents' steps before its own.
#[derive(Debug)]
pub struct Planned {
    /// The recipe.
    pub recipe: Recipe,
    /// What each of its steps refers to, in the same order.
    pub steps: Vec<Resolved>,
}

/// What a step refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Of a recipe step: the place of its recipe in the plan, or why it has none.
    pub target: Option<Result<usize, String>>,
    /// Of an agent step: its definition, if it names one that is there.
    pub agent: Option<AgentDefinition>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The recipe is not there.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// Its file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is no recipe, or (strictly) something that it reaches has a mistake.
    #[error("{}", shown(.0))]
    Invalid(Vec<Diagnostic>),
    /// A parent cannot be found or read, or is its own parent.
    #[error("{}", shown(.0))]
    Extends(Vec<Diagnostic>),
}

impl CompileError {
    /// The diagnostics, if there are any.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Invalid(found) | Self::Extends(found) => found,
            Self::NotFound(_) | Self::File { .. } => &[],
        }
    }
}

impl From<ReadError> for CompileError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::File { path, error } => Self::File { path, error },
            ReadError::Invalid(found) => Self::Invalid(found),
        }
    }
}

fn shown(found: &[Diagnostic]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
}

/// Compiles the recipe in the file `entry`. `given` are the names that the command line sets.
pub fn compile(
    entry: &Path,
    discovery: &Discovery,
    mode: Mode,
    given: &[String],
) -> Result<Plan, CompileError> {
    let mut compiler = Compiler {
        discovery,
        top: entry,
        known: HashMap::new(),
        plan: Vec::new(),
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    let root = compiler.load(entry)?;
    // Those that are found on the way are put behind.
    let mut next = root;
    while next < compiler.plan.len() {
        compiler.resolve(next);
        next += 1;
    }
    if mode == Mode::Strict && !compiler.errors.is_empty() {
        return Err(CompileError::Invalid(compiler.errors));
    }
    let Compiler { plan: recipes, mut warnings, .. } = compiler;
    warnings.extend(names::unset(&recipes, given));
    Ok(Plan { recipes, root, warnings })
}

struct Compiler<'a> {
    discovery: &'a Discovery,
    top: &'a Path,
    /// Real paths of the recipes that are there, and their places.
    known: HashMap<PathBuf, usize>,
    plan: Vec<Planned>,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl Compiler<'_> {
    /// Reads a recipe with its parents; gives its place.
    fn load(&mut self, path: &Path) -> Result<usize, CompileError> {
        let real = identity(path);
        if let Some(&place) = self.known.get(&real) {
            return Ok(place);
        }
        let mut recipe = extends::merged(read(path)?, self.discovery, self.top)?;
        self.warnings.append(&mut recipe.warnings);
        let place = self.plan.len();
        self.plan.push(Planned { recipe, steps: Vec::new() });
        self.known.insert(real, place);
        Ok(place)
    }

    /// Finds what the steps of a recipe refer to.
    fn resolve(&mut self, place: usize) {
        let steps = self.plan[place].recipe.steps.clone();
        let resolved = steps.iter().map(|step| self.resolve_step(step)).collect();
        self.plan[place].steps = resolved;
    }

    fn resolve_step(&mut self, step: &Step) -> Resolved {
        if let Some(Err(error)) = &step.condition {
            let mut error = error.clone();
            error.message = format!("condition of step `{}`: {}", step.id, error.message);
            self.errors.push(error);
        }
        let mut resolved = Resolved::default();
        match &step.kind {
            StepKind::Bash { .. } | StepKind::Agent { agent: None, .. } => {}
            StepKind::Agent { agent: Some(reference), .. } => match self.discovery.agent(&reference.value) {
                Ok(definition) => resolved.agent = Some(definition),
                Err(error) => self.agent_missing(&step.source, reference.span, &error),
            },
            StepKind::Recipe { recipe: None, .. } => {
                let what = format!("step `{}` has no `recipe`", step.id);
                self.errors.push(Diagnostic::error(&step.source, step.span, what.clone()));
                resolved.target = Some(Err(what));
            }
            StepKind::Recipe { recipe: Some(name), .. } => {
                resolved.target = Some(self.target(&step.source, name.span, &name.value));
            }
        }
        resolved
    }

    fn agent_missing(&mut self, source: &Source, span: Span, error: &NotFound) {
        let help = match &error.reason {
            Some(reason) => reason.clone(),
            None => format!(
                "searched {}",
                error.searched.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ")
            ),
        };
        let what = format!("agent `{}` not found: the step runs without a system prompt", error.name);
        self.warnings.push(Diagnostic::warning(source, span, what).help(help));
    }

    fn target(&mut self, source: &Source, span: Span, name: &str) -> Result<usize, String> {
        let found = match self.discovery.sub_recipe(name, self.top, &source.path) {
            Ok(path) => self.load(&path),
            Err(error) => Err(error.into()),
        };
        found.map_err(|error| match &error {
            CompileError::NotFound(error) => {
                let what = format!("sub-recipe `{name}` not found");
                self.errors.push(Diagnostic::error(source, span, what).help(searched(error)));
                error.to_string()
            }
            CompileError::File { .. } => {
                self.errors.push(Diagnostic::error(source, span, error.to_string()));
                error.to_string()
            }
            CompileError::Invalid(found) | CompileError::Extends(found) => {
                self.errors.extend(found.iter().cloned());
                let lines: Vec<String> = found.iter().map(Diagnostic::line).collect();
                format!("sub-recipe '{name}' cannot be used: {}", lines.join("; "))
            }
        })
    }
}

fn searched(error: &NotFound) -> String {
    if let Some(reason) = &error.reason {
        return reason.clone();
    }
    let there = error.searched.iter().filter(|dir| dir.is_dir());
    format!("searched {}", there.map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", "))
}
