//! What `azlin -o json list` says: an object with `vms` since 2.7, a bare array before.

use serde::Deserialize;

/// A machine as azlin lists it. What it does not say is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Vm {
    /// Its name.
    pub name: String,
    /// `Running`, …
    #[serde(default)]
    pub power_state: Option<String>,
    /// The address that azlin itself would use.
    #[serde(default)]
    pub ip: Option<String>,
    /// Its address for everybody.
    #[serde(default)]
    pub public_ip: Option<String>,
    /// Its region.
    #[serde(default, alias = "region")]
    pub location: Option<String>,
    /// The Azure machine.
    #[serde(default, alias = "size")]
    pub vm_size: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Shape {
    Now { vms: Vec<Vm> },
    Before(Vec<Vm>),
}

impl Vm {
    /// Whether it runs. Lists of before 2.7 had only such.
    pub fn runs(&self) -> bool {
        self.power_state.as_deref().is_none_or(|state| state.to_ascii_lowercase().contains("running"))
    }

    /// The address that ssh reaches from everywhere; `None`: only azlin knows a way.
    pub fn address(&self) -> Option<&str> {
        self.public_ip.as_deref().filter(|ip| !ip.is_empty())
    }
}

/// Reads either shape. Lines before the object are passed over: warnings of `az` land there.
pub fn parse(text: &str) -> Result<Vec<Vm>, String> {
    let start = text.lines().scan(0, |at, line| {
        let here = *at;
        *at += line.len() + 1;
        Some((here, line))
    });
    let begin = start.into_iter().find(|(_, line)| line.starts_with(['{', '['])).map_or(0, |(at, _)| at);
    let shape: Shape = serde_json::from_str(text.get(begin..).unwrap_or_default())
        .map_err(|error| format!("azlin's list of machines cannot be read: {error}"))?;
    let (Shape::Now { vms } | Shape::Before(vms)) = shape;
    Ok(vms)
}
