//! Reading the arguments of a nested launch: what stays, what is taken out, and what was said about permissions.

use std::ffi::{OsStr, OsString};
use std::iter::Peekable;
use std::slice::Iter;

use amplihack_agent::copilot::nested::{
    ALLOW_ALL_PATHS, ALLOW_ALL_TOOLS, CopilotFlagMeaning, LaunchQuestions, ModeLevel, NO_TOOLS,
    copilot_tools, denial_flags, flag_meaning, grant_flag, mode_level, suspected_questions,
};
use amplihack_agent::{AgentBinary, agent_profile};

use super::normalize::{NormalizeError, NormalizeWarning};
use super::words::{
    FlagArity, ParsedFlag, claude_arity, copilot_arity, is_flag, is_known_flag, is_tool, needs_value,
    split_tools, yes_or_no,
};

/// A part of the command line that stays.
#[derive(Debug)]
pub(super) enum ArgumentItem {
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
pub(super) enum SystemPromptPart {
    /// The system prompt itself.
    System(OsString),
    /// Text that is appended to the system prompt.
    Appended(OsString),
    /// Words for the model about tools that flags deny all the same.
    Note(OsString),
}

/// Everything that the arguments say.
#[derive(Debug, Default)]
pub(super) struct NestedArguments {
    /// Items that stay, in order.
    pub(super) items: Vec<ArgumentItem>,
    /// Parts of the system prompt.
    pub(super) system: Vec<SystemPromptPart>,
    /// Parts of the prompt.
    pub(super) prompts: Vec<OsString>,
    /// `--` and everything behind it.
    pub(super) rest: Vec<OsString>,
    /// Questions that flags which stay answer.
    pub(super) said: LaunchQuestions,
    /// True if a flag that stays grants a tool.
    pub(super) grants_tools: bool,
    /// Questions that flags which were taken out answered with a restriction.
    pub(super) restricted: LaunchQuestions,
    /// The strictest of Claude's permission modes.
    pub(super) mode: Option<ModeLevel>,
    pub(super) warnings: Vec<NormalizeWarning>,
    /// The arguments are a command of Copilot's own, or ask for its help.
    pub(super) passthrough: bool,
    /// Something was taken out behind the last item.
    cut: bool,
}

type ArgumentWords<'a> = Peekable<Iter<'a, OsString>>;

pub(super) fn read_arguments(args: &[OsString]) -> Result<NestedArguments, NormalizeError> {
    let mut reading = NestedArguments::default();
    let grammar = &agent_profile(AgentBinary::Copilot).grammar;
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
            reading.read_flag(word, &mut words)?;
        } else {
            reading.keep_word(word.clone());
        }
    }
    Ok(reading)
}

impl NestedArguments {
    fn read_flag(&mut self, word: &OsStr, words: &mut ArgumentWords<'_>) -> Result<(), NormalizeError> {
        let flag = ParsedFlag::read(word);
        if let Some(more) = flag.more {
            self.keep_flag(vec![flag.name.into()], false);
            return self.read_flag(&more, words);
        }
        let Some(meaning) = flag_meaning(&flag.name) else {
            return self.keep_other_flag(word, &flag, words);
        };
        let name = flag.name;
        let silent = is_unmerged(&name);
        let value =
            if needs_value(meaning) { Some(flag_value(&name, flag.attached.clone(), words)?) } else { None };
        match (meaning, value) {
            (CopilotFlagMeaning::Prompt | CopilotFlagMeaning::SystemPrompt, Some(value)) if silent => {
                self.keep_with(word, flag.attached.is_some(), vec![value], false);
            }
            (CopilotFlagMeaning::Prompt, Some(value)) => self.take_out(|reading| reading.prompts.push(value)),
            (CopilotFlagMeaning::SystemPrompt, Some(value)) => {
                let part = if name == APPEND {
                    SystemPromptPart::Appended(value)
                } else {
                    SystemPromptPart::System(value)
                };
                self.take_out(|reading| reading.system.push(part));
            }
            (CopilotFlagMeaning::Interactive, Some(value)) => self.push(ArgumentItem::Interactive(value)),
            (CopilotFlagMeaning::PermissionMode, Some(value)) => self.permission_mode(&value),
            (CopilotFlagMeaning::AllowedTools, Some(value)) => {
                self.allowed_tools(&tool_list(&name, &value, words)?);
            }
            (CopilotFlagMeaning::DisallowedTools, Some(value)) => {
                self.disallowed_tools(&tool_list(&name, &value, words)?);
            }
            (CopilotFlagMeaning::Tools, Some(value)) => self.limit_tools(&tool_list(&name, &value, words)?),
            (CopilotFlagMeaning::SessionMode, Some(value)) => {
                if value == "plan" {
                    self.said = LaunchQuestions::BOTH;
                }
                self.keep_with(word, flag.attached.is_some(), vec![value], false);
            }
            (CopilotFlagMeaning::Rule(about) | CopilotFlagMeaning::OldRule(about, _), Some(value)) => {
                if value.is_empty() {
                    // An empty list restricts nothing, though it looks as if.
                    return Err(NormalizeError::MissingValue { flag: name, before: None });
                }
                if let CopilotFlagMeaning::OldRule(_, modern) = meaning {
                    self.warnings.push(NormalizeWarning::OldFlag { flag: name.clone(), modern });
                }
                self.said = if is_unheard(&name) { self.said } else { self.said.union_with(about) };
                self.grants_tools |= about.tools && name.starts_with("--allow");
                let mut values = vec![value];
                let attached = flag.attached.is_some();
                let open = !attached && copilot_arity(&name) == Some(FlagArity::Any);
                while let Some(more) = words.next_if(|next| open && !is_flag(next)) {
                    values.push(more.clone());
                }
                self.keep_with(word, attached, values, open);
            }
            (CopilotFlagMeaning::GrantAll(about), _) => {
                self.grant_all(&name, about, flag.attached.as_deref());
            }
            (CopilotFlagMeaning::Restrict(about), _) => {
                self.said = self.said.union_with(about);
                self.keep_flag(vec![word.to_owned()], false);
            }
            (CopilotFlagMeaning::SkipPermissions, _) => {
                if flag.attached.is_some_and(|value| yes_or_no(&value) != Some(true)) {
                    self.restricted = LaunchQuestions::BOTH;
                }
                self.take_out(|reading| reading.warnings.push(NormalizeWarning::Dropped { flag: name }));
            }
            (CopilotFlagMeaning::MaySkipPermissions, _) => {
                self.take_out(|reading| reading.warnings.push(NormalizeWarning::Dropped { flag: name }));
            }
            // The word behind Claude's switch is its prompt.
            (CopilotFlagMeaning::Print, _) => {
                let prompt = flag.attached.or_else(|| words.next_if(|next| !is_flag(next)).cloned());
                self.take_out(|reading| reading.prompts.extend(prompt));
            }
            // A flag that needs a value has one here.
            (_, None) => {}
        }
        Ok(())
    }

