//! Every page that the code's tables make: where it is, and its text.

mod amp_behavior;
mod configuration;
mod environment;
mod exit_codes;
mod flag_matrix;
mod hooks;
mod policy_rules;
mod schemas;
pub(crate) mod streams;
mod table;

/// A generated page.
pub(crate) struct Page {
    /// Path in the repository.
    pub(crate) path: String,
    /// Makes its text.
    pub(crate) text: Box<dyn Fn() -> String>,
}

fn page(path: &str, text: fn() -> String) -> Page {
    Page { path: path.to_owned(), text: Box::new(text) }
}

/// Every page but that of the command line, which is made from the help of the binary.
pub(crate) fn pages() -> Vec<Page> {
    let mut pages = vec![
        page("docs/amp-sdk/provider-behavior.md", amp_behavior::page),
        page("docs/reference/configuration.md", configuration::page),
        page("docs/reference/environment.md", environment::page),
        page("docs/reference/exit-codes.md", exit_codes::page),
        page("docs/reference/flag-matrix.md", flag_matrix::page),
        page("docs/reference/hooks.md", hooks::page),
        page("docs/reference/policy-rules.md", policy_rules::page),
        page("docs/reference/schemas.md", schemas::page),
        page("docs/reference/streams.md", streams::page),
    ];
    pages.extend(schemas::pages());
    pages
}
