//! `remote doctor`: whether machines have what sessions need.

use amplihack_remote::Client;

use super::args::DoctorArgs;
use super::{Driven, drive, placed, pretty, render};
use crate::ui::{self, Failure};

/// Runs the command and returns the exit code.
pub(super) fn run(client: Client, args: DoctorArgs) -> Result<u8, Failure> {
    let (client, state_file) = placed(client, args.place)?;
    let reports = match drive(client.doctor(state_file.as_deref()))? {
        Driven::Done(reports) => reports,
        Driven::Interrupted(code) => return Ok(code),
    };
    if args.json {
        ui::data(&pretty(&reports)?)?;
    } else {
        ui::shown(&render::doctor(&reports))?;
    }
    Ok(u8::from(reports.is_empty() || reports.iter().any(|report| !report.ready())))
}
