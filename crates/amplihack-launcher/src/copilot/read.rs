//! Reading the arguments of a nested launch: what stays, what is taken out, and what was said about permissions.

use std::ffi::{OsStr, OsString};
use std::iter::Peekable;
use std::slice::Iter;

use amplihack_agent::copilot::nested::{
    ALLOW_ALL_PATHS, ALLOW_ALL_TOOLS, Meaning, ModeLevel, NO_TOOLS, Questions, allowed, available, denied,
    meaning, mode_level, suspected,
};
use amplihack_agent::{AgentBinary, profile};

use super::normalize::{NormalizeError, Warning};
use super::words::{
    Arity, Flag, arity_of_claudes, arity_of_copilots, is_flag, is_known_flag, is_tool, needs_value, tools,
    yes_or_no,
};

/// A part of the command line that stays.
#[derive(Debug)]
pub(super) enum Item {
    /// A word that is neither a flag nor a flag's value.
    Word(OsString),
    /// A flag with its values.
    Flag {
        /// As it is written.
        words: Vec<OsString>,
        /// A bare word behind it would be taken for one of its values.
        open: bool,
    },
    /// The prompt of an interactive session.
    Interactive(OsString),
}

/// Claude's flag whose text comes behind a system prompt.
const APPEND: &str = "--append-system-prompt";

/// A part of the system prompt.
#[derive(Debug)]
pub(super) enum Part {
    /// The system prompt itself.
    System(OsString),
    /// What is appended to it.
    Appended(OsString),
    /// Words for the model about tools that flags deny all the same.
    Note(OsString),
}

/// Everything that the arguments say.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// What stays, in order.
    pub(super) items: Vec<Item>,
    /// Parts of the system prompt.
    pub(super) system: Vec<Part>,
    /// Parts of the prompt.
    pub(super) prompts: Vec<OsString>,
    /// `--` and everything behind it.
    pub(super) rest: Vec<OsString>,
    /// Questions that flags which stay answer.
    pub(super) said: Questions,
    /// Whether a flag that stays grants a tool.
    pub(super) grants_tools: bool,
    /// Questions that flags which were taken out answered with a restriction.
    pub(super) restricted: Questions,
    /// The strictest of Claude's permission modes.
    pub(super) mode: Option<ModeLevel>,
    pub(super) warnings: Vec<Warning>,
    /// The arguments are a command of Copilot's own, or ask for its help.
    pub(super) passthrough: bool,
    /// Something was taken out behind the last item.
    cut: bool,
}

type Words<'a> = Peekable<Iter<'a, OsString>>;

pub(super) fn read(args: &[OsString]) -> Result<Reading, NormalizeError> {
    let mut reading = Reading::default();
    let grammar = &profile(AgentBinary::Copilot).grammar;
    if args.first().is_some_and(|first| grammar.is_subcommand(first)) {
        reading.passthrough = true;
        return Ok(reading);
    }
    let mut words = args.iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            reading.rest = std::iter::once(word).chain(words).cloned().collect();
            break;
        }
        if grammar.information_flags.iter().any(|flag| word == flag) {
            reading.passthrough = true;
            return Ok(reading);
        }
        if is_flag(word) {
            reading.flag(word, &mut words)?;
        } else {
            reading.word(word.clone());
        }
    }
    Ok(reading)
}

