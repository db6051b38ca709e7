//! What a run's clients sent, kept in memory up to a bound.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use super::dialect::{Dialect, Said};
use crate::loopback::DUMMY_KEY;

/// Most requests that are kept of one run.
const MAX_REQUESTS: usize = 4096;
/// Most body bytes that are kept of one run.
const MAX_BYTES: usize = 256 << 20;

/// A request body.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// No body.
    Empty,
    /// JSON, after content decoding.
    Json(Value),
    /// Anything else, after content decoding if that was possible.
    Raw(Vec<u8>),
    /// Was of this many bytes and had to make room for later ones.
    Dropped(usize),
}

/// One request as it arrived.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Recorded {
    /// When its body was complete.
    pub at: SystemTime,
    /// `POST`, `GET`, `HEAD`, …
    pub method: String,
    /// Path and query, with the scenario and run in front.
    pub path: String,
    /// Names in lower case. A credential other than the dummy key is replaced by `<redacted>`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
    /// The dialect, if this is a model call.
    pub dialect: Option<Dialect>,
}

impl Recorded {
    /// The first header of this name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Every text in the instructions and messages of a model call; none for other requests.
    pub fn said(&self) -> Vec<Said> {
        match (self.dialect, &self.body) {
            (Some(dialect), Body::Json(request)) => dialect.said(request),
            _ => Vec::new(),
        }
    }
}

/// What stands in the log for a header's value.
pub(crate) fn header_value(name: &str, value: &[u8]) -> String {
    let value = String::from_utf8_lossy(value);
    let credential =
        ["authorization", "cookie", "key", "token", "secret"].iter().any(|part| name.contains(part));
    if credential && !value.contains(DUMMY_KEY) { "<redacted>".to_owned() } else { value.into_owned() }
}

/// The requests of one run, oldest first. The oldest give way: each model call repeats the conversation before it.
#[derive(Debug, Default)]
pub(crate) struct Log {
    kept: VecDeque<(Arc<Recorded>, usize)>,
    bytes: usize,
}

impl Log {
    /// Adds a request whose body had `size` bytes.
    pub(crate) fn push(&mut self, request: Arc<Recorded>, size: usize) {
        self.kept.push_back((request, size));
        self.bytes += size;
        if self.kept.len() > MAX_REQUESTS
            && let Some((_, size)) = self.kept.pop_front()
        {
            self.bytes -= size;
        }
        for (request, size) in &mut self.kept {
            if self.bytes <= MAX_BYTES {
                break;
            }
            if *size > 0 {
                *request = Arc::new(Recorded { body: Body::Dropped(*size), ..Recorded::clone(request) });
                self.bytes -= std::mem::take(size);
            }
        }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Recorded>> {
        self.kept.iter().map(|(request, _)| Arc::clone(request)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: usize) -> Arc<Recorded> {
        Arc::new(Recorded {
            at: SystemTime::UNIX_EPOCH,
            method: "POST".to_owned(),
            path: number.to_string(),
            headers: Vec::new(),
            body: Body::Raw(vec![7]),
            dialect: None,
        })
    }

    #[test]
    fn old_bodies_give_way_to_new_ones() {
        let mut log = Log::default();
        let big = MAX_BYTES / 2;
        for number in 0..3 {
            log.push(request(number), big);
        }
        let bodies: Vec<_> = log.all().iter().map(|request| request.body.clone()).collect();
        assert_eq!(bodies, [Body::Dropped(big), Body::Raw(vec![7]), Body::Raw(vec![7])]);
        assert_eq!(log.bytes, 2 * big);
    }

    #[test]
    fn the_count_is_bounded() {
        let mut log = Log::default();
        for number in 0..MAX_REQUESTS + 2 {
            log.push(request(number), 1);
        }
        assert_eq!(log.all().len(), MAX_REQUESTS);
        assert_eq!(log.all()[0].path, "2");
        assert_eq!(log.bytes, MAX_REQUESTS);
    }

    #[test]
    fn only_the_dummy_key_is_written_down() {
        assert_eq!(header_value("authorization", b"Bearer dummy-key"), "Bearer dummy-key");
        assert_eq!(header_value("x-api-key", b"sk-real"), "<redacted>");
        assert_eq!(header_value("user-agent", b"claude-cli"), "claude-cli");
    }
}
