//! The hook process: one document in, one answer out, and an answer too when everything else fails.
//!
//! `amplihack-hooks` and `amplihack hook` are this function with the policy and the audit put in.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use amplihack_utils::env::Env;
use amplihack_utils::sys::last_words::{self, LastWords};

use crate::dialect::{self, Bad, MAX_PAYLOAD, Reply};
use crate::invocation::{self, Action, Invocation};
use crate::plane::{Audit, Judge, Plane};
use crate::{aggregate, events, xpia};

/// The process's own deadline. Registrations give a guard twice as long.
pub const DEADLINE: Duration = Duration::from_secs(5);

const CRASHED: &str =
    "the guard broke while it judged this call, so the call is not let through; run `amplihack doctor`";
const USAGE: &str =
    "the guard's registration cannot be read, so the call is not let through; run `amplihack doctor`";

/// Makes the policy of an invocation. A policy that cannot be loaded lets nothing through.
pub type MakeJudge<'a> = &'a dyn Fn(&Invocation, &Env) -> Result<Box<dyn Judge>, String>;

/// Runs a hook process to its end: reads stdin, answers on stdout and stderr, returns the exit code.
///
/// Call it first of all in `main`. `arguments` are those behind the program's name.
pub fn serve(
    arguments: impl IntoIterator<Item = OsString>,
    env: &Env,
    judge: MakeJudge<'_>,
    audit: &dyn Audit,
) -> u8 {
    let started = Instant::now();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Before anything is known, not even the event: the deny that every host takes.
    let armed =
        last_words::arm(dialect::last_words(None, CRASHED)).and_then(|()| last_words::deadline(DEADLINE));
    if let Some(text) = invocation::information(&arguments) {
        return say(&Reply { stdout: text.into_bytes(), ..Reply::default() });
    }
    let broken = |why: &dyn std::fmt::Display, reason| {
        let mut reply = as_reply(dialect::last_words(None, reason));
        reply.stderr.insert_str(0, &format!("{why}\n"));
        reply
    };
    let reply = match (Invocation::parse(arguments), armed) {
        (Ok(invocation), Ok(())) => {
            last_words::replace(words(invocation.action));
            if let Action::WithScript(event) = invocation.action {
                // The script's time is not the guard's own.
                if let Err(error) = last_words::deadline(DEADLINE + aggregate::time_of(event)) {
                    return say(&broken(&error, CRASHED));
                }
            }
            answer(&invocation, env, judge, audit, started)
        }
        (Err(usage), _) => broken(&usage, USAGE),
        (_, Err(error)) => broken(&error, CRASHED),
    };
    say(&reply)
}

/// What is said if the process dies at `action`.
fn words(action: Action) -> LastWords {
    match action {
        Action::Event(event) => dialect::last_words(Some(event), CRASHED),
        Action::WithScript(event) if !event.is_guard() => dialect::last_words(Some(event), CRASHED),
        Action::Xpia | Action::Aggregate | Action::WithScript(_) => {
            let reply = xpia::last_words(CRASHED);
            LastWords { stdout: reply.stdout, stderr: reply.stderr.into_bytes(), code: reply.code }
        }
    }
}

fn as_reply(words: LastWords) -> Reply {
    Reply {
        stdout: words.stdout,
        stderr: String::from_utf8_lossy(&words.stderr).into_owned(),
        code: words.code,
    }
}

fn answer(
    invocation: &Invocation,
    env: &Env,
    judge: MakeJudge<'_>,
    audit: &dyn Audit,
    started: Instant,
) -> Reply {
    let payload = match &invocation.payload {
        Some(_) if amplihack_utils::sabotage::active("copilot-xpia-argument") => {
            Err(Bad::Io("nothing is read from arguments".to_owned()))
        }
        Some(payload) => Ok(payload.clone().into_encoded_bytes()),
        None if invocation.action == Action::Xpia
            && amplihack_utils::sabotage::active("copilot-xpia-stdin") =>
        {
            Ok(b"{\"tool_name\":\"Read\"}".to_vec())
        }
        None => read_stdin(),
    };
    if invocation.action == Action::Aggregate {
        return aggregate::answer(payload);
    }
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let plane = |judge| Plane {
        judge,
        audit,
        env,
        cwd: &cwd,
        launch: invocation.launch.as_deref(),
        now: SystemTime::now(),
        started,
    };
    match (invocation.action, judge(invocation, env)) {
        (Action::Event(event), Ok(judge)) => events::answer(event, invocation, payload, &plane(&*judge)),
        (Action::Event(event), Err(why)) => {
            events::refuse(event, &no_policy(&why), events::BROKEN, &plane(&Silent))
        }
        (Action::WithScript(event), Ok(judge)) => {
            let script = invocation.script.as_deref().unwrap_or(Path::new("/"));
            aggregate::with_script(event, script, invocation, payload, &plane(&*judge))
        }
        (Action::WithScript(event), Err(why)) if !event.is_guard() => {
            events::refuse(event, &no_policy(&why), events::BROKEN, &plane(&Silent))
        }
        (_, Ok(judge)) => xpia::answer(payload, &plane(&*judge)),
        (_, Err(why)) => xpia::last_words(&no_policy(&why)),
    }
}

fn no_policy(why: &str) -> String {
    format!("the policy cannot be loaded, so nothing is let through: {why}")
}

/// Stands where a policy would be asked nothing.
struct Silent;

impl Judge for Silent {
    fn judge(&self, _: &amplihack_policy::Event<'_>) -> amplihack_policy::Verdict {
        amplihack_policy::Verdict::none()
    }
}

fn read_stdin() -> Result<Vec<u8>, Bad> {
    let mut bytes = Vec::new();
    let limit = MAX_PAYLOAD as u64 + 1;
    let read = io::stdin().lock().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Bad::Io(error.to_string()))?;
    if bytes.len() > MAX_PAYLOAD { Err(Bad::TooLarge) } else { Ok(bytes) }
}

/// Writes the answer; from the first byte on the last words leave stdout alone.
fn say(reply: &Reply) -> u8 {
    // The reason first: a host that sees exit code 2 without a word on stderr may let the call run.
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    last_words::answered();
    let mut stdout = io::stdout().lock();
    if amplihack_utils::sabotage::active("copilot-single-payload") {
        let _ = stdout.write_all(&reply.stdout);
    }
    let written = stdout.write_all(&reply.stdout).and_then(|()| stdout.flush());
    // An object that did not arrive cannot stop the call, so the code has to.
    if written.is_err() && !reply.stdout.is_empty() { 2 } else { reply.code }
}
