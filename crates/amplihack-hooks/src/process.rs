//! The hook process: one document in, one answer out, and an answer too when everything else fails.
//!
//! `amplihack-hooks` and `amplihack hook` are this function with the policy and the audit put in.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use amplihack_config::env::Env;
use amplihack_sys::last_words::{self, LastWords};
use amplihack_sys::stdout_onto;

use crate::answer_code::{self, AnswerCode};
use crate::dialect::{self, CRASHED, FIRST_WORDS, HookReply, MAX_PAYLOAD, PayloadError};
use crate::hook_context::{HookAudit, HookContext, HookJudge};
use crate::invocation::{self, HookAction, HookInvocation};
use crate::{aggregate, events, token, xpia};

/// The process's own deadline. Registrations let a guard take as long as their hosts can count, so that none goes on without its answer.
pub const DEADLINE: Duration = Duration::from_secs(5);

const USAGE: &str = "the guard's registration cannot be read, so the call is denied; run `amplihack doctor`";

/// The text on stderr where the answer cannot be written.
const UNHEARD: &str = "the guard's answer could not be written, so the call is denied\n";

/// The parts that answer an invocation: the policy, the audit, and the environment that counts for both.
pub struct GuardParts {
    /// The policy.
    pub judge: Box<dyn HookJudge>,
    /// The audit, in which decisions are written down.
    pub audit: Box<dyn HookAudit>,
    /// The environment; variables that a launch pinned have its values.
    pub env: Env,
}

/// Makes the guard of an invocation. A policy that cannot be loaded lets nothing through.
pub type MakeGuard<'a> = &'a dyn Fn(&HookInvocation, &Env) -> Result<GuardParts, String>;

/// Runs a hook process to its end: reads stdin, answers on stdout and stderr, returns the exit code.
///
/// Call it first of all in `main`. `arguments` are those behind the program's name; `audit` is there for what `make` fails at.
pub fn serve_process(
    arguments: impl IntoIterator<Item = OsString>,
    env: &Env,
    make: MakeGuard<'_>,
    audit: &dyn HookAudit,
) -> u8 {
    let started = Instant::now();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // The hook binary has done that at its first instruction.
    let armed = if last_words::is_armed() { Ok(()) } else { last_words::arm_words(&FIRST_WORDS, DEADLINE) };
    if let Some(text) = invocation::information_text(&arguments) {
        return write_reply(&HookReply { stdout: text.into_bytes(), ..HookReply::default() }, None);
    }
    let broken = |why: &dyn std::fmt::Display, reason| {
        let mut reply = as_reply(dialect::prepared_denial(None, reason));
        reply.stderr.insert_str(0, &format!("{why}\n"));
        reply
    };
    match (HookInvocation::parse(arguments), armed) {
        (Ok(invocation), Ok(())) => {
            last_words::replace_words(prepared_words(invocation.action));
            if let HookAction::WithScript(event) = invocation.action {
                // The script's time is not the guard's own.
                if let Err(error) = last_words::set_deadline(DEADLINE + aggregate::script_deadline(event)) {
                    return write_reply(&broken(&error, CRASHED), None);
                }
            }
            let reply = sign_reply(answer_invocation(&invocation, env, make, audit, started), &invocation);
            write_reply(&reply, invocation.code)
        }
        (Err(usage), _) => write_reply(&broken(&usage, USAGE), None),
        (_, Err(error)) => write_reply(&broken(&error, CRASHED), None),
    }
}

/// `reply` as a wrapper wants it: behind its token.
fn sign_reply(mut reply: HookReply, invocation: &HookInvocation) -> HookReply {
    if invocation.is_signed && invocation.action.is_guard() {
        reply.stdout.splice(..0, token::TOKEN.bytes());
    }
    reply
}

/// The words that are left behind if the process dies at `action`.
fn prepared_words(action: HookAction) -> LastWords {
    match action {
        HookAction::Event(event) => dialect::prepared_denial(Some(event), CRASHED),
        HookAction::WithScript(event) if !event.is_guard() => dialect::prepared_denial(Some(event), CRASHED),
        HookAction::Xpia | HookAction::Aggregate | HookAction::WithScript(_) => {
            let reply = xpia::prepared_denial(CRASHED);
            LastWords {
                stdout: reply.stdout.into(),
                stderr: reply.stderr.into_bytes().into(),
                code: reply.code,
            }
        }
    }
}

