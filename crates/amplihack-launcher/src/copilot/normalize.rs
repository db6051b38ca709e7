//! Arguments that a recipe wrote for Claude, as Copilot takes them, with no permission widened.

use std::ffi::{OsStr, OsString};
use std::fmt;

use amplihack_agent::copilot::nested::{
    ALLOW_ALL_PATHS, ALLOW_ALL_TOOLS, ALLOW_EDITS, DISALLOW_TEMP_DIR, INTERACTIVE, INTERACTIVE_EQUALS,
    LaunchQuestions, ModeLevel, PROMPT, PROMPT_EQUALS, TOOLS_DECIDED,
};
use amplihack_sys::error::{ErrorExplanation, ExitKind};

use super::arguments::{ArgumentItem, NestedArguments, SystemPromptPart, read_arguments};
use super::words::is_flag;

/// Separator of the parts of a merged prompt.
const BETWEEN: &str = "\n\n";
/// Sentence by which an older normalizer told the model of a restriction, and left no other trace of it.
const FORBIDDEN: &str = "Tool use is forbidden for this invocation.";

/// Arguments for Copilot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalizedArguments {
    /// The arguments, without the program.
    pub argv: Vec<OsString>,
    /// Warnings about them for a person, one line each.
    pub warnings: Vec<NormalizeWarning>,
}

/// Something that a person should know about the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NormalizeWarning {
    /// A flag of Claude's was left out; what it said about permissions was heeded.
    Dropped {
        /// The flag.
        flag: String,
    },
    /// Today's Copilot refuses this flag.
    OldFlag {
        /// The flag.
        flag: String,
        /// The flag that replaces it now.
        modern: &'static str,
    },
    /// Copilot does not know this flag.
    NotCopilots {
        /// The flag.
        flag: String,
    },
    /// Copilot has no rule for just what was granted, so it was not.
    NotGranted {
        /// The tool as it was written.
        tool: String,
    },
    /// Nobody answers in a headless run, and no tool is granted.
    NothingGranted,
}

impl fmt::Display for NormalizeWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped { flag } => write!(f, "{flag} is not Copilot's and was left out"),
            Self::OldFlag { flag, modern } => {
                write!(f, "{flag} is refused by today's Copilot; write {modern}")
            }
            Self::NotCopilots { flag } => write!(f, "{flag} is not known to Copilot, which may refuse it"),
            Self::NotGranted { tool } => {
                write!(f, "{tool} was not granted: Copilot has no rule for just that; write an --allow-tool")
            }
            Self::NothingGranted => f.write_str(
                "no tool is granted, so Copilot denies every call that it would ask about; add --allow-all-tools or an --allow-tool",
            ),
        }
    }
}

/// The arguments cannot be read for certain, so nothing is made of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NormalizeError {
    /// A flag has no value.
    #[error("{flag} has no value{}", before.as_ref().map(|word| format!(" before {word}")).unwrap_or_default())]
    MissingValue {
        /// The flag.
        flag: String,
        /// The word that stands where its value should be.
        before: Option<String>,
    },
    /// Prompts were given, and all are empty.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// A list of tools is not text.
    #[error("the value of {flag} is not UTF-8")]
    NotText {
        /// The flag.
        flag: String,
    },
}

impl ErrorExplanation for NormalizeError {
    fn kind(&self) -> &'static str {
        match self {
            Self::MissingValue { .. } => "missing_value",
            Self::EmptyPrompt => "empty_prompt",
            Self::NotText { .. } => "not_text",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        ExitKind::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::MissingValue { flag, before: Some(_) } if flag.starts_with("--") => {
                Some(format!("give it one; a value that looks like a flag is written {flag}=VALUE"))
            }
            Self::MissingValue { .. } => Some("give it one, or leave it out".to_owned()),
            Self::EmptyPrompt => {
                Some("give a prompt; without one Copilot would wait for a person".to_owned())
            }
            Self::NotText { .. } => None,
        }
    }
}

