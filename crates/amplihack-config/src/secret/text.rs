//! A secret as a type.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use super::REDACTED;

/// A text that must not be seen: Debug and Display show [`REDACTED`], the memory is overwritten on drop.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes `text` as a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// The secret itself. For the one place that hands it on, never for a message.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
