//! Errors of an export.

use amplihack_audit::AuditError;
use amplihack_sys::error::ErrorExplanation;
use amplihack_sys::log::LogError;

/// A run that cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The run's events cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The policy's audit log cannot be read.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// A variable of OpenTelemetry's cannot be read. What it holds may be a credential, and is left out.
    #[error("{name} cannot be read")]
    Variable {
        /// The variable's name.
        name: &'static str,
        /// The form that is expected.
        form: &'static str,
    },
    /// The collector cannot be reached, or does not answer as one.
    #[error("traces could not be sent to {endpoint}: {why}")]
    Send {
        /// The collector's address, without credentials.
        endpoint: String,
        /// The reason of the failure, in words.
        why: String,
    },
    /// The collector took some of the spans only.
    #[error("{endpoint} refused {count} spans: {why}")]
    Refused {
        /// The collector's address.
        endpoint: String,
        /// Number of spans refused.
        count: u64,
        /// The collector's message about it.
        why: String,
    },
}

impl ErrorExplanation for ExportError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Log(error) => error.kind(),
            Self::Audit(error) => error.kind(),
            Self::Variable { .. } => "otel_variable",
            Self::Send { .. } => "otel_send",
            Self::Refused { .. } => "otel_refused",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Variable { form, .. } => Some(format!("write it as {form}")),
            Self::Send { .. } => {
                Some("name a collector's OTLP/HTTP address, as http://127.0.0.1:4318".to_owned())
            }
            _ => None,
        }
    }
}