/// Makes arguments for Copilot of `args`, which may hold flags of Claude's.
///
/// Parts of the prompt and of the system prompt become one `-p`, the system prompt first, a blank line between. If nothing
/// was said about tools, all tools are granted; if nothing was said about paths, all paths are. Whatever was said, in
/// Copilot's words, in Claude's or in ones that look so, is kept or translated, and no more is granted than that. What
/// stands behind `--` is not read. Doing it twice is doing it once. Commands of Copilot's own (`mcp list`) and calls for
/// help pass through.
///
/// # Errors
///
/// [`NormalizeError`]: a guess might grant what was to be denied.
pub fn normalize(args: &[OsString]) -> Result<NormalizedArguments, NormalizeError> {
    let mut reading = read_arguments(args)?;
    if reading.passthrough {
        return Ok(NormalizedArguments { argv: args.to_vec(), warnings: Vec::new() });
    }
    let merged = merge_prompt(&mut reading)?;
    let mut out = permission_flags(&reading);
    let granted = [ALLOW_ALL_TOOLS, ALLOW_EDITS].iter().any(|all| out.iter().any(|word| word == all));
    if merged.is_some() && !granted && !reading.grants_tools {
        reading.warnings.push(NormalizeWarning::NothingGranted);
    }
    for item in reading.items {
        match item {
            ArgumentItem::Word(word) => out.push(word),
            ArgumentItem::Flag { words, .. }
                if amplihack_sys::sabotage::is_active("copilot-explicit-kept")
                    && words[0].as_encoded_bytes().starts_with(b"--deny") => {}
            ArgumentItem::Flag { words, .. } => out.extend(words),
            ArgumentItem::Interactive(value) => push_flag(&mut out, INTERACTIVE, INTERACTIVE_EQUALS, value),
        }
    }
    if let Some(merged) = merged {
        if amplihack_sys::sabotage::is_active("copilot-merge-one") {
            push_flag(&mut out, PROMPT, PROMPT_EQUALS, merged.clone());
        }
        push_flag(&mut out, PROMPT, PROMPT_EQUALS, merged);
    }
    out.extend(reading.rest);
    Ok(NormalizedArguments { argv: out, warnings: reading.warnings })
}

/// Flags in front: what was not decided is granted, and what was decided by a flag that is gone leaves its mark.
fn permission_flags(reading: &NestedArguments) -> Vec<OsString> {
    let mut restricted = reading.restricted;
    let mut front = Vec::new();
    let mut said = reading.said;
    match reading.mode {
        Some(ModeLevel::Edit) => {
            front.push(ALLOW_EDITS);
            said.tools = true;
            restricted.paths = true;
        }
        Some(ModeLevel::Ask) => restricted = LaunchQuestions::BOTH,
        Some(ModeLevel::Full) | None => {}
    }
    restricted.tools |= reading.prompts.iter().any(|part| starts_with(part, FORBIDDEN));
    if !said.tools && !amplihack_sys::sabotage::is_active("copilot-default-tools") {
        front.push(if restricted.tools { TOOLS_DECIDED } else { ALLOW_ALL_TOOLS });
    }
    if !said.paths && !amplihack_sys::sabotage::is_active("copilot-default-paths") {
        front.push(if restricted.paths { DISALLOW_TEMP_DIR } else { ALLOW_ALL_PATHS });
    }
    front.into_iter().map(OsString::from).collect()
}

fn starts_with(text: &OsStr, start: &str) -> bool {
    text.as_encoded_bytes().starts_with(start.as_bytes())
}

/// The one prompt. System prompts of a session that begins with a prompt of its own become a part of that.
fn merge_prompt(reading: &mut NestedArguments) -> Result<Option<OsString>, NormalizeError> {
    let prompted = !reading.prompts.is_empty();
    let system = order_system_parts(std::mem::take(&mut reading.system), prompted, &reading.items);
    let interactive = reading.items.iter_mut().find_map(|item| match item {
        ArgumentItem::Interactive(value) => Some(value),
        _ => None,
    });
    if let (false, Some(value)) = (prompted, interactive) {
        *value = join_parts(system.iter().chain([&*value]));
        return Ok(None);
    }
    let merged = join_parts(system.iter().chain(&reading.prompts));
    match (merged.is_empty(), prompted) {
        (true, true) => Err(NormalizeError::EmptyPrompt),
        (true, false) => Ok(None),
        (false, _) => Ok(Some(merged)),
    }
}

/// The parts of the system prompt, itself first, and what is appended to it in the order in which it is written. A note about
/// denied tools is no reason to begin a run without a person.
fn order_system_parts(parts: Vec<SystemPromptPart>, prompted: bool, items: &[ArgumentItem]) -> Vec<OsString> {
    let interactive = items.iter().any(|item| matches!(item, ArgumentItem::Interactive(_)));
    if !prompted && !interactive && parts.iter().all(|part| matches!(part, SystemPromptPart::Note(_))) {
        return Vec::new();
    }
    let (first, behind): (Vec<SystemPromptPart>, Vec<SystemPromptPart>) =
        parts.into_iter().partition(|part| matches!(part, SystemPromptPart::System(_)));
    let text = |part| match part {
        SystemPromptPart::System(text) | SystemPromptPart::Appended(text) | SystemPromptPart::Note(text) => {
            text
        }
    };
    first.into_iter().chain(behind).map(text).collect()
}

fn join_parts<'a>(parts: impl Iterator<Item = &'a OsString>) -> OsString {
    let parts: Vec<&OsStr> = parts.filter(|part| !part.is_empty()).map(OsString::as_os_str).collect();
    parts.join(OsStr::new(if amplihack_sys::sabotage::is_active("copilot-merge-blank-line") {
        "\n"
    } else {
        BETWEEN
    }))
}

/// A flag and its value: in one word where the value would be taken for a flag.
fn push_flag(argv: &mut Vec<OsString>, flag: &str, equals: &str, value: OsString) {
    if is_flag(&value) {
        let mut word = OsString::from(equals);
        word.push(value);
        argv.push(word);
    } else {
        argv.extend([flag.into(), value]);
    }
}
