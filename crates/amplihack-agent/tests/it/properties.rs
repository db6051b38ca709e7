//! What holds for every stream: chunks change nothing, nothing is lost, nothing panics, the end is one.

use amplihack_agent::AgentEvent;
use amplihack_agent::decode::new_decoder;
use amplihack_sys::ProcessExit;
use proptest::prelude::*;

use crate::{AGENTS, decode, recording};

fn recordings() -> Vec<Vec<u8>> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names.iter().map(|name| recording(name)).collect()
}

/// Lines with every kind of character and line end in them.
const UNICODE: &str = concat!(
    "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"é漢\u{1f980}\u{2028}\u{2029}\u{85}\"}]}}\r\n",
    "{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"agent_message\",\"text\":\"é漢\u{1f980}\u{2028}\"}}\n\r\n",
    "{\"type\":\"assistant.message\",\"data\":{\"messageId\":\"1\",\"content\":\"é漢\u{1f980}\u{2028}\"}}\r\n",
    "no JSON é漢\u{1f980}\u{2028}",
);

#[test]
fn a_split_at_any_byte_changes_nothing() {
    for agent in AGENTS {
        let bytes = UNICODE.as_bytes();
        let whole = decode(agent, [bytes], Some(ProcessExit::Code(0)));
        assert_eq!(whole.lines.len(), 4);
        for at in 0..=bytes.len() {
            assert_eq!(
                decode(agent, [&bytes[..at], &bytes[at..]], Some(ProcessExit::Code(0))),
                whole,
                "{agent} {at}"
            );
        }
        assert_eq!(decode(agent, bytes.chunks(1), Some(ProcessExit::Code(0))), whole, "{agent}");
    }
}

#[test]
fn every_line_of_a_recording_is_told_to_every_decoder() {
    for bytes in recordings() {
        for agent in AGENTS {
            let decoded = decode(agent, [bytes.as_slice()], None);
            for (number, events) in decoded.lines.iter().enumerate() {
                assert!(!events.is_empty(), "{agent}: line {}", number + 1);
                assert!(!events.iter().any(|event| matches!(event, AgentEvent::End(_))), "{agent}");
            }
            assert_eq!(decode(agent, bytes.chunks(7), None), decoded);
        }
    }
}

#[test]
fn what_a_run_came_to_may_be_asked_twice() {
    for bytes in recordings() {
        for agent in AGENTS {
            let mut decoder = new_decoder(agent);
            for line in bytes.split(|byte| *byte == b'\n') {
                decoder.decode_line(line, &mut Vec::new());
            }
            let said = decoder.recorded_end();
            assert_eq!(decoder.recorded_end(), said);
            assert_eq!(decoder.finish(None).name(), said.map_or("no_result", |end| end.name()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_bytes_become_events(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for agent in AGENTS {
            let decoded = decode(agent, [bytes.as_slice()], Some(ProcessExit::Code(0)));
            prop_assert!(decoded.lines.iter().all(|events| !events.is_empty()));
            prop_assert!(!decoded.end.is_success());
        }
    }

    #[test]
    fn changed_recordings_become_events(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3usize), 1..20),
        from in any::<prop::sample::Index>(),
        code in 0..2i32,
    ) {
        let recordings = recordings();
        let mut bytes = which.get(&recordings).clone();
        for (at, byte, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\",:\\nu0"[usize::from(byte) % 11]),
            }
        }
        bytes.drain(..from.index(bytes.len()) / 2);
        for agent in AGENTS {
            let decoded = decode(agent, [bytes.as_slice()], Some(ProcessExit::Code(code)));
            prop_assert!(decoded.lines.iter().all(|events| !events.is_empty()));
            prop_assert!(code == 0 || !decoded.end.is_success());
            prop_assert_eq!(decode(agent, bytes.chunks(11), Some(ProcessExit::Code(code))), decoded);
        }
    }

    #[test]
    fn any_json_at_any_place_breaks_nothing(
        which in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        new in prop::sample::select(vec!["null", "true", "-1", "1e300", "\"s\"", "[]", "[[1],{}]", "{}", "{\"type\":3}"]),
    ) {
        let recordings = recordings();
        let text = String::from_utf8(which.get(&recordings).clone()).unwrap();
        // A value stands between a colon and the next comma or brace.
        let starts: Vec<usize> = text.match_indices("\":").map(|(at, _)| at + 2).collect();
        let at = *place.get(&starts);
        let length = text[at..].find([',', '}']).unwrap();
        let text = format!("{}{new}{}", &text[..at], &text[at + length..]);
        for agent in AGENTS {
            let decoded = decode(agent, [text.as_bytes()], Some(ProcessExit::Code(1)));
            prop_assert!(decoded.lines.iter().all(|events| !events.is_empty()));
            prop_assert!(!decoded.end.is_success());
        }
    }
}
