//! `remote doctor`: whether machines have what sessions need.

use amplihack_remote::Client;

use super::args::RemoteDoctorArgs;
use super::{InterruptibleResult, drive_interruptible, place_client, pretty_json, render};
use crate::ui::{self, CommandFailure};

/// Runs the command and returns the exit code.
pub(super) fn run_remote_doctor(client: Client, args: RemoteDoctorArgs) -> Result<u8, CommandFailure> {
    let (client, state_file) = place_client(client, args.place)?;
    let reports = match drive_interruptible(client.check_machines(state_file.as_deref()))? {
        InterruptibleResult::Done(reports) => reports,
        InterruptibleResult::Interrupted(code) => return Ok(code),
    };
    if args.json {
        ui::print_data(&pretty_json(&reports)?)?;
    } else {
        ui::print_visible(&render::doctor_reports(&reports))?;
    }
    Ok(u8::from(reports.is_empty() || reports.iter().any(|report| !report.is_ready())))
}
