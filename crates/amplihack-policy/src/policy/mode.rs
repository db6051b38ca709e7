//! How strictly the policy is applied.

use std::fmt;
use std::str::FromStr;

/// How strictly the policy is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub enum Mode {
    /// Nothing is decided; what would have been is in [`Verdict::would_be`](crate::Verdict::would_be).
    Observe,
    /// The rules.
    #[default]
    Standard,
    /// The rules, and programs that nobody knows ask.
    Strict,
}

impl Mode {
    /// The mode of a process for which a launch pinned one: what is wanted counts if it is stricter.
    #[must_use]
    pub fn tighten(pinned: Option<Self>, wanted: Self) -> Self {
        pinned.map_or(wanted, |pinned| pinned.max(wanted))
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        match text {
            "standard" => Ok(Self::Standard),
            "strict" => Ok(Self::Strict),
            "observe" => Ok(Self::Observe),
            _ => Err(UnknownMode),
        }
    }
}

/// A word that names no mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the policy's mode must be standard, strict or observe")]
pub struct UnknownMode;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_mode_is_only_made_stricter() {
        use Mode::{Observe, Standard, Strict};
        for (pinned, wanted, holds) in [
            (None, Observe, Observe),
            (Some(Standard), Observe, Standard),
            (Some(Standard), Strict, Strict),
            (Some(Observe), Standard, Standard),
            (Some(Strict), Standard, Strict),
        ] {
            assert_eq!(Mode::tighten(pinned, wanted), holds);
        }
        for mode in [Observe, Standard, Strict] {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert_eq!("Standard".parse::<Mode>(), Err(UnknownMode));
    }
}