impl Reading {
    fn flag(&mut self, word: &OsStr, words: &mut Words<'_>) -> Result<(), NormalizeError> {
        let flag = Flag::read(word);
        if let Some(more) = flag.more {
            self.keep(vec![flag.name.into()], false);
            return self.flag(&more, words);
        }
        let Some(meaning) = meaning(&flag.name) else {
            return self.other(word, &flag, words);
        };
        let name = flag.name;
        let silent = is_unmerged(&name);
        let value =
            if needs_value(meaning) { Some(value(&name, flag.attached.clone(), words)?) } else { None };
        match (meaning, value) {
            (Meaning::Prompt | Meaning::SystemPrompt, Some(value)) if silent => {
                self.keep_with(word, flag.attached.is_some(), vec![value], false);
            }
            (Meaning::Prompt, Some(value)) => self.take(|reading| reading.prompts.push(value)),
            (Meaning::SystemPrompt, Some(value)) => {
                let part = if name == APPEND { Part::Appended(value) } else { Part::System(value) };
                self.take(|reading| reading.system.push(part));
            }
            (Meaning::Interactive, Some(value)) => self.push(Item::Interactive(value)),
            (Meaning::PermissionMode, Some(value)) => self.permission_mode(&value),
            (Meaning::AllowedTools, Some(value)) => self.allowed_tools(&list(&name, &value, words)?),
            (Meaning::DisallowedTools, Some(value)) => self.disallowed_tools(&list(&name, &value, words)?),
            (Meaning::Tools, Some(value)) => self.tools(&list(&name, &value, words)?),
            (Meaning::SessionMode, Some(value)) => {
                if value == "plan" {
                    self.said = Questions::BOTH;
                }
                self.keep_with(word, flag.attached.is_some(), vec![value], false);
            }
            (Meaning::Rule(about) | Meaning::OldRule(about, _), Some(value)) => {
                if value.is_empty() {
                    // An empty list restricts nothing, though it looks as if.
                    return Err(NormalizeError::MissingValue { flag: name, before: None });
                }
                if let Meaning::OldRule(_, modern) = meaning {
                    self.warnings.push(Warning::OldFlag { flag: name.clone(), modern });
                }
                self.said = if is_unheard(&name) { self.said } else { self.said.or(about) };
                self.grants_tools |= about.tools && name.starts_with("--allow");
                let mut values = vec![value];
                let attached = flag.attached.is_some();
                let open = !attached && arity_of_copilots(&name) == Some(Arity::Any);
                while let Some(more) = words.next_if(|next| open && !is_flag(next)) {
                    values.push(more.clone());
                }
                self.keep_with(word, attached, values, open);
            }
            (Meaning::GrantAll(about), _) => self.grant_all(&name, about, flag.attached.as_deref()),
            (Meaning::Restrict(about), _) => {
                self.said = self.said.or(about);
                self.keep(vec![word.to_owned()], false);
            }
            (Meaning::SkipPermissions, _) => {
                if flag.attached.is_some_and(|value| yes_or_no(&value) != Some(true)) {
                    self.restricted = Questions::BOTH;
                }
                self.take(|reading| reading.warnings.push(Warning::Dropped { flag: name }));
            }
            (Meaning::MaySkipPermissions, _) => {
                self.take(|reading| reading.warnings.push(Warning::Dropped { flag: name }));
            }
            // The word behind Claude's switch is its prompt.
            (Meaning::Print, _) => {
                let prompt = flag.attached.or_else(|| words.next_if(|next| !is_flag(next)).cloned());
                self.take(|reading| reading.prompts.extend(prompt));
            }
            // A flag that needs a value has one here.
            (_, None) => {}
        }
        Ok(())
    }

    /// A flag without a meaning of its own stays, with its values.
    fn other(&mut self, word: &OsStr, flag: &Flag, words: &mut Words<'_>) -> Result<(), NormalizeError> {
        let copilots = arity_of_copilots(&flag.name);
        let arity = copilots.or_else(|| arity_of_claudes(&flag.name));
        if copilots.is_none() {
            let word = word.to_string_lossy();
            self.said = self.said.or(suspected(word.split('=').next().unwrap_or_default()));
            self.warnings.push(Warning::NotCopilots { flag: flag.name.clone() });
        }
        let attached = flag.attached.is_some();
        let mut values = Vec::new();
        match arity {
            _ if attached => {}
            Some(Arity::One) => values.push(value(&flag.name, None, words)?),
            Some(Arity::AtMostOne) => values.extend(words.next_if(|next| !is_flag(next)).cloned()),
            Some(Arity::Any) => {
                while let Some(more) = words.next_if(|next| !is_flag(next)) {
                    values.push(more.clone());
                }
            }
            Some(Arity::None) | None => {}
        }
        let open = !attached
            && match arity {
                Some(Arity::None | Arity::One) => false,
                Some(Arity::AtMostOne) => values.is_empty(),
                Some(Arity::Any) | None => true,
            };
        let kept = std::iter::once(word.to_owned()).chain(values).collect();
        self.keep(kept, open);
        Ok(())
    }

    /// A switch that grants all of something; `=false` grants nothing, and Copilot takes no value there.
    fn grant_all(&mut self, name: &str, about: Questions, value: Option<&OsStr>) {
        if value.is_none_or(|value| yes_or_no(value) == Some(true)) {
            self.said = if is_unheard(name) { self.said } else { self.said.or(about) };
            self.grants_tools |= about.tools;
            self.keep(vec![name.into()], false);
        } else {
            self.restricted = self.restricted.or(about);
            let flag = name.to_owned();
            self.take(|reading| reading.warnings.push(Warning::Dropped { flag }));
        }
    }

    fn permission_mode(&mut self, mode: &OsStr) {
        let level = mode.to_str().map_or(ModeLevel::Ask, mode_level);
        self.mode = Some(self.mode.map_or(level, |before| before.min(level)));
        self.take(|reading| reading.warnings.push(Warning::Dropped { flag: "--permission-mode".into() }));
    }

    fn allowed_tools(&mut self, names: &[String]) {
        self.restricted.tools = true;
        for name in names {
            match allowed(name) {
                Ok(Some(flag)) => {
                    self.grants_tools = true;
                    self.say_of_tools(flag);
                }
                Ok(None) => {}
                Err(()) => self.warnings.push(Warning::NotGranted { tool: name.clone() }),
            }
        }
        self.cut = true;
    }

