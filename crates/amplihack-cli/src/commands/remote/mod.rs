//! `amplihack remote`: sessions on other machines.

mod args;
mod doctor;
mod output;
mod pool;
mod render;
mod start;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use amplihack_agent::Permissions;
use amplihack_remote::far::{Request, serve};
use amplihack_remote::{Client, KillOptions, ListOptions, RemoteError, Session, StatusOptions};
use amplihack_utils::env::Env;
use amplihack_utils::secret::Secret;
use amplihack_utils::sys;
use serde_json::json;

pub(crate) use args::RemoteCommand;
use args::{AttachArgs, KillArgs, ListArgs, PoolCommand, PullArgs, StatusArgs, WaitArgs, Where};

use super::{current_dir, runtime};
use crate::ui::{self, Failure, line};

/// Runs the command and returns the exit code.
pub(crate) fn run(command: RemoteCommand, env: &Env) -> Result<u8, Failure> {
    if let RemoteCommand::Runner { words } = &command {
        return runner(words, env);
    }
    let mut client = Client::new(env, &current_dir()?)?;
    client.program = sys::own_file().ok();
    match command {
        RemoteCommand::Exec(args) => start::exec(client, args),
        RemoteCommand::Start(args) => start::start(client, args),
        RemoteCommand::List(args) => list(&client, args),
        RemoteCommand::Output(args) => output::run(&client, args),
        RemoteCommand::Kill(args) => kill(&client, args),
        RemoteCommand::Status(args) => status(&client, args),
        RemoteCommand::Wait(args) => wait(&client, args),
        RemoteCommand::Pull(args) => pull(client, args),
        RemoteCommand::Attach(args) => attach(&client, args),
        RemoteCommand::Pool(PoolCommand::List(args)) => pool::list(&client, args),
        RemoteCommand::Pool(PoolCommand::Drain(args)) => pool::drain(&client, args),
        RemoteCommand::Pool(PoolCommand::Gc(args)) => pool::gc(&client, args),
        RemoteCommand::Doctor(args) => doctor::run(client, args),
        RemoteCommand::Runner { words } => runner(&words, env),
    }
}

/// Serves the far side's protocol, whatever is configured here.
fn runner(words: &[OsString], env: &Env) -> Result<u8, Failure> {
    let program =
        sys::own_file().map_err(|error| Failure::system("the program that runs cannot be found", &error))?;
    let version = words.first().cloned().unwrap_or_default();
    let again = [program.into_os_string(), "remote".into(), "runner".into(), version];
    let request = Request { again: &again, words, env };
    Ok(serve(&request, &mut io::stdin(), &mut io::stdout(), &mut io::stderr()))
}

/// Runs `future` to its end, or until this process is told to end: then what it holds is dropped, and the state file says the rest.
pub(super) fn drive<T>(future: impl Future<Output = Result<T, RemoteError>>) -> Result<Driven<T>, Failure> {
    runtime()?.block_on(async {
        let interrupts = amplihack_session::Interrupts::listen().stream();
        let mut interrupts = interrupts
            .map_err(|error| Failure::system("signals cannot be listened to", &error))?;
        tokio::select! {
            done = future => Ok(Driven::Done(done?)),
            signal = interrupts.next() => Ok(Driven::Interrupted(u8::try_from(128 + signal.as_raw()).unwrap_or(1))),
        }
    })
}

/// What came of a command.
pub(super) enum Driven<T> {
    /// It ended.
    Done(T),
    /// A signal ended it, with this exit code.
    Interrupted(u8),
}

