//! Reading the arguments that a user wrote for an agent: which word is the prompt, and what passes through.

use std::ffi::{OsStr, OsString};

use crate::matrix::RunMode;
use crate::subcommand::AgentSubcommand;

/// A flag whose value is the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptFlag {
    /// The flag.
    pub flag: &'static str,
    /// The run mode that it asks for.
    pub mode: RunMode,
    /// Set if the flag may stand without a value, the prompt then coming from stdin.
    pub optional: bool,
}

/// Meaning, to the agent, of a word that is neither flag nor value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionalMeaning {
    /// The prompt.
    Prompt,
    /// Nothing that amplihack knows: it passes through.
    Foreign,
}

/// Rules by which an agent reads its own command line.
#[derive(Debug)]
pub struct ArgumentGrammar {
    /// Words that are commands of the agent, not prompts; some of them take a prompt.
    pub commands: &'static [AgentSubcommand],
    /// Switches that ask for a headless run.
    pub headless_flags: &'static [&'static str],
    /// Flags whose value is the prompt.
    pub prompt_flags: &'static [PromptFlag],
    /// Meaning of a bare word.
    pub positional: PositionalMeaning,
    /// The word that says "the prompt is on stdin".
    pub stdin_word: Option<&'static str>,
    /// Flags with one value.
    pub value_flags: &'static [&'static str],
    /// Flags with at most one value.
    pub optional_value_flags: &'static [&'static str],
    /// Flags with any number of values, up to the next flag.
    pub variadic_flags: &'static [&'static str],
    /// Flags without a value.
    pub switches: &'static [&'static str],
    /// Flags that print something and end.
    pub information_flags: &'static [&'static str],
    /// Flags by which it serves a protocol on stdin, which is no prompt then.
    pub serving_flags: &'static [&'static str],
}

/// Place of the prompt of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundPrompt {
    /// The prompt is this word.
    Word(OsString),
    /// The agent was told to read it from stdin.
    Stdin,
}

/// A user's arguments, understood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserArguments {
    /// The prompt, if one was found.
    pub prompt: Option<FoundPrompt>,
    /// The run mode, if the arguments ask for one.
    pub mode: Option<RunMode>,
    /// Words that stood before the agent's verb (`codex --search exec …`) and must stay there.
    pub before_verb: Vec<OsString>,
    /// All other words, in order and unchanged.
    pub rest: Vec<OsString>,
    /// The arguments are a command of the agent's own: nothing is looked for, stdin passes through.
    pub passthrough: bool,
    /// The agent is to serve a protocol on stdin.
    pub serves: bool,
}

impl ArgumentGrammar {
    /// Reads `args`.
    ///
    /// Words that cannot be read (a flag that is not known here) and everything behind them that might belong to them
    /// pass through unchanged; a prompt is only taken where it is one for certain.
    pub fn read(&self, args: &[OsString]) -> UserArguments {
        if amplihack_sys::sabotage::is_active("delivery-shown-invocations") {
            return ArgumentReader::pass_untouched(args);
        }
        ArgumentReader { grammar: self, out: UserArguments::default(), verb: None }.read(args)
    }

    /// Reports whether `word` is a command of the agent.
    pub fn is_subcommand(&self, word: &OsStr) -> bool {
        self.find_command(word).is_some()
    }

    fn find_command(&self, word: &OsStr) -> Option<&'static AgentSubcommand> {
        self.commands.iter().find(|command| is_listed(command.names, word))
    }

    fn prompt_flag(&self, flag: &OsStr) -> Option<PromptFlag> {
        self.prompt_flags.iter().copied().find(|prompt| flag == prompt.flag)
    }
}

struct ArgumentReader<'a> {
    grammar: &'a ArgumentGrammar,
    out: UserArguments,
    verb: Option<&'static AgentSubcommand>,
}

