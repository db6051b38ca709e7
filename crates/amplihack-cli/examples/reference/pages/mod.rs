//! Every page that the code's tables make: where it is, and its text.

mod amp_behavior;
mod configuration;
mod environment;
mod exit_codes;
mod flag_matrix;
mod hooks;
mod policy_rules;
mod schemas;
mod table;

/// A generated page.
pub(crate) struct Page {
    /// Its place in the repository.
    pub(crate) path: &'static str,
    /// Makes its text.
    pub(crate) text: fn() -> String,
}

/// Every page but that of the command line, which is made from the help of the binary.
pub(crate) const PAGES: &[Page] = &[
    Page { path: "docs/amp-sdk/provider-behavior.md", text: amp_behavior::page },
    Page { path: "docs/reference/configuration.md", text: configuration::page },
    Page { path: "docs/reference/environment.md", text: environment::page },
    Page { path: "docs/reference/exit-codes.md", text: exit_codes::page },
    Page { path: "docs/reference/flag-matrix.md", text: flag_matrix::page },
    Page { path: "docs/reference/hooks.md", text: hooks::page },
    Page { path: "docs/reference/policy-rules.md", text: policy_rules::page },
    Page { path: "docs/reference/schemas/event.json", text: schemas::event },
    Page { path: "docs/reference/schemas/report.json", text: schemas::report },
    Page { path: "docs/reference/schemas/run.json", text: schemas::run },
];
