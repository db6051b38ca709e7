//! From a foreign string to an agent, or to the reason why not.

use std::ffi::OsStr;

use super::AgentBinary;

/// The longest name that is looked at, in bytes, blanks around it not counted.
pub const MAX_NAME_BYTES: usize = 32;

/// Why a string names no agent. Never holds the string: it may come from anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// Nothing but blanks.
    #[error("is empty")]
    Empty,
    /// Not UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// More than [`MAX_NAME_BYTES`].
    #[error("has {bytes} bytes, more than 32")]
    TooLong {
        /// Its length without the blanks around it.
        bytes: usize,
    },
    /// A `/`, `\` or `..`.
    #[error("contains a part of a path")]
    PathPart,
    /// A blank between other characters.
    #[error("contains a blank")]
    Blank,
    /// A control character, NUL included.
    #[error("contains a control character")]
    Control,
    /// Well-formed, and not on the list.
    #[error("is none of {}", AgentBinary::names())]
    Unknown,
}

/// The agent that `raw` names, after blanks around it are trimmed and ASCII letters lower-cased.
///
/// # Errors
/// Everything but the names of agents is rejected, with the first reason found.
pub fn validate(raw: impl AsRef<OsStr>) -> Result<AgentBinary, Rejected> {
    let name = raw.as_ref().to_str().ok_or(Rejected::NotUtf8)?.trim();
    if name.is_empty() {
        return Err(Rejected::Empty);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(Rejected::TooLong { bytes: name.len() });
    }
    if name.contains(['/', '\\']) || name.contains("..") {
        return Err(Rejected::PathPart);
    }
    // Tabs and line ends are blanks inside a name as well as control characters; either reason will do.
    if name.contains(char::is_control) {
        return Err(Rejected::Control);
    }
    if name.contains(char::is_whitespace) {
        return Err(Rejected::Blank);
    }
    AgentBinary::from_name(&name.to_ascii_lowercase()).ok_or(Rejected::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn names_are_trimmed_and_lower_cased() {
        for raw in ["claude", "Claude", " CLAUDE\t", "claude\n", "\r\nclaude\r\n"] {
            assert_eq!(validate(raw), Ok(AgentBinary::Claude), "{raw:?}");
        }
        assert_eq!(validate("amp"), Ok(AgentBinary::Amp));
    }

    #[test]
    fn each_rejection_has_its_reason() {
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        let table: [(&str, Rejected); 17] = [
            ("", Rejected::Empty),
            (" \n", Rejected::Empty),
            (&long, Rejected::TooLong { bytes: 33 }),
            (&long[..MAX_NAME_BYTES], Rejected::Unknown),
            ("bin/claude", Rejected::PathPart),
            ("/claude", Rejected::PathPart),
            ("..\\claude", Rejected::PathPart),
            ("..", Rejected::PathPart),
            ("cla ude", Rejected::Blank),
            ("cla\u{a0}ude", Rejected::Blank),
            ("cla\nude", Rejected::Control),
            ("claude\0", Rejected::Control),
            ("claude\u{1b}[0m", Rejected::Control),
            ("claude;id", Rejected::Unknown),
            ("$(id)", Rejected::Unknown),
            ("rustyclawd", Rejected::Unknown),
            ("ｃｌａｕｄｅ", Rejected::Unknown),
        ];
        for (raw, reason) in table {
            assert_eq!(validate(raw), Err(reason), "{raw:?}");
        }
        assert_eq!(validate(OsStr::from_bytes(b"claude\xff")), Err(Rejected::NotUtf8));
    }

    #[test]
    fn blanks_around_a_name_do_not_count_as_its_length() {
        assert_eq!(validate(format!("{}codex{}", " ".repeat(40), "\n".repeat(40))), Ok(AgentBinary::Codex));
    }

    proptest! {
        #[test]
        fn exactly_the_list_is_accepted(raw in any::<String>()) {
            let listed = AgentBinary::from_name(&raw.trim().to_ascii_lowercase());
            prop_assert_eq!(validate(&raw).ok(), listed);
        }

        #[test]
        fn a_listed_name_is_accepted_in_any_case_between_blanks(
            index in 0..AgentBinary::ALL.len(), upper in any::<u16>(), before in "[ \t\r\n]{0,5}", after in "[ \t\r\n]{0,5}"
        ) {
            let agent = AgentBinary::ALL[index];
            let spelled: String = agent.name().char_indices()
                .map(|(at, c)| if upper >> at & 1 == 1 { c.to_ascii_uppercase() } else { c })
                .collect();
            prop_assert_eq!(validate(format!("{before}{spelled}{after}")), Ok(agent));
        }

        #[test]
        fn one_foreign_character_spoils_a_name(index in 0..AgentBinary::ALL.len(), at in 1..3_usize, c in any::<char>()) {
            let mut spelled = AgentBinary::ALL[index].name().to_owned();
            spelled.insert(at, c);
            prop_assert!(validate(&spelled).is_err(), "{:?}", spelled);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = validate(OsStr::from_bytes(&bytes));
        }
    }
}
