//! `amplihack sandbox`: a command behind a border that the kernel keeps.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use amplihack_config::env::Env;
use amplihack_config::secret::is_secret_name;
use amplihack_sandbox::{
    CompiledSandbox, NOT_STARTED, SandboxMode, SandboxRequest, StageFile, changed_names, compile_sandbox,
    explain_path, set_aside_new,
};
use amplihack_session::ChildInput;
use amplihack_session::{InterruptSignals, ProcessOutput, RunSpec, TerminalMode, run_to_end};
use amplihack_sys::confine::{ConfinedNetwork, ConfinementLayers};
use amplihack_sys::error::ExitKind;
use amplihack_sys::{own_file, push_line};
use clap::{Args, Subcommand, ValueEnum};

use crate::commands::{build_runtime, current_dir};
use crate::ui::{self, CommandFailure};

/// Commands about the sandbox.
#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a command in the sandbox
    Run(SandboxRunArgs),
    /// Explain what a command in the sandbox may do with a path
    Explain(SandboxExplainArgs),
    /// Try every layer of the sandbox on this kernel
    Check,
}

// Options that describe a sandbox.
#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    /// Mode of the sandbox
    #[arg(long, value_enum, value_name = "MODE", default_value_t = SandboxModeArg::Workspace)]
    mode: SandboxModeArg,
    /// A path that may be changed, beside the workspace; repeatable
    #[arg(long = "write", value_name = "PATH")]
    writable: Vec<PathBuf>,
    /// A path that may be read, beside the rest; repeatable
    #[arg(long = "read", value_name = "PATH")]
    readable: Vec<PathBuf>,
    /// The network; default: open, and none with --mode strict
    #[arg(long, value_enum, value_name = "NETWORK")]
    network: Option<SandboxNetworkArg>,
}

// Options of `sandbox run`.
#[derive(Debug, Args)]
pub(crate) struct SandboxRunArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// A variable to pass although its name is that of a key or a token; repeatable
    #[arg(long, value_name = "NAME")]
    env: Vec<OsString>,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

// Options of `sandbox explain`.
#[derive(Debug, Args)]
pub(crate) struct SandboxExplainArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// The paths
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

/// Modes on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SandboxModeArg {
    /// The workspace may change; the home and the system may be read, but for keys
    Workspace,
    /// The workspace may change; nothing of the home is there, and no network
    Strict,
}

/// Networks on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SandboxNetworkArg {
    /// The network of this machine
    Open,
    /// A loopback device that leads nowhere
    None,
}

impl SandboxCommand {
    /// Reports whether the command only prints what there is.
    pub(crate) const fn only_prints(&self) -> bool {
        matches!(self, Self::Explain(_))
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run_sandbox_command(command: SandboxCommand, env: &Env) -> Result<u8, CommandFailure> {
    match command {
        SandboxCommand::Run(args) => run_in_sandbox(&args, env),
        SandboxCommand::Explain(args) => explain_paths(&args, env),
        SandboxCommand::Check => check_layers(env),
    }
}

impl SandboxArgs {
    fn compile(
        &self,
        program: Option<&std::path::Path>,
        env: &Env,
    ) -> Result<CompiledSandbox, CommandFailure> {
        let mode = match self.mode {
            SandboxModeArg::Workspace => SandboxMode::Workspace,
            SandboxModeArg::Strict => SandboxMode::Strict,
        };
        let network = self.network.map(|network| match network {
            SandboxNetworkArg::Open => ConfinedNetwork::Open,
            SandboxNetworkArg::None => ConfinedNetwork::None,
        });
        let directory = current_dir()?;
        let request = SandboxRequest {
            mode,
            directory: &directory,
            program,
            writable: &self.writable,
            readable: &self.readable,
            network,
        };
        Ok(compile_sandbox(&request, env)?)
    }
}

fn run_in_sandbox(args: &SandboxRunArgs, env: &Env) -> Result<u8, CommandFailure> {
    let (sandbox, command, stage) = match prepare_command(args, env) {
        Ok(prepared) => prepared,
        Err(failure) => {
            failure.show_failure(ui::ErrorFormat::Text);
            return Ok(NOT_STARTED);
        }
    };
    let output = wait_for(command);
    drop(stage);
    for path in changed_names(&sandbox.watched) {
        let text = format!(
            "{} was changed while the command ran: the sandbox did not hold it since then",
            path.display()
        );
        ui::print_note("warning", text);
    }
    let aside = set_aside_new(&sandbox.watched).map_err(|(path, error)| {
        let message = format!("{} appeared, and could not be set aside: {error}", path.display());
        CommandFailure::new(
            "set_aside",
            message,
            "look at it before anybody opens this work tree",
            ExitKind::Failed,
        )
    })?;
    for name in aside {
        let text = format!(
            "{} appeared, which is run or obeyed by whoever opens this work tree; it is {} now",
            name.path.display(),
            name.now.display()
        );
        ui::print_note("warning", text);
    }
    let exit = output?.exit.code();
    Ok(u8::try_from(exit).unwrap_or(1))
}

/// The sandbox, and the command that enters it with what that reads.
fn prepare_command(
    args: &SandboxRunArgs,
    env: &Env,
) -> Result<(CompiledSandbox, Command, StageFile), CommandFailure> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(CommandFailure::bad_usage("there is no command", "write it behind --"));
    };
    let path = std::path::Path::new(program);
    let sandbox = args.sandbox.compile(path.is_absolute().then_some(path), env)?;
    let stage = StageFile::write(&sandbox.confinement())?;
    let mut command = stage.command(&own_program()?, program, arguments);
    let (passed, left): (Vec<_>, Vec<_>) =
        env.iter().partition(|(name, _)| !is_secret_name(name) || args.env.iter().any(|asked| asked == name));
    command.env_clear().envs(passed);
    if !left.is_empty() {
        let names: Vec<_> = left.iter().map(|(name, _)| name.to_string_lossy()).collect();
        let names = names.join(", ");
        ui::print_note("note", format!("left out of the environment: {names} (--env NAME passes one)"));
    }
    Ok((sandbox, command, stage))
}