impl ArgumentReader<'_> {
    fn read(mut self, args: &[OsString]) -> UserArguments {
        if let [only] = args
            && !is_flag(only)
            && !self.grammar.is_subcommand(only)
        {
            self.out.prompt = Some(FoundPrompt::Word(only.clone()));
            return self.out;
        }
        let mut words = args.iter().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                self.behind_dashes(words.cloned().collect());
                break;
            }
            if is_listed(self.grammar.serving_flags, word) {
                return UserArguments { serves: true, ..Self::pass_untouched(args) };
            }
            if is_listed(self.grammar.information_flags, word) {
                return Self::pass_untouched(args);
            }
            if is_flag(word) {
                self.take_flag(word, &mut words);
            } else if !self.take_bare_word(word) {
                return Self::pass_untouched(args);
            }
        }
        self.out
    }

    /// A word that is no flag and no flag's value. `false`: these arguments are a command of the agent's own.
    fn take_bare_word(&mut self, word: &OsString) -> bool {
        let grammar = self.grammar;
        if self.verb.is_none()
            && let Some(verb) = grammar.find_command(word).filter(|command| command.takes_prompt)
        {
            self.verb = Some(verb);
            self.out.mode = Some(RunMode::Headless);
            self.out.before_verb = std::mem::take(&mut self.out.rest);
            return true;
        }
        let commands = self.verb.map_or(grammar.commands, |verb| verb.commands);
        if self.out.prompt.is_none() && commands.iter().any(|command| is_listed(command.names, word)) {
            return false;
        }
        let is_prompt = grammar.positional == PositionalMeaning::Prompt || self.verb.is_some();
        if is_prompt && self.out.prompt.is_none() {
            let stdin = grammar.stdin_word.is_some_and(|marker| word == marker);
            self.out.prompt = Some(if stdin { FoundPrompt::Stdin } else { FoundPrompt::Word(word.clone()) });
        } else {
            self.out.rest.push(word.clone());
        }
        true
    }

    fn take_flag<'w>(
        &mut self,
        word: &OsString,
        words: &mut std::iter::Peekable<impl Iterator<Item = &'w OsString>>,
    ) {
        let grammar = self.grammar;
        if grammar.stdin_word.is_some_and(|marker| word == marker) && self.verb.is_some() {
            self.out.prompt.get_or_insert(FoundPrompt::Stdin);
            return;
        }
        if is_listed(grammar.headless_flags, word) {
            self.out.mode = Some(RunMode::Headless);
            return;
        }
        if let Some((flag, value)) = split_equals(word) {
            match grammar.prompt_flag(flag) {
                Some(prompt) => self.set_prompt(prompt, Some(value.to_owned())),
                None => self.out.rest.push(word.clone()),
            }
            return;
        }
        if let Some(prompt) = grammar.prompt_flag(word) {
            let value = words.next_if(|next| !prompt.optional || !is_flag(next)).cloned();
            self.set_prompt(prompt, value);
            return;
        }
        self.out.rest.push(word.clone());
        if is_listed(grammar.value_flags, word) {
            self.out.rest.extend(words.next().cloned());
        } else if is_listed(grammar.variadic_flags, word) {
            while let Some(value) = words.next_if(|next| !is_flag(next)) {
                self.out.rest.push(value.clone());
            }
        } else if !is_listed(grammar.switches, word) {
            // Its value is optional, or the flag is not known: what follows may belong to it.
            self.out.rest.extend(words.next_if(|next| !is_flag(next)).cloned());
        }
    }

    fn set_prompt(&mut self, flag: PromptFlag, value: Option<OsString>) {
        self.out.mode = Some(flag.mode);
        self.out.prompt = Some(value.map_or(FoundPrompt::Stdin, FoundPrompt::Word));
    }

    /// Behind `--` there are only bare words: one is the prompt, more pass through as they are.
    fn behind_dashes(&mut self, words: Vec<OsString>) {
        let takes_prompt = self.grammar.positional == PositionalMeaning::Prompt || self.verb.is_some();
        match (words.as_slice(), &self.out.prompt) {
            ([prompt], None) if takes_prompt => self.out.prompt = Some(FoundPrompt::Word(prompt.clone())),
            _ => {
                self.out.rest.push("--".into());
                self.out.rest.extend(words);
            }
        }
    }

    fn pass_untouched(args: &[OsString]) -> UserArguments {
        UserArguments { rest: args.to_vec(), passthrough: true, ..UserArguments::default() }
    }
}

pub(crate) fn is_listed(list: &[&str], word: &OsStr) -> bool {
    list.iter().any(|entry| word == *entry)
}

pub(crate) fn is_flag(word: &OsStr) -> bool {
    word.as_encoded_bytes().first() == Some(&b'-')
}

/// `--flag=value` in two, also when the value is not UTF-8.
pub(crate) fn split_equals(word: &OsStr) -> Option<(&OsStr, &OsStr)> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = word.as_bytes();
    let equals = bytes.iter().position(|byte| *byte == b'=')?;
    Some((OsStr::from_bytes(&bytes[..equals]), OsStr::from_bytes(&bytes[equals + 1..])))
}

