//! Tips on command lines that cannot be read, where the parser knows none.

use std::ffi::OsString;

use amplihack_agent::AgentBinary;
use amplihack_hooks::registration::shell_quoted;
use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Adds the tip that helps with an unquoted prompt, whose second word is taken for an argument too many, and with `amplihack version`.
pub(crate) fn with_tip(mut error: Error, args: &[OsString]) -> Error {
    let rejected = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let verb = args.get(1).and_then(|verb| verb.to_str()).unwrap_or_default();
    let takes_prompt = verb == "launch" || verb == "auto" || verb.parse::<AgentBinary>().is_ok();
    let tip = match error.kind() {
        ErrorKind::UnknownArgument
            if takes_prompt
                && rejected(ContextKind::InvalidArg).is_some_and(|word| !word.starts_with('-')) =>
        {
            // The word before the first one too many is the prompt, as it was read; what follows up to an option belongs to it.
            let second = rejected(ContextKind::InvalidArg).unwrap_or_default();
            let words: Vec<_> = args.iter().skip(2).map(|word| word.to_string_lossy()).collect();
            let at = words.iter().skip(1).position(|word| *word == second).unwrap_or_default();
            let prompt: Vec<_> =
                words.iter().skip(at).take_while(|word| !word.starts_with('-')).map(AsRef::as_ref).collect();
            format!("a prompt is one argument; quote it: {}", shell_quoted(&prompt.join(" ")))
        }
        ErrorKind::InvalidSubcommand if verb == "auto" => {
            error.remove(ContextKind::SuggestedSubcommand);
            "a task is given with --task: amplihack auto --task 'Fix the build'".to_owned()
        }
        ErrorKind::InvalidSubcommand
            if rejected(ContextKind::InvalidSubcommand).as_deref() == Some("version") =>
        {
            error.remove(ContextKind::SuggestedSubcommand);
            "`amplihack --version` prints the version".to_owned()
        }
        _ => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}
