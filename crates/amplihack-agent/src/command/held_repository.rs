//! A repository that an agent is kept from, on its command line.

use std::ffi::OsString;
use std::path::PathBuf;

use amplihack_config::agent_binary::AgentBinary;

use crate::matrix::ArgShape;
use crate::profile::agent_profile;

/// A repository from which an agent starts nothing by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRepository {
    /// The directory that the agent starts in, then those above it up to the repository's root.
    pub directories: Vec<PathBuf>,
    /// Instructions of the repository for agents, for an agent that would not read them now.
    pub instructions: Option<String>,
}

impl HeldRepository {
    /// The values of the row of `shape` by which an agent is kept from the repository.
    pub(super) fn row_values(&self, shape: ArgShape) -> Vec<OsString> {
        let all = self.directories.iter().map(|directory| directory.as_os_str().to_owned());
        if matches!(shape, ArgShape::TomlTable(..)) { all.collect() } else { all.take(1).collect() }
    }

    /// The value of the row of `shape` by which an agent reads the instructions: a text, or a switch.
    pub(super) fn instructions_value(&self, shape: ArgShape) -> Option<OsString> {
        if matches!(shape, ArgShape::Variable(_)) {
            return Some("1".into());
        }
        self.instructions.as_ref().map(OsString::from)
    }
}

/// The flag among the user's own `words` by which the user decides what the agent starts of a repository. A switch counts where nothing
/// else on the line is about it: what the agent makes of two is not known.
pub fn own_trust(agent: AgentBinary, words: &[OsString]) -> Option<&'static str> {
    let found = agent_profile(agent);
    found.trust_flags.iter().copied().find(|flag| {
        if found.grammar.switches.contains(flag) {
            return is_switched_on(flag, words);
        }
        words.iter().any(|word| word.as_encoded_bytes().starts_with(flag.as_bytes()))
    })
}

fn is_switched_on(flag: &str, words: &[OsString]) -> bool {
    let letters = |word: &str| word.replace('-', "").to_lowercase();
    let about: Vec<usize> = (0..words.len())
        .filter(|at| letters(&words[*at].to_string_lossy()).contains(&letters(flag)))
        .collect();
    let [at] = about[..] else { return false };
    let is_flag = words[at] == flag && !words[..at].iter().any(|word| word == "--");
    is_flag && words.get(at + 1).is_none_or(|value| !value.eq_ignore_ascii_case("false"))
}