fn as_reply(words: LastWords) -> HookReply {
    HookReply {
        stdout: words.stdout.into_owned(),
        stderr: String::from_utf8_lossy(&words.stderr).into_owned(),
        code: words.code,
    }
}

fn answer_invocation(
    invocation: &HookInvocation,
    env: &Env,
    make: MakeGuard<'_>,
    audit: &dyn HookAudit,
    started: Instant,
) -> HookReply {
    let payload = match &invocation.payload {
        Some(_) if amplihack_sys::sabotage::is_active("copilot-xpia-argument") => {
            Err(PayloadError::Io("nothing is read from arguments".to_owned()))
        }
        Some(payload) => Ok(payload.clone().into_encoded_bytes()),
        None if invocation.action == HookAction::Xpia
            && amplihack_sys::sabotage::is_active("copilot-xpia-stdin") =>
        {
            Ok(b"{\"tool_name\":\"Read\"}".to_vec())
        }
        None => read_stdin(),
    };
    // In front of the policy: two answers are joined, and no call is judged again.
    if invocation.action == HookAction::Aggregate {
        return aggregate::answer_joined(payload);
    }
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let guard = make(invocation, env);
    // Without a policy nothing is judged, but the refusal is still recorded and reported to the launch.
    let (judge, audit, env) = match &guard {
        Ok(parts) => (&*parts.judge, &*parts.audit, &parts.env),
        Err(_) => (&SilentJudge as &dyn HookJudge, audit, env),
    };
    let plane = HookContext {
        judge,
        audit,
        env,
        cwd: &cwd,
        launch: invocation.launch.as_deref(),
        now: SystemTime::now(),
        started,
    };
    match (invocation.action, &guard) {
        (HookAction::Event(event), Ok(_)) => events::answer_event(event, invocation, payload, &plane),
        (HookAction::Event(event), Err(why)) => {
            events::refuse_event(event, &no_policy(why), events::BROKEN, &plane)
        }
        (HookAction::WithScript(event), Ok(_)) => {
            let script = invocation.script.as_deref().unwrap_or(Path::new("/"));
            aggregate::with_script(event, script, invocation, payload, &plane)
        }
        (HookAction::WithScript(event), Err(why)) if !event.is_guard() => {
            events::refuse_event(event, &no_policy(why), events::BROKEN, &plane)
        }
        (_, Ok(_)) => xpia::answer_xpia(payload, &plane),
        (_, Err(why)) => xpia::prepared_denial(&no_policy(why)),
    }
}

fn no_policy(why: &str) -> String {
    format!("the policy cannot be loaded, so every call is denied: {why}")
}

/// Stands where a policy would be asked nothing.
struct SilentJudge;

impl HookJudge for SilentJudge {
    fn judge(&self, _: &amplihack_policy::Event<'_>) -> amplihack_verdict::Verdict {
        amplihack_verdict::Verdict::no_objection()
    }
}

fn read_stdin() -> Result<Vec<u8>, PayloadError> {
    let mut bytes = Vec::new();
    let limit = MAX_PAYLOAD as u64 + 1;
    let read = io::stdin().lock().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| PayloadError::Io(error.to_string()))?;
    if bytes.len() > MAX_PAYLOAD { Err(PayloadError::TooLarge) } else { Ok(bytes) }
}

/// Writes the answer; from the first byte on the last words leave stdout alone. Where the registration names a `code`, the answer goes to
/// its descriptor, and the process ends with that code.
fn write_reply(reply: &HookReply, code: Option<AnswerCode>) -> u8 {
    // The reason first: a host that sees exit code 2 without a word on stderr may let the call run.
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    last_words::mark_answered();
    match write_answer(&reply.stdout, code.is_some()) {
        Ok(()) => code.map_or(reply.code, |code| code.process_code(reply.code)),
        Err(_) if code.is_none() && reply.stdout.is_empty() => reply.code,
        // An object that did not arrive cannot stop the call, so the code has to, and words with it.
        Err(_) => {
            // The code says it without them.
            let _ = io::stderr().write_all(UNHEARD.as_bytes());
            2
        }
    }
}

/// Writes an answer to stdout, or to where the registration wants it.
fn write_answer(answer: &[u8], is_registered: bool) -> io::Result<()> {
    if is_registered {
        stdout_onto(answer_code::DESCRIPTOR)?;
    }
    let mut stdout = io::stdout().lock();
    if amplihack_sys::sabotage::is_active("copilot-single-payload") {
        // A fault, which nothing shipped has.
        let _ = stdout.write_all(answer);
    }
    stdout.write_all(answer)?;
    stdout.flush()
}
