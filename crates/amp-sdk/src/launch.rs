//! From options to a process: the CLI, its environment, its directory, here or on another machine.

#[cfg(feature = "ssh")]
mod remote;
mod scrub;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "governed")]
use amplihack_agent::lookup::is_executable;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::new_session_id;
use amplihack_session::{CapturedOutput, ChildInput, ProcessOutput, RunEnd};

use crate::cli::{AmpCli, CliSource, resolve_cli};
#[cfg(feature = "governed")]
use crate::error::Error;
use crate::error::{CliEnd, Result, StderrTail};
#[cfg(feature = "governed")]
use crate::governed::GovernedAuthority;
use crate::options::Options;
use crate::surface::ExecutionSurface;
#[cfg(feature = "ssh")]
use crate::surface::SshSurface;

/// Version of the SDK that the CLI is told.
const SDK_VERSION: &str = concat!("rust-", env!("CARGO_PKG_VERSION"));

/// Everything that a start of the CLI needs besides its arguments and its input. Options that led to it are checked.
pub(crate) struct CliLaunch {
    program: CliLocation,
    cwd: Option<PathBuf>,
    /// The whole environment, here; only what is given by name, elsewhere.
    env: Env,
    /// Values that must not be seen.
    hidden: Vec<String>,
    governed: bool,
}

enum CliLocation {
    Here(AmpCli),
    #[cfg(feature = "ssh")]
    There {
        ssh: SshSurface,
        program: PathBuf,
        base: Env,
    },
}

impl CliLaunch {
    /// Finds the CLI for `options`, which are checked. Starts nothing.
    pub(crate) fn new(options: &Options) -> Result<Self> {
        #[cfg(feature = "governed")]
        if let Some(authority) = &options.governed_authority {
            return Self::from_authority(authority);
        }
        let base = base_environment(options);
        let program = match &options.execution_surface {
            ExecutionSurface::Local => {
                let mut looked_in = base.clone();
                for (name, value) in &options.env {
                    looked_in.set_variable(name, value);
                }
                let variable = options.env.get("AMP_CLI_PATH").filter(|path| {
                    !path.is_empty() && !amplihack_sys::sabotage::is_active("amp-cli-variable")
                });
                let path = match (&options.cli_path, variable) {
                    (Some(path), _) => Some((path.as_path(), CliSource::Option)),
                    (None, Some(path)) => Some((Path::new(path), CliSource::Variable)),
                    (None, None) => None,
                };
                CliLocation::Here(resolve_cli(path, &looked_in)?)
            }
            #[cfg(feature = "ssh")]
            ExecutionSurface::Ssh(ssh) => CliLocation::There {
                program: remote::find_ssh(ssh, &base)?,
                ssh: ssh.clone(),
                base: base.clone(),
            },
        };
        let here = matches!(program, CliLocation::Here(_));
        let mut env = if here { base } else { Env::empty() };
        for (name, value) in &options.env {
            let is_lost = name == "AMP_API_KEY" && amplihack_sys::sabotage::is_active("amp-given-key")
                || name == "AMP_URL" && amplihack_sys::sabotage::is_active("amp-given-url")
                || !name.starts_with("AMP_") && amplihack_sys::sabotage::is_active("amp-given-variables");
            // The path of a program here means nothing there.
            if (here || name != "AMP_CLI_PATH" || amplihack_sys::sabotage::is_active("amp-ssh-path"))
                && !is_lost
            {
                env.set_variable(name, value);
            }
        }
        if let Some(toolbox) = &options.toolbox
            && !amplihack_sys::sabotage::is_active("amp-option-toolbox")
        {
            env.set_variable("AMP_TOOLBOX", toolbox);
        }
        if !amplihack_sys::sabotage::is_active("amp-sdk-version") {
            env.set_variable("AMP_SDK_VERSION", SDK_VERSION);
        }
        Ok(Self { program, cwd: options.cwd.clone(), env, hidden: Vec::new(), governed: false })
    }

