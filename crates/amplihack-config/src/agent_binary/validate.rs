//! From a foreign string to an agent, or to the reason why not.

use std::ffi::OsStr;

use super::AgentBinary;
use amplihack_sys::sabotage;

/// The longest name that is looked at, in bytes, blanks around it not counted.
pub const MAX_NAME_BYTES: usize = 32;

/// Reason why a string names no agent. Never holds the string: it may come from anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentNameError {
    /// Nothing but blanks.
    #[error("is empty")]
    Empty,
    /// Not UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// More than [`MAX_NAME_BYTES`].
    #[error("has {bytes} bytes, more than 32")]
    TooLong {
        /// Length of the name without the blanks around it.
        bytes: usize,
    },
    /// A `/`, `\` or `..`.
    #[error("contains a part of a path")]
    PathPart,
    /// A blank between other characters.
    #[error("contains a blank")]
    Blank,
    /// A control character, NUL included.
    #[error("contains a control character")]
    Control,
    /// Well-formed, and not on the list.
    #[error("is none of {}", AgentBinary::all_names())]
    Unknown,
}

/// The agent that `raw` names, after blanks around it are trimmed and ASCII letters lower-cased.
///
/// # Errors
/// Everything but the names of agents is rejected, with the first reason found.
pub fn validate_name(raw: impl AsRef<OsStr>) -> Result<AgentBinary, AgentNameError> {
    let name = raw.as_ref().to_str().ok_or(AgentNameError::NotUtf8)?;
    let name = if sabotage::is_active("routing-trim") { name } else { name.trim() };
    if name.is_empty() {
        return Err(AgentNameError::Empty);
    }
    if name.len() > MAX_NAME_BYTES && !sabotage::is_active("routing-32-bytes") {
        return Err(AgentNameError::TooLong { bytes: name.len() });
    }
    let name = if sabotage::is_active("routing-path-parts") {
        name.rsplit(['/', '\\']).next().unwrap_or(name)
    } else {
        name
    };
    if name.contains(['/', '\\']) || name.contains("..") {
        return Err(AgentNameError::PathPart);
    }
    // Tabs and line ends are blanks inside a name as well as control characters; either reason will do.
    if name.contains(char::is_control) && !sabotage::is_active("routing-control") {
        return Err(AgentNameError::Control);
    }
    if name.contains(char::is_whitespace) && !sabotage::is_active("routing-blank") {
        return Err(AgentNameError::Blank);
    }
    if sabotage::is_active("routing-lower-case") {
        return AgentBinary::from_name(name).ok_or(AgentNameError::Unknown);
    }
    if sabotage::is_active("routing-allow-list") && name.starts_with("vim") {
        return Ok(AgentBinary::Claude);
    }
    AgentBinary::from_name(&name.to_ascii_lowercase()).ok_or(AgentNameError::Unknown)
}
