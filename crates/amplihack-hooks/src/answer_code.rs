//! The exit codes that only the guard answers with, and the shell text that lets a call pass on them alone.
//!
//! Silence lets a call run, and an empty file, or any program that does nothing, is silent too. A registration therefore lets a call
//! pass only on its own exit code, and hands the host only what was written to a descriptor that no other program knows of. Each
//! launch has a code of its own; registrations that an installation makes share one.
//!
//! A code costs nothing. Words in front of the answer, which a shell takes off, cost a fork of the shell: a quarter of `/bin/true`.

use std::io;

use amplihack_sys::hex::random_word;

/// The argument in front of the code.
pub(crate) const FLAG: &str = "--code";

/// The file of a launch's directory that says that a call was stopped because the guard did not answer.
pub const UNANSWERED: &str = "unanswered";

/// The descriptor that the answer goes to, so that nothing which another program prints is taken for one.
pub(crate) const DESCRIPTOR: i32 = 3;

/// The least code, and how many there are: none that shells, `sysexits.h`, Rust's panics or `timeout` end with.
const FIRST: u8 = 79;
const COUNT: u8 = 20;

/// The exit code by which an answer lets a call pass; the next one stops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerCode(u8);

impl AnswerCode {
    /// The code of registrations without a launch.
    pub(crate) const INSTALLED: Self = Self(FIRST);

    /// A code that was not known before.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub(crate) fn random_code() -> io::Result<Self> {
        let word = random_word()?;
        Ok(Self(FIRST + word.bytes().fold(0, |sum, digit| (sum * 7 + digit % 16) % COUNT)))
    }

    /// Reads an argument.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|code| (FIRST..FIRST + COUNT).contains(code)).map(Self)
    }

    /// The code of an answer that a host would get with `code`.
    pub(crate) fn process_code(self, code: u8) -> u8 {
        match code {
            0 => self.0,
            2 => self.stop_code(),
            other => other,
        }
    }

    fn stop_code(self) -> u8 {
        self.0 + 1
    }
}

impl std::fmt::Display for AnswerCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A shell command that runs `command`, and stops the tool call whatever keeps `command` from an answer with `code`. Exit
/// code 2 with words on stderr was shown to stop a call on Claude Code, Codex, Copilot and Gemini. `command` says them itself if it
/// ends with that code. A call that was stopped so leaves the file [`UNANSWERED`] in `launch`, a quoted path, for its launch to see.
pub(crate) fn demanding_command(command: &str, code: AnswerCode, launch: Option<&str>) -> String {
    // No special builtin: where a shell keeps to POSIX, a failed redirection of one ends the shell, with another code. And nothing
    // that may fail stands alone: a shell may have been told to end with it, with its code.
    let mark = launch.map(|launch| format!("true >{launch}/{UNANSWERED} || :; ")).unwrap_or_default();
    let (passes, stops) = (code.0, code.stop_code());
    format!("{command}{BEHIND}{passes}) exit 0 ;; {stops}) exit 2 ;; {OTHERWISE}{mark}{END}")
}

/// `text`, which begins with a denial on stderr: the answer of a host that reads stderr where a killed hook left nothing on stdout.
pub(crate) fn denying_first(text: &str) -> String {
    format!("{DENIED}{text}")
}

/// The command in the shell text of [`demanding_command`], with or without a denial before it; `None` if it is another text.
pub(crate) fn demanded_command(text: &str) -> Option<&str> {
    // Behind it stands nothing that could hold this text again, so the last one is ours.
    let (command, rest) = text.strip_prefix(DENIED).unwrap_or(text).rsplit_once(BEHIND)?;
    rest.ends_with(END).then_some(command)
}