fn own_program() -> Result<PathBuf, CommandFailure> {
    own_file().map_err(|error| CommandFailure::from_io_error("this program could not be found", &error))
}

fn wait_for(command: Command) -> Result<ProcessOutput, CommandFailure> {
    let spec = RunSpec {
        stdin: ChildInput::Inherit,
        terminal: TerminalMode::Owned,
        clean_environment: true,
        subreaper: true,
        interrupts: InterruptSignals::listen_from_now(),
        ..RunSpec::new(command)
    };
    Ok(build_runtime()?.block_on(run_to_end(spec))?)
}

fn explain_paths(args: &SandboxExplainArgs, env: &Env) -> Result<u8, CommandFailure> {
    let sandbox = args.sandbox.compile(None, env)?;
    let directory = current_dir()?;
    let mut text = String::new();
    for path in &args.paths {
        let found = explain_path(&sandbox, &directory.join(path));
        push_line!(text, "{:<8} {}: {}", found.access, found.path.display(), found.reason);
        if let Some(option) = found.option {
            push_line!(text, "         more: amplihack sandbox run {option} …");
        }
    }
    ui::print_data(&text)?;
    Ok(0)
}

/// A layer with what it holds that the others do not.
const LAYERS: [(&str, &str, ConfinementLayers); 3] = [
    (
        "namespaces",
        "files that are not named, protected names in the workspace, other processes, the network, leftovers",
        ConfinementLayers { namespaces: true, landlock: false, seccomp: false },
    ),
    (
        "landlock",
        "files behind mounts, abstract sockets",
        ConfinementLayers { namespaces: false, landlock: true, seccomp: false },
    ),
    (
        "seccomp",
        "system calls that reach around the others",
        ConfinementLayers { namespaces: false, landlock: false, seccomp: true },
    ),
];

fn check_layers(env: &Env) -> Result<u8, CommandFailure> {
    let directory = tempfile::tempdir()
        .map_err(|error| CommandFailure::from_io_error("no directory to try in could be made", &error))?;
    let request = SandboxRequest {
        mode: SandboxMode::Strict,
        directory: directory.path(),
        program: None,
        writable: &[],
        readable: &[],
        network: None,
    };
    let sandbox = compile_sandbox(&request, env)?;
    let (mut text, mut all_hold) = (String::new(), true);
    for (name, holds, layers) in LAYERS {
        let confinement = amplihack_sys::confine::Confinement { layers, ..sandbox.confinement() };
        let stage = StageFile::write(&confinement)?;
        let mut command = stage.command(&own_program()?, "/bin/true".as_ref(), &[]);
        command.env_clear().envs(env.iter());
        let spec = RunSpec {
            stderr: amplihack_session::ChildOutput::Tail(4096),
            subreaper: true,
            ..RunSpec::new(command)
        };
        let output = build_runtime()?.block_on(run_to_end(spec))?;
        if output.exit.is_success() {
            push_line!(text, "holds    {name}: {holds}");
        } else {
            let said = String::from_utf8_lossy(&output.stderr.bytes);
            let why = said.trim().trim_start_matches("error: ");
            push_line!(text, "missing  {name}: {holds}\n         {why}");
            all_hold = false;
        }
    }
    ui::print_data(&text)?;
    Ok(if all_hold { 0 } else { ExitKind::Failed.code() })
}