    /// A flag without a meaning of its own stays, with its values.
    fn keep_other_flag(
        &mut self,
        word: &OsStr,
        flag: &ParsedFlag,
        words: &mut ArgumentWords<'_>,
    ) -> Result<(), NormalizeError> {
        let copilots = copilot_arity(&flag.name);
        let arity = copilots.or_else(|| claude_arity(&flag.name));
        if copilots.is_none() {
            let word = word.to_string_lossy();
            self.said = self.said.union_with(suspected_questions(word.split('=').next().unwrap_or_default()));
            self.warnings.push(NormalizeWarning::NotCopilots { flag: flag.name.clone() });
        }
        let attached = flag.attached.is_some();
        let mut values = Vec::new();
        match arity {
            _ if attached => {}
            Some(FlagArity::One) => values.push(flag_value(&flag.name, None, words)?),
            Some(FlagArity::AtMostOne) => values.extend(words.next_if(|next| !is_flag(next)).cloned()),
            Some(FlagArity::Any) => {
                while let Some(more) = words.next_if(|next| !is_flag(next)) {
                    values.push(more.clone());
                }
            }
            Some(FlagArity::None) | None => {}
        }
        let open = !attached
            && match arity {
                Some(FlagArity::None | FlagArity::One) => false,
                Some(FlagArity::AtMostOne) => values.is_empty(),
                Some(FlagArity::Any) | None => true,
            };
        let kept = std::iter::once(word.to_owned()).chain(values).collect();
        self.keep_flag(kept, open);
        Ok(())
    }

    /// A switch that grants all of something; `=false` grants nothing, and Copilot takes no value there.
    fn grant_all(&mut self, name: &str, about: LaunchQuestions, value: Option<&OsStr>) {
        if value.is_none_or(|value| yes_or_no(value) == Some(true)) {
            self.said = if is_unheard(name) { self.said } else { self.said.union_with(about) };
            self.grants_tools |= about.tools;
            self.keep_flag(vec![name.into()], false);
        } else {
            self.restricted = self.restricted.union_with(about);
            let flag = name.to_owned();
            self.take_out(|reading| reading.warnings.push(NormalizeWarning::Dropped { flag }));
        }
    }

    fn permission_mode(&mut self, mode: &OsStr) {
        let level = mode.to_str().map_or(ModeLevel::Ask, mode_level);
        self.mode = Some(self.mode.map_or(level, |before| before.min(level)));
        self.take_out(|reading| {
            reading.warnings.push(NormalizeWarning::Dropped { flag: "--permission-mode".into() });
        });
    }

    fn allowed_tools(&mut self, names: &[String]) {
        self.restricted.tools = true;
        for name in names {
            match grant_flag(name) {
                Ok(Some(flag)) => {
                    self.grants_tools = true;
                    self.say_of_tools(flag);
                }
                Ok(None) => {}
                Err(()) => self.warnings.push(NormalizeWarning::NotGranted { tool: name.clone() }),
            }
        }
        self.cut = true;
    }

