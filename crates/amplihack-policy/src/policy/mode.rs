//! The strictness with which the policy is applied.

use std::fmt;
use std::str::FromStr;

/// The strictness with which the policy is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub enum PolicyMode {
    /// Nothing is decided; what would have been is in [`Verdict::would_be`](amplihack_verdict::Verdict::would_be).
    Observe,
    /// The rules.
    #[default]
    Standard,
    /// The rules, and programs that nobody knows ask.
    Strict,
}

impl PolicyMode {
    /// The mode of a process for which a launch pinned one: what is wanted counts if it is stricter.
    #[must_use]
    pub fn tighten_pinned(pinned: Option<Self>, wanted: Self) -> Self {
        pinned.map_or(wanted, |pinned| pinned.max(wanted))
    }

    /// The mode's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }
}

impl fmt::Display for PolicyMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PolicyMode {
    type Err = UnknownPolicyMode;

    fn from_str(text: &str) -> Result<Self, UnknownPolicyMode> {
        match text {
            "standard" => Ok(Self::Standard),
            "strict" => Ok(Self::Strict),
            "observe" => Ok(Self::Observe),
            _ => Err(UnknownPolicyMode),
        }
    }
}

/// A word that names no mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the policy's mode must be standard, strict or observe")]
pub struct UnknownPolicyMode;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_mode_is_only_made_stricter() {
        use PolicyMode::{Observe, Standard, Strict};
        for (pinned, wanted, holds) in [
            (None, Observe, Observe),
            (Some(Standard), Observe, Standard),
            (Some(Standard), Strict, Strict),
            (Some(Observe), Standard, Standard),
            (Some(Strict), Standard, Strict),
        ] {
            assert_eq!(PolicyMode::tighten_pinned(pinned, wanted), holds);
        }
        for mode in [Observe, Standard, Strict] {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert_eq!("Standard".parse::<PolicyMode>(), Err(UnknownPolicyMode));
    }
}
