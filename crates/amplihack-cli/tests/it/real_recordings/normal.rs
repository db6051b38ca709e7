//! Lines of a stream without what differs from run to run and from machine to machine.

use std::collections::BTreeMap;

use amplihack_testkit::workspace;
use serde_json::Value;

use crate::world::World;

/// Lines that tell a state again and again: one of those in a row stands for all.
const POLLS: [&str; 1] = ["\"type\":\"session.background_tasks_changed\""];
/// Fields whose number is a duration or a size that the machine makes.
const NUMBERS: [&str; 18] = [
    "context_current_tokens",
    "dispatchDurationMs",
    "durationMs",
    "durationSeconds",
    "duration_api_ms",
    "duration_ms",
    "elapsed_seconds",
    "end_time",
    "first_content_frame_ms",
    "requestBodyBytes",
    "requestBodyWireBytes",
    "retry_delay_ms",
    "sessionDurationMs",
    "time_to_request_ms",
    "totalApiDurationMs",
    "totalDurationMs",
    "ttft_ms",
    "ttft_stream_ms",
];
/// Texts before the number of a process or a duration.
const BEFORE: [&str; 3] = ["PGID: ", "cc-socks/", "duration_ms: "];
/// Fields whose text is a random word, which other fields and texts may have as well.
const WORDS: [&str; 5] = ["agentId", "agent_id", "run_id", "task_id", "tool_id"];
/// Stands for each of these numbers.
const NUMBER: &str = "7";
/// Stands for each time.
const TIME: &str = "2026-11-30T10:15:00.000Z";

/// What a run has of its own.
pub(super) struct Normalizer {
    /// Texts of the place where it ran, the longest first, with what stands for them.
    places: Vec<(String, String)>,
}

impl Normalizer {
    /// The places of `world`.
    pub(super) fn new(world: &World) -> Self {
        let root = world.sandbox.root().canonicalize().unwrap().display().to_string();
        let cache = concat!(env!("CARGO_TARGET_TMPDIR"), "/agent-cache").to_owned();
        let mut places = vec![
            (format!("{root}/work"), "/home/dev/repo".to_owned()),
            (format!("{root}/home"), "/home/dev".to_owned()),
            (root.clone(), "/tmp/kit".to_owned()),
            (cache, "/home/dev/.cache/copilot".to_owned()),
            (workspace().display().to_string(), "/opt/amplihack".to_owned()),
            (world.server.address().to_string(), "127.0.0.1:41234".to_owned()),
        ];
        // Some agents name a directory after the path of another.
        places.push((format!("{root}/work").replace('/', "-"), "-home-dev-repo".to_owned()));
        Self { places }
    }

    /// The lines of `stdout`, each with its newline.
    pub(super) fn lines(&self, stdout: &str) -> Vec<String> {
        let text = self.places.iter().fold(stdout.to_owned(), |text, (own, shown)| text.replace(own, shown));
        let text = replace_words(&text);
        let mut ids = BTreeMap::new();
        let mut lines: Vec<String> = Vec::new();
        let mut polled = None;
        for line in text.lines() {
            let poll = POLLS.iter().find(|poll| line.contains(*poll));
            if poll.is_some() && poll == polled {
                continue;
            }
            polled = poll;
            lines.push(constant(line, &mut ids) + "\n");
        }
        lines
    }
}

/// `text` with each random word of [`WORDS`] replaced wherever it stands.
fn replace_words(text: &str) -> String {
    let mut found = Vec::new();
    for line in text.lines() {
        if let Ok(value) = serde_json::from_str(line) {
            gather_words(&value, &mut found);
        }
    }
    found.iter().enumerate().fold(text.to_owned(), |text, (number, word)| {
        // The first letter says what kind of task it is.
        text.replace(word, &format!("{}{number:08}", &word[..1]))
    })
}

fn gather_words(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(word) if WORDS.contains(&name.as_str()) => {
                        if word.len() > 5 && !is_uuid(word) && !found.contains(word) {
                            found.push(word.clone());
                        }
                    }
                    other => gather_words(other, found),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                gather_words(value, found);
            }
        }
        _ => {}
    }
}

/// `line` with the same ids, times and numbers in every run. `ids` are those so far.
fn constant(line: &str, ids: &mut BTreeMap<String, usize>) -> String {
    let mut constant = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        if let Some(id) = rest.get(..UUID).filter(|id| is_uuid(id)) {
            let many = ids.len() + 1;
            let number = *ids.entry(id.to_owned()).or_insert(many);
            amplihack_sys::push_text!(constant, "{number:08x}-0000-4000-8000-{number:012x}");
            rest = &rest[UUID..];
        } else if let Some(length) = time_length(rest) {
            constant.push_str(TIME);
            rest = &rest[length..];
        } else if let Some((name, after)) = number_field(rest) {
            constant.push_str(name);
            constant.push_str(NUMBER);
            rest = after;
        } else {
            constant.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    constant
}

/// Length of a UUID.
const UUID: usize = 36;

fn is_uuid(text: &str) -> bool {
    text.len() == UUID
        && text.char_indices().all(|(place, c)| match place {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        })
}

/// The length of the time that `text` begins with, as `2026-11-30T10:15:00.123Z`.
fn time_length(text: &str) -> Option<usize> {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let head = bytes.get(..FORM.len())?;
    let is_time = head.iter().zip(FORM).all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    });
    let tail = bytes[FORM.len()..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let zone = usize::from(bytes.get(FORM.len() + tail) == Some(&b'Z'));
    is_time.then_some(FORM.len() + tail + zone)
}

/// What `text` begins with before the number of a field of [`NUMBERS`] or one of [`BEFORE`], and what follows the number.
fn number_field(text: &str) -> Option<(&str, &str)> {
    let field = |name: &&str| {
        let after = text.strip_prefix(*name)?.trim_start_matches('\\').strip_prefix("\":")?;
        Some(after.trim_start())
    };
    let process = |before: &&str| text.strip_prefix(*before);
    let number = NUMBERS.iter().find_map(field).or_else(|| BEFORE.iter().find_map(process))?;
    let after = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    (after.len() < number.len()).then(|| (&text[..text.len() - number.len()], after))
}

#[test]
fn real_runs_differ_in_nothing_that_is_no_meaning() {
    let mut ids = BTreeMap::new();
    let mut line = |line: &str| constant(line, &mut ids);
    assert_eq!(
        line(
            r#"{"id":"29ebb752-2dda-413c-ae5f-536a16429b2c","at":"2026-12-01T09:39:58.447Z","duration_ms":12.5,"n":3}"#
        ),
        r#"{"id":"00000001-0000-4000-8000-000000000001","at":"2026-11-30T10:15:00.000Z","duration_ms":7,"n":3}"#
    );
    assert_eq!(line("PGID: 12343, é"), "PGID: 7, é");
    assert_eq!(line("29ebb752-2dda-413c-ae5f-536a16429b2c"), "00000001-0000-4000-8000-000000000001");
    let text = r#"{"task_id":"bs7a83nck","x":"see bs7a83nck"}"#;
    assert_eq!(replace_words(text), r#"{"task_id":"b00000000","x":"see b00000000"}"#);
    // As long as a UUID.
    let text = r#"{"tool_id":"web_fetch__web_fetch_1796120136197_1"}"#;
    assert_eq!(replace_words(text), r#"{"tool_id":"w00000000"}"#);
}
