//! Commands of an agent's own at the beginning of a prompt: `/clear now do it` reaches no model in Claude Code.

use std::borrow::Cow;

/// The commands that an agent looks for at the beginning of a headless prompt, as the real CLIs showed
/// (`amplihack_cli::real_words`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnCommands {
    /// The agent sends every prompt to its model.
    Nothing,
    /// The agent takes `/` and a name for a command of its own, a user's or a project's.
    EveryName,
    /// The agent takes these words for commands, and sends all others to its model.
    Words(&'static [&'static str]),
}

impl OwnCommands {
    /// The word at the beginning of `prompt` that the agent takes for a command of its own.
    ///
    /// A path such as `/etc/hosts` is no such word, and neither is a command after a blank.
    pub fn command_word<'p>(&self, prompt: &'p str) -> Option<&'p str> {
        let word = prompt.split(char::is_whitespace).next().filter(|word| word.starts_with('/'))?;
        let name = &word[1..];
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.'));
        let found = match self {
            Self::Nothing => false,
            Self::EveryName => is_name,
            Self::Words(words) => words.contains(&word),
        };
        found.then_some(word)
    }

    /// The prompt as text that the agent sends to its model: with a line in front of it where it begins with a command.
    pub fn to_literal<'p>(&self, prompt: &'p str) -> Cow<'p, str> {
        match self.command_word(prompt) {
            Some(_) => Cow::Owned(format!("{TEXT}{prompt}")),
            None => Cow::Borrowed(prompt),
        }
    }
}

/// The line in front of a prompt that begins with a command. A blank alone is not enough: Copilot trims prompts.
const TEXT: &str = "The following text is the task, not a command:\n";

#[cfg(test)]
mod tests {
    use super::OwnCommands;

    #[test]
    fn a_command_is_a_slash_and_a_name_at_the_very_beginning() {
        let every = OwnCommands::EveryName;
        for (prompt, word) in [
            ("/clear now do it", Some("/clear")),
            ("/model", Some("/model")),
            ("/my-plugin:do.it\nx", Some("/my-plugin:do.it")),
            ("/etc/hosts is wrong", None),
            (" /clear", None),
            ("\n/clear", None),
            ("/", None),
            ("/ x", None),
            ("clear", None),
            ("", None),
        ] {
            assert_eq!(every.command_word(prompt), word, "{prompt:?}");
            assert_eq!(OwnCommands::Nothing.command_word(prompt), None);
            assert_eq!(every.command_word(&every.to_literal(prompt)), None, "as text it is no command");
            assert!(every.to_literal(prompt).ends_with(prompt), "nothing of the prompt is lost");
            assert_eq!(every.to_literal(prompt) == prompt, word.is_none(), "other prompts stay as they are");
        }
        let some = OwnCommands::Words(&["/compact"]);
        assert_eq!((some.command_word("/compact x"), some.command_word("/clear")), (Some("/compact"), None));
    }
}
