//! Conditions: `status == 'ok' and int(count) >= 3`. Read once into a tree, judged against a context as often as needed.

mod eval;
mod functions;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::context::RecipeContext;
pub(crate) use parser::ConditionExpr;

/// A condition that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCondition {
    text: String,
    root: ConditionExpr,
}

/// The error of a condition that cannot be parsed or evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ConditionError {
    /// The fault, as a lower-case fragment.
    pub text: String,
    /// The place of the fault, in bytes of the condition.
    pub span: Range<usize>,
    /// Advice on how to correct the condition.
    pub help: Option<String>,
}

impl ConditionError {
    fn new(text: impl Into<String>, span: Range<usize>) -> Self {
        Self { text: text.into(), span, help: None }
    }

    fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Bytes of the longest condition.
const LONGEST: usize = 8192;

impl StepCondition {
    /// Reads a condition. All of it has to be one expression.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        if text.len() > LONGEST {
            let what = format!("condition expression too long ({} bytes, max {LONGEST})", text.len());
            return Err(ConditionError::new(what, 0..0));
        }
        let root = parser::parse_tokens(text, &lexer::tokenize_condition(text)?)?;
        Ok(Self { text: text.to_owned(), root })
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.text
    }

    /// Reports whether the condition holds. A name without a value is null: false, and equal only to another null.
    pub fn is_met(&self, context: &RecipeContext) -> Result<bool, ConditionError> {
        let value = eval::eval_expr(&self.root, context)?;
        Ok(eval::is_truthy(&value))
    }

    /// The names that it asks for: `a.b` for `a.b == 1`, each as often as it does.
    pub fn referenced_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.collect_names(&mut names);
        names
    }
}
