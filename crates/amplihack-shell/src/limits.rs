//! Limits of the time and the size of what is read.

use std::time::Duration;

/// Readers of bash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BashReaders {
    /// All: plain scripts have one of their own, and what the parser finds in others has to be what the lexer finds.
    #[default]
    All,
    /// The parser alone, tree-sitter-bash, of whatever script.
    Tree,
}

/// Limits of reading a script, and of judging it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time of work for reading and judging one script; what the machine does meanwhile does not count.
    pub deadline: Duration,
    /// Bytes of one script.
    pub bytes: usize,
    /// Nesting of brackets, substitutions and wrappers.
    pub depth: usize,
    /// Commands found in one script, those in wrappers included.
    pub commands: usize,
    /// The readers of bash that are asked: all, but in tests that show what one finds alone.
    pub readers: BashReaders,
}

impl Limits {
    /// Limits for work that nobody waits for: a busy machine does not change the answer.
    #[must_use]
    pub fn with_long_deadline() -> Self {
        Self { deadline: Duration::from_secs(20), ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(50),
            bytes: 1 << 20,
            depth: 100,
            commands: 10_000,
            readers: BashReaders::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_about_time_only() {
        let Limits { deadline, bytes, depth, commands, readers } = Limits::with_long_deadline();
        assert_eq!(deadline, Duration::from_secs(20));
        assert_eq!(
            Limits { deadline: Limits::default().deadline, bytes, depth, commands, readers },
            Limits::default()
        );
    }
}
