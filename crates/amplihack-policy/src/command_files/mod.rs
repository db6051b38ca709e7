//! Files that are commands: what a host, a tool or the system would run of them, as scripts that the policy judges.
//!
//! A reader here never fails. What it cannot read as its format it searches for what looks like a command of that format.

mod data;
mod ini;
mod just;
mod kind;
mod make;
mod markdown;
mod workflow;
mod yaml;

use std::path::Path;

pub use kind::CommandFileKind;
pub(crate) use kind::STARTUP;

/// A command in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedCommand {
    /// The command, as a shell would be given it.
    pub script: String,
    /// The entry that holds it: a target, a script's name, a key. Empty where the file has no entries.
    pub entry: String,
}

impl EmbeddedCommand {
    fn new(entry: impl Into<String>, script: impl Into<String>) -> Self {
        Self { script: script.into(), entry: entry.into() }
    }
}

/// The kind of the file at `path`, if a host, a tool or the system runs commands out of it; `None` for every other file.
///
/// Looks at names only: it is asked about each file that an agent writes.
pub fn classify_file(path: &Path) -> Option<CommandFileKind> {
    kind::classify_path(path)
}

/// Every command that the file at `path` holds, given its text. Empty for a file that is none of commands.
pub fn embedded_commands(path: &Path, text: &str) -> Vec<EmbeddedCommand> {
    classify_file(path).map(|kind| kind.extract_commands(text)).unwrap_or_default()
}

/// The commands of a file that run when a tool asks for these entries: targets of a makefile, scripts of a package. Without entries, those
/// that run by default.
pub(crate) fn commands_of(kind: CommandFileKind, text: &str, entries: &[String]) -> Vec<EmbeddedCommand> {
    if kind == CommandFileKind::Makefile {
        return make::target_commands(text, entries);
    }
    let named = |entry: &str| {
        let plain = entry.strip_prefix("pre").or_else(|| entry.strip_prefix("post"));
        entries.iter().any(|name| name == entry || plain == Some(name))
    };
    let all = kind.extract_commands(text).into_iter();
    all.filter(|command| entries.is_empty() || named(&command.entry)).collect()
}