    fn disallowed_tools(&mut self, names: &[String]) {
        for flag in names.iter().flat_map(|name| denied(name)) {
            self.say_of_tools(flag);
        }
        if !names.is_empty() {
            let text = format!("Do not use these tools in this invocation: {}.", names.join(", "));
            self.system.push(Part::Note(text.into()));
        }
        self.cut = true;
    }

    fn tools(&mut self, names: &[String]) {
        if names == ["default"] {
            self.cut = true;
            return;
        }
        let mut kept: Vec<&str> = Vec::new();
        for name in names {
            let own = available(name);
            if own.is_empty() {
                self.warnings.push(Warning::NotGranted { tool: name.clone() });
            }
            kept.extend(own.iter().filter(|own| !kept.contains(own)).copied().collect::<Vec<_>>());
        }
        let flag = if kept.is_empty() {
            NO_TOOLS.to_owned()
        } else {
            format!("--available-tools={}", kept.join(","))
        };
        self.say_of_tools(flag);
    }

    fn say_of_tools(&mut self, flag: String) {
        self.said.tools = true;
        self.keep(vec![flag.into()], false);
    }

    fn keep_with(&mut self, word: &OsStr, attached: bool, values: Vec<OsString>, open: bool) {
        let kept = if attached {
            vec![word.to_owned()]
        } else {
            std::iter::once(word.to_owned()).chain(values).collect()
        };
        self.keep(kept, open);
    }

    fn keep(&mut self, words: Vec<OsString>, open: bool) {
        self.push(Item::Flag { words, open });
    }

    fn push(&mut self, item: Item) {
        self.items.push(item);
        self.cut = false;
    }

    /// Something is taken out here.
    fn take(&mut self, keep: impl FnOnce(&mut Self)) {
        keep(self);
        self.cut = true;
    }

    /// A bare word stays bare: where what stood between it and a flag is gone, it goes before that flag.
    fn word(&mut self, word: OsString) {
        if !self.cut {
            return self.push(Item::Word(word));
        }
        let open = self.items.iter().rev();
        let open = open.take_while(|item| matches!(item, Item::Flag { open: true, .. })).count();
        self.items.insert(self.items.len() - open, Item::Word(word));
        self.cut = open > 0;
    }
}

/// Whether a fault leaves a part of the prompt where it is.
fn is_unmerged(flag: &str) -> bool {
    match flag {
        "--system-prompt" => amplihack_utils::sabotage::active("copilot-merge-system-prompt"),
        "--append-system-prompt" => amplihack_utils::sabotage::active("copilot-merge-append"),
        "-p" => amplihack_utils::sabotage::active("copilot-merge-p"),
        "--prompt" => amplihack_utils::sabotage::active("copilot-merge-prompt"),
        _ => false,
    }
}

/// Whether a fault makes nothing of what a flag says about permissions.
fn is_unheard(flag: &str) -> bool {
    match flag {
        ALLOW_ALL_TOOLS => amplihack_utils::sabotage::active("copilot-explicit-allow-all-tools"),
        "--allow-tool" => amplihack_utils::sabotage::active("copilot-explicit-allow-tool"),
        "--deny-tool" => amplihack_utils::sabotage::active("copilot-explicit-deny-tool"),
        ALLOW_ALL_PATHS => amplihack_utils::sabotage::active("copilot-explicit-allow-all-paths"),
        "--allow-path" => amplihack_utils::sabotage::active("copilot-explicit-allow-path"),
        "--deny-path" => amplihack_utils::sabotage::active("copilot-explicit-deny-path"),
        _ => false,
    }
}

/// The value of a flag that must have one: attached to it, or the next word, which is no flag that is known.
fn value(flag: &str, attached: Option<OsString>, words: &mut Words<'_>) -> Result<OsString, NormalizeError> {
    if let Some(value) = attached {
        return Ok(value);
    }
    let only_bare = arity_of_copilots(flag) == Some(Arity::Any);
    match words.next_if(|next| !is_known_flag(next) && (!only_bare || !is_flag(next))) {
        Some(value) => Ok(value.clone()),
        None => Err(NormalizeError::MissingValue {
            flag: flag.to_owned(),
            before: words.peek().map(|next| next.to_string_lossy().into_owned()),
        }),
    }
}

/// The tools of a list, with those in the words behind it.
fn list(flag: &str, value: &OsStr, words: &mut Words<'_>) -> Result<Vec<String>, NormalizeError> {
    let text = |value: &OsStr| match value.to_str() {
        Some(text) => Ok(tools(text)),
        None => Err(NormalizeError::NotText { flag: flag.to_owned() }),
    };
    let mut names = text(value)?;
    while let Some(more) = words.next_if(|next| is_tool(next)) {
        names.extend(text(more)?);
    }
    Ok(names)
}
