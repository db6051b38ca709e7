//! `remote output`: the end of a session's log, or all of it as it comes.

use amplihack_remote::{Client, OutputOptions};
use serde_json::json;

use super::args::OutputArgs;
use super::{Driven, drive, render};
use crate::ui::{self, Failure, line};

/// Runs the command and returns the exit code.
pub(super) fn run(client: &Client, args: OutputArgs) -> Result<u8, Failure> {
    let OutputArgs { session, lines, follow, from, raw, setup, common } = args;
    let state_file = common.state_file;
    if follow {
        let mut mask = render::Mask::new(raw);
        let mut show = |bytes: &[u8]| mask.show(bytes);
        let ended = match drive(client.follow(&session, from, state_file.as_deref(), &mut show))? {
            Driven::Done(ended) => ended,
            Driven::Interrupted(code) => return Ok(code),
        };
        mask.finish().map_err(|error| Failure::system("stdout could not be written", &error))?;
        return Ok(render::code(&ended));
    }
    if setup {
        let said = match drive(client.setup(&session, state_file.as_deref()))? {
            Driven::Done(said) => said,
            Driven::Interrupted(code) => return Ok(code),
        };
        ui::data(&render::calm(&render::masked(&said, raw), raw))?;
        return Ok(0);
    }
    let shown = match drive(client.output(OutputOptions { session_id: session, lines, state_file }))? {
        Driven::Done(shown) => shown,
        Driven::Interrupted(code) => return Ok(code),
    };
    let text = render::masked(&shown.output, raw);
    if common.json {
        ui::data(&line(&json!({ "session": shown.session, "output": text }))?)?;
    } else {
        ui::data(&render::output(&shown.session, &render::calm(&text, raw)))?;
    }
    Ok(0)
}
