//! OTLP's JSON: protobuf's JSON mapping, but ids in hexadecimal and enumerations as numbers.

use std::borrow::Cow;

use amplihack_utils::hex::hex;
use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// What a collector takes: `ExportTraceServiceRequest`, the same as `TracesData`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traces {
    pub(super) resource_spans: Vec<ResourceSpans>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSpans {
    pub(super) resource: Resource,
    pub(super) scope_spans: Vec<ScopeSpans>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Resource {
    pub(super) attributes: Vec<Attribute>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopeSpans {
    pub(super) scope: Scope,
    pub(super) spans: Vec<Span>,
    pub(super) schema_url: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Scope {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    #[serde(rename = "traceId")]
    pub(super) trace: Id<16>,
    #[serde(rename = "spanId")]
    pub(super) id: Id<8>,
    #[serde(rename = "parentSpanId", skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Id<8>>,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) start_time_unix_nano: Nanos,
    pub(super) end_time_unix_nano: Nanos,
    pub(super) attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<Event>,
    pub(super) status: Status,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event {
    pub(super) time_unix_nano: Nanos,
    pub(super) name: &'static str,
    pub(super) attributes: Vec<Attribute>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Status {
    /// 0 unset, 1 ok, 2 error.
    #[serde(skip_serializing_if = "is_unset")]
    pub(super) code: u8,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_unset(code: &u8) -> bool {
    *code == 0
}

impl Status {
    /// An error; `message` may be empty.
    pub(super) const fn error(message: String) -> Self {
        Self { code: 2, message }
    }
}

/// `SpanKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Internal = 1,
    Client = 3,
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Attribute {
    pub(super) key: Cow<'static, str>,
    pub(super) value: Value,
}

/// `AnyValue`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) enum Value {
    #[serde(rename = "stringValue")]
    Text(String),
    /// 64 bits: a string in JSON.
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "doubleValue")]
    Double(f64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number.to_string())
    }
}

impl From<u64> for Value {
    /// OTLP's integers are signed.
    fn from(number: u64) -> Self {
        Self::from(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

/// An attribute.
pub(super) fn attribute(key: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Attribute {
    Attribute { key: key.into(), value: value.into() }
}

/// A time in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nanos(pub(super) Timestamp);

impl Serialize for Nanos {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The field is unsigned; nothing ran before 1970.
        serializer.collect_str(&self.0.as_nanosecond().max(0))
    }
}

/// The id of a trace or of a span. Never all zeros, which means that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Id<BYTES> {
    /// The id that belongs to `name`.
    pub(super) fn of(name: &str) -> Self {
        let digest = Sha256::digest(name);
        let mut bytes = [0; BYTES];
        bytes.iter_mut().zip(digest.iter()).for_each(|(byte, from)| *byte = *from);
        if bytes == [0; BYTES] {
            bytes[0] = 1;
        }
        Self(bytes)
    }
}

impl<const BYTES: usize> Serialize for Id<BYTES> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(self.0))
    }
}
