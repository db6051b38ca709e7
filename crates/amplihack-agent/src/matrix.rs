//! The flag matrix: agent × capability → the exact shape of the arguments, with the evidence for it.

use std::fmt;

use amplihack_config::prompt_delivery::DeliveryMode;
use semver::Version;

use crate::command::PermissionLevel;

/// Kind of a run: the agent runs one prompt and ends, or talks to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunMode {
    /// Run the prompt and end; nobody answers questions.
    Headless,
    /// The agent owns the terminal.
    Interactive,
}

impl fmt::Display for RunMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Headless => "headless",
            Self::Interactive => "interactive",
        })
    }
}

/// Something that an agent may be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AgentCapability {
    /// Take the task prompt through a channel.
    Prompt(DeliveryMode),
    /// Be started in a run mode at all: the words that every such run begins with.
    Start,
    /// Use a named model.
    Model,
    /// Go on with the session of an id.
    Resume,
    /// Go on with the latest session.
    Continue,
    /// Work in a further directory.
    AddDir,
    /// Use the MCP servers of a file.
    McpConfig,
    /// Add text to the system prompt.
    AppendSystemPrompt,
    /// Add the text of a file to the system prompt.
    AppendSystemPromptFile,
    /// Run the hooks that a launch brings, in a repository that is not trusted too.
    Hooks,
    /// Ask whoever started it about every tool call, by a policy file.
    AskAlways,
    /// Work under a permission level.
    Permissions(PermissionLevel),
    /// Print what it does as JSON lines while it works.
    Stream,
    /// Give its answer as a JSON object by the schema in a file.
    AnswerSchema,
    /// End by itself when it has cost so many dollars.
    BudgetUsd,
    /// Tell in its stream what it used while it works, and not at the end only.
    LiveUsage,
    /// Write what it used to a file.
    UsageFile,
    /// Start nothing that a repository's own files name: hooks, variables, MCP servers, skills and commands.
    HoldRepository,
    /// Read a repository's instructions all the same.
    HeldInstructions,
}

impl fmt::Display for AgentCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt(mode) => write!(f, "a prompt by {mode}"),
            Self::Start => f.write_str("a run"),
            Self::Model => f.write_str("--model"),
            Self::Resume => f.write_str("--resume"),
            Self::Continue => f.write_str("--continue"),
            Self::AddDir => f.write_str("--add-dir"),
            Self::McpConfig => f.write_str("--mcp-config"),
            Self::AppendSystemPrompt => f.write_str("--append-system-prompt"),
            Self::AppendSystemPromptFile => f.write_str("a system prompt in a file"),
            Self::Hooks => f.write_str("the guard's hooks"),
            Self::AskAlways => f.write_str("a question for every tool call"),
            Self::Permissions(level) => write!(f, "--permissions {level}"),
            Self::Stream => f.write_str("a stream of events"),
            Self::AnswerSchema => f.write_str("an answer by a schema"),
            Self::BudgetUsd => f.write_str("a budget in dollars"),
            Self::LiveUsage => f.write_str("its usage while it works"),
            Self::UsageFile => f.write_str("a file of its usage"),
            Self::HoldRepository => f.write_str("a repository that starts nothing"),
            Self::HeldInstructions => f.write_str("the instructions of such a repository"),
        }
    }
}

/// Place of a row's words in the command line.
///
/// A command line is `program [front] [options] [the user's own arguments] [tail] [prompt]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgSlot {
    /// Before all options: a sub-command that options follow.
    Front,
    /// Among the options.
    Option,
    /// After all options, before the prompt.
    Tail,
}

/// The exact argument shape of one capability; `V` stands for the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgShape {
    /// Fixed words, no value. No words at all means that the agent does it by itself.
    Words(ArgSlot, &'static [&'static str]),
    /// Fixed words, then `V` as a word of its own.
    WordsThen(ArgSlot, &'static [&'static str]),
    /// `flag=V`.
    FlagEq(&'static str),
    /// `flag=@V`: a file whose content the agent reads.
    FlagEqAt(&'static str),
    /// `flag key="V"`, the value written as a TOML string.
    Toml(&'static str, &'static str),
    /// `flag V` for each of several values, then fixed words.
    EachThen(&'static str, &'static [&'static str]),
    /// `flag key={"V"=entry, …}`: a TOML table with the same entry for each of several values.
    TomlTable(&'static str, &'static str, &'static str),
    /// `-- V`, at the very end.
    AfterDashes,
    /// The variable of this name in the agent's environment, holding `V`.
    Variable(&'static str),
    /// `V` on standard input, announced by the marker words at the very end.
    Stdin(&'static [&'static str]),
}

impl ArgShape {
    /// Returns the slot of the shape's words, if they may stand in more than one place.
    pub fn slot(self) -> Option<ArgSlot> {
        match self {
            Self::Words(slot, _) | Self::WordsThen(slot, _) => Some(slot),
            Self::FlagEq(_)
            | Self::FlagEqAt(_)
            | Self::Toml(..)
            | Self::EachThen(..)
            | Self::TomlTable(..)
            | Self::AfterDashes
            | Self::Variable(_)
            | Self::Stdin(_) => None,
        }
    }
}

impl fmt::Display for ArgShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(_, []) => f.write_str("(nothing)"),
            Self::Words(_, words) => f.write_str(&words.join(" ")),
            Self::WordsThen(_, words) => write!(f, "{} V", words.join(" ")),
            Self::FlagEq(flag) => write!(f, "{flag}=V"),
            Self::FlagEqAt(flag) => write!(f, "{flag}=@V"),
            Self::Toml(flag, key) => write!(f, "{flag} {key}=\"V\""),
            Self::EachThen(flag, words) => write!(f, "{flag} V … {}", words.join(" ")),
            Self::TomlTable(flag, key, entry) => write!(f, "{flag} {key}={{\"V\"={entry}, …}}"),
            Self::AfterDashes => f.write_str("-- V"),
            Self::Variable(name) => write!(f, "{name}=V in the environment"),
            Self::Stdin([]) => f.write_str("< V"),
            Self::Stdin(marker) => write!(f, "{} < V", marker.join(" ")),
        }
    }
}

/// Versions from `from` (inclusive) to `below` (exclusive), compared without pre-release and build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    /// First version of the range.
    pub from: (u64, u64, u64),
    /// First version that is no longer in it.
    pub below: (u64, u64, u64),
}

