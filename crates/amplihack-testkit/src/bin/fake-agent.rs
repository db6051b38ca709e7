//! A fake agent that is a real program: it writes down how it was called, then acts by a script.
//!
//! Called by an agent's name through a link. `FAKE_AGENT_LOG` is the file that records are appended to;
//! `FAKE_AGENT_SCRIPT_<NAME>`, else `FAKE_AGENT_SCRIPT`, is the script as JSON (`amplihack_testkit::Script`).

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use amplihack_config::env::Env;
use amplihack_testkit::hooked::FakeHooks;
use amplihack_testkit::procs;
use amplihack_testkit::record::{self, Record, StdinKind};
use amplihack_testkit::script::{Child, Kind, Script, StdinPlan, Step};
use rustix::process::{Signal, getpid, kill_process, setsid};

/// First argument of a left-behind process: `--fake-agent-child KIND MILLISECONDS MARKER`.
const CHILD: &str = "--fake-agent-child";
/// Set when the program has been started a second time with its signals ignored.
const ARMED: &str = "FAKE_AGENT_ARMED";
/// The exit code of a fake agent that cannot play its part.
const BROKEN: u8 = 97;

type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let outcome = if args.first().is_some_and(|first| first == CHILD) {
        be_child(&args[1..])
    } else {
        be_agent(&Env::from_process(), &args)
    };
    outcome.unwrap_or_else(|error| {
        // Nothing is left to tell if stderr itself is gone.
        let _ = writeln!(io::stderr(), "fake-agent: {error}");
        ExitCode::from(BROKEN)
    })
}