    fn disallowed_tools(&mut self, names: &[String]) {
        for flag in names.iter().flat_map(|name| denial_flags(name)) {
            self.say_of_tools(flag);
        }
        if !names.is_empty() {
            let text = format!("Do not use these tools in this invocation: {}.", names.join(", "));
            self.system.push(SystemPromptPart::Note(text.into()));
        }
        self.cut = true;
    }

    fn limit_tools(&mut self, names: &[String]) {
        if names == ["default"] {
            self.cut = true;
            return;
        }
        let mut kept: Vec<&str> = Vec::new();
        for name in names {
            let own = copilot_tools(name);
            if own.is_empty() {
                self.warnings.push(NormalizeWarning::NotGranted { tool: name.clone() });
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
        self.keep_flag(vec![flag.into()], false);
    }

    fn keep_with(&mut self, word: &OsStr, attached: bool, values: Vec<OsString>, open: bool) {
        let kept = if attached {
            vec![word.to_owned()]
        } else {
            std::iter::once(word.to_owned()).chain(values).collect()
        };
        self.keep_flag(kept, open);
    }

    fn keep_flag(&mut self, words: Vec<OsString>, open: bool) {
        self.push(ArgumentItem::Flag { words, open });
    }

    fn push(&mut self, item: ArgumentItem) {
        self.items.push(item);
        self.cut = false;
    }

    /// Something is taken out here.
    fn take_out(&mut self, keep: impl FnOnce(&mut Self)) {
        keep(self);
        self.cut = true;
    }

    /// A bare word stays bare: where what stood between it and a flag is gone, it goes before that flag.
    fn keep_word(&mut self, word: OsString) {
        if !self.cut {
            return self.push(ArgumentItem::Word(word));
        }
        let open = self.items.iter().rev();
        let open = open.take_while(|item| matches!(item, ArgumentItem::Flag { open: true, .. })).count();
        self.items.insert(self.items.len() - open, ArgumentItem::Word(word));
        self.cut = open > 0;
    }
}

/// Reports whether a fault leaves a part of the prompt where it is.
fn is_unmerged(flag: &str) -> bool {
    match flag {
        "--system-prompt" => amplihack_sys::sabotage::is_active("copilot-merge-system-prompt"),
        "--append-system-prompt" => amplihack_sys::sabotage::is_active("copilot-merge-append"),
        "-p" => amplihack_sys::sabotage::is_active("copilot-merge-p"),
        "--prompt" => amplihack_sys::sabotage::is_active("copilot-merge-prompt"),
        _ => false,
    }
}

/// Reports whether a fault makes nothing of what a flag says about permissions.
fn is_unheard(flag: &str) -> bool {
    match flag {
        ALLOW_ALL_TOOLS => amplihack_sys::sabotage::is_active("copilot-explicit-allow-all-tools"),
        "--allow-tool" => amplihack_sys::sabotage::is_active("copilot-explicit-allow-tool"),
        "--deny-tool" => amplihack_sys::sabotage::is_active("copilot-explicit-deny-tool"),
        ALLOW_ALL_PATHS => amplihack_sys::sabotage::is_active("copilot-explicit-allow-all-paths"),
        "--allow-path" => amplihack_sys::sabotage::is_active("copilot-explicit-allow-path"),
        "--deny-path" => amplihack_sys::sabotage::is_active("copilot-explicit-deny-path"),
        _ => false,
    }
}

/// The value of a flag that must have one: attached to it, or the next word, which is no flag that is known.
fn flag_value(
    flag: &str,
    attached: Option<OsString>,
    words: &mut ArgumentWords<'_>,
) -> Result<OsString, NormalizeError> {
    if let Some(value) = attached {
        return Ok(value);
    }
    let only_bare = copilot_arity(flag) == Some(FlagArity::Any);
    match words.next_if(|next| !is_known_flag(next) && (!only_bare || !is_flag(next))) {
        Some(value) => Ok(value.clone()),
        None => Err(NormalizeError::MissingValue {
            flag: flag.to_owned(),
            before: words.peek().map(|next| next.to_string_lossy().into_owned()),
        }),
    }
}

/// The tools of a list, with those in the words behind it.
fn tool_list(
    flag: &str,
    value: &OsStr,
    words: &mut ArgumentWords<'_>,
) -> Result<Vec<String>, NormalizeError> {
    let text = |value: &OsStr| match value.to_str() {
        Some(text) => Ok(split_tools(text)),
        None => Err(NormalizeError::NotText { flag: flag.to_owned() }),
    };
    let mut names = text(value)?;
    while let Some(more) = words.next_if(|next| is_tool(next)) {
        names.extend(text(more)?);
    }
    Ok(names)
}
