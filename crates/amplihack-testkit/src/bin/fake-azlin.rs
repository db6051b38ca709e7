//! A stand-in for `azlin` that a test's script starts: `fake-azlin DIRECTORY ARGUMENTS`.

use std::process::ExitCode;

use amplihack_config::env::Env;

fn main() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    ExitCode::from(amplihack_testkit::azlin::main(&Env::from_process(), &args))
}
