//! Conditions: `status == 'ok' and int(count) >= 3`. Read once into a tree, judged against a context as often as needed.

mod eval;
mod functions;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::context::Context;
pub(crate) use parser::Expr;

/// A condition that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    root: Expr,
}

/// Why a condition cannot be read or judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ConditionError {
    /// What is wrong.
    pub text: String,
    /// Where, in bytes of the condition.
    pub span: Range<usize>,
    /// What to do about it.
    pub help: Option<String>,
}

impl ConditionError {
    fn new(text: impl Into<String>, span: Range<usize>) -> Self {
        Self { text: text.into(), span, help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Bytes of the longest condition.
const LONGEST: usize = 8192;

impl Condition {
    /// Reads a condition. All of it has to be one expression.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        if text.len() > LONGEST {
            let what = format!("condition expression too long ({} bytes, max {LONGEST})", text.len());
            return Err(ConditionError::new(what, 0..0));
        }
        let root = parser::parse(text, &lexer::tokens(text)?)?;
        Ok(Self { text: text.to_owned(), root })
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.text
    }

    /// Whether it holds. What a name without a value gives is nothing: false, and equal only to another nothing.
    pub fn eval(&self, context: &Context) -> Result<bool, ConditionError> {
        let value = eval::eval(&self.root, context)?;
        Ok(eval::truthy(&value))
    }

    /// The names that it asks for: `a.b` for `a.b == 1`, each as often as it does.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names
    }
}
