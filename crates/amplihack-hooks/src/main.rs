//! `amplihack-hooks`: what hosts start at each event. It reads one JSON document and answers it.

use std::process::ExitCode;

use amplihack_utils::env::Env;

fn main() -> ExitCode {
    ExitCode::from(amplihack_hooks::guard::serve(std::env::args_os().skip(1), &Env::from_process()))
}
