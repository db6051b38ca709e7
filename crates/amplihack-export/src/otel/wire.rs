//! OTLP's JSON: protobuf's JSON mapping, but ids in hexadecimal and enumerations as numbers.

use std::borrow::Cow;

use amplihack_sys::hex::to_hex;
use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// The body of an export request: `ExportTraceServiceRequest`, equal to `TracesData`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtelTraces {
    pub(super) resource_spans: Vec<ResourceSpans>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSpans {
    pub(super) resource: OtelResource,
    pub(super) scope_spans: Vec<ScopeSpans>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OtelResource {
    pub(super) attributes: Vec<OtelAttribute>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopeSpans {
    pub(super) scope: OtelScope,
    pub(super) spans: Vec<OtelSpan>,
    pub(super) schema_url: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OtelScope {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtelSpan {
    #[serde(rename = "traceId")]
    pub(super) trace: OtelId<16>,
    #[serde(rename = "spanId")]
    pub(super) id: OtelId<8>,
    #[serde(rename = "parentSpanId", skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<OtelId<8>>,
    pub(super) name: String,
    pub(super) kind: OtelSpanKind,
    pub(super) start_time_unix_nano: UnixNanos,
    pub(super) end_time_unix_nano: UnixNanos,
    pub(super) attributes: Vec<OtelAttribute>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<OtelSpanEvent>,
    pub(super) status: OtelSpanStatus,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtelSpanEvent {
    pub(super) time_unix_nano: UnixNanos,
    pub(super) name: &'static str,
    pub(super) attributes: Vec<OtelAttribute>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct OtelSpanStatus {
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

impl OtelSpanStatus {
    /// An error; `message` may be empty.
    pub(super) const fn with_error(message: String) -> Self {
        Self { code: 2, message }
    }
}

/// `SpanKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtelSpanKind {
    Internal = 1,
    Client = 3,
}

impl Serialize for OtelSpanKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OtelAttribute {
    pub(super) key: Cow<'static, str>,
    pub(super) value: OtelValue,
}

/// `AnyValue`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) enum OtelValue {
    #[serde(rename = "stringValue")]
    Text(String),
    /// 64 bits: a string in JSON.
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "arrayValue")]
    List(OtelList),
    #[serde(rename = "doubleValue")]
    Double(f64),
}

/// The values of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OtelList {
    values: Vec<OtelValue>,
}

impl From<Vec<String>> for OtelValue {
    fn from(texts: Vec<String>) -> Self {
        Self::List(OtelList { values: texts.into_iter().map(Self::Text).collect() })
    }
}

impl From<&str> for OtelValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for OtelValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for OtelValue {
    fn from(number: i64) -> Self {
        Self::Int(number.to_string())
    }
}

impl From<u64> for OtelValue {
    /// OTLP's integers are signed.
    fn from(number: u64) -> Self {
        Self::from(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for OtelValue {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

/// An attribute.
pub(super) fn otel_attribute(
    key: impl Into<Cow<'static, str>>,
    value: impl Into<OtelValue>,
) -> OtelAttribute {
    OtelAttribute { key: key.into(), value: value.into() }
}

/// A time in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnixNanos(pub(super) Timestamp);

impl Serialize for UnixNanos {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The field is unsigned; nothing ran before 1970.
        serializer.collect_str(&self.0.as_nanosecond().max(0))
    }
}

/// The id of a trace or of a span. Never all zeros, which means that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OtelId<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> OtelId<BYTES> {
    /// The id that belongs to `name`.
    pub(super) fn from_name(name: &str) -> Self {
        let digest = Sha256::digest(name);
        let mut bytes = [0; BYTES];
        bytes.iter_mut().zip(digest.iter()).for_each(|(byte, from)| *byte = *from);
        if bytes == [0; BYTES] {
            bytes[0] = 1;
        }
        Self(bytes)
    }
}

impl<const BYTES: usize> Serialize for OtelId<BYTES> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(self.0))
    }
}
