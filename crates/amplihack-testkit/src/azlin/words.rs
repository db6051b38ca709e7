//! What azlin and Azure say, as far as programs look at it.

use serde_json::{Value, json};

use super::{Fault, Vm};

/// Refuses a name that azlin does not give a machine.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '-';
    let edge = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let valid = name.len() <= 64
        && name.chars().all(inside)
        && edge(name.chars().next())
        && edge(name.chars().next_back());
    if valid {
        return Ok(());
    }
    Err(format!(
        "invalid VM name '{name}': 1-64 characters, letters, digits, '.' and '-', not at its beginning or end"
    ))
}

/// What Azure says when it makes no machine.
pub(super) fn refused_by_azure(fault: Option<Fault>, size: &str, location: &str) -> Option<String> {
    match fault? {
        Fault::Quota => Some(format!(
            "(QuotaExceeded) Operation could not be completed as it results in exceeding approved Total Regional Cores quota. \
             Additional details - Deployment Model: Resource Manager, Location: {location}, Current Limit: 10, Current Usage: 8, \
             Additional Required: 16, (Minimum) New Limit Required: 24."
        )),
        Fault::Capacity => Some(format!(
            "(SkuNotAvailable) The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: {size}' \
             is currently not available in location '{location}'. Please try another size or deploy to a different location or \
             different zone."
        )),
        Fault::Allocation => Some(
            "(AllocationFailed) Allocation failed. We do not have sufficient capacity for the requested VM size in this region."
                .to_owned(),
        ),
        _ => None,
    }
}

/// The state of a machine.
pub(super) fn power(vm: &Vm) -> &'static str {
    if vm.running { "Running" } else { "Stopped" }
}

/// A machine as `list` and `show` have it.
pub(super) fn as_json(vm: &Vm, tmux: &[String]) -> Value {
    let public = vm.public.then_some(&vm.ip);
    json!({
        "name": vm.name, "resource_group": vm.resource_group, "power_state": power(vm), "ip": vm.ip, "public_ip": public,
        "private_ip": if vm.public { "10.0.0.4" } else { &*vm.ip }, "location": vm.location, "vm_size": vm.vm_size,
        "os": "Linux", "os_offer": "ubuntu-24_04-lts", "cpu": 8, "mem": 32, "session": vm.name, "tmux_sessions": tmux,
    })
}

/// A table with drawn lines, which nobody should read with a program.
pub(super) fn table(head: &[&str], rows: &[Vec<&str>]) -> String {
    let wide = |column: usize| {
        rows.iter().map(|row| row[column].len()).chain([head[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(wide).collect();
    let line = |cells: &[&str]| {
        let cells: Vec<String> =
            cells.iter().zip(&widths).map(|(cell, width)| format!(" {cell:<width$} ")).collect();
        format!("│{}│", cells.join("┆"))
    };
    let edge = |left: &str, right: &str| {
        let total = widths.iter().map(|width| width + 3).sum::<usize>().saturating_sub(1);
        format!("{left}{}{right}", "─".repeat(total))
    };
    let rows: Vec<String> = rows.iter().map(|row| line(row)).collect();
    [vec![edge("┌", "┐"), line(head), edge("╞", "╡")], rows, vec![edge("└", "┘")]].concat().join("\n")
}
