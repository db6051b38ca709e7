//! The one reader of `launcher_context.json`. The file may come from anyone, so it is small, flat and inside, or unused.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::SessionId;
use crate::agent_binary::{AgentBinary, AgentNameError, LaunchLiveness, validate_name};
use amplihack_sys::fs::{open_regular, opened_path, read_open_limited};
use amplihack_sys::sabotage;

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Number of levels to which objects and arrays may be nested; the outermost object is level 1.
pub const MAX_DEPTH: usize = 8;

/// A file older than this is stale, unless its launching process lives.
pub const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);

/// Largest difference between the clocks of two machines.
const MAX_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// Reason why a file that is there cannot be used. Holds nothing of its contents.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextFileError {
    /// The file cannot be read, or is no regular file, or is larger than [`MAX_FILE_BYTES`].
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// A symbolic link leads out of the directory in which the file was found.
    #[error("it is a link to {}, outside of {}", real.display(), anchor.display())]
    Outside {
        /// Real path of the file.
        real: PathBuf,
        /// Directory in which the file has to be.
        anchor: PathBuf,
    },
    /// More than [`MAX_DEPTH`] levels.
    #[error("it is nested {depth} levels deep, more than 8")]
    TooDeep {
        /// The levels counted.
        depth: usize,
    },
    /// Not a JSON object with a text `launcher`.
    #[error("it is no JSON object with a text `launcher` (line {line}, column {column})")]
    NotContext {
        /// Line of the first fault, from 1.
        line: usize,
        /// Column of the first fault, from 1.
        column: usize,
    },
    /// `launcher` names no agent.
    #[error("`launcher` {0}")]
    NoAgent(#[from] AgentNameError),
    /// Older than [`MAX_AGE`], and its launching process is gone.
    #[error("it is stale: {hours} hours old, and its launcher has ended")]
    Stale {
        /// Age of the file in whole hours.
        hours: i64,
    },
    /// Every time that it has lies in the future.
    #[error("its age is unknown: its times lie in the future")]
    Future,
}

/// A context file as it was read: an agent, and what else could be made out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LauncherContextFile {
    /// The agent.
    pub launcher: AgentBinary,
    /// The launch, if the file names a well-formed one.
    pub session_id: Option<SessionId>,
    /// Time at which the launch began, by its own word.
    pub started_at: Option<Timestamp>,
    /// Time at which the file was written.
    pub modified: Option<Timestamp>,
    /// The launching process.
    pub pid: Option<u32>,
    /// Start of that process, in clock ticks since boot.
    pub start_time: Option<u64>,
}

/// Fields that are looked at. Only `launcher` has to be there; the rest may be missing or of any type. Predecessors call the
/// time `timestamp` or `created_at`.
#[derive(Deserialize)]
struct ContextFileFields {
    launcher: String,
    #[serde(default)]
    session_id: Value,
    #[serde(default)]
    started_at: Value,
    #[serde(default)]
    timestamp: Value,
    #[serde(default)]
    created_at: Value,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    start_time: Value,
}

/// Reads `file`, which was found below `anchor`, a directory without symbolic links in its path.
///
/// Where the file really is is asked of the open file, so it cannot be exchanged between check and use.
pub fn read(file: &Path, anchor: &Path) -> Result<LauncherContextFile, ContextFileError> {
    let (open, metadata) = open_regular(file)?;
    let real = match opened_path(&open) {
        Some(real) => real,
        None => std::fs::canonicalize(file)?,
    };
    let inside = if sabotage::is_active("routing-anchor-neighbor") {
        real.as_os_str().as_encoded_bytes().starts_with(anchor.as_os_str().as_encoded_bytes())
    } else {
        real.starts_with(anchor) || sabotage::is_active("routing-link-escape")
    };
    if !inside {
        return Err(ContextFileError::Outside { real, anchor: anchor.to_path_buf() });
    }
    let most = MAX_FILE_BYTES + u64::from(sabotage::is_active("routing-64-kib"));
    parse_context(&read_open_limited(&open, most)?, metadata.modified().ok())
}

