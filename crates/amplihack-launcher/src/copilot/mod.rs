//! Copilot launched from within: recipes that were written for Claude call it with Claude's flags.
//!
//! [`normalize`] turns such arguments into ones that Copilot takes, and widens no permission; [`shim`] is the program that
//! stands in Copilot's place on PATH, does that, and becomes Copilot.

mod arguments;
mod normalize;
pub mod shim;
mod words;

pub use normalize::{NormalizeError, NormalizeWarning, NormalizedArguments, normalize};

#[cfg(test)]
mod tests;
