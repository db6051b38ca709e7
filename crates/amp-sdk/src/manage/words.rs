//! The words of a management command, in an order in which no value is taken for a flag.

use std::ffi::OsString;

use crate::error::{Error, Result};

/// A part of a command, in the order of its golden form.
#[derive(Debug, Clone)]
enum CommandPart {
    /// `--flag`, `--flag value`.
    Flag(Vec<OsString>),
    /// A value by its place, and its name for errors.
    Place(&'static str, OsString),
}

/// The words of a command.
#[derive(Debug, Clone)]
pub(crate) struct CommandWords {
    command: Vec<&'static str>,
    parts: Vec<CommandPart>,
    /// Words behind a `--`: those of another program.
    tail: Vec<OsString>,
}

impl CommandWords {
    /// A command: `["threads", "list"]`.
    pub(crate) fn new(command: &[&'static str]) -> Self {
        Self { command: command.to_vec(), parts: Vec::new(), tail: Vec::new() }
    }

    /// The command without its values, for errors.
    pub(crate) fn command_name(&self) -> String {
        self.command.join(" ")
    }

    /// A value by its place. One that is blank is refused.
    pub(crate) fn with_positional(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.parts.push(CommandPart::Place(name, value.into()));
        self
    }

    /// `--flag` if `given`.
    pub(crate) fn with_switch(mut self, flag: &str, given: bool) -> Self {
        if given {
            self.parts.push(CommandPart::Flag(vec![flag.into()]));
        }
        self
    }

    /// `--flag value` if there is one.
    pub(crate) fn with_option(mut self, flag: &str, value: Option<impl Into<OsString>>) -> Self {
        if let Some(value) = value {
            self.parts.push(CommandPart::Flag(vec![flag.into(), value.into()]));
        }
        self
    }

    /// `--flag value` for a number.
    pub(crate) fn with_number(self, flag: &str, value: Option<u64>) -> Self {
        self.with_option(flag, value.map(|number| number.to_string()))
    }

    /// `--flag value` for each of them.
    pub(crate) fn with_each<V: Into<OsString>>(
        self,
        flag: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        values.into_iter().fold(self, |words, value| words.with_option(flag, Some(value)))
    }

    /// `--`, then these words of another program.
    pub(crate) fn with_program(mut self, words: impl IntoIterator<Item = OsString>) -> Self {
        self.tail = words.into_iter().collect();
        self
    }

    /// The words. A value by its place that begins with `-` goes behind a `--`, and all flags before it.
    pub(crate) fn to_argv(&self) -> Result<Vec<OsString>> {
        let nul = |word: &OsString| word.as_encoded_bytes().contains(&0);
        let mut words: Vec<OsString> = self.command.iter().map(OsString::from).collect();
        let (mut places, mut flags) = (Vec::new(), Vec::new());
        let mut in_order = Vec::new();
        for part in &self.parts {
            match part {
                CommandPart::Place(name, value) => {
                    if value.to_string_lossy().trim().is_empty() || nul(value) {
                        let message = "it is blank or holds a NUL byte; give it some text";
                        return Err(Error::invalid_option(
                            format!("{}: {name}", self.command_name()),
                            message,
                        ));
                    }
                    places.push(value.clone());
                    in_order.push(value.clone());
                }
                CommandPart::Flag(flag) => {
                    if flag.iter().any(nul) {
                        let name = flag[0].to_string_lossy().into_owned();
                        return Err(Error::invalid_option(name, "its value holds a NUL byte"));
                    }
                    flags.extend(flag.iter().cloned());
                    in_order.extend(flag.iter().cloned());
                }
            }
        }
        let dashed = places.iter().any(|value| value.as_encoded_bytes().starts_with(b"-"));
        if !self.tail.is_empty() {
            // There is one `--`, and the other program's words need it: none is left to shield a name that begins with `-`.
            if dashed || self.tail.iter().any(nul) {
                return Err(Error::invalid_option(
                    self.command_name(),
                    "a name begins with -, or a word holds a NUL byte",
                ));
            }
            words.extend(in_order);
            words.push("--".into());
            words.extend(self.tail.iter().cloned());
        } else if dashed {
            words.extend(flags);
            words.push("--".into());
            words.extend(places);
        } else {
            words.extend(in_order);
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &CommandWords) -> String {
        let words = words.to_argv().unwrap();
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_value_is_never_a_flag() {
        let rename = |name: &str| {
            CommandWords::new(&["threads", "rename"])
                .with_positional("id", "T-1")
                .with_positional("name", name)
        };
        assert_eq!(shown(&rename("new")), "threads rename T-1 new");
        assert_eq!(shown(&rename("--all").with_switch("--x", true)), "threads rename --x -- T-1 --all");
        let error = rename(" ").to_argv().unwrap_err();
        assert_eq!(error.kind(), "invalid_configuration");
        assert!(error.to_string().contains("threads rename: name"), "{error}");
        assert!(rename("a\0b").to_argv().is_err());
    }
}
