//! Search for an agent's program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_sys as sys;
use amplihack_sys::error::{ErrorExplanation, ExitKind};

use crate::profile::agent_profile;

/// An agent's program cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The program is nowhere.
    #[error("{agent} was not found on PATH or in its usual install locations")]
    NotFound {
        /// The agent.
        agent: AgentBinary,
    },
    /// The configured path is not a program.
    #[error("{configured_by} names {}, which is not an executable file", path.display())]
    NotExecutable {
        /// The agent.
        agent: AgentBinary,
        /// Path that was configured.
        path: PathBuf,
        /// The variable or configuration key.
        configured_by: String,
    },
    /// The configured path is amplihack, which would start itself for ever.
    #[error("{configured_by} names {}, which is amplihack itself", path.display())]
    Itself {
        /// Path that was configured.
        path: PathBuf,
        /// The variable or configuration key.
        configured_by: String,
    },
}

impl ErrorExplanation for LookupError {
    fn kind(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "agent_not_found",
            Self::NotExecutable { .. } => "agent_not_executable",
            Self::Itself { .. } => "agent_is_amplihack",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        ExitKind::NotFound
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { agent } => format!(
                "install it: {}; or name it in AMPLIHACK_{}_PATH",
                agent_profile(*agent).install_hint,
                agent.name().to_uppercase()
            ),
            Self::NotExecutable { configured_by, .. } | Self::Itself { configured_by, .. } => {
                format!("correct {configured_by}, or remove it to look on PATH")
            }
        })
    }
}

/// Finds the program of `agent`: `configured` (a path and what configured it), then PATH, then its install places.
///
/// Reads no file but asks for its kind and mode; nothing is installed or started. Entries of PATH need not be UTF-8.
/// Amplihack itself under an agent's name (see `amplihack copilot shim`) is no agent and is passed over.
///
/// # Errors
/// [`LookupError::NotExecutable`] or [`LookupError::Itself`] if the configured path is no program or is amplihack; nothing else is tried
/// then. [`LookupError::NotFound`] if the program is nowhere.
pub fn find_program(
    agent: AgentBinary,
    configured: Option<(&Path, &str)>,
    env: &Env,
) -> Result<PathBuf, LookupError> {
    if let Some((path, configured_by)) = configured {
        return if is_amplihack(path) {
            Err(LookupError::Itself { path: path.to_owned(), configured_by: configured_by.to_owned() })
        } else if is_executable(path) {
            // Absolute from here on: it is asked for its version elsewhere, and a bare name would be looked for on PATH.
            Ok(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
        } else {
            Err(LookupError::NotExecutable {
                agent,
                path: path.to_owned(),
                configured_by: configured_by.to_owned(),
            })
        };
    }
    let is_agent = |path: &PathBuf| is_executable(path) && !is_amplihack(path);
    let on_path =
        env.get("PATH").and_then(|path| in_directories(agent_profile(agent).program, path).find(is_agent));
    let installed = || {
        let home = env.home()?;
        agent_profile(agent).install_places.iter().map(|place| home.join(place)).find(is_agent)
    };
    on_path.or_else(installed).ok_or(LookupError::NotFound { agent })
}

/// The first executable file `program` in the directories of `path`. Empty and relative entries are passed over:
/// what they name depends on where one stands.
pub fn on_path(program: &str, path: &OsStr) -> Option<PathBuf> {
    in_directories(program, path).find(|candidate| is_executable(candidate))
}

fn in_directories(program: &str, path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    directories.map(move |directory| directory.join(program))
}

/// Reports whether `path` leads to this program, or to another amplihack. One that was given another name is known only to itself.
fn is_amplihack(path: &Path) -> bool {
    let Ok(real) = std::fs::canonicalize(path) else { return false };
    real.file_name().is_some_and(|name| name == "amplihack") || sys::own_file().is_ok_and(|own| own == real)
}

/// Reports whether `path` is a file that somebody may execute.
pub fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn program(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_configured_path_is_absolute_from_here_on() {
        // The directory of a unit test is that of its crate.
        let found =
            find_program(AgentBinary::Claude, Some((Path::new("../../install.sh"), "x")), &Env::empty());
        assert!(found.is_ok_and(|path| path.is_absolute()));
    }

    #[test]
    fn configured_then_path_then_install_places() {
        let dir = tempfile::tempdir().unwrap();
        let (home, bin) = (dir.path().join("home"), dir.path().join("bin"));
        let env = Env::empty().with_variable("HOME", home.as_os_str()).with_variable("PATH", bin.as_os_str());
        let agent = AgentBinary::Amp;
        assert_eq!(find_program(agent, None, &env), Err(LookupError::NotFound { agent }));
        program(&home.join(".amp/bin/amp"));
        assert_eq!(find_program(agent, None, &env), Ok(home.join(".amp/bin/amp")));
        program(&bin.join("amp"));
        assert_eq!(find_program(agent, None, &env), Ok(bin.join("amp")));
        let own = dir.path().join("mine");
        let configured = Some((own.as_path(), "AMPLIHACK_AMP_PATH"));
        let error = find_program(agent, configured, &env).unwrap_err();
        assert_eq!(error.kind(), "agent_not_executable");
        assert!(error.to_string().starts_with("AMPLIHACK_AMP_PATH names "));
        program(&own);
        assert_eq!(find_program(agent, configured, &env), Ok(own));
    }

    #[test]
    fn amplihack_under_an_agents_name_is_no_agent() {
        let dir = tempfile::tempdir().unwrap();
        let (shims, bin) = (dir.path().join("shims"), dir.path().join("bin"));
        program(&dir.path().join("amplihack"));
        std::fs::create_dir(&shims).unwrap();
        let shim = shims.join("copilot");
        std::os::unix::fs::symlink("../amplihack", &shim).unwrap();
        let env = Env::empty().with_variable("PATH", std::env::join_paths([&shims, &bin]).unwrap());
        let agent = AgentBinary::Copilot;
        assert_eq!(find_program(agent, None, &env), Err(LookupError::NotFound { agent }));
        program(&bin.join("copilot"));
        assert_eq!(find_program(agent, None, &env), Ok(bin.join("copilot")));
        let configured = find_program(agent, Some((&shim, "AMPLIHACK_COPILOT_PATH")), &env).unwrap_err();
        assert_eq!(configured.kind(), "agent_is_amplihack");
    }

    #[test]
    fn path_need_not_be_utf8_and_relative_entries_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join(std::ffi::OsString::from_vec(b"bin-\xff".to_vec()));
        program(&odd.join("codex"));
        let mut path = std::ffi::OsString::from(".::relative:");
        path.push(&odd);
        assert_eq!(on_path("codex", &path), Some(odd.join("codex")));
        assert_eq!(on_path("codex", OsStr::new(".::")), None);
    }
}
