//! Words of a command line, sorted into their places.

use std::ffi::OsString;

use crate::matrix::{ArgShape, ArgSlot};

/// The words of a command line by place.
#[derive(Default)]
pub(super) struct CommandLineSlots {
    pub(super) front: Vec<OsString>,
    pub(super) options: Vec<OsString>,
    pub(super) tail: Vec<OsString>,
    /// Words that go into the environment instead.
    pub(super) variables: Vec<(&'static str, OsString)>,
}

impl CommandLineSlots {
    /// Adds the words of `shape` with each of `values`.
    pub(super) fn push_each(&mut self, shape: ArgShape, values: &[OsString]) {
        if let ArgShape::TomlTable(flag, key, entry) = shape {
            return self.options.extend([flag.into(), toml_table(key, entry, values)]);
        }
        for (index, value) in values.iter().enumerate() {
            match shape {
                ArgShape::EachThen(flag, words) => {
                    self.options.extend([flag.into(), value.clone()]);
                    let last = index + 1 == values.len();
                    self.options.extend(words.iter().filter(|_| last).map(OsString::from));
                }
                shape => {
                    self.push(shape, Some(value.clone()));
                }
            }
        }
    }

    /// Adds the words of `shape` with `value`; returns the length of the longest.
    pub(super) fn push(&mut self, shape: ArgShape, value: Option<OsString>) -> usize {
        let value = value.unwrap_or_default();
        let (slot, words) = match shape {
            ArgShape::Words(slot, words) => (slot, words.iter().map(OsString::from).collect()),
            ArgShape::WordsThen(slot, words) => {
                (slot, words.iter().map(OsString::from).chain([value]).collect())
            }
            ArgShape::FlagEq(flag) => (ArgSlot::Option, vec![join_word(&[flag, "="], value)]),
            ArgShape::FlagEqAt(flag) => (ArgSlot::Option, vec![join_word(&[flag, "=@"], value)]),
            ArgShape::Toml(flag, key) => {
                let text = toml_string(&value.to_string_lossy());
                (ArgSlot::Option, vec![flag.into(), join_word(&[key, "="], text.into())])
            }
            ArgShape::EachThen(flag, words) => {
                let each = [flag.into(), value];
                (ArgSlot::Option, each.into_iter().chain(words.iter().map(OsString::from)).collect())
            }
            ArgShape::TomlTable(flag, key, entry) => {
                (ArgSlot::Option, vec![flag.into(), toml_table(key, entry, &[value])])
            }
            ArgShape::Variable(name) => {
                self.variables.push((name, value));
                return 0;
            }
            ArgShape::AfterDashes | ArgShape::Stdin(_) => (ArgSlot::Option, Vec::new()),
        };
        let longest = words.iter().map(|word: &OsString| word.len()).max().unwrap_or(0);
        match slot {
            ArgSlot::Front => self.front.extend(words),
            ArgSlot::Option => self.options.extend(words),
            ArgSlot::Tail => self.tail.extend(words),
        }
        longest
    }
}

/// `parts` and `value` as one word.
pub(super) fn join_word(parts: &[&str], value: OsString) -> OsString {
    let mut word = OsString::from(parts.concat());
    word.push(value);
    word
}

/// The table `key` of `entry` for each of `values`, as one word.
fn toml_table(key: &str, entry: &str, values: &[OsString]) -> OsString {
    let entries = values.iter().map(|value| format!("{}={entry}", toml_string(&value.to_string_lossy())));
    format!("{key}={{{}}}", entries.collect::<Vec<_>>().join(",")).into()
}

/// `text` as a TOML basic string.
pub fn toml_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control.is_control() => out.extend(format!("\\u{:04X}", u32::from(control)).chars()),
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::toml_string;

    #[test]
    fn any_text_survives_toml() {
        for text in [
            "",
            "plain",
            "a \"quoted\" \\ 漢\n\t\u{7f}\u{1}$HOME `x`",
            "a\"b\\c",
            "tab\tnew\nline\u{1}",
            "é漢\u{1f980}",
        ] {
            let document = format!("v = {}", toml_string(text));
            let value: toml::Table = document.parse().unwrap();
            assert_eq!(value["v"].as_str(), Some(text));
        }
    }
}