fn parse_context(
    bytes: &[u8],
    modified: Option<SystemTime>,
) -> Result<LauncherContextFile, ContextFileError> {
    let nesting_depth = nesting_depth(bytes);
    if nesting_depth > MAX_DEPTH + usize::from(sabotage::is_active("routing-depth")) {
        return Err(ContextFileError::TooDeep { depth: nesting_depth });
    }
    // serde would also take an array of the fields' values for the struct.
    let not_context = |line, column| ContextFileError::NotContext { line, column };
    if bytes.trim_ascii_start().first() != Some(&b'{') && !sabotage::is_active("routing-typed-file") {
        return Err(not_context(1, 1));
    }
    let wire: ContextFileFields =
        serde_json::from_slice(bytes).map_err(|error| not_context(error.line(), error.column()))?;
    Ok(LauncherContextFile {
        launcher: validate_name(&wire.launcher)?,
        session_id: wire.session_id.as_str().and_then(|id| SessionId::parse(id).ok()),
        started_at: [&wire.started_at, &wire.timestamp, &wire.created_at].into_iter().find_map(parse_time),
        modified: modified.and_then(|time| time.try_into().ok()),
        pid: wire.pid.as_u64().and_then(|pid| pid.try_into().ok()),
        start_time: wire.start_time.as_u64(),
    })
}

/// A time as launchers write it: RFC 3339; as Python's `isoformat` does, without a zone, which is taken as UTC; or seconds
/// or milliseconds since 1970.
fn parse_time(value: &Value) -> Option<Timestamp> {
    /// Seconds beyond it would lie after the year 5000; so many milliseconds are in 1973.
    const SECONDS: f64 = 1e11;
    if let Some(text) = value.as_str() {
        let text = text.trim();
        let without_zone = || Offset::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok();
        return text
            .parse()
            .ok()
            .or_else(without_zone)
            .or_else(|| parse_time(&text.parse::<f64>().ok()?.into()));
    }
    let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0)?;
    let seconds = if number < SECONDS { number } else { number / 1000.0 };
    Timestamp::UNIX_EPOCH.checked_add(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
}

