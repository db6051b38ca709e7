//! The far side as a part of this program: the script's protocol, over the script's directory, at the same time as the script.
//!
//! What is nothing but commands of git, tar and a scheduler has one text, the script's, and is run by it: a work tree, `collect`,
//! `submit`, and whatever concerns a session that a scheduler holds.

mod context;
mod end;
mod machine;
mod observe;
mod receive;
mod run;
mod start;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::Command;

use amplihack_config::env::Env;
use amplihack_session::become_program;
use rustix::fs::Mode;

use self::context::{RunnerContext, RunnerFault, RunnerResult, fail_verb, parse_number};
use super::install;
use crate::protocol::VERSION;

/// A call of this program as a runner: the command that starts it again, its words, and its environment.
#[derive(Debug)]
pub struct RunnerRequest<'a> {
    /// The program and the words before the verb, the protocol's version among them.
    pub again: &'a [OsString],
    /// The protocol's version, the verb, and its words.
    pub words: &'a [OsString],
    /// The environment of this process.
    pub env: &'a Env,
}

/// Serves one verb, and returns the exit code. It may become the script, or the program of a session: then it does not return.
///
/// Changes the umask of this process: it serves nothing else.
pub fn serve_verb(
    request: &RunnerRequest<'_>,
    stdin: &mut dyn Read,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> u8 {
    let served = answer_verb(request, stdin, stdout).and_then(|code| {
        stdout
            .flush()
            .map_err(|error| RunnerFault::new(74, format!("the answer cannot be written: {error}")))?;
        Ok(code)
    });
    served.unwrap_or_else(|RunnerFault { code, text }| {
        // There is nobody else to tell.
        let _ = writeln!(stderr, "amplihack-runner: {text}");
        code
    })
}

fn answer_verb(
    request: &RunnerRequest<'_>,
    stdin: &mut dyn Read,
    stdout: &mut dyn Write,
) -> RunnerResult<u8> {
    let texts: Option<Vec<&str>> = request.words.iter().map(|word| word.to_str()).collect();
    let Some([version, verb, words @ ..]) = texts.as_deref() else {
        return fail_verb(64, "it is called with the protocol's version and a verb");
    };
    if version.parse() != Ok(VERSION) {
        return fail_verb(install::MISSING_CODE, format!("this speaks version {VERSION} of the protocol"));
    }
    let umask = rustix::process::umask(Mode::from_raw_mode(0o077));
    let ground = RunnerContext::open(request, umask)?;
    match *verb {
        "run" => {
            return run::run_session(
                &ground.session_from_words(words)?,
                words.get(1).copied().unwrap_or_default(),
            );
        }
        "program" => return run::run_program(&ground.session_from_words(words)?, words),
        _ => {}
    }
    if is_scripted(&ground, verb, words)? {
        let mut command = Command::new("sh");
        command.arg(ground.script_file()?).arg(verb).args(words).env_clear().envs(ground.env.iter());
        return fail_verb(127, become_program(command).to_string());
    }
    // What a login said before this is none of the answer.
    let mut say = |text: &str| {
        stdout.write_all(text.as_bytes()).map_err(|error| RunnerFault::new(74, error.to_string()))
    };
    say(&format!("amplihack-runner {VERSION}\n"))?;
    let text = match *verb {
        "probe" => machine::probe_machine(&ground, words)?,
        "has" => machine::list_stored(&ground, words)?,
        "put" => machine::store_object(&ground, words, stdin)?,
        "start" | "prepare" => start::claim_session(&ground, words, *verb == "start", stdin)?,
        "observe" => observe::observe_sessions(&ground, words)?,
        "end" => end::end_session(&ground.session_from_words(words)?, words)?,
        "remove" => end::remove_session(&ground.existing_session(words)?)?,
        "read" => {
            observe::send_log(&ground.existing_session(words)?, words, stdout)?;
            return Ok(0);
        }
        "setup" => {
            observe::send_bytes(&ground.existing_session(words)?.path("setup.log"), 0, u64::MAX, stdout)?;
            return Ok(0);
        }
        "fetch" => {
            let session = ground.existing_session(words)?;
            let from = words.get(1).and_then(|word| parse_number(word));
            let from = from.ok_or_else(|| RunnerFault::new(64, "fetch needs an offset"))?;
            observe::send_bytes(&session.path("results.bundle"), from, u64::MAX, stdout)?;
            return Ok(0);
        }
        _ => return fail_verb(64, format!("there is no verb '{verb}'")),
    };
    say(&text)?;
    Ok(0)
}

/// Reports whether the script serves the verb: git's work, and sessions that a scheduler holds.
fn is_scripted(ground: &RunnerContext, verb: &str, words: &[&str]) -> RunnerResult<bool> {
    Ok(match verb {
        "collect" | "submit" | "task" => true,
        "observe" if words.is_empty() => {
            ground.session_ids()?.iter().any(|id| ground.session_by_id(id).is_scheduled())
        }
        "observe" | "end" | "remove" | "read" => {
            let known = words.iter().filter(|word| crate::session::is_session_id(word));
            known.map(|id| ground.session_by_id(id)).any(|session| session.is_scheduled())
        }
        _ => false,
    })
}
