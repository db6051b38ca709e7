//! The id of a stopped call: short, and not to be guessed from the call alone.

use std::fmt;

use amplihack_config::launcher_context::new_session_id;
use serde::{Deserialize, Serialize};

/// `xxxxxxxx-xxxx`: eight digits of the call's hash, four random ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoppedCallId(String);

impl StoppedCallId {
    /// A new id for the call with this hash; `None` without a source of random numbers.
    pub fn new(hash: &str) -> Option<Self> {
        // A session's id ends in random digits.
        let random = new_session_id().ok()?;
        let random = random.as_str().get(random.as_str().len().checked_sub(4)?..)?;
        Self::parse(&format!("{}-{random}", hash.get(..8)?))
    }

    /// `text` as an id; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (hash, random) = text.split_once('-')?;
        let is_hex = |part: &str, len| {
            part.len() == len && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        (is_hex(hash, 8) && is_hex(random, 4)).then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoppedCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
