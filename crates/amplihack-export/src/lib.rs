//! Recorded runs for people and programs elsewhere: one HTML page, Markdown, OpenTelemetry traces.
//!
//! Everything that an agent, a tool or a user wrote is hostile here. It becomes a [`CleanText`] text before it is written: secrets are
//! replaced, and what hides or disturbs is made visible. Whoever writes a page can write fixed markup and escaped text, nothing else.
//!
//! Nothing here starts a process; only the feature `otel` touches a network.

mod clean;
mod error;
mod html;
mod items;
mod markdown;
mod model;
pub mod otel;
mod summary;
#[cfg(test)]
mod testing;
mod tool;

pub use clean::{CleanText, TextCleaner, make_visible};
pub use error::ExportError;
pub use html::html_page;
pub use markdown::markdown_document;
pub use model::{ExportDocument, ExportedRun, UnattendedRun, UnattendedTurn, VerificationCheck};
