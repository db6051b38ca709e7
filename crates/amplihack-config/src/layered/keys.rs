//! The table of configuration keys: each one's type, default, variable, meaning, and what a repository may do with it.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use crate::agent_binary::{AgentBinary, validate_name};

/// Key of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigKey {
    /// Name of the key; `<agent>` in it stands for each agent's name.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: ConfigValueKind,
    /// Value if nothing sets the key, as text. `None`: it then has no value.
    pub default: Option<&'static str>,
    /// The environment variable that sets it; `<AGENT>` in it stands for each agent's name in capitals.
    pub variable: Option<&'static str>,
    /// From where it may be set.
    pub reach: RepositoryReach,
    /// Meaning of the key, one sentence.
    pub meaning: &'static str,
}

/// The type of a key's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigValueKind {
    /// Any of these words; letters may be of any case. A variable with another word means the first one, and is warned about.
    Word(&'static [&'static str]),
    /// A whole number up to `max`.
    Number {
        /// The greatest allowed.
        max: u32,
    },
    /// `true` or `false`.
    Flag,
    /// A program. In files it has to be an absolute path.
    Program,
    /// Absolute paths of directories.
    Directories,
    /// Any text.
    Text,
    /// Texts, in files only.
    Texts,
}

/// Limit of what a repository's file, which whoever wrote the repository has written, may do with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryReach {
    /// Lower it; raise it only if the user trusts the repository.
    Lower,
    /// Nothing, unless the user trusts the repository.
    Trusted,
    /// Nothing: only the user's own file may set it.
    UserOnly,
}

/// A value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigValue {
    /// Of [`ConfigValueKind::Word`].
    Word(String),
    /// Of [`ConfigValueKind::Number`].
    Number(u32),
    /// Of [`ConfigValueKind::Flag`].
    Flag(bool),
    /// Of [`ConfigValueKind::Program`].
    Program(PathBuf),
    /// Of [`ConfigValueKind::Directories`].
    Directories(Vec<PathBuf>),
    /// Of [`ConfigValueKind::Text`].
    Text(String),
    /// Of [`ConfigValueKind::Texts`].
    Texts(Vec<String>),
}

/// Every key, each declared once.
pub const KEYS: &[ConfigKey] = &[
    ConfigKey {
        name: "prompt_delivery",
        kind: ConfigValueKind::Word(&["auto", "argv", "tempfile", "stdin"]),
        default: Some("auto"),
        variable: Some("AMPLIHACK_PROMPT_DELIVERY"),
        // Argv would put prompts into the process list for everybody to read.
        reach: RepositoryReach::Trusted,
        meaning: "How a prompt should reach the agent.",
    },
    ConfigKey {
        name: "max_depth",
        kind: ConfigValueKind::Number { max: u32::MAX },
        default: Some("6"),
        variable: Some("AMPLIHACK_MAX_DEPTH"),
        reach: RepositoryReach::Lower,
        meaning: "Launches deeper than this are refused.",
    },
    ConfigKey {
        name: "stop_grace_seconds",
        kind: ConfigValueKind::Number { max: 3600 },
        default: Some("5"),
        variable: Some("AMPLIHACK_STOP_GRACE_SECONDS"),
        reach: RepositoryReach::Lower,
        meaning: "How long an ended headless run may take after SIGTERM before SIGKILL follows.",
    },
    ConfigKey {
        name: "policy",
        kind: ConfigValueKind::Word(&["standard", "strict", "observe"]),
        default: Some("standard"),
        variable: Some("AMPLIHACK_POLICY"),
        reach: RepositoryReach::Trusted,
        meaning: "How the policy is applied: its rules, its rules and a question for every unknown program, or the audit only.",
    },
    ConfigKey {
        name: "require_proof",
        kind: ConfigValueKind::Flag,
        default: Some("false"),
        variable: None,
        reach: RepositoryReach::Trusted,
        meaning: "Whether a launch is refused where the guard was not proved for the agent at its version.",
    },
    ConfigKey {
        name: "prompt_reminder",
        kind: ConfigValueKind::Flag,
        default: Some("false"),
        variable: None,
        reach: RepositoryReach::Trusted,
        meaning: "Whether installed hooks remind the agent, with the first prompt of a session and at a change of subject, to say what kind of work it begins.",
    },
    ConfigKey {
        name: "agents.<agent>.path",
        kind: ConfigValueKind::Program,
        default: None,
        variable: Some("AMPLIHACK_<AGENT>_PATH"),
        reach: RepositoryReach::Trusted,
        meaning: "The agent's program, instead of the one that is found.",
    },
    ConfigKey {
        name: "prices.<agent>",
        kind: ConfigValueKind::Text,
        default: None,
        variable: None,
        reach: RepositoryReach::Trusted,
        meaning: "What a million tokens cost in dollars, as in `input=3 output=15 cache_write=3.75 cache_read=0.3`, where the agent does not say what it costs.",
    },
    ConfigKey {
        name: "test_command",
        kind: ConfigValueKind::Text,
        default: None,
        variable: None,
        reach: RepositoryReach::Trusted,
        meaning: "The shell command by which `amplihack auto` checks work in this repository, besides those of --verify.",
    },
    ConfigKey {
        name: "worktrees.directory",
        kind: ConfigValueKind::Text,
        default: None,
        variable: None,
        reach: RepositoryReach::Trusted,
        meaning: "Where worktrees of unattended runs are made, each in a directory named after its repository and run: an absolute path, one below `~/`, or one relative to the repository's top.",
    },
    ConfigKey {
        name: "worktrees.include",
        kind: ConfigValueKind::Texts,
        default: None,
        variable: None,
        reach: RepositoryReach::Trusted,
        meaning: "Patterns, as in .gitignore, of files that git ignores and that are copied into each new worktree, besides those of `.worktreeinclude`.",
    },
    ConfigKey {
        name: "worktrees.setup",
        kind: ConfigValueKind::Text,
        default: None,
        variable: None,
        reach: RepositoryReach::Trusted,
        meaning: "The shell command that is run once in each new worktree, before its run begins.",
    },
    ConfigKey {
        name: "worktrees.setup_seconds",
        kind: ConfigValueKind::Number { max: 86400 },
        default: Some("600"),
        variable: None,
        reach: RepositoryReach::Lower,
        meaning: "How long the setup of a worktree may take.",
    },
    ConfigKey {
        name: "worktrees.submodules",
        kind: ConfigValueKind::Flag,
        default: Some("false"),
        variable: None,
        reach: RepositoryReach::Trusted,
        meaning: "Whether submodules are initialized in each new worktree.",
    },
    ConfigKey {
        name: "remote.backend",
        kind: ConfigValueKind::Word(&["local", "ssh", "azlin", "slurm"]),
        default: None,
        variable: Some("AMPLIHACK_REMOTE_BACKEND"),
        // Where work and keys are sent is nobody's to say but the user's.
        reach: RepositoryReach::Trusted,
        meaning: "Where `amplihack remote` runs sessions: here, on hosts of hosts.toml, on machines that azlin rents, or by Slurm.",
    },
    ConfigKey {
        name: "trusted_repositories",
        kind: ConfigValueKind::Directories,
        default: None,
        variable: None,
        reach: RepositoryReach::UserOnly,
        meaning: "Repositories whose configuration counts like the user's own.",
    },
];

