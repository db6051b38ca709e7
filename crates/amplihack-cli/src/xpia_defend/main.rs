//! `xpia-defend`: the policy for programs that know the predecessor's defender; the same sub-commands, the same JSON.

#[path = "../printable_error.rs"]
mod printable_error;

use std::io::{self, Write};
use std::process::ExitCode;

use amplihack_compat::xpia_defend::{answer_command_line, broken_answer};
use amplihack_config::env::Env;

fn main() -> ExitCode {
    let env = Env::from_process();
    // Without it, only a limit of file sizes ends the process without a word.
    let _ = amplihack_sys::last_words::survive_size_limit();
    let (answer, code) = match answer_command_line(std::env::args_os(), &env) {
        Ok(answered) => answered,
        Err(error) => {
            // Help and version go to stdout with 0; what cannot be read is explained on stderr.
            let error = printable_error::make_printable(error);
            let told = error.print().is_ok();
            if error.exit_code() == 0 {
                return if told { ExitCode::SUCCESS } else { ExitCode::from(2) };
            }
            broken_answer("the command line cannot be read; see stderr")
        }
    };
    let mut out = io::stdout().lock();
    let said = writeln!(out, "{answer}").and_then(|()| out.flush());
    if said.is_ok() { ExitCode::from(code) } else { ExitCode::from(2) }
}
