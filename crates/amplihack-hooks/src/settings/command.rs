//! Registered commands that are ours: the program that a shell would start, read back from the text of a registration.

use std::path::PathBuf;

use crate::event::HookEvent;
use crate::token;

/// A command of ours in a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredCommand {
    /// The program that it starts.
    pub program: PathBuf,
    /// The event that it answers.
    pub event: HookEvent,
}

impl RegisteredCommand {
    /// Reads a command; `None` if it is not ours.
    ///
    /// Ours start `amplihack-hooks EVENT` or `amplihack hook EVENT`, from whatever directory, and have nothing behind that but what
    /// runs when it fails. A program of another name that only mentions one of them is somebody else's, and so is a command of
    /// which ours is only a part.
    pub fn parse(command: &str) -> Option<Self> {
        let words = command_words(token::inner_command(command)?)?;
        let program = PathBuf::from(words.first()?);
        let event = match program.file_name()?.to_str()? {
            "amplihack-hooks" => words.get(1)?,
            "amplihack" if words.get(1)? == "hook" => words.get(2)?,
            _ => return None,
        };
        let event = HookEvent::from_name(event)?;
        Some(Self { program, event })
    }
}

/// The words of the first simple command, without their quotes; `None` if something else than a `||` follows it.
fn command_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '|' if chars.next() == Some('|') => break,
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '\n' | '`' | '$' => return None,
            '\'' => {
                let (quoted, _) = chars.as_str().split_once('\'')?;
                word.get_or_insert_default().push_str(quoted);
                chars = chars.as_str().get(quoted.len() + 1..)?.chars();
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => word.push(chars.next()?),
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer_code::{self, AnswerCode};
    use crate::registration::shell_quoted;

    #[test]
    fn ours_are_known_by_the_program_that_they_start() {
        for (command, program, event) in [
            ("/b/amplihack-hooks pre-tool-use --host claude || exit 2", "/b/amplihack-hooks", "pre-tool-use"),
            ("'/b c/it'\\''s/amplihack' hook stop", "/b c/it's/amplihack", "stop"),
            ("\"/old/amplihack-hooks\" session-end", "/old/amplihack-hooks", "session-stop"),
            (
                &*answer_code::demanding_command(
                    "/b/amplihack-hooks pre-tool-use",
                    AnswerCode::INSTALLED,
                    None,
                ),
                "/b/amplihack-hooks",
                "pre-tool-use",
            ),
            ("amplihack-hooks stop", "amplihack-hooks", "stop"),
        ] {
            let found = RegisteredCommand::parse(command).unwrap();
            assert_eq!((found.program, found.event.name()), (program.into(), event), "{command}");
        }
    }

    #[test]
    fn everything_else_is_somebody_elses() {
        for command in [
            "",
            "echo amplihack-hooks stop",
            "/b/my-amplihack-hooks stop",
            "/b/amplihack-hooks",
            "/b/amplihack-hooks | tee stop",
            "/b/amplihack-hooks frobnicate",
            "/b/amplihack doctor",
            "cd /x && /b/amplihack-hooks stop",
            "'unended",
            "/b/amplihack-hooks stop 'unended",
            "/b/amplihack-hooks stop; ./their-own.sh",
            "/b/amplihack-hooks stop && ./their-own.sh",
            "/b/amplihack-hooks stop > log",
            "/b/amplihack-hooks pre-tool-use | true",
            "/b/amplihack-hooks stop\n./their-own.sh",
            "/b/amplihack-hooks $(their-own stop)",
        ] {
            assert_eq!(RegisteredCommand::parse(command), None, "{command}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_path_that_is_quoted_is_read_back(directory in "/[^\\x00-\\x1f]{0,20}") {
            let program = format!("{directory}/amplihack-hooks");
            let found = RegisteredCommand::parse(&format!("{} stop || true", shell_quoted(&program))).unwrap();
            proptest::prop_assert_eq!(found.program, PathBuf::from(program));
        }
    }
}
