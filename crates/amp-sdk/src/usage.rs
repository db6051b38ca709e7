//! What was used, and what is left.

use crate::capability::Feature;
use crate::manage::{Call, Words, calls};

/// Which usage is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Range {
    /// By credit, token and thread.
    pub details: bool,
    /// From here on: RFC 3339.
    pub start: Option<String>,
    /// Up to here: RFC 3339.
    pub end: Option<String>,
}

calls! {
    amp;

    /// Usage and balance of the account, as the CLI prints them.
    usage(range: &Range) -> String {
        let words = Words::new(&["usage"])
            .switch("--details", range.details)
            .option("--start", range.start.as_ref())
            .option("--end", range.end.as_ref());
        Ok(Call::text(words, &[Feature::Usage]))
    }
}
