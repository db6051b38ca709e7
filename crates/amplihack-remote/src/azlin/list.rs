//! Parser of the output of `azlin -o json list`: an object with `vms` since 2.7, a bare array before.

use serde::Deserialize;

/// A machine as azlin lists it. What it does not say is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct AzlinVm {
    /// The name of the machine.
    pub name: String,
    /// `Running`, …
    #[serde(default)]
    pub power_state: Option<String>,
    /// The address that azlin itself would use.
    #[serde(default)]
    pub ip: Option<String>,
    /// The public IP address, reachable from everywhere; `None` or empty if there is none.
    #[serde(default)]
    pub public_ip: Option<String>,
    /// The Azure region of the machine.
    #[serde(default, alias = "region")]
    pub location: Option<String>,
    /// The Azure machine.
    #[serde(default, alias = "size")]
    pub vm_size: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AzlinListShape {
    Now { vms: Vec<AzlinVm> },
    Before(Vec<AzlinVm>),
}

impl AzlinVm {
    /// Reports whether the machine runs. Lists of azlin before 2.7 had only running machines.
    pub fn is_running(&self) -> bool {
        self.power_state.as_deref().is_none_or(|state| state.to_ascii_lowercase().contains("running"))
    }

    /// The address that ssh reaches from everywhere; `None`: only azlin knows a way.
    pub fn public_address(&self) -> Option<&str> {
        self.public_ip.as_deref().filter(|ip| !ip.is_empty())
    }
}

/// Reads either shape. Lines before the object are passed over: warnings of `az` land there.
///
/// # Errors
/// A text that is no list of machines in either shape; the message says where.
pub fn parse_machine_list(text: &str) -> Result<Vec<AzlinVm>, String> {
    let start = text.lines().scan(0, |at, line| {
        let here = *at;
        *at += line.len() + 1;
        Some((here, line))
    });
    let begin = start.into_iter().find(|(_, line)| line.starts_with(['{', '['])).map_or(0, |(at, _)| at);
    let shape: AzlinListShape = serde_json::from_str(text.get(begin..).unwrap_or_default())
        .map_err(|error| format!("azlin's list of machines cannot be read: {error}"))?;
    let (AzlinListShape::Now { vms } | AzlinListShape::Before(vms)) = shape;
    Ok(vms)
}
