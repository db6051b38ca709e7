//! `remote output`: the end of a session's log, or all of it as it comes.

use amplihack_remote::{Client, OutputOptions};
use serde_json::json;

use super::args::OutputArgs;
use super::{InterruptibleResult, drive_interruptible, render};
use crate::ui::{self, CommandFailure, json_line};

/// Runs the command and returns the exit code.
pub(super) fn show_output(client: &Client, args: OutputArgs) -> Result<u8, CommandFailure> {
    let OutputArgs { session, lines, follow, from, raw, setup, common } = args;
    let state_file = common.state_file;
    if follow {
        let mut mask = render::LogMask::new(raw);
        let mut show = |bytes: &[u8]| mask.show_bytes(bytes);
        let ended = match drive_interruptible(client.follow_session(
            &session,
            from,
            state_file.as_deref(),
            &mut show,
        ))? {
            InterruptibleResult::Done(ended) => ended,
            InterruptibleResult::Interrupted(code) => return Ok(code),
        };
        mask.show_rest()
            .map_err(|error| CommandFailure::from_io_error("stdout could not be written", &error))?;
        // Followed to its end, a session is like a program that was run here: its code is this command's.
        return Ok(render::session_exit_code(&ended));
    }
    if setup {
        let said = match drive_interruptible(client.read_setup_log(&session, state_file.as_deref()))? {
            InterruptibleResult::Done(said) => said,
            InterruptibleResult::Interrupted(code) => return Ok(code),
        };
        ui::print_data(&render::strip_controls(&render::mask_keys(&said, raw), raw))?;
        return Ok(0);
    }
    let shown = match drive_interruptible(client.capture_output(OutputOptions {
        session_id: session,
        lines,
        state_file,
    }))? {
        InterruptibleResult::Done(shown) => shown,
        InterruptibleResult::Interrupted(code) => return Ok(code),
    };
    let text = render::mask_keys(&shown.output, raw);
    if common.json {
        ui::print_data(&json_line(&json!({ "session": shown.session, "output": text }))?)?;
    } else {
        ui::print_data(&render::session_log(&shown.session, &render::strip_controls(&text, raw)))?;
    }
    Ok(0)
}
