//! Sources of values: the layers of the configuration, in the order in which they override each other.

use std::fmt;

/// A layer of the configuration. A greater one overrides a smaller one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigLayer {
    /// Defaults that amplihack comes with.
    BuiltIn,
    /// `/etc/amplihack/config.toml`.
    System,
    /// `config.toml` in the user's configuration directory.
    User,
    /// `.amplihack/config.toml` in the repository.
    Repository,
    /// An environment variable.
    Environment,
    /// A flag.
    CommandLine,
}

impl ConfigLayer {
    /// Stable `snake_case` name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built_in",
            Self::System => "system",
            Self::User => "user",
            Self::Repository => "repository",
            Self::Environment => "environment",
            Self::CommandLine => "command_line",
        }
    }
}

/// The exact place that a value was read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigOrigin {
    /// The layer.
    pub layer: ConfigLayer,
    /// File, variable or flag; empty for what is built in.
    pub place: String,
    /// The line in the file, from 1.
    pub line: Option<usize>,
}

impl ConfigOrigin {
    pub(super) const BUILT_IN: Self = Self { layer: ConfigLayer::BuiltIn, place: String::new(), line: None };

    pub(super) fn new(layer: ConfigLayer, place: impl fmt::Display) -> Self {
        Self { layer, place: place.to_string(), line: None }
    }
}

impl fmt::Display for ConfigOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.layer, self.line) {
            (ConfigLayer::BuiltIn, _) => f.write_str("built-in"),
            (_, Some(line)) => write!(f, "{}:{line}", self.place),
            (_, None) => f.write_str(&self.place),
        }
    }
}
