//! Tiers of machines: which Azure machine each is, and how many sessions it holds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A tier. Engines that are not Azure map it to processors and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VMSize {
    /// Tier with room for a single session.
    S,
    /// Two sessions.
    M,
    /// Four sessions.
    L,
    /// Eight sessions.
    XL,
}

impl VMSize {
    /// Every tier, smallest first.
    pub const ALL: [Self; 4] = [Self::S, Self::M, Self::L, Self::XL];

    /// The number of sessions that a machine of this tier holds.
    pub fn capacity(self) -> usize {
        match self {
            Self::S if amplihack_sys::sabotage::is_active("remote-size-s") => 2,
            Self::M if amplihack_sys::sabotage::is_active("remote-size-m") => 1,
            Self::S => 1,
            Self::M => 2,
            Self::L => 4,
            Self::XL => 8,
        }
    }

    /// The Azure machine of this tier.
    pub fn azure_size(self) -> &'static str {
        match self {
            Self::L if amplihack_sys::sabotage::is_active("remote-size-l") => "Standard_E8s_v5",
            Self::XL if amplihack_sys::sabotage::is_active("remote-size-xl") => "Standard_E16s_v5",
            Self::S => "Standard_D8s_v3",
            Self::M => "Standard_E8s_v5",
            Self::L => "Standard_E16s_v5",
            Self::XL => "Standard_E32s_v5",
        }
    }

    /// The name of the tier on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S => "s",
            Self::M => "m",
            Self::L => "l",
            Self::XL => "xl",
        }
    }
}

/// A session's share of a machine, for engines that give out processors and memory themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MachineShare {
    /// Processors.
    pub(crate) processors: usize,
    /// Memory in MB.
    pub(crate) memory_mb: usize,
}

impl MachineShare {
    /// The share of each of `sessions` in the Azure machine `sku`; `None`: it is none of the series that are known.
    pub(crate) fn from_sku(sku: &str, sessions: usize) -> Option<Self> {
        let name = sku.strip_prefix("Standard_")?;
        let gb_each = match name.as_bytes().first()? {
            b'D' => 4,
            b'E' => 8,
            _ => return None,
        };
        let digits: String = name.chars().skip(1).take_while(char::is_ascii_digit).collect();
        let all: usize = digits.parse().ok().filter(|all| (1..=1024).contains(all))?;
        let sessions = sessions.max(1);
        Some(Self { processors: (all / sessions).max(1), memory_mb: all * gb_each * 1024 / sessions })
    }

    /// The share in the words of `sbatch`.
    pub(crate) fn sbatch_options(self) -> [String; 2] {
        [format!("--cpus-per-task={}", self.processors), format!("--mem={}M", self.memory_mb)]
    }
}

impl fmt::Display for VMSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown size '{0}': use s, m, l or xl")]
pub struct UnknownSize(pub String);

impl FromStr for VMSize {
    type Err = UnknownSize;

    fn from_str(word: &str) -> Result<Self, UnknownSize> {
        let lower = word.to_ascii_lowercase();
        Self::ALL.into_iter().find(|size| size.name() == lower).ok_or_else(|| UnknownSize(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{MachineShare, VMSize};

    #[test]
    fn a_tier_is_a_share_of_its_machine() {
        let shares =
            VMSize::ALL.map(|size| MachineShare::from_sku(size.azure_size(), size.capacity()).unwrap());
        assert_eq!(shares.map(|share| share.processors), [8, 4, 4, 4]);
        assert_eq!(shares.map(|share| share.memory_mb), [32_768; 4]);
        assert_eq!(
            MachineShare::from_sku("Standard_D2s_v3", 1).unwrap().sbatch_options(),
            ["--cpus-per-task=2", "--mem=8192M"]
        );
        for unknown in [
            "",
            "Standard_",
            "Standard_D",
            "Standard_NC6s_v3",
            "D2s_v3",
            "Standard_D99999999999999999999s_v3",
        ] {
            assert_eq!(MachineShare::from_sku(unknown, 1), None, "{unknown}");
        }
    }
}