/// A key with its agent put in, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigKeyInstance {
    pub(super) key: &'static ConfigKey,
    pub(super) name: String,
    pub(super) variable: Option<String>,
}

/// All keys as they can be written, in the order of the table.
pub(super) fn key_instances() -> Vec<ConfigKeyInstance> {
    let with = |key: &'static ConfigKey, agent: &str| ConfigKeyInstance {
        key,
        name: key.name.replace("<agent>", agent),
        variable: key.variable.map(|name| name.replace("<AGENT>", &agent.to_ascii_uppercase())),
    };
    KEYS.iter()
        .flat_map(|key| {
            let agents = if key.name.contains("<agent>") {
                AgentBinary::ALL.map(AgentBinary::name).to_vec()
            } else {
                vec![""]
            };
            agents.into_iter().map(move |agent| with(key, agent))
        })
        .collect()
}

impl ConfigValueKind {
    /// Reads a variable's or flag's value, or a default.
    pub(super) fn parse_text(self, text: &OsStr) -> Option<ConfigValue> {
        let word = || text.to_str().map(str::trim);
        match self {
            Self::Word(words) => one_of(words, word()?),
            Self::Number { max } => number_value(word()?.parse().ok()?, max),
            Self::Flag => word()?.to_ascii_lowercase().parse().ok().map(ConfigValue::Flag),
            Self::Program => (!text.is_empty()).then(|| ConfigValue::Program(PathBuf::from(text))),
            Self::Directories | Self::Texts => None,
            Self::Text => {
                word().filter(|text| !text.is_empty()).map(|text| ConfigValue::Text(text.to_owned()))
            }
        }
    }

    /// Reads a value in a file.
    pub(super) fn parse_toml(self, value: &DeValue<'_>) -> Option<ConfigValue> {
        match self {
            Self::Word(words) => one_of(words, value.as_str()?),
            Self::Number { max } => {
                let integer = value.as_integer()?;
                number_value(i64::from_str_radix(integer.as_str(), integer.radix()).ok()?, max)
            }
            Self::Flag => value.as_bool().map(ConfigValue::Flag),
            Self::Program => absolute_path(value).map(ConfigValue::Program),
            Self::Directories => value
                .as_array()?
                .iter()
                .map(|item| absolute_path(item.get_ref()))
                .collect::<Option<_>>()
                .map(ConfigValue::Directories),
            Self::Text => some_text(value).map(ConfigValue::Text),
            Self::Texts => value
                .as_array()?
                .iter()
                .map(|item| some_text(item.get_ref()))
                .collect::<Option<_>>()
                .map(ConfigValue::Texts),
        }
    }