impl VersionRange {
    /// Reports whether `version` is in the range.
    pub fn contains(&self, version: &Version) -> bool {
        let version = (version.major, version.minor, version.patch);
        self.from <= version && version < self.below
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, below) = (self.from, self.below);
        write!(f, ">={}.{}.{}, <{}.{}.{}", from.0, from.1, from.2, below.0, below.1, below.2)
    }
}

/// Evidence by which a row may be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowEvidence {
    /// Shown on the real CLI, at these versions, by the named test of this project.
    Probe(VersionRange, &'static str),
    /// The agent's own help or manual says so; the source is named.
    Documented(&'static str),
}

/// The most that a channel holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelLimit {
    /// As much as the platform allows.
    Platform,
    /// Number of bytes.
    Bytes(u64),
    /// Number of Unicode scalar values.
    Chars(u64),
}

impl ChannelLimit {
    /// Reports whether `prompt` fits.
    pub fn can_hold(self, prompt: &str) -> bool {
        match self {
            Self::Platform => true,
            Self::Bytes(limit) => prompt.len() as u64 <= limit,
            // Counting is linear; a prompt of fewer bytes cannot have more characters.
            Self::Chars(limit) => prompt.len() as u64 <= limit || prompt.chars().count() as u64 <= limit,
        }
    }

    /// The number of the limit, for messages.
    pub fn as_number(self) -> Option<u64> {
        match self {
            Self::Platform => None,
            Self::Bytes(limit) | Self::Chars(limit) => Some(limit),
        }
    }
}

/// Row of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapabilityRow {
    /// Capability that the row is about.
    pub cap: AgentCapability,
    /// In which run modes it holds.
    pub modes: &'static [RunMode],
    /// The exact arguments.
    pub shape: ArgShape,
    /// Evidence for the row.
    pub evidence: RowEvidence,
    /// The most that it holds; only prompts have one.
    pub limit: ChannelLimit,
    /// Note for people: for example where the agent itself changes a prompt.
    pub note: Option<&'static str>,
}

/// Both run modes.
pub const BOTH: &[RunMode] = &[RunMode::Headless, RunMode::Interactive];
/// Headless runs only.
pub const HEADLESS: &[RunMode] = &[RunMode::Headless];
/// Interactive sessions only.
pub const INTERACTIVE: &[RunMode] = &[RunMode::Interactive];

impl CapabilityRow {
    /// A row without limit and note.
    pub(crate) const fn new(
        cap: AgentCapability,
        modes: &'static [RunMode],
        shape: ArgShape,
        evidence: RowEvidence,
    ) -> Self {
        Self { cap, modes, shape, evidence, limit: ChannelLimit::Platform, note: None }
    }

    /// Returns the row with a limit.
    pub(crate) const fn with_limit(mut self, limit: ChannelLimit) -> Self {
        self.limit = limit;
        self
    }

    /// Returns the row with a note.
    pub(crate) const fn with_note(mut self, note: &'static str) -> Self {
        self.note = Some(note);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_half_open_and_ignores_pre_releases() {
        let range = VersionRange { from: (2, 1, 332), below: (2, 2, 0) };
        for (version, inside) in [
            ("2.1.331", false),
            ("2.1.332", true),
            ("2.1.999-beta.1", true),
            ("2.2.0", false),
            ("3.0.0", false),
        ] {
            assert_eq!(range.contains(&Version::parse(version).unwrap()), inside, "{version}");
        }
    }

    #[test]
    fn characters_are_not_bytes() {
        let prompt = "漢".repeat(100);
        assert!(ChannelLimit::Chars(100).can_hold(&prompt));
        assert!(!ChannelLimit::Chars(99).can_hold(&prompt));
        assert!(!ChannelLimit::Bytes(299).can_hold(&prompt));
        assert!(ChannelLimit::Bytes(300).can_hold(&prompt));
    }
}
