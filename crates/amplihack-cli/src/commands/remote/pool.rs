//! `remote pool`: the machines.

use amplihack_remote::{Client, StatusOptions};
use serde_json::json;

use super::args::{DrainArgs, GcArgs, StatusArgs};
use super::{Driven, drive, pretty, render};
use crate::ui::{self, Failure, line};

/// Prints the machines.
pub(super) fn list(client: &Client, args: StatusArgs) -> Result<u8, Failure> {
    let StatusArgs { refresh, common } = args;
    let work = async {
        if refresh {
            client.refresh(common.state_file.as_deref()).await?;
        }
        client.status(StatusOptions { state_file: common.state_file.clone() }).await
    };
    let status = match drive(work)? {
        Driven::Done(status) => status,
        Driven::Interrupted(code) => return Ok(code),
    };
    let json = || pretty(&status.pool.vms);
    if common.json {
        ui::data(&json()?)?;
    } else {
        ui::shown(&render::machines(&status.pool.vms))?;
    }
    Ok(0)
}

/// Takes a machine out of use, or into use again.
pub(super) fn drain(client: &Client, args: DrainArgs) -> Result<u8, Failure> {
    let DrainArgs { vm, undo, common } = args;
    client.drain(&vm, !undo, common.state_file.as_deref())?;
    if common.json {
        ui::data(&line(&json!({ "vm": vm, "draining": !undo }))?)?;
    } else if undo {
        ui::data(&format!("{vm} takes sessions again.\n"))?;
    } else {
        ui::data(&format!("{vm} takes no more sessions.\n"))?;
    }
    Ok(0)
}

/// Gives back what is idle.
pub(super) fn gc(client: &Client, args: GcArgs) -> Result<u8, Failure> {
    let GcArgs { idle, dry_run, discard_results, common } = args;
    let work = client.gc(idle, dry_run, discard_results, common.state_file.as_deref());
    let swept = match drive(work)? {
        Driven::Done(swept) => swept,
        Driven::Interrupted(code) => return Ok(code),
    };
    if common.json {
        ui::data(&line(&swept)?)?;
    } else {
        ui::shown(&render::swept(&swept, dry_run))?;
    }
    Ok(u8::from(swept.failed.values().any(|error| !error.is_empty())))
}
