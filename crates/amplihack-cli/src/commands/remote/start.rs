//! `remote exec` and `remote start`.

use amplihack_orchestration::parallel::tasks;
use amplihack_remote::{Client, ExecOptions, StartOptions, VMOptions};
use amplihack_utils::error::Explain;
use serde_json::{Value, json};

use super::args::{ExecArgs, StartArgs};
use super::{Driven, drive, placed, render};
use crate::commands::current_dir;
use crate::input::text_of;
use crate::ui::{self, Failure, line};

/// Works on one prompt until its end, and ends with the agent's exit code.
pub(super) fn exec(client: Client, args: ExecArgs) -> Result<u8, Failure> {
    let (client, state_file) = placed(client, args.place)?;
    let prompt = match (args.prompt, args.prompt_file) {
        (Some(prompt), _) => prompt,
        (None, Some(path)) => text_of(&path)?,
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
        api_key: client.key().map(|(_, key)| key.expose().to_owned()).unwrap_or_default(),
    };
    let json = args.json;
    // The agent's output belongs to the person who waits; with --json stdout is the object's.
    let mut mask = render::Mask::new(false);
    let mut show = |bytes: &[u8]| if json { Ok(()) } else { mask.show(bytes) };
    let driven = drive(client.exec_showing(options, state_file.as_deref(), &mut show));
    mask.finish().map_err(|error| Failure::system("stdout could not be written", &error))?;
    let result = match driven? {
        Driven::Done(result) => result,
        Driven::Interrupted(code) => {
            ui::note("hint", "the session goes on; see 'amplihack remote list', then wait, pull or kill it");
            return Ok(code);
        }
    };
    if json {
        let object =
            json!({ "exit_code": result.exit_code, "summary": result.summary, "vm_name": result.vm_name });
        ui::data(&line(&object)?)?;
    } else {
        ui::progress(&render::exec(&result));
    }
    Ok(render::low(result.exit_code))
}

/// Starts a session a prompt; each has its own row and its own fate.
pub(super) fn start(client: Client, args: StartArgs) -> Result<u8, Failure> {
    let (mut client, state_file) = placed(client, args.place)?;
    client.idempotency_key = args.idempotency_key;
    client.fail_fast = args.fail_fast;
    let prompts = match args.prompt_file {
        Some(path) => tasks(&text_of(&path)?),
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
        api_key: client.key().map(|(_, key)| key.expose().to_owned()).unwrap_or_default(),
        state_file,
    };
    let started = match drive(client.start(options))? {
        Driven::Done(started) => started,
        Driven::Interrupted(code) => {
            ui::note("hint", "see what was started: amplihack remote list --refresh");
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
        ui::data(&line(
            &json!({ "sessions": rows, "started": started.rows.len() - failed, "failed": failed }),
        )?)?;
    } else {
        ui::shown(&render::started(&started))?;
        for row in &started.rows {
            if let Err(error) = &row.outcome {
                ui::note("error", format_args!("{}: {error}", render::short(&row.prompt)));
                if let Some(hint) = error.hint() {
                    ui::note("hint", hint);
                }
            }
        }
    }
    Ok(u8::from(failed > 0))
}
