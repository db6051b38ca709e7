//! Location of the Amp CLI.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_agent::lookup::{self, is_executable};
use amplihack_config::env::Env;

use crate::error::{Error, Result};

/// The setting or place that led to the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CliSource {
    /// `Options::cli_path`.
    Option,
    /// `AMP_CLI_PATH` in `Options::env`.
    Variable,
    /// `~/.amp/bin/amp`.
    AmpHome,
    /// `~/.local/bin/amp`.
    LocalBin,
    /// PATH.
    Path,
    /// A governed authority.
    Authority,
}

/// The CLI: what to execute, and the words in front of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AmpCli {
    /// The program: the CLI, or node.
    pub program: PathBuf,
    /// The `.js` file for node, else nothing.
    pub leading: Vec<OsString>,
    /// The setting or place that led to the program.
    pub source: CliSource,
}

/// Finds the CLI: `cli_path`, then `~/.amp/bin/amp` and `~/.local/bin/amp`, then PATH of `env`. A configured path that is no program
/// is an error, nothing else is tried then. A `.js` file is run by the `node` on PATH.
pub(crate) fn resolve_cli(cli_path: Option<(&Path, CliSource)>, env: &Env) -> Result<AmpCli> {
    if let Some((path, source)) = cli_path {
        return configured_cli(path, source, env);
    }
    let home = env.home();
    let mut places = [(".amp/bin/amp", CliSource::AmpHome), (".local/bin/amp", CliSource::LocalBin)];
    if amplihack_sys::sabotage::is_active("amp-cli-official") {
        places.reverse();
    }
    for (place, source) in places {
        let Some(program) = home.as_ref().map(|home| home.join(place)) else { continue };
        if is_executable(&program)
            && !(source == CliSource::LocalBin && amplihack_sys::sabotage::is_active("amp-cli-link"))
        {
            return Ok(AmpCli { program, leading: Vec::new(), source });
        }
    }
    match env
        .get("PATH")
        .filter(|_| !amplihack_sys::sabotage::is_active("amp-cli-path"))
        .and_then(|path| lookup::on_path("amp", path))
    {
        Some(program) => Ok(AmpCli { program, leading: Vec::new(), source: CliSource::Path }),
        None => Err(Error::CliNotFound {
            looked: "it is neither ~/.amp/bin/amp nor ~/.local/bin/amp nor on PATH".to_owned(),
        }),
    }
}

fn configured_cli(path: &Path, source: CliSource, env: &Env) -> Result<AmpCli> {
    let name = if source == CliSource::Option { "Options::cli_path" } else { "AMP_CLI_PATH" };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if path.extension().is_some_and(|extension| extension == "js")
        && absolute.is_file()
        && !amplihack_sys::sabotage::is_active("amp-cli-node")
    {
        let node = env.get("PATH").and_then(|path| lookup::on_path("node", path));
        let program = node.ok_or_else(|| Error::CliNotFound {
            looked: format!("{name} names {}, which needs node, and node is not on PATH", path.display()),
        })?;
        return Ok(AmpCli { program, leading: vec![absolute.into()], source });
    }
    if is_executable(&absolute) {
        return Ok(AmpCli { program: absolute, leading: Vec::new(), source });
    }
    Err(Error::CliNotFound {
        looked: format!("{name} names {}, which is no executable file", path.display()),
    })
}

#[cfg(test)]
mod tests {
    use amplihack_testkit::programs::program;

    use super::*;

    #[test]
    fn places_are_tried_in_the_order_of_the_seed() {
        let dir = tempfile::tempdir().unwrap();
        let (home, bin) = (dir.path().join("home"), dir.path().join("bin"));
        let env = Env::empty().with_variable("HOME", home.as_os_str()).with_variable("PATH", bin.as_os_str());
        let found = |env: &Env| resolve_cli(None, env).map(|cli| (cli.program, cli.source));
        assert_eq!(found(&env).unwrap_err().exit_code(), Some(127));
        for (place, source) in [
            (bin.join("amp"), CliSource::Path),
            (home.join(".local/bin/amp"), CliSource::LocalBin),
            (home.join(".amp/bin/amp"), CliSource::AmpHome),
        ] {
            program(&place, 0o755);
            assert_eq!(found(&env).unwrap(), (place, source));
        }
        let own = dir.path().join("mine");
        let configured = |path: &Path| resolve_cli(Some((path, CliSource::Variable)), &env);
        insta::assert_snapshot!(
            configured(Path::new("/nowhere/amp")).unwrap_err(),
            @"find the Amp CLI: AMP_CLI_PATH names /nowhere/amp, which is no executable file; install it (npm install -g @ampcode/cli) or name it in Options::cli_path"
        );
        program(&own, 0o000);
        assert_eq!(configured(&own).unwrap_err().kind(), "cli_not_found");
        program(&own, 0o755);
        assert_eq!(configured(&own).unwrap().program, own);
    }

    #[test]
    fn a_script_of_node_is_run_by_node() {
        let dir = tempfile::tempdir().unwrap();
        let (script, bin) = (dir.path().join("main.js"), dir.path().join("bin"));
        program(&script, 0o644);
        let env = Env::empty().with_variable("PATH", bin.as_os_str());
        let cli = || resolve_cli(Some((&script, CliSource::Option)), &env);
        assert!(cli().unwrap_err().to_string().contains("node is not on PATH"));
        program(&bin.join("node"), 0o755);
        let cli = cli().unwrap();
        assert_eq!((cli.program, cli.leading), (bin.join("node"), vec![script.into_os_string()]));
    }
}
