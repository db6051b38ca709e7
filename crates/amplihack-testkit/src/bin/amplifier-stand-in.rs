//! Stands in for Microsoft Amplifier: accepts its documented command line, refuses everything else with exit 2.
//!
//! `AMPLIFIER_STAND_IN_RECORD` is the file that accepted calls are appended to, one JSON line each
//! (`amplihack_testkit::amplifier::Accepted`). Records of the fake agent's kind go to `FAKE_AGENT_LOG`.

use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;

use amplihack_config::env::Env;
use amplihack_testkit::amplifier::{Accepted, AmplifierCall, read};
use amplihack_testkit::record::append_line;
use amplihack_testkit::{Bytes, Record};

fn main() -> ExitCode {
    match answer(&Env::from_process()) {
        Ok(code) => code,
        Err(error) => {
            // Nothing is left to tell if stderr itself is gone.
            let _ = writeln!(io::stderr(), "Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn answer(env: &Env) -> io::Result<ExitCode> {
    let args: Vec<Bytes> = std::env::args_os().skip(1).map(Bytes::from).collect();
    let call = read(&args);
    let mut stdin = None;
    if let Ok(AmplifierCall::Run(accepted)) = &call {
        stdin = prompt_from_stdin(accepted)?;
    }
    if let Some(log) = env.path("FAKE_AGENT_LOG") {
        Record::of_this_process(env, &[], stdin.clone())?.append(&log)?;
    }
    match call {
        Ok(AmplifierCall::Run(accepted)) => run(env, accepted, stdin),
        Ok(AmplifierCall::Version) => say("amplifier, version 0.1.0"),
        Ok(AmplifierCall::Help) => say("Usage: amplifier run [OPTIONS] [PROMPT]"),
        Err(error) => {
            writeln!(io::stderr(), "Usage: amplifier run [OPTIONS] [PROMPT]")?;
            writeln!(io::stderr(), "Try 'amplifier run --help' for help.\n\nError: {error}")?;
            Ok(ExitCode::from(2))
        }
    }
}

/// Upstream reads stdin when the command line has no prompt and stdin is no terminal.
fn prompt_from_stdin(accepted: &Accepted) -> io::Result<Option<Vec<u8>>> {
    if accepted.prompt.is_some() || io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn run(env: &Env, mut accepted: Accepted, stdin: Option<Vec<u8>>) -> io::Result<ExitCode> {
    if let Some(bytes) = stdin {
        accepted.prompt = Some(Bytes(bytes));
        accepted.from_stdin = true;
    }
    let blank = |prompt: &Bytes| prompt.0.iter().all(u8::is_ascii_whitespace);
    if accepted.prompt.as_ref().is_none_or(blank) {
        writeln!(io::stderr(), "Error: Prompt required in single mode")?;
        return Ok(ExitCode::FAILURE);
    }
    if let Some(path) = env.path("AMPLIFIER_STAND_IN_RECORD") {
        append_line(&path, &accepted)?;
    }
    say("the stand-in took the prompt")
}

fn say(line: &str) -> io::Result<ExitCode> {
    writeln!(io::stdout(), "{line}")?;
    Ok(ExitCode::SUCCESS)
}