    #[cfg(feature = "governed")]
    /// Command, directory and environment of an authority, and nothing else.
    fn from_authority(authority: &GovernedAuthority) -> Result<Self> {
        if !is_executable(&authority.command)
            || authority.command.canonicalize().ok().as_ref() != Some(&authority.command)
        {
            return Err(Error::invalid_option(
                "governed_authority",
                "command is no executable file, or leads through a link; materialise it anew",
            ));
        }
        if authority.cwd.as_ref().is_some_and(|cwd| !cwd.is_dir()) {
            return Err(Error::invalid_option(
                "governed_authority",
                "cwd is no directory; materialise it anew",
            ));
        }
        let cli =
            AmpCli { program: authority.command.clone(), leading: Vec::new(), source: CliSource::Authority };
        let mut env: Env = authority.env.iter().collect();
        if amplihack_sys::sabotage::is_active("amp-governed-environment") {
            env.set_variable("HOME", "/");
        }
        Ok(Self {
            program: CliLocation::Here(cli),
            cwd: authority.cwd.clone(),
            env,
            hidden: if amplihack_sys::sabotage::is_active("amp-governed-redaction") {
                Vec::new()
            } else {
                authority.hidden_values()
            },
            governed: true,
        })
    }

    /// The CLI on this machine.
    #[cfg_attr(
        not(feature = "ssh"),
        expect(clippy::unnecessary_wraps, reason = "only another machine has none here")
    )]
    pub(crate) fn local_program(&self) -> Option<&Path> {
        match &self.program {
            CliLocation::Here(cli) => Some(cli.leading.first().map_or(cli.program.as_path(), Path::new)),
            #[cfg(feature = "ssh")]
            CliLocation::There { .. } => None,
        }
    }

    /// The environment that the CLI gets, for looking up files of the user.
    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    /// The process that runs the CLI with `args`, and what its standard input is to be. `stdin` reaches the CLI byte for byte.
    ///
    /// On another machine the environment goes in front of it on the same pipe, so that no command line holds it.
    #[cfg_attr(
        not(feature = "ssh"),
        expect(clippy::unnecessary_wraps, reason = "only another machine may fail")
    )]
    pub(crate) fn build_command(
        &self,
        args: &[OsString],
        stdin: Option<Vec<u8>>,
    ) -> Result<(Command, ChildInput)> {
        match &self.program {
            CliLocation::Here(cli) => {
                let mut command = Command::new(&cli.program);
                command.args(&cli.leading).args(args).env_clear().envs(self.env.iter());
                if let Some(cwd) = &self.cwd
                    && !amplihack_sys::sabotage::is_active("amp-option-cwd")
                {
                    command.current_dir(cwd);
                }
                Ok((command, stdin.map_or(ChildInput::Null, ChildInput::Bytes)))
            }
            #[cfg(feature = "ssh")]
            CliLocation::There { ssh, program, base } => {
                let mut command = Command::new(program);
                command
                    .args(remote::ssh_arguments(ssh, self.cwd.as_deref(), args)?)
                    .env_clear()
                    .envs(base.iter());
                let mut bytes = remote::variables_preamble(&self.env)?;
                bytes.extend(stdin.unwrap_or_default());
                Ok((command, ChildInput::Bytes(bytes)))
            }
        }
    }

    /// The name by which descendants of the process are found again. None in governed runs, whose environment is the authority's alone.
    pub(crate) fn process_tag(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if self.governed {
            return String::new();
        }
        // Without random numbers the process and a count have to do.
        new_session_id().map_or_else(
            |_| format!("amp-sdk-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)),
            |id| format!("amp-sdk-{id}"),
        )
    }

    /// Returns the end of the CLI, with nothing in it that must not be seen.
    pub(crate) fn cli_end(&self, output: &ProcessOutput) -> CliEnd {
        CliEnd::from_run_end(RunEnd::from_output(output), self.stderr_tail(&output.stderr))
    }

    /// The tail of stderr, with nothing in it that must not be seen.
    pub(crate) fn stderr_tail(&self, captured: &CapturedOutput) -> StderrTail {
        let text = String::from_utf8_lossy(&captured.bytes);
        StderrTail { text: self.hide_values(&text), truncated: captured.dropped > 0 }
    }
}

/// Returns the base environment without Amp's own variables, which are given explicitly or not at all.
fn base_environment(options: &Options) -> Env {
    let given =
        options.base_env.clone().filter(|_| !amplihack_sys::sabotage::is_active("amp-base-environment"));
    let base = given.unwrap_or_else(Env::from_process);
    let ours = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"AMP_")
            && !name.starts_with(b"AMP_TEST_")
            && !amplihack_sys::sabotage::is_active("amp-ambient")
    };
    base.iter().filter(|(name, _)| !ours(name)).collect()
}
