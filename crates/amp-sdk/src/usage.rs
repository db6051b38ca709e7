//! Usage and balance of the account.

use crate::capability::CliFeature;
use crate::manage::{CommandWords, ManagementCall, calls};
use crate::setters::setters;

/// The span and detail of the usage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageRange {
    /// By credit, token and thread.
    pub details: bool,
    /// From here on: RFC 3339.
    pub start: Option<String>,
    /// Up to here: RFC 3339.
    pub end: Option<String>,
}

setters! {
    UsageRange {
        plain(bool) with_details = details,
        into(String) with_start = start,
        into(String) with_end = end,
    }
}

calls! {
    amp;

    /// Usage and balance of the account, as the CLI prints them.
    usage(range: &UsageRange) -> String {
        let words = CommandWords::new(&["usage"])
            .with_switch("--details", range.details)
            .with_option("--start", range.start.as_ref())
            .with_option("--end", range.end.as_ref());
        Ok(ManagementCall::new_text(words, &[CliFeature::Usage]))
    }
}
