//! Names of agents from anywhere: what is accepted, and why the rest is not.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use amplihack_config::agent_binary::{AgentBinary, AgentNameError, MAX_NAME_BYTES, validate_name};
use proptest::prelude::*;

#[test]
fn names_are_trimmed_and_lower_cased() {
    for raw in ["claude", "Claude", " CLAUDE\t", "claude\n", "\r\nclaude\r\n"] {
        assert_eq!(validate_name(raw), Ok(AgentBinary::Claude), "{raw:?}");
    }
    assert_eq!(validate_name("amp"), Ok(AgentBinary::Amp));
}

#[test]
fn each_rejection_has_its_reason() {
    let long = "x".repeat(MAX_NAME_BYTES + 1);
    let table: [(&str, AgentNameError); 17] = [
        ("", AgentNameError::Empty),
        (" \n", AgentNameError::Empty),
        (&long, AgentNameError::TooLong { bytes: 33 }),
        (&long[..MAX_NAME_BYTES], AgentNameError::Unknown),
        ("bin/claude", AgentNameError::PathPart),
        ("/claude", AgentNameError::PathPart),
        ("..\\claude", AgentNameError::PathPart),
        ("..", AgentNameError::PathPart),
        ("cla ude", AgentNameError::Blank),
        ("cla\u{a0}ude", AgentNameError::Blank),
        ("cla\nude", AgentNameError::Control),
        ("claude\0", AgentNameError::Control),
        ("claude\u{1b}[0m", AgentNameError::Control),
        ("claude;id", AgentNameError::Unknown),
        ("$(id)", AgentNameError::Unknown),
        ("rustyclawd", AgentNameError::Unknown),
        ("ｃｌａｕｄｅ", AgentNameError::Unknown),
    ];
    for (raw, reason) in table {
        assert_eq!(validate_name(raw), Err(reason), "{raw:?}");
    }
    assert_eq!(validate_name(OsStr::from_bytes(b"claude\xff")), Err(AgentNameError::NotUtf8));
}

#[test]
fn blanks_around_a_name_do_not_count_as_its_length() {
    assert_eq!(validate_name(format!("{}codex{}", " ".repeat(40), "\n".repeat(40))), Ok(AgentBinary::Codex));
}

proptest! {
    #[test]
    fn exactly_the_list_is_accepted(raw in any::<String>()) {
        let name = raw.trim().to_ascii_lowercase();
        let listed = AgentBinary::ALL.into_iter().find(|agent| agent.name() == name);
        prop_assert_eq!(validate_name(&raw).ok(), listed);
    }

    #[test]
    fn a_listed_name_is_accepted_in_any_case_between_blanks(
        index in 0..AgentBinary::ALL.len(), upper in any::<u16>(), before in "[ \t\r\n]{0,5}", after in "[ \t\r\n]{0,5}"
    ) {
        let agent = AgentBinary::ALL[index];
        let spelled: String = agent.name().char_indices()
            .map(|(at, c)| if upper >> at & 1 == 1 { c.to_ascii_uppercase() } else { c })
            .collect();
        prop_assert_eq!(validate_name(format!("{before}{spelled}{after}")), Ok(agent));
    }

    #[test]
    fn one_foreign_character_spoils_a_name(index in 0..AgentBinary::ALL.len(), at in 1..3_usize, c in any::<char>()) {
        let mut spelled = AgentBinary::ALL[index].name().to_owned();
        spelled.insert(at, c);
        prop_assert!(validate_name(&spelled).is_err(), "{:?}", spelled);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = validate_name(OsStr::from_bytes(&bytes));
    }
}