fn be_agent(env: &Env, args: &[OsString]) -> Outcome {
    let script = script(env)?;
    if !script.ignore.is_empty() && env.get(ARMED).is_none() {
        return Err(start_again_ignoring(&script.ignore, args).into());
    }
    let probe = args.first().is_some_and(|first| first == "--version");
    let stdin = if probe { None } else { read_stdin(script.stdin)? };
    if let Some(log) = env.path("FAKE_AGENT_LOG") {
        Record::of_this_process(env, &[ARMED], stdin.clone())?.append(&log)?;
    }
    if probe {
        sleep(Duration::from_millis(script.version_sleep_ms));
        let line = script.version.as_deref().unwrap_or_else(|| version_line(&record::called_by()));
        writeln!(io::stdout(), "{line}")?;
        return Ok(ExitCode::from(script.version_exit));
    }
    let mut hooks = (!script.without_hooks).then(|| FakeHooks::begin(env));
    for step in &script.steps {
        if let Some(code) = act(step, stdin.as_deref(), hooks.as_mut())? {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn script(env: &Env) -> Result<Script, String> {
    let own = format!("FAKE_AGENT_SCRIPT_{}", record::called_by().to_uppercase());
    let (name, text) = match (env.text(&own), env.text("FAKE_AGENT_SCRIPT")) {
        (Some(text), _) => (own.as_str(), text),
        (None, Some(text)) => ("FAKE_AGENT_SCRIPT", text),
        (None, None) => return Ok(Script::default()),
    };
    serde_json::from_str(text).map_err(|error| format!("{name} is no script: {error}"))
}

/// What the real CLIs print, by the name that the program was called by.
fn version_line(name: &str) -> &'static str {
    match name {
        "claude" => "2.1.332 (Claude Code)",
        "codex" => "codex-cli 0.171.0",
        "copilot" => "GitHub Copilot CLI 1.0.102.",
        "gemini" => "0.61.0",
        "amp" => "0.0.1790142911-g7618fb (released 2026-09-23T05:55:11.000Z, 65d ago)",
        "amplifier" => "amplifier, version 0.1.0",
        _ => "fake-agent 1.0.0",
    }
}

/// Becomes the same program with `signals` ignored, by the way of `env`: what is ignored stays so across exec.
fn start_again_ignoring(signals: &[String], args: &[OsString]) -> io::Error {
    let own = std::env::args_os().next().unwrap_or_default();
    ignoring(signals).arg(own).args(args).env(ARMED, "1").exec()
}

fn ignoring(signals: &[String]) -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.arg(format!("--ignore-signal={}", signals.join(",")));
    command
}

fn read_stdin(plan: StdinPlan) -> io::Result<Option<Vec<u8>>> {
    if StdinKind::of_this_process() == StdinKind::Tty {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    match plan {
        StdinPlan::Never => return Ok(None),
        StdinPlan::First(count) => {
            bytes.resize(count, 0);
            io::stdin().read_exact(&mut bytes)?;
            close_stdin()?;
        }
        StdinPlan::Read => drop(io::stdin().read_to_end(&mut bytes)?),
        StdinPlan::LateMs(wait) => {
            sleep(Duration::from_millis(wait));
            io::stdin().read_to_end(&mut bytes)?;
        }
    }
    Ok(Some(bytes))
}

/// Puts `/dev/null` in stdin's place, which closes the pipe.
fn close_stdin() -> io::Result<()> {
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok(())
}

fn act(
    step: &Step,
    stdin: Option<&[u8]>,
    hooks: Option<&mut FakeHooks>,
) -> Result<Option<ExitCode>, Box<dyn std::error::Error>> {
    match step {
        Step::Print(text) => {
            if let Some(hooks) = hooks {
                hooks.before(text.as_bytes());
            }
            put(io::stdout(), text.as_bytes())?;
        }
        Step::PrintError(text) => put(io::stderr(), text.as_bytes())?,
        Step::PrintBytes(count) => put(io::stdout(), &filler(*count))?,
        Step::PrintErrorBytes(count) => put(io::stderr(), &filler(*count))?,
        Step::EchoStdin => put(io::stdout(), stdin.unwrap_or_default())?,
        Step::SleepMs(wait) => sleep(Duration::from_millis(*wait)),
        Step::Child(child) => leave(child)?,
        Step::Shell(text) => shell(text, stdin, hooks)?,
        Step::Die(name) => return Err(die(name)?.into()),
        Step::Exit(code) => return Ok(Some(ExitCode::from(*code))),
    }
    Ok(None)
}

/// Runs a shell that finds on its stdin what the agent has read there, or the agent's own stdin if it has read nothing. Where its output is
/// a stream of events, hooks hear of the calls in it.
fn shell(text: &str, stdin: Option<&[u8]>, hooks: Option<&mut FakeHooks>) -> io::Result<()> {
    let hooks = hooks.filter(|_| std::env::args().any(|argument| argument.contains("json")));
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(text).env_remove(ARMED);
    if stdin.is_some() {
        command.stdin(Stdio::piped());
    }
    if hooks.is_some() {
        command.stdout(Stdio::piped());
    }
    let mut child = command.spawn()?;
    if let (Some(mut pipe), Some(stdin)) = (child.stdin.take(), stdin) {
        // A shell that does not read it is none the worse for that.
        let _ = pipe.write_all(stdin);
    }
    match (hooks, child.stdout.take()) {
        (Some(hooks), Some(output)) => forward(&mut child, output, hooks),
        _ => child.wait().map(drop),
    }
}

/// Prints what `child` prints, until it has ended and nothing more comes: what it leaves in the background may hold its output open.
fn forward(
    child: &mut std::process::Child,
    mut output: ChildStdout,
    hooks: &mut FakeHooks,
) -> io::Result<()> {
    // What the shell leaves in the background may hold its output open for ever.
    rustix::io::ioctl_fionbio(&output, true)?;
    let mut bytes = vec![0; 65536];
    loop {
        // Looked at before the output: all that an ended shell has written is there to be read.
        let has_ended = child.try_wait()?.is_some();
        loop {
            match output.read(&mut bytes) {
                Ok(0) => return child.wait().map(drop),
                Ok(count) => {
                    hooks.before(&bytes[..count]);
                    put(io::stdout(), &bytes[..count])?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if has_ended {
            return Ok(());
        }
        sleep(Duration::from_millis(2));
    }
}

fn put(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

fn filler(count: usize) -> Vec<u8> {
    (1..=count).map(|at| if at % 64 == 0 || at == count { b'\n' } else { b'x' }).collect()
}

fn die(name: &str) -> Result<String, String> {
    let signal = match name {
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "QUIT" => Signal::QUIT,
        "ABRT" => Signal::ABORT,
        "KILL" => Signal::KILL,
        "SEGV" => Signal::SEGV,
        "BUS" => Signal::BUS,
        "PIPE" => Signal::PIPE,
        "TERM" => Signal::TERM,
        _ => return Err(format!("no signal {name:?} in the fake agent's list")),
    };
    // The runtime's handler for stack overflows takes the first SIGSEGV or SIGBUS and then steps aside.
    for _ in 0..3 {
        kill_process(getpid(), signal).map_err(|error| format!("failed to send {name}: {error}"))?;
        sleep(Duration::from_millis(20));
    }
    Ok(format!("survived SIG{name}"))
}

fn leave(child: &Child) -> Result<(), Box<dyn std::error::Error>> {
    let own = std::env::current_exe()?;
    let mut command = if child.ignore.is_empty() {
        Command::new(own)
    } else {
        let mut command = ignoring(&child.ignore);
        command.arg(own);
        command
    };
    let kind = match child.kind {
        Kind::Plain => "plain",
        Kind::Session => "session",
        Kind::Daemon => "daemon",
    };
    command.arg(CHILD).arg(kind).arg(child.sleep_ms.to_string()).arg(&child.marker).env_remove(ARMED);
    command.stdin(Stdio::null());
    if !child.holds_output {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let mut started = command.spawn()?;
    match child.kind {
        Kind::Plain => {}
        Kind::Session => until_leads_session(started.id())?,
        Kind::Daemon => drop(started.wait()?),
    }
    Ok(())
}

fn until_leads_session(pid: u32) -> Result<(), Box<dyn std::error::Error>> {
    let end = Instant::now() + Duration::from_secs(10);
    while procs::one(pid).ok_or("the child ended before it had a session")?.sid != i32::try_from(pid)? {
        if Instant::now() > end {
            return Err("the child did not get a session of its own".into());
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn be_child(args: &[OsString]) -> Outcome {
    let [kind, wait, marker] = args else { return Err(format!("{CHILD} KIND MILLISECONDS MARKER").into()) };
    let wait: u64 = wait.to_str().unwrap_or_default().parse()?;
    if kind == "session" || kind == "daemon" {
        setsid()?;
    }
    if kind == "daemon" {
        let own = std::env::current_exe()?;
        let own: &Path = own.as_ref();
        Command::new(own).arg(CHILD).arg("plain").arg(wait.to_string()).arg(marker).spawn()?;
        return Ok(ExitCode::SUCCESS);
    }
    sleep(Duration::from_millis(wait));
    Ok(ExitCode::SUCCESS)
}
