//! A run as OpenTelemetry traces: OTLP in its JSON form, with the names of the GenAI semantic conventions.
//!
//! One trace an export; its ids come of the sessions' ids, so that a second export is the same trace. Traces are made from the
//! journal, after the run and without a library; what was said, asked for and given back is in them only if asked for.

mod calls;
mod conventions;
#[cfg(any(feature = "otel", test))]
mod send;
mod settings;
mod spans;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(any(feature = "otel", test))]
pub use send::send_traces;
pub use settings::{OtelSettings, TraceCollector};
pub use spans::document_traces;
pub use wire::OtelTraces;
