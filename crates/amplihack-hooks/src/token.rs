//! The token that an answer to a wrapper of a repository begins with, and the shell text that demands an object of a wrapper.
//!
//! A wrapper is a script that reads the whole answer before it hands it on, so words in front cost it nothing.

use crate::answer_code;

/// The argument that asks for the token.
pub(crate) const FLAG: &str = "--sign";

/// The token.
pub(crate) const TOKEN: &str = "amplihack-guard:";

/// A shell command that runs `command`, and stops the tool call unless `command` prints an object: the answer itself is the token.
pub(crate) fn demanding_object(command: &str) -> String {
    format!("{BEFORE}{command}{BEHIND}0'{{'*) printf %s \"$g\" ;; {OTHERWISE}{END}")
}

/// The command in the shell text of [`demanding_object`] or of a registration; any other text is returned as it is.
pub(crate) fn inner_command(text: &str) -> Option<&str> {
    let Some(inner) = text.strip_prefix(BEFORE) else {
        return Some(answer_code::demanded_command(text).unwrap_or(text));
    };
    // Behind it stands nothing that could hold this text again, so the last one is ours.
    let (command, rest) = inner.rsplit_once(BEHIND)?;
    rest.ends_with(END).then_some(command)
}

const BEFORE: &str = "g=$(";
const BEHIND: &str = "); s=$?; case $s$g in ";
/// The words are those of [`DID_NOT_RUN`](crate::coverage::DID_NOT_RUN).
const OTHERWISE: &str = "*) [ $s = 2 ] || echo 'guard did not run' >&2; ";
const END: &str = "exit 2 ;; esac";

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn where_an_object_is_the_token_nothing_else_passes() {
        for (program, code) in [("echo {}", 0), ("true", 2), ("echo no", 2), ("exit 2", 2)] {
            for shell in ["dash", "bash"] {
                let Ok(output) = Command::new(shell).args(["-c", &demanding_object(program)]).output() else {
                    continue;
                };
                assert_eq!(output.status.code(), Some(code), "{program}");
                assert_eq!(output.stdout, if code == 0 { "{}" } else { "" }.as_bytes(), "{program}");
            }
        }
    }

    #[test]
    fn a_command_is_found_again_in_its_registration() {
        for command in
            ["/b/amplihack-hooks pre-tool-use", "'/a); s=$?; case $s$g in /amplihack-hooks' pre-tool-use"]
        {
            assert_eq!(inner_command(&demanding_object(command)), Some(command));
            assert_eq!(inner_command(command), Some(command));
        }
        assert_eq!(inner_command("g=$(/b/amplihack-hooks pre-tool-use); true"), None);
    }
}