#[cfg(test)]
mod tests {
    use amplihack_config::agent_binary::AgentBinary;

    use super::*;
    use crate::profile::agent_profile;

    fn read(agent: AgentBinary, line: &str) -> UserArguments {
        let words: Vec<OsString> =
            line.split('|').filter(|word| !word.is_empty()).map(OsString::from).collect();
        agent_profile(agent).grammar.read(&words)
    }

    #[expect(clippy::unnecessary_wraps, reason = "compared with the prompt that may be missing")]
    fn word(text: &str) -> Option<FoundPrompt> {
        Some(FoundPrompt::Word(text.into()))
    }

    #[test]
    fn exactly_one_word_is_the_prompt_unless_it_is_a_command() {
        for agent in AgentBinary::ALL {
            assert_eq!(
                read(agent, "Summarize this repository").prompt,
                word("Summarize this repository"),
                "{agent}"
            );
            assert!(
                read(agent, "login").passthrough
                    || !agent_profile(agent).grammar.is_subcommand(OsStr::new("login"))
            );
            assert!(read(agent, "--version").passthrough, "{agent}");
            assert!(read(agent, "--help").passthrough, "{agent}");
        }
        assert!(read(AgentBinary::Codex, "login").passthrough);
        assert!(read(AgentBinary::Claude, "mcp|list").passthrough);
    }

    #[test]
    fn claude_prints_and_takes_its_prompt_from_a_bare_word() {
        let args = read(AgentBinary::Claude, "--model|opus|-p|fix it|--verbose");
        assert_eq!((args.prompt, args.mode), (word("fix it"), Some(RunMode::Headless)));
        assert_eq!(args.rest, ["--model", "opus", "--verbose"]);
        // A variadic flag takes the words behind it, as Claude itself does.
        assert_eq!(read(AgentBinary::Claude, "--add-dir|a|b").prompt, None);
        assert_eq!(read(AgentBinary::Claude, "--add-dir|a|--|b").prompt, word("b"));
        assert_eq!(read(AgentBinary::Claude, "-p").mode, Some(RunMode::Headless));
    }

    #[test]
    fn p_is_a_prompt_for_copilot_and_a_value_for_others() {
        let args = read(AgentBinary::Copilot, "-p|-dash|--allow-all-tools");
        assert_eq!((args.prompt, args.mode), (word("-dash"), Some(RunMode::Headless)));
        assert_eq!(args.rest, ["--allow-all-tools"]);
        assert_eq!(read(AgentBinary::Copilot, "--prompt=a=b").prompt, word("a=b"));
        assert_eq!(read(AgentBinary::Copilot, "-i|hello").mode, Some(RunMode::Interactive));
        let args = read(AgentBinary::Codex, "exec|-p|work|do it");
        assert_eq!((args.prompt, args.rest), (word("do it"), vec!["-p".into(), "work".into()]));
        let args = read(AgentBinary::Amplifier, "run|-p|anthropic|do it");
        assert_eq!((args.prompt, args.rest), (word("do it"), vec!["-p".into(), "anthropic".into()]));
    }

    #[test]
    fn codex_exec_is_headless_and_keeps_what_stood_before_it() {
        let args = read(AgentBinary::Codex, "--search|exec|--json|do it");
        assert_eq!((args.prompt, args.mode), (word("do it"), Some(RunMode::Headless)));
        assert_eq!((args.before_verb, args.rest), (vec!["--search".into()], vec!["--json".into()]));
        assert_eq!(read(AgentBinary::Codex, "exec|-").prompt, Some(FoundPrompt::Stdin));
        assert!(read(AgentBinary::Codex, "exec|resume|--last|go on").passthrough);
        assert_eq!(read(AgentBinary::Codex, "exec|--|review").prompt, word("review"));
    }

    #[test]
    fn amp_executes_a_word_or_stdin() {
        assert_eq!(read(AgentBinary::Amp, "-x|hello").prompt, word("hello"));
        assert_eq!(read(AgentBinary::Amp, "-x|--stream-json").prompt, Some(FoundPrompt::Stdin));
        assert!(read(AgentBinary::Amp, "threads|list").passthrough);
    }

    #[test]
    fn an_unknown_flag_keeps_the_word_behind_it() {
        let args = read(AgentBinary::Claude, "--brand-new|value|the prompt");
        assert_eq!(
            (args.prompt, args.rest),
            (word("the prompt"), vec!["--brand-new".into(), "value".into()])
        );
    }
}
