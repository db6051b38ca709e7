//! `amplihack policy pending` and `allow-once`: a person's yes to one stopped call.

use amplihack_config::env::Env;
use amplihack_hooks::guard::AuditLedger;
use amplihack_hooks::once::{self, GRANTED_FOR};
use amplihack_sys::push_line;

use crate::ui::{self, CommandFailure};

/// Lists the stopped calls of running sessions.
pub(crate) fn list_pending(env: &Env) -> Result<u8, CommandFailure> {
    refuse_agents(env)?;
    let mut out = String::new();
    for (_, call) in once::pending_calls(env)? {
        push_line!(out, "{}  in {}:\n  {}", call.id, call.cwd, call.command.escape_debug());
    }
    let is_empty = out.is_empty();
    ui::print_data(if is_empty { "no call is stopped\n" } else { &out })?;
    if !is_empty {
        ui::print_note("hint", "allow one of them once: amplihack policy allow-once ID");
    }
    Ok(0)
}

/// Grants the call and tells which it is. The session's launch refuses where an agent could be asking.
pub(crate) fn allow_call_once(id: &str, env: &Env) -> Result<u8, CommandFailure> {
    refuse_agents(env)?;
    let call = once::grant_call(env, id)?;
    if let Err(why) = AuditLedger::new(env).record_grant(&call) {
        ui::print_note("warning", format!("the audit could not be written: {why}"));
    }
    ui::print_data(&format!(
        "allowed once, within the next {} minutes, in {}:\n  {}\n",
        GRANTED_FOR.as_secs() / 60,
        call.cwd,
        call.command.escape_debug()
    ))?;
    Ok(0)
}

/// Refuses what the environment alone shows to be an agent's.
fn refuse_agents(env: &Env) -> Result<(), CommandFailure> {
    let Some(mark) = once::session_mark(env) else { return Ok(()) };
    Err(CommandFailure::permission_denied(
        format!("only you can allow a call, and {} shows that this is an agent session", mark.display()),
        "run it in your own terminal",
    ))
}
