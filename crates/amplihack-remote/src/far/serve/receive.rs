//! A session on stdin, and as files.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_session::probe_program;

use super::super::answer::is_digest;
use super::super::encode::{is_commit, is_variable};
use super::context::{RunnerContext, RunnerResult, fail_verb, parse_number};

/// Time for git to check the name of a branch.
const GIT_TIME: Duration = Duration::from_secs(30);
/// Files of arguments have names of four digits.
const MOST_ARGS: usize = 10_000;

/// A session as it was sent. It may hold secrets, and has no `Debug`.
#[derive(Default)]
pub(super) struct ReceivedSession<'a> {
    key: &'a [u8],
    lines: Vec<(&'static str, &'a str)>,
    args: Vec<&'a [u8]>,
    env: Vec<(&'a str, &'a [u8])>,
    prompt: &'a [u8],
}

/// The bytes of a received session that are not parsed yet.
struct RemainingBytes<'a>(&'a [u8]);

impl<'a> RemainingBytes<'a> {
    fn take_line(&mut self, what: &str) -> RunnerResult<&'a [u8]> {
        let Some(end) = memchr::memchr(b'\n', self.0) else {
            return fail_verb(64, format!("the session ends {what}"));
        };
        let (line, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        Ok(line)
    }

    /// So many bytes, and the line break after them.
    fn take_value(&mut self, length: &str) -> RunnerResult<&'a [u8]> {
        let wanted = parse_number(length).and_then(|length| usize::try_from(length).ok());
        let Some(wanted) = wanted else { return fail_verb(64, format!("'{length}' is no length")) };
        let Some((value, rest)) = self.0.split_at_checked(wanted) else {
            return fail_verb(64, "the session ends in a value");
        };
        let Some(rest) = rest.strip_prefix(b"\n") else {
            return fail_verb(64, "a value is longer than announced");
        };
        self.0 = rest;
        Ok(value)
    }
}

impl<'a> ReceivedSession<'a> {
    pub(super) fn from_bytes(bytes: &'a [u8]) -> RunnerResult<Self> {
        let mut rest = RemainingBytes(bytes);
        let mut session = Self { key: rest.take_line("in its key")?, ..Self::default() };
        loop {
            let line = std::str::from_utf8(rest.take_line("without a prompt")?).unwrap_or("?");
            let (word, value) = line.split_once(' ').unwrap_or((line, line));
            let (kept, good) = match word {
                "prompt" => break,
                "arg" => {
                    session.args.push(rest.take_value(value)?);
                    continue;
                }
                "env" => {
                    let (length, name) = value.split_once(' ').unwrap_or((value, ""));
                    if !is_variable(name) {
                        return fail_verb(64, "env has no name of a variable");
                    }
                    session.env.push((name, rest.take_value(length)?));
                    continue;
                }
                "key_name" => ("key_name", is_variable(value)),
                "bundle" => ("bundle", is_digest(value)),
                "extra" => ("extra", is_digest(value)),
                "base" => ("base", is_commit(value)),
                "branch" => ("branch", true),
                "timeout" => ("timeout", parse_number(value).is_some_and(|seconds| seconds > 0)),
                _ => return fail_verb(64, format!("a session has no '{word}'")),
            };
            if !good {
                return fail_verb(64, format!("the session's {word} is none"));
            }
            session.lines.push((kept, value));
        }
        session.prompt = rest.0;
        Ok(session)
    }

    fn line_value(&self, word: &str) -> Option<&'a str> {
        self.lines.iter().rev().find(|(name, _)| *name == word).map(|(_, value)| *value)
    }

    /// Reports missing lines and objects that are not stored here, before anything is claimed.
    pub(super) fn check_inputs(&self, ground: &RunnerContext) -> RunnerResult<()> {
        for word in ["bundle", "base", "branch"] {
            if self.line_value(word).is_none() {
                return fail_verb(64, format!("the session has no {word}"));
            }
        }
        match self.args.first() {
            Some([b'-', ..]) => return fail_verb(64, "the program begins with a dash"),
            None | Some([]) => return fail_verb(64, "the session has no program"),
            _ if self.args.len() >= MOST_ARGS => return fail_verb(64, "there are too many arguments"),
            _ => {}
        }
        let mut git = Command::new("git");
        git.args(["check-ref-format", "--branch", self.line_value("branch").unwrap_or_default()]);
        git.env_clear().envs(ground.env.iter());
        match probe_program(git, GIT_TIME) {
            Ok(said) if said.exit.is_success() => {}
            Ok(_) => return fail_verb(64, "branch is no name of a branch"),
            Err(error) => return fail_verb(74, error.to_string()),
        }
        for word in ["bundle", "extra"] {
            if let Some(digest) = self.line_value(word)
                && !ground.objects_directory().join(digest).is_file()
            {
                return fail_verb(65, format!("{word} {digest} is not stored here"));
            }
        }
        Ok(())
    }

    /// Writes the session's files; `secret` is there already.
    pub(super) fn write_files(&self, directory: &Path) -> io::Result<()> {
        let secret = directory.join("secret");
        fs::create_dir(secret.join("env"))?;
        fs::write(secret.join("key"), self.key)?;
        for (name, value) in &self.env {
            fs::write(secret.join("env").join(name), value)?;
        }
        fs::create_dir(directory.join("argv"))?;
        for (at, arg) in self.args.iter().enumerate() {
            fs::write(directory.join("argv").join(format!("{at:04}")), arg)?;
        }
        for (name, value) in &self.lines {
            fs::write(directory.join(name), format!("{value}\n"))?;
        }
        fs::write(directory.join("prompt"), self.prompt)?;
        fs::write(directory.join("log"), "")?;
        fs::write(directory.join("setup.log"), "")
    }
}

#[cfg(test)]
mod tests {
    use super::ReceivedSession;

    fn fault(text: &str) -> Option<u8> {
        ReceivedSession::from_bytes(text.as_bytes()).err().map(|fault| fault.code)
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_refused() {
        let whole = "k\nbranch b\ntimeout 5\narg 3\na\nb\nenv 1 N\nx\nprompt\np\n";
        let session = ReceivedSession::from_bytes(whole.as_bytes()).ok().unwrap();
        assert_eq!((session.key, session.prompt), (&b"k"[..], &b"p\n"[..]));
        assert_eq!((session.args, session.env), (vec![&b"a\nb"[..]], vec![("N", &b"x"[..])]));
        for end in 0..whole.find("\np\n").unwrap() {
            assert_eq!(fault(&whole[..end]), Some(64), "{end}");
        }
        for wrong in [
            "arg 1\nab\n",
            "arg x\n",
            "arg\n",
            "env 1\nx\n",
            "env 1 N M\nx\n",
            "bundle x\n",
            "timeout 0\n",
            "x y\n",
        ] {
            assert_eq!(fault(&format!("\n{wrong}prompt\n")), Some(64), "{wrong}");
        }
    }
}