    /// Returns what a value has to be, to complete "must be …".
    pub fn expected_text(self) -> String {
        match self {
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Number { max } => format!("a whole number from 0 to {max}"),
            Self::Flag => "true or false".to_owned(),
            Self::Program => "the absolute path of a program".to_owned(),
            Self::Directories => "a list of absolute paths".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
        }
    }
}

fn one_of(words: &[&str], word: &str) -> Option<ConfigValue> {
    words
        .iter()
        .find(|known| known.eq_ignore_ascii_case(word))
        .map(|known| ConfigValue::Word((*known).to_owned()))
}

fn number_value(number: i64, max: u32) -> Option<ConfigValue> {
    u32::try_from(number).ok().filter(|number| *number <= max).map(ConfigValue::Number)
}

fn some_text(value: &DeValue<'_>) -> Option<String> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

fn absolute_path(value: &DeValue<'_>) -> Option<PathBuf> {
    value.as_str().map(Path::new).filter(|path| path.is_absolute()).map(Path::to_path_buf)
}

impl fmt::Display for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Program(path) => write!(f, "{}", path.display()),
            Self::Directories(paths) => {
                let shown: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "[{}]", shown.join(", "))
            }
            Self::Texts(texts) => write!(f, "[{}]", texts.join(", ")),
        }
    }
}

/// `name` with the agent in it as it is written in the table: a name of an agent is read alike everywhere.
pub(super) fn canonical_name(name: &str) -> String {
    let mut parts: Vec<&str> = name.split('.').collect();
    let of_agents = |first: &&str| KEYS.iter().any(|key| key.name.starts_with(&format!("{first}.<agent>")));
    if parts.first().is_some_and(of_agents)
        && let Some(agent) = parts.get_mut(1)
        && let Ok(known) = validate_name(*agent)
    {
        *agent = known.name();
    }
    parts.join(".")
}

/// The known key that `name` may have been meant to be: one or two letters differ, more in long names.
pub(super) fn similar_key(name: &str) -> Option<String> {
    let allowed = (name.chars().count() / 4).clamp(1, 4);
    let candidates = key_instances().into_iter().map(|known| (edit_distance(name, &known.name), known.name));
    candidates.filter(|(distance, _)| *distance <= allowed).min().map(|(_, name)| name)
}

/// Levenshtein distance.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::VARIABLES;

    #[test]
    fn every_default_is_a_value_of_its_key() {
        for key in KEYS {
            if let Some(default) = key.default {
                let value = key.kind.parse_text(OsStr::new(default));
                assert_eq!(value.map(|value| value.to_string()).as_deref(), Some(default), "{}", key.name);
            }
        }
    }

    #[test]
    fn every_variable_is_declared_with_the_same_default() {
        for key in KEYS {
            let Some(name) = key.variable else { continue };
            let variable = VARIABLES.iter().find(|variable| variable.name == name).unwrap();
            if let Some(default) = key.default {
                assert_eq!(variable.default, default, "{name}");
            }
        }
    }

    #[test]
    fn agents_are_put_into_names() {
        let all = key_instances();
        let find =
            |name: &str| all.iter().find(|instance| instance.name == name).unwrap().variable.as_deref();
        assert_eq!(find("agents.claude.path"), Some("AMPLIHACK_CLAUDE_PATH"));
        assert_eq!(find("max_depth"), Some("AMPLIHACK_MAX_DEPTH"));
        assert_eq!(all.len(), KEYS.len() + 2 * (AgentBinary::ALL.len() - 1));
    }

    #[test]
    fn an_agents_name_in_a_key_is_read_as_everywhere() {
        for (written, key) in [
            ("agents.CODEX.path", "agents.codex.path"),
            ("prices. Claude ", "prices.claude"),
            ("agents.vim.path", "agents.vim.path"),
            ("max_depth", "max_depth"),
            ("MAX.CODEX", "MAX.CODEX"),
            ("agents", "agents"),
        ] {
            assert_eq!(canonical_name(written), key);
        }
    }

    #[test]
    fn numbers_stay_in_their_bounds() {
        let kind = ConfigValueKind::Number { max: 10 };
        for (text, number) in [
            ("0", Some(0)),
            (" 10 ", Some(10)),
            ("11", None),
            ("-1", None),
            ("1.0", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(kind.parse_text(OsStr::new(text)), number.map(ConfigValue::Number), "{text:?}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_understood_and_a_foreign_word_is_not() {
        for (written, meant) in [
            ("max_dept", Some("max_depth")),
            ("maxdepth", Some("max_depth")),
            ("prompt-delivery", Some("prompt_delivery")),
            ("agents.cluade.path", Some("agents.claude.path")),
            ("agents.claude.pth", Some("agents.claude.path")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(similar_key(written).as_deref(), meant, "{written}");
        }
    }
}
