//! Copilot launched from within: recipes that were written for Claude call it with Claude's flags.
//!
//! [`normalize()`] turns such arguments into ones that Copilot takes, and widens no permission. The program that does that in Copilot's
//! place on PATH is in `amplihack-setup`.

mod arguments;
mod normalize;
mod words;

pub use normalize::{NormalizeError, NormalizeWarning, NormalizedArguments, normalize};

#[cfg(test)]
mod tests;
