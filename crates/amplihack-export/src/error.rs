//! What can go wrong.

use amplihack_policy::audit::AuditError;
use amplihack_utils::error::Explain;
use amplihack_utils::log::LogError;

/// A run that cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Its events cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// What the policy said cannot be read.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// A variable of OpenTelemetry's cannot be read. What it holds may be a credential, and is left out.
    #[error("{name} cannot be read")]
    Variable {
        /// Its name.
        name: &'static str,
        /// How it is to be written.
        form: &'static str,
    },
    /// The collector cannot be reached, or does not answer as one.
    #[error("traces could not be sent to {endpoint}: {why}")]
    Send {
        /// Its address, without credentials.
        endpoint: String,
        /// What is said about it.
        why: String,
    },
    /// The collector took some of the spans only.
    #[error("{endpoint} refused {count} spans: {why}")]
    Refused {
        /// Its address.
        endpoint: String,
        /// How many.
        count: u64,
        /// What it says about that.
        why: String,
    },
}

impl Explain for ExportError {
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
