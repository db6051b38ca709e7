//! `amplihack remote`: sessions on other machines.

mod args;
mod doctor;
mod output;
mod pool;
mod render;
mod start;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use amplihack_agent::PermissionLevel;
use amplihack_config::env::Env;
use amplihack_config::secret::Secret;
use amplihack_remote::{Client, KillOptions, ListOptions, RemoteError, Session, StatusOptions};
use amplihack_sys as sys;
use serde_json::json;

pub(crate) use args::RemoteCommand;
use args::{
    AttachArgs, KillArgs, PoolCommand, PullArgs, RemoteListArgs, RemotePlacementArgs, StatusArgs, WaitArgs,
};

use super::{build_runtime, current_dir};
use crate::ui::{self, CommandFailure, json_line};

/// Runs the command and returns the exit code.
pub(crate) fn run_remote_command(command: RemoteCommand, env: &Env) -> Result<u8, CommandFailure> {
    let mut client = Client::new(env, &current_dir()?)?;
    client.program = sys::own_file().ok();
    match command {
        RemoteCommand::Exec(args) => start::exec_prompt(client, args),
        RemoteCommand::Start(args) => start::start_sessions(client, args),
        RemoteCommand::List(args) => list_sessions(&client, args),
        RemoteCommand::Output(args) => output::show_output(&client, args),
        RemoteCommand::Kill(args) => kill_session(&client, args),
        RemoteCommand::Status(args) => show_status(&client, args),
        RemoteCommand::Wait(args) => wait_sessions(&client, args),
        RemoteCommand::Pull(args) => pull_session(client, args),
        RemoteCommand::Attach(args) => attach_session(&client, args),
        RemoteCommand::Pool(PoolCommand::List(args)) => pool::list_machines(&client, args),
        RemoteCommand::Pool(PoolCommand::Drain(args)) => pool::drain_machine(&client, args),
        RemoteCommand::Pool(PoolCommand::Gc(args)) => pool::release_idle(&client, args),
        RemoteCommand::Doctor(args) => doctor::run_remote_doctor(client, args),
    }
}

/// Runs `future` to its end, or until this process is told to end: then what it holds is dropped, and the state file says the rest.
pub(super) fn drive_interruptible<T>(
    future: impl Future<Output = Result<T, RemoteError>>,
) -> Result<InterruptibleResult<T>, CommandFailure> {
    build_runtime()?.block_on(async {
        let interrupts = amplihack_session::InterruptSignals::listen_from_now().open_stream();
        let mut interrupts = interrupts
            .map_err(|error| CommandFailure::from_io_error("signals cannot be listened to", &error))?;
        let signal = tokio::select! {
            done = future => match done {
                Ok(done) => return Ok(InterruptibleResult::Done(done)),
                Err(error) => {
                    let interrupted = tokio::time::timeout(SIGNAL_DELAY, interrupts.next()).await;
                    interrupted.map_err(|_| error)?
                }
            },
            signal = interrupts.next() => signal,
        };
        Ok(InterruptibleResult::Interrupted(u8::try_from(128 + signal.as_raw()).unwrap_or(1)))
    })
}

/// Time for a signal to arrive after an error. A terminal interrupts the processes of a command as well, whose end may be noticed first.
const SIGNAL_DELAY: Duration = Duration::from_millis(50);

/// Result of a command that a signal can end.
pub(super) enum InterruptibleResult<T> {
    /// The result of the command that ended by itself.
    Done(T),
    /// A signal ended it, with this exit code.
    Interrupted(u8),
}

/// The client as the options of a command say.
pub(super) fn place_client(
    mut client: Client,
    place: RemotePlacementArgs,
) -> Result<(Client, Option<PathBuf>), CommandFailure> {
    let RemotePlacementArgs {
        backend,
        host,
        label,
        agent,
        permissions,
        env,
        include_dirty,
        allow_secret,
        upload,
        max_vms,
        state_file,
    } = place;
    client.backend = backend.or(client.backend);
    client.agent = agent.unwrap_or(client.agent);
    client.permissions = permissions.map(PermissionLevel::from);
    client.host = host;
    client.labels = label;
    client.include_dirty = include_dirty;
    client.allow_secrets = allow_secret;
    client.max_vms = max_vms;
    client.upload = match upload {
        Some(path) if path.as_os_str().is_empty() => Some(sys::own_file().map_err(|error| {
            CommandFailure::from_io_error("the program that runs cannot be found", &error)
        })?),
        other => other,
    };
    for (name, value) in env {
        // A name alone takes the value from here: a secret then stands in no command line, which every user can read.
        let value = value.or_else(|| client.env_variable(&name).map(Secret::new)).ok_or_else(|| {
            CommandFailure::bad_usage(
                format!("--env {name}: there is no such variable here"),
                format!("give it a value: --env {name}=VALUE"),
            )
        })?;
        client.env.push((name, value));
    }
    if io::stderr().is_terminal() {
        client.progress = Some(Arc::new(ui::print_line));
    }
    Ok((client, state_file))
}