/// The words are those of [`DID_NOT_RUN`](crate::coverage::DID_NOT_RUN).
const DENIED: &str = "echo '{\"decision\":\"deny\",\"reason\":\"guard did not run\"}' >&2; ";
const BEHIND: &str = " 3>&1 >/dev/null && false || case $? in ";
/// The words are those of [`DID_NOT_RUN`](crate::coverage::DID_NOT_RUN).
const OTHERWISE: &str = "*) [ $? = 2 ] || echo 'guard did not run' >&2 || :; ";
const END: &str = "exit 2 ;; esac";

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::coverage::DID_NOT_RUN;

    /// What each shell makes of a registration whose program is `program`: its code, stdout and stderr.
    /// A shell that says nothing about a locale that is not installed.
    fn in_shell(shell: &str) -> Command {
        let mut command = Command::new(shell);
        command.env("LC_ALL", "C");
        command
    }

    fn ran(program: &str, launch: Option<&str>) -> Vec<(i32, String, String)> {
        let text = demanding_command(program, AnswerCode::INSTALLED, launch);
        let shells: [(&str, &[&str]); 4] =
            [("dash", &[]), ("bash", &[]), ("bash", &["--posix"]), ("bash", &["-e"])];
        shells
            .into_iter()
            .filter_map(|(shell, mode)| in_shell(shell).args(mode).args(["-c", &text]).output().ok())
            .map(|output| {
                let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (output.status.code().unwrap(), said(&output.stdout), said(&output.stderr))
            })
            .collect()
    }

    #[test]
    fn only_an_answer_with_the_code_lets_a_call_pass() {
        let stopped = (2, String::new(), format!("{DID_NOT_RUN}\n"));
        for (program, expected) in [
            ("sh -c 'exit 79'", (0, String::new(), String::new())),
            (
                "sh -c 'printf %s \"{\\\"a b\\\":\\\"*\\\"}\" >&3; exit 79'",
                (0, "{\"a b\":\"*\"}".to_owned(), String::new()),
            ),
            // What is printed is no answer, on no host.
            ("sh -c 'echo {}; exit 79'", (0, String::new(), String::new())),
            ("true", stopped.clone()),
            ("echo {}", stopped.clone()),
            ("echo '{\"decision\":\"allow\"}'", stopped.clone()),
            ("false", stopped.clone()),
            ("/nonexistent/program", stopped.clone()),
            ("/", stopped.clone()),
            ("sh -c 'exit 81'", stopped.clone()),
            ("sh -c 'kill -KILL $$'", stopped.clone()),
            ("sh -c 'echo no >&2; exit 2'", (2, String::new(), "no\n".to_owned())),
            ("sh -c 'echo no >&2; printf {} >&3; exit 80'", (2, "{}".to_owned(), "no\n".to_owned())),
        ] {
            let results = ran(program, None);
            assert!(!results.is_empty());
            for (code, stdout, stderr) in results {
                // A shell says who was killed.
                let stderr = stderr.lines().last().map(|line| format!("{line}\n")).unwrap_or_default();
                assert_eq!((code, stdout, stderr), expected, "{program}");
            }
        }
    }

    #[test]
    fn a_call_that_was_stopped_leaves_a_mark_and_is_stopped_without_room_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let launch = dir.path().to_str();
        for answered in ["sh -c 'exit 79'", "sh -c 'exit 80'"] {
            assert!(ran(answered, launch).iter().all(|(code, ..)| matches!(code, 0 | 2)));
            assert!(!dir.path().join(UNANSWERED).exists(), "{answered}");
        }
        assert!(ran("true", launch).iter().all(|(code, ..)| *code == 2));
        assert!(dir.path().join(UNANSWERED).exists());
        assert!(ran("true", Some("/nonexistent")).iter().all(|(code, ..)| *code == 2));
    }

    #[test]
    fn a_shell_that_is_killed_has_denied_already() {
        let text = denying_first(&demanding_command("kill -KILL $$", AnswerCode::INSTALLED, None));
        let output = in_shell("bash").args(["-c", &text]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (None, &b""[..]));
        let said: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!((&said["decision"], &said["reason"]), (&"deny".into(), &DID_NOT_RUN.into()));
    }

    #[test]
    fn a_registration_without_a_stdout_stops_the_call() {
        let text = demanding_command("sh -c 'exit 79'", AnswerCode::INSTALLED, None);
        for shell in ["dash", "bash"] {
            let Ok(output) =
                in_shell(shell).args(["-c", &format!("{shell} -c \"$1\" >&-"), "-", &text]).output()
            else {
                continue;
            };
            assert_eq!(output.status.code(), Some(2), "{shell}");
            assert!(!output.stderr.is_empty(), "{shell}");
        }
    }

    #[test]
    fn a_command_is_found_again_in_its_registration() {
        for command in [
            "/b/amplihack-hooks pre-tool-use",
            "'/a 3>&1 >/dev/null && false || case $? in /hooks' pre-tool-use",
        ] {
            assert_eq!(
                demanded_command(&demanding_command(command, AnswerCode::INSTALLED, None)),
                Some(command)
            );
            let text = demanding_command(command, AnswerCode::INSTALLED, Some("/l"));
            assert_eq!(demanded_command(&text), Some(command));
            assert_eq!(demanded_command(&denying_first(&text)), Some(command));
            assert_eq!(demanded_command(command), None);
        }
        assert_eq!(
            demanded_command(
                "/b/amplihack-hooks pre-tool-use 3>&1 >/dev/null && false || case $? in *) ;; esac"
            ),
            None
        );
    }

    #[test]
    fn codes_are_random_and_read_back() {
        let codes: Vec<AnswerCode> = (0..200).map(|_| AnswerCode::random_code().unwrap()).collect();
        for code in &codes {
            assert_eq!(AnswerCode::parse(&code.to_string()), Some(*code));
            assert_eq!(
                [code.process_code(0), code.process_code(2), code.process_code(1)],
                [code.0, code.0 + 1, 1]
            );
        }
        let few = (FIRST..FIRST + COUNT).filter(|code| !codes.contains(&AnswerCode(*code))).count();
        assert!(few < 5, "{few} codes are never used");
        for text in ["", "0", "2", "78", "99", "101", "255", "300", "-1", "x"] {
            assert_eq!(AnswerCode::parse(text), None, "{text}");
        }
    }
}
