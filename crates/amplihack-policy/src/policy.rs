//! The policy: packs of rules, the user's own rules, a mode; one function that judges.

use std::time::Duration;

/// How far judging may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time for reading one script.
    pub deadline: Duration,
    /// Bytes of one script.
    pub bytes: usize,
    /// Nesting of brackets, substitutions and wrappers.
    pub depth: usize,
    /// Commands found in one script, those in wrappers included.
    pub commands: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { deadline: Duration::from_millis(50), bytes: 1 << 20, depth: 100, commands: 10_000 }
    }
}

/// The rules in force.
#[derive(Debug)]
pub struct Policy;
