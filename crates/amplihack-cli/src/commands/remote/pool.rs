//! `remote pool`: the machines.

use amplihack_remote::{Client, StatusOptions};
use serde_json::json;

use super::args::{DrainArgs, GcArgs, StatusArgs};
use super::{InterruptibleResult, drive_interruptible, pretty_json, render};
use crate::ui::{self, CommandFailure, json_line};

/// Prints the machines.
pub(super) fn list_machines(client: &Client, args: StatusArgs) -> Result<u8, CommandFailure> {
    let StatusArgs { refresh, common } = args;
    let work = async {
        if refresh {
            client.refresh_sessions(common.state_file.as_deref()).await?;
        }
        client.remote_status(StatusOptions { state_file: common.state_file.clone() }).await
    };
    let status = match drive_interruptible(work)? {
        InterruptibleResult::Done(status) => status,
        InterruptibleResult::Interrupted(code) => return Ok(code),
    };
    let json = || pretty_json(&status.pool.vms);
    if common.json {
        ui::print_data(&json()?)?;
    } else {
        ui::print_visible(&render::machine_list(&status.pool.vms))?;
    }
    Ok(0)
}

/// Takes a machine out of use, or into use again.
pub(super) fn drain_machine(client: &Client, args: DrainArgs) -> Result<u8, CommandFailure> {
    let DrainArgs { vm, undo, common } = args;
    client.set_draining(&vm, !undo, common.state_file.as_deref())?;
    if common.json {
        ui::print_data(&json_line(&json!({ "vm": vm, "draining": !undo }))?)?;
    } else if undo {
        ui::print_data(&format!("{vm} takes sessions again.\n"))?;
    } else {
        ui::print_data(&format!("{vm} takes no more sessions.\n"))?;
    }
    Ok(0)
}

/// Gives back what is idle.
pub(super) fn release_idle(client: &Client, args: GcArgs) -> Result<u8, CommandFailure> {
    let GcArgs { idle, dry_run, discard_results, common } = args;
    let work = client.release_idle_machines(idle, dry_run, discard_results, common.state_file.as_deref());
    let swept = match drive_interruptible(work)? {
        InterruptibleResult::Done(swept) => swept,
        InterruptibleResult::Interrupted(code) => return Ok(code),
    };
    if common.json {
        ui::print_data(&json_line(&swept)?)?;
    } else {
        ui::print_visible(&render::swept_machines(&swept, dry_run))?;
    }
    Ok(u8::from(swept.failed.values().any(|error| !error.is_empty())))
}
