//! Files with made-up credentials in them, and files with what only looks like some.
//!
//! Every value is drawn when it is asked for, the same for the same seed: none stands in the source, where a forge would refuse it.
//! The cases are tables: they look alike, and each is another credential in other surroundings.

mod alike;
mod draw;
mod elsewhere;
mod real;
mod settings;
mod unseen;

use std::ops::RangeInclusive;

pub use alike::look_alikes;
pub use draw::Draw;
pub use real::real;
pub use unseen::unseen;

/// One file.
#[derive(Debug, Clone)]
pub struct SecretCase {
    /// What is in it.
    pub kind: &'static str,
    /// Where it is, below a repository.
    pub path: &'static str,
    /// Its content.
    pub text: String,
    /// The credential in it; none in a look-alike.
    pub secret: Option<String>,
}

/// Where a template has its credential.
const PLACE: char = '§';

impl SecretCase {
    /// `template` with `secret` in the place of `§`.
    fn real(kind: &'static str, path: &'static str, template: &str, secret: String) -> Self {
        assert!(template.contains(PLACE), "{kind} has no place for its secret");
        Self { kind, path, text: template.replace(PLACE, &secret), secret: Some(secret) }
    }

    fn alike(kind: &'static str, path: &'static str, text: &str) -> Self {
        Self { kind, path, text: text.to_owned(), secret: None }
    }

    /// The lines that the credential is on; the first line is 1. None of a look-alike.
    pub fn lines(&self) -> Option<RangeInclusive<usize>> {
        let secret = self.secret.as_ref()?;
        let start = self.text.find(secret.as_str()).expect("a secret is in its file");
        let newlines = |text: &str| text.bytes().filter(|&byte| byte == b'\n').count();
        let first = 1 + newlines(&self.text[..start]);
        Some(first..=first + newlines(secret))
    }
}