fn list_sessions(client: &Client, args: RemoteListArgs) -> Result<u8, CommandFailure> {
    let RemoteListArgs { status, vm, refresh, common } = args;
    let options = ListOptions { status, state_file: common.state_file };
    let work = async {
        if refresh {
            client.refresh_sessions(options.state_file.as_deref()).await?;
        }
        client.session_listing(&options)
    };
    let mut listing = match drive_interruptible(work)? {
        InterruptibleResult::Done(listing) => listing,
        InterruptibleResult::Interrupted(code) => return Ok(code),
    };
    if let Some(vm) = vm {
        listing.rows.retain(|row| row.session.vm_name == vm);
    }
    if common.json {
        ui::print_data(&pretty_json(&listing.rows)?)?;
    } else {
        ui::print_visible(&render::session_table(&listing.rows, jiff::Timestamp::now()))?;
    }
    render::note_unsettled(&listing.unsettled);
    Ok(0)
}

fn kill_session(client: &Client, args: KillArgs) -> Result<u8, CommandFailure> {
    let KillArgs { session, force, common } = args;
    let options = KillOptions { session_id: session, force, state_file: common.state_file };
    let killed = match drive_interruptible(client.kill_session(options))? {
        InterruptibleResult::Done(killed) => killed,
        InterruptibleResult::Interrupted(code) => return Ok(code),
    };
    if common.json {
        let object = json!({
            "session": killed.session,
            "remote_kill_attempted": killed.remote_kill_attempted,
            "remote_kill_succeeded": killed.remote_kill_succeeded,
            "capacity_released": killed.capacity_released,
        });
        ui::print_data(&json_line(&object)?)?;
    } else {
        ui::print_data(&render::kill_result(&killed))?;
        if killed.remote_kill_attempted && !killed.remote_kill_succeeded {
            ui::print_note(
                "warning",
                format_args!("{} did not answer; its sessions continue", killed.session.vm_name),
            );
        }
    }
    Ok(0)
}

fn show_status(client: &Client, args: StatusArgs) -> Result<u8, CommandFailure> {
    let StatusArgs { refresh, common } = args;
    let options = StatusOptions { state_file: common.state_file };
    let work = async {
        if refresh {
            client.refresh_sessions(options.state_file.as_deref()).await?;
        }
        let unsettled =
            client.session_listing(&ListOptions { status: None, state_file: options.state_file.clone() })?;
        Ok((client.remote_status(options).await?, unsettled.unsettled))
    };
    let (status, unsettled) = match drive_interruptible(work)? {
        InterruptibleResult::Done(done) => done,
        InterruptibleResult::Interrupted(code) => return Ok(code),
    };
    if common.json {
        ui::print_data(&pretty_json(&status)?)?;
    } else {
        ui::print_visible(&render::pool_status(&status))?;
    }
    render::note_unsettled(&unsettled);
    Ok(0)
}

fn wait_sessions(client: &Client, args: WaitArgs) -> Result<u8, CommandFailure> {
    let WaitArgs { sessions, any, timeout, common } = args;
    let waited = match drive_interruptible(client.wait_for_sessions(
        &sessions,
        any,
        timeout,
        common.state_file.as_deref(),
    ))? {
        InterruptibleResult::Done(waited) => waited,
        InterruptibleResult::Interrupted(code) => return Ok(code),
    };
    if common.json {
        ui::print_data(&json_line(&json!({ "sessions": waited.sessions, "timed_out": waited.timed_out }))?)?;
    } else {
        ui::print_visible(&waited.sessions.iter().map(render::session_end).collect::<String>())?;
    }
    if waited.timed_out {
        ui::print_note("error", "the time given by --timeout has passed, and not all sessions have ended");
        return Ok(5);
    }
    let good = |session: &Session| session.exit_code == Some(0);
    Ok(u8::from(!waited.sessions.iter().filter(|session| session.status.is_final()).all(good)))
}

fn pull_session(mut client: Client, args: PullArgs) -> Result<u8, CommandFailure> {
    let PullArgs { session, remove, discard_results, common } = args;
    client.discard_results = discard_results;
    let here = current_dir()?;
    let pulled = match drive_interruptible(client.pull_results(
        &session,
        &here,
        remove,
        common.state_file.as_deref(),
    ))? {
        InterruptibleResult::Done(pulled) => pulled,
        InterruptibleResult::Interrupted(code) => return Ok(code),
    };
    if common.json {
        ui::print_data(&json_line(&json!({ "session_id": session, "summary": pulled }))?)?;
    } else {
        ui::print_visible(&render::pull_summary(&session, pulled.as_ref()))?;
    }
    Ok(0)
}

fn attach_session(client: &Client, args: AttachArgs) -> Result<u8, CommandFailure> {
    let AttachArgs { session, state_file } = args;
    let command = client.attach_command(&session, state_file.as_deref())?;
    Err(amplihack_session::become_program(command).into())
}

/// `value` as JSON for people and programs.
pub(super) fn pretty_json(value: &impl serde::Serialize) -> Result<String, CommandFailure> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| CommandFailure::bad_input(format!("a value has no JSON form: {error}")))
}