/// The client as the options of a command say.
pub(super) fn placed(mut client: Client, place: Where) -> Result<(Client, Option<PathBuf>), Failure> {
    let Where {
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
    client.permissions = permissions.map(Permissions::from);
    client.host = host;
    client.labels = label;
    client.include_dirty = include_dirty;
    client.allow_secrets = allow_secret;
    client.max_vms = max_vms;
    client.upload = match upload {
        Some(path) if path.as_os_str().is_empty() => Some(
            sys::own_file()
                .map_err(|error| Failure::system("the program that runs cannot be found", &error))?,
        ),
        other => other,
    };
    for (name, value) in env {
        let value = value.or_else(|| client.variable(&name).map(Secret::new)).ok_or_else(|| {
            Failure::usage(
                format!("--env {name}: there is no such variable here"),
                format!("give it a value: --env {name}=VALUE"),
            )
        })?;
        client.env.push((name, value));
    }
    if io::stderr().is_terminal() {
        client.progress = Some(Arc::new(ui::plain));
    }
    Ok((client, state_file))
}

fn list(client: &Client, args: ListArgs) -> Result<u8, Failure> {
    let ListArgs { status, vm, refresh, common } = args;
    let options = ListOptions { status, state_file: common.state_file };
    let work = async {
        if refresh {
            client.refresh(options.state_file.as_deref()).await?;
        }
        client.listing(&options)
    };
    let mut listing = match drive(work)? {
        Driven::Done(listing) => listing,
        Driven::Interrupted(code) => return Ok(code),
    };
    if let Some(vm) = vm {
        listing.rows.retain(|row| row.session.vm_name == vm);
    }
    if common.json {
        ui::data(&pretty(&listing.rows)?)?;
    } else {
        ui::shown(&render::list(&listing.rows, jiff::Timestamp::now()))?;
    }
    render::unsettled(&listing.unsettled);
    Ok(0)
}

fn kill(client: &Client, args: KillArgs) -> Result<u8, Failure> {
    let KillArgs { session, force, common } = args;
    let options = KillOptions { session_id: session, force, state_file: common.state_file };
    let killed = match drive(client.kill(options))? {
        Driven::Done(killed) => killed,
        Driven::Interrupted(code) => return Ok(code),
    };
    if common.json {
        let object = json!({
            "session": killed.session,
            "remote_kill_attempted": killed.remote_kill_attempted,
            "remote_kill_succeeded": killed.remote_kill_succeeded,
            "capacity_released": killed.capacity_released,
        });
        ui::data(&line(&object)?)?;
    } else {
        ui::data(&render::killed(&killed))?;
        if killed.remote_kill_attempted && !killed.remote_kill_succeeded {
            ui::note(
                "warning",
                format_args!("{} did not answer: what runs there goes on", killed.session.vm_name),
            );
        }
    }
    Ok(0)
}

fn status(client: &Client, args: StatusArgs) -> Result<u8, Failure> {
    let StatusArgs { refresh, common } = args;
    let options = StatusOptions { state_file: common.state_file };
    let work = async {
        if refresh {
            client.refresh(options.state_file.as_deref()).await?;
        }
        let unsettled =
            client.listing(&ListOptions { status: None, state_file: options.state_file.clone() })?;
        Ok((client.status(options).await?, unsettled.unsettled))
    };
    let (status, unsettled) = match drive(work)? {
        Driven::Done(done) => done,
        Driven::Interrupted(code) => return Ok(code),
    };
    if common.json {
        ui::data(&pretty(&status)?)?;
    } else {
        ui::shown(&render::status(&status))?;
    }
    render::unsettled(&unsettled);
    Ok(0)
}

fn wait(client: &Client, args: WaitArgs) -> Result<u8, Failure> {
    let WaitArgs { sessions, any, timeout, common } = args;
    let waited = match drive(client.wait(&sessions, any, timeout, common.state_file.as_deref()))? {
        Driven::Done(waited) => waited,
        Driven::Interrupted(code) => return Ok(code),
    };
    if common.json {
        ui::data(&line(&json!({ "sessions": waited.sessions, "timed_out": waited.timed_out }))?)?;
    } else {
        ui::shown(&waited.sessions.iter().map(render::ended).collect::<String>())?;
    }
    if waited.timed_out {
        ui::note("error", "the time is over, and not all sessions have ended");
        return Ok(5);
    }
    let good = |session: &Session| session.exit_code == Some(0);
    Ok(u8::from(!waited.sessions.iter().filter(|session| session.status.is_final()).all(good)))
}

fn pull(mut client: Client, args: PullArgs) -> Result<u8, Failure> {
    let PullArgs { session, remove, discard_results, common } = args;
    client.discard_results = discard_results;
    let here = current_dir()?;
    let pulled = match drive(client.pull(&session, &here, remove, common.state_file.as_deref()))? {
        Driven::Done(pulled) => pulled,
        Driven::Interrupted(code) => return Ok(code),
    };
    if common.json {
        ui::data(&line(&json!({ "session_id": session, "summary": pulled }))?)?;
    } else {
        ui::shown(&render::summary(&session, pulled.as_ref()))?;
    }
    Ok(0)
}

fn attach(client: &Client, args: AttachArgs) -> Result<u8, Failure> {
    let AttachArgs { session, state_file } = args;
    let command = client.attach(&session, state_file.as_deref())?;
    Err(amplihack_session::become_program(command).into())
}

/// `value` as JSON for people and programs.
pub(super) fn pretty(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Failure::input(format!("a value has no JSON form: {error}")))
}
