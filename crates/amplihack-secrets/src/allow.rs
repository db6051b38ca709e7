//! Findings that a person has looked at and lets pass, by fingerprint.

use std::collections::BTreeMap;

use super::SecretFinding;

/// The fingerprints of a file like `.amplihack/secrets-allow`, with the notes beside them.
///
/// Reading it grants nothing: whether a repository's file may allow anything is the caller's to decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedSecrets(BTreeMap<String, String>);

/// A line that holds no fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} begins with no fingerprint of 16 hexadecimal digits; write one, or a # before a comment"
)]
pub struct NotAFingerprint {
    /// Number of the line; the first is 1.
    pub line: usize,
}

impl AllowedSecrets {
    /// Reads one fingerprint a line, a note behind it; empty lines and those that begin with `#` say nothing.
    ///
    /// # Errors
    /// [`NotAFingerprint`] for the first line that says something and begins with no fingerprint.
    pub fn parse(text: &str) -> Result<Self, NotAFingerprint> {
        let mut allowed = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_start_matches('\u{feff}').trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (word, note) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if !allowed.add_fingerprint(word, note) {
                return Err(NotAFingerprint { line: at + 1 });
            }
        }
        Ok(allowed)
    }

    /// Allows one fingerprint, as of `--allow-secret`. Says whether it is one.
    pub fn add_fingerprint(&mut self, fingerprint: &str, note: &str) -> bool {
        let is_one = fingerprint.len() == 16 && fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_one {
            let note = note.trim().trim_start_matches('#').trim_start();
            self.0.insert(fingerprint.to_ascii_lowercase(), note.to_owned());
        }
        is_one
    }

    /// Reports whether somebody let this finding pass.
    pub fn allows_finding(&self, finding: &SecretFinding) -> bool {
        self.0.contains_key(&finding.fingerprint)
    }

    /// The fingerprints and their notes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(fingerprint, note)| (fingerprint.as_str(), note.as_str()))
    }
}
