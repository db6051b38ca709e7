//! The requests of a run's clients, kept in memory up to a bound.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use super::dialect::{ModelDialect, RequestText};
use crate::loopback::DUMMY_KEY;

/// Most requests that are kept of one run.
const MAX_REQUESTS: usize = 4096;
/// Most body bytes that are kept of one run.
const MAX_BYTES: usize = 256 << 20;

/// A request body.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RecordedBody {
    /// No body.
    Empty,
    /// JSON, after content decoding.
    Json(Value),
    /// Anything else, after content decoding if that was possible.
    Raw(Vec<u8>),
    /// Was of this many bytes and had to make room for later ones.
    Dropped(usize),
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The time when the body was complete.
    pub at: SystemTime,
    /// `POST`, `GET`, `HEAD`, …
    pub method: String,
    /// Path and query, with the scenario and run in front.
    pub path: String,
    /// Names in lower case. A credential other than the dummy key is replaced by `<redacted>`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: RecordedBody,
    /// The dialect, if this is a model call.
    pub dialect: Option<ModelDialect>,
}

impl RecordedRequest {
    /// The first header of this name, in lower case.
    pub fn first_header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The names of the tools that a model call offers, with their namespaces; none for other requests.
    pub fn offered_tools(&self) -> Vec<String> {
        match (self.dialect, &self.body) {
            (Some(dialect), RecordedBody::Json(request)) => dialect.offered_tools(request),
            _ => Vec::new(),
        }
    }

    /// Every text in the instructions and messages of a model call; none for other requests.
    pub fn request_texts(&self) -> Vec<RequestText> {
        match (self.dialect, &self.body) {
            (Some(dialect), RecordedBody::Json(request)) => dialect.request_texts(request),
            _ => Vec::new(),
        }
    }
}

/// The text in the log for a header's value.
pub(crate) fn header_value(name: &str, value: &[u8]) -> String {
    let value = String::from_utf8_lossy(value);
    let credential =
        ["authorization", "cookie", "key", "token", "secret"].iter().any(|part| name.contains(part));
    if credential && !value.contains(DUMMY_KEY) { "<redacted>".to_owned() } else { value.into_owned() }
}

/// The requests of one run, oldest first. The oldest give way: each model call repeats the conversation before it.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    kept: VecDeque<(Arc<RecordedRequest>, usize)>,
    bytes: usize,
}

impl RequestLog {
    /// Adds a request whose body had `size` bytes.
    pub(crate) fn push(&mut self, request: Arc<RecordedRequest>, size: usize) {
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
                *request = Arc::new(RecordedRequest {
                    body: RecordedBody::Dropped(*size),
                    ..RecordedRequest::clone(request)
                });
                self.bytes -= std::mem::take(size);
            }
        }
    }

    pub(crate) fn all_requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.kept.iter().map(|(request, _)| Arc::clone(request)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: usize) -> Arc<RecordedRequest> {
        Arc::new(RecordedRequest {
            at: SystemTime::UNIX_EPOCH,
            method: "POST".to_owned(),
            path: number.to_string(),
            headers: Vec::new(),
            body: RecordedBody::Raw(vec![7]),
            dialect: None,
        })
    }

    #[test]
    fn old_bodies_give_way_to_new_ones() {
        let mut log = RequestLog::default();
        let big = MAX_BYTES / 2;
        for number in 0..3 {
            log.push(request(number), big);
        }
        let bodies: Vec<_> = log.all_requests().iter().map(|request| request.body.clone()).collect();
        assert_eq!(
            bodies,
            [RecordedBody::Dropped(big), RecordedBody::Raw(vec![7]), RecordedBody::Raw(vec![7])]
        );
        assert_eq!(log.bytes, 2 * big);
    }

    #[test]
    fn the_count_is_bounded() {
        let mut log = RequestLog::default();
        for number in 0..MAX_REQUESTS + 2 {
            log.push(request(number), 1);
        }
        assert_eq!(log.all_requests().len(), MAX_REQUESTS);
        assert_eq!(log.all_requests()[0].path, "2");
        assert_eq!(log.bytes, MAX_REQUESTS);
    }

    #[test]
    fn only_the_dummy_key_is_written_down() {
        assert_eq!(header_value("authorization", b"Bearer dummy-key"), "Bearer dummy-key");
        assert_eq!(header_value("x-api-key", b"sk-real"), "<redacted>");
        assert_eq!(header_value("user-agent", b"claude-cli"), "claude-cli");
    }
}
