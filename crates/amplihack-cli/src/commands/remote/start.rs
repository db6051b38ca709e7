//! `remote exec` and `remote start`.

use amplihack_orchestration::parallel::split_tasks;
use amplihack_remote::{Client, ExecOptions, StartOptions, VMOptions};
use amplihack_sys::error::ErrorExplanation;
use serde_json::{Value, json};

use super::args::{ExecArgs, StartArgs};
use super::{InterruptibleResult, drive_interruptible, place_client, render};
use crate::commands::auto::warn_of_permissions;
use crate::commands::current_dir;
use crate::input::{read_text, task_text};
use crate::ui::{self, CommandFailure, json_line};

/// Works on one prompt until its end, and ends with the agent's exit code.
pub(super) fn exec_prompt(client: Client, args: ExecArgs) -> Result<u8, CommandFailure> {
    let (client, state_file) = place_client(client, args.place)?;
    let prompt = match (args.prompt, args.prompt_file) {
        (Some(prompt), _) => prompt,
        (None, Some(path)) => read_text(&path)?,
        (None, None) => String::new(),
    };
    let options = ExecOptions {
        repo_path: current_dir()?,
        command: args.command,
        prompt,
        max_turns: args.max_turns,
        vm_options: VMOptions {
            size: args.vm_size,
            region: args.region,
            vm_name: args.vm_name,
            no_reuse: args.no_reuse,
            keep_vm: args.keep_vm,
            tunnel_port: args.port,
            azlin_extra_args: args.azlin,
        },
        timeout_minutes: args.timeout,
        skip_secret_scan: args.skip_secret_scan,
        api_key: client.agent_key().map(|(_, key)| key.expose().to_owned()).unwrap_or_default(),
    };
    let json = args.json;
    // The agent's output belongs to the person who waits; with --json stdout is the object's.
    let mut mask = render::LogMask::new(false);
    let mut show = |bytes: &[u8]| if json { Ok(()) } else { mask.show_bytes(bytes) };
    let driven = drive_interruptible(client.exec_with_output(options, state_file.as_deref(), &mut show));
    mask.show_rest().map_err(|error| CommandFailure::from_io_error("stdout could not be written", &error))?;
    let result = match driven? {
        InterruptibleResult::Done(result) => result,
        InterruptibleResult::Interrupted(code) => {
            ui::print_note(
                "hint",
                "the session continues; see 'amplihack remote list', then wait, pull or kill it",
            );
            return Ok(code);
        }
    };
    if json {
        let object =
            json!({ "exit_code": result.exit_code, "summary": result.summary, "vm_name": result.vm_name });
        ui::print_data(&json_line(&object)?)?;
    } else {
        ui::print_progress(&render::exec_result(&result));
    }
    Ok(render::clamp_exit_code(result.exit_code))
}

/// Starts a session a prompt; each has its own row and its own fate.
pub(super) fn start_sessions(client: Client, args: StartArgs) -> Result<u8, CommandFailure> {
    let (mut client, state_file) = place_client(client, args.place)?;
    if client.permissions.is_none() {
        warn_of_permissions();
    }
    client.idempotency_key = args.idempotency_key;
    client.fail_fast = args.fail_fast;
    let prompts = match args.prompt_file {
        Some(path) => split_tasks(&task_text(&path)?),
        None => args.prompts,
    };
    let options = StartOptions {
        repo_path: current_dir()?,
        prompts,
        command: args.command,
        max_turns: args.max_turns,
        size: args.size,
        region: args.region,
        tunnel_port: args.port,
        api_key: client.agent_key().map(|(_, key)| key.expose().to_owned()).unwrap_or_default(),
        state_file,
    };
    let started = match drive_interruptible(client.start_sessions(options))? {
        InterruptibleResult::Done(started) => started,
        InterruptibleResult::Interrupted(code) => {
            // A session that was sent before the signal runs on its machine.
            ui::print_note("hint", "see what was started: amplihack remote list --refresh");
            return Ok(code);
        }
    };
    let failed = started.rows.iter().filter(|row| row.outcome.is_err()).count();
    if args.json {
        let rows: Vec<Value> = started
            .rows
            .iter()
            .map(|row| match &row.outcome {
                Ok(session) => json!({ "prompt": row.prompt, "session": session }),
                Err(error) => json!({
                    "prompt": row.prompt,
                    "error": { "kind": error.kind(), "message": error.to_string(), "hint": error.hint(), "context": error.facts() },
                }),
            })
            .collect();
        ui::print_data(&json_line(
            &json!({ "sessions": rows, "started": started.rows.len() - failed, "failed": failed }),
        )?)?;
    } else {
        ui::print_visible(&render::started_sessions(&started))?;
        for row in &started.rows {
            if let Err(error) = &row.outcome {
                ui::print_note("error", format_args!("{}: {error}", render::shorten_prompt(&row.prompt)));
                if let Some(hint) = error.hint() {
                    ui::print_note("hint", hint);
                }
            }
        }
    }
    // The sessions that were started run on: a failure of one prompt ends no other.
    Ok(u8::from(failed > 0))
}
