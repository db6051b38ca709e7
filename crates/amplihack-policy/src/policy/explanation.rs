//! How a verdict came about.

use crate::decision::{Span, Verdict};
use crate::rules::{self, Call};

/// How a verdict came about.
#[derive(Debug)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// Every command that was judged.
    pub commands: Vec<ExplainedCommand>,
    /// Every rule that said something, those that an `allow` lifted too.
    pub hits: Vec<Verdict>,
    /// What could not be understood.
    pub undecided: Vec<String>,
}

/// One command of an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedCommand {
    /// Its words; what is not known is `…`.
    pub words: Vec<String>,
    /// Wrappers around it, outermost first.
    pub via: Vec<String>,
    /// Where it runs, if that is known.
    pub dir: Option<String>,
    /// Where it stands.
    pub span: Span,
}

impl Explanation {
    pub(super) fn new() -> Self {
        Self { verdict: Verdict::none(), commands: Vec::new(), hits: Vec::new(), undecided: Vec::new() }
    }
}

pub(super) fn explained(call: &Call<'_>) -> ExplainedCommand {
    let words = std::iter::once(&call.path).chain(&call.args).map(|arg| rules::marks::shown(arg.marked()));
    ExplainedCommand {
        words: words.collect(),
        via: call.command.via.clone(),
        dir: call.dir.as_ref().map(|dir| dir.display().to_string()),
        span: call.span(),
    }
}
