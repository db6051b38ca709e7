//! The grounds of a verdict.

use amplihack_verdict::{Span, Verdict};

use crate::rules::{self, CommandCall};

/// The grounds of a verdict.
#[derive(Debug)]
pub struct VerdictExplanation {
    /// The verdict.
    pub verdict: Verdict,
    /// Every command that was judged.
    pub commands: Vec<ExplainedCommand>,
    /// Every rule that said something, those that an `allow` lifted too.
    pub hits: Vec<Verdict>,
    /// Parts of the script that could not be understood.
    pub undecided: Vec<String>,
}

/// A command of an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedCommand {
    /// The command's words; a word that is not known is `…`.
    pub words: Vec<String>,
    /// Wrappers around it, outermost first.
    pub via: Vec<String>,
    /// The directory where it runs; `None` if that is not known.
    pub dir: Option<String>,
    /// The command's place in the script.
    pub span: Span,
}

impl VerdictExplanation {
    pub(super) fn new() -> Self {
        Self {
            verdict: Verdict::no_objection(),
            commands: Vec::new(),
            hits: Vec::new(),
            undecided: Vec::new(),
        }
    }
}

pub(super) fn explain_call(call: &CommandCall<'_>) -> ExplainedCommand {
    let words = std::iter::once(&call.path)
        .chain(&call.args)
        .map(|arg| rules::marks::display_text(arg.marked_text()));
    ExplainedCommand {
        words: words.collect(),
        via: call.command.via.clone(),
        dir: call.dir.as_ref().map(|dir| dir.display().to_string()),
        span: call.span(),
    }
}