/// Returns the depth of brackets outside of strings. Needs no stack, so it can be asked before anything parses.
fn nesting_depth(json: &[u8]) -> usize {
    let (mut now, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

impl LauncherContextFile {
    /// Refuses a context that is older than [`MAX_AGE`], unless the process that wrote it lives.
    ///
    /// Its age is that of `started_at`, or of the file if there is none or it lies more than clocks differ in the future.
    pub(crate) fn check_age(
        &self,
        live: &dyn LaunchLiveness,
        now: Timestamp,
    ) -> Result<(), ContextFileError> {
        let mut ages =
            [self.started_at, self.modified].into_iter().flatten().map(|time| now.duration_since(time));
        let mut age = ages.find(|age| *age >= -MAX_SKEW);
        if sabotage::is_active("routing-stale-file") {
            age = age.map(|age| age.min(MAX_AGE));
        }
        let mut lives = self.pid.is_some_and(|pid| live.process_lives(pid, self.start_time));
        lives &= !sabotage::is_active("routing-living-launcher");
        if sabotage::is_active("routing-durable-file") && !lives && self.pid.is_some() {
            age = age.map(|age| age + MAX_AGE + MAX_AGE);
        }
        match age {
            Some(age) if age <= MAX_AGE => Ok(()),
            _ if lives => Ok(()),
            Some(age) => Err(ContextFileError::Stale { hours: age.as_hours() }),
            None => Err(ContextFileError::Future),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        format!(r#"{{"launcher":"amp","x":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
    }

    #[test]
    fn eight_levels_are_read_and_nine_are_not() {
        assert_eq!(parse_context(nested(8).as_bytes(), None).unwrap().launcher, AgentBinary::Amp);
        assert!(matches!(
            parse_context(nested(9).as_bytes(), None),
            Err(ContextFileError::TooDeep { depth: 9 })
        ));
        // As deep as a file can be; no stack is used for it.
        assert!(matches!(
            parse_context(nested(30_000).as_bytes(), None),
            Err(ContextFileError::TooDeep { depth: 30_000 })
        ));
    }

    #[test]
    fn brackets_in_strings_have_no_depth() {
        let text = r#"{"launcher":"amp","x":"[[[[[[[[[[\"[[[[[[[[[[\\"}"#;
        assert_eq!(parse_context(text.as_bytes(), None).unwrap().launcher, AgentBinary::Amp);
        assert_eq!(nesting_depth(br"\[["), 2, "outside of strings a backslash hides nothing");
        assert_eq!(nesting_depth(br#"[["]]"[["#), 4, "a bracket in a string closes nothing");
        assert_eq!(nesting_depth(b"[[]{}[]]{}"), 2, "what is closed does not count any more");
    }

    #[test]
    fn only_launcher_is_needed_and_the_rest_may_be_anything() {
        let bare = parse_context(br#"{"launcher":" Claude\n"}"#, None).unwrap();
        assert_eq!(bare.launcher, AgentBinary::Claude);
        let odd = br#"{"launcher":"claude","session_id":7,"pid":"x","start_time":-1,"started_at":{},"environment":{"A":"b"}}"#;
        assert_eq!(parse_context(odd, None).unwrap(), bare);
        let traversal = br#"{"launcher":"claude","session_id":"../../etc","pid":4294967296}"#;
        assert_eq!(parse_context(traversal, None).unwrap(), bare);
    }

    #[test]
    fn what_is_no_context_says_where() {
        for text in [
            "",
            "null",
            "[]",
            r#"["amp"]"#,
            "{}",
            r#"{"launcher":null}"#,
            r#"{"launcher":"amp"} x"#,
            "\u{feff}{}",
        ] {
            assert!(
                matches!(parse_context(text.as_bytes(), None), Err(ContextFileError::NotContext { .. })),
                "{text:?}"
            );
        }
        assert!(matches!(
            parse_context(b"{\"launcher\":\"amp\",\n\"pid\":\xff}", None),
            Err(ContextFileError::NotContext { line: 2, .. })
        ));
        let message = parse_context(br#"{"launcher":"sk-secret"}"#, None).unwrap_err().to_string();
        assert_eq!(message, "`launcher` is none of claude, copilot, codex, amplifier, amp, gemini");
    }

    #[test]
    fn the_time_is_the_first_that_can_be_read() {
        let at = |text: &str| parse_context(text.as_bytes(), None).unwrap().started_at;
        let first: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        assert_eq!(at(r#"{"launcher":"amp","created_at":"2026-01-02T03:04:05Z"}"#), Some(first));
        assert_eq!(at(r#"{"launcher":"amp","timestamp":"2026-01-02T05:04:05+02:00"}"#), Some(first));
        assert_eq!(
            at(
                r#"{"launcher":"amp","timestamp":"2020-01-01T00:00:00Z","started_at":"2026-01-02T03:04:05Z"}"#
            ),
            Some(first)
        );
        assert_eq!(
            at(r#"{"launcher":"amp","started_at":"yesterday","created_at":"2026-01-02T03:04:05Z"}"#),
            Some(first)
        );
        assert_eq!(at(r#"{"launcher":"amp","started_at":"yesterday"}"#), None);
        for spelling in [
            r#""2026-01-02T03:04:05""#,
            r#""2026-01-02 03:04:05.000000""#,
            "1767323045",
            "1767323045.0",
            "1767323045000",
            r#""1767323045""#,
        ] {
            let text = format!(r#"{{"launcher":"amp","timestamp":{spelling}}}"#);
            assert_eq!(at(&text), Some(first), "{spelling}");
        }
        for none in ["0", "-1", "1e300", "true", r#""NaN""#, r#""inf""#, "[1767323045]"] {
            assert_eq!(at(&format!(r#"{{"launcher":"amp","timestamp":{none}}}"#)), None, "{none}");
        }
    }
}
