//! Hooks for one launch: nothing is installed, nothing is written into the repository, nothing stays behind.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;
use amplihack_utils::fs::{Durability, create_private_dir, write_atomic};

use crate::error::HookError;
use crate::host::{Brought, host};
use crate::registration::{Facts, Program, hooks};

/// The hooks of one launch, described. Nothing is written before [`Injection::write`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// What the agent's row for hooks takes: a plugin directory, or one value for every event.
    pub values: Vec<OsString>,
    /// The directory of this launch; the hooks note denials there.
    pub directory: PathBuf,
    /// Files below the directory, with their text.
    files: Vec<(&'static str, String)>,
}

/// The directory of a launch's hooks. Dropping it removes it.
#[derive(Debug)]
pub struct Written {
    directory: PathBuf,
}

/// The hooks of one launch of `agent` from `env`, answered by `program`, with everything of theirs in `directory`.
pub fn injection(
    agent: AgentBinary,
    program: &Program,
    directory: &Path,
    facts: Facts<'_>,
    env: &Env,
) -> Result<Injection, HookError> {
    let facts = Facts { host: Some(agent), launch: Some(directory), ..facts };
    let hooks = hooks(agent, program, facts)?;
    let host = host(agent).map_err(|instead| HookError::NoHooks { binary: agent, instead })?;
    let Brought { values, files } = (host.bring)(&hooks, directory, env)?;
    Ok(Injection { values, directory: directory.to_owned(), files })
}

/// Whether `agent` would read the hooks of a launch from `directory`. One that has no hooks does not care.
pub fn reads(agent: AgentBinary, directory: &Path) -> bool {
    host(agent).ok().is_none_or(|host| (host.reads)(directory))
}

impl Injection {
    /// Makes the directory, for this user only, and the files in it.
    pub fn write(&self) -> Result<Written, HookError> {
        let io = |source| HookError::Io { path: self.directory.clone(), source };
        create_private_dir(self.directory.parent().unwrap_or(&self.directory)).map_err(io)?;
        // One that is there already is somebody else's.
        DirBuilder::new().mode(0o700).create(&self.directory).map_err(io)?;
        let written = Written { directory: self.directory.clone() };
        crate::guard::expect_denials(&self.directory).map_err(io)?;
        for (name, text) in &self.files {
            let path = self.directory.join(name);
            create_private_dir(path.parent().unwrap_or(&self.directory)).map_err(io)?;
            write_atomic(&path, text.as_bytes(), 0o600, Durability::Process).map_err(io)?;
        }
        Ok(written)
    }
}

impl Written {
    /// The rules behind the calls that were denied so far. `None`: the guard's reports are gone, and nobody knows.
    pub fn denials(&self) -> Option<Vec<String>> {
        crate::guard::denials(&self.directory)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            tracing::debug!(%error, "the directory of a launch's hooks stays behind");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use serde_json::Value;

    use super::*;

    fn of(host: AgentBinary, directory: &Path) -> Injection {
        let facts = Facts { headless: true, ..Facts::default() };
        let program = Program::binary("/opt/it's \"here\"/amplihack-hooks");
        injection(host, &program, directory, facts, &Env::empty()).unwrap()
    }

    #[test]
    fn one_private_directory_serves_claude_and_copilot_and_goes_away() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("launch");
        for host in [AgentBinary::Claude, AgentBinary::Copilot] {
            let injection = of(host, &directory);
            assert_eq!(injection.values, [directory.as_os_str()]);
            assert!(!directory.exists(), "nothing is written before it is asked for");
            let written = injection.write().unwrap();
            assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
            let text = fs::read_to_string(directory.join("hooks/hooks.json")).unwrap();
            let hooks: Value = serde_json::from_str(&text).unwrap();
            let guard = &hooks["hooks"]["PreToolUse"][0];
            assert_eq!(guard["matcher"], "*");
            assert_eq!(guard["hooks"][0]["timeout"], 10);
            let command = guard["hooks"][0]["command"].as_str().unwrap();
            let start = format!(
                "'/opt/it'\\''s \"here\"/amplihack-hooks' pre-tool-use --host {host} --headless --launch {} || {{",
                directory.display()
            );
            assert!(command.starts_with(&start), "{command}");
            let manifest = fs::read_to_string(directory.join(".claude-plugin/plugin.json")).unwrap();
            assert!(manifest.contains("\"name\": \"amplihack\""));
            drop(written);
            assert!(!directory.exists());
        }
    }

    #[test]
    fn a_directory_that_is_there_already_is_not_taken() {
        let base = tempfile::tempdir().unwrap();
        let error = of(AgentBinary::Claude, base.path()).write().unwrap_err();
        assert!(matches!(error, HookError::Io { .. }), "{error}");
        assert!(base.path().exists());
    }

    #[test]
    fn codex_takes_its_hooks_as_values() {
        let base = tempfile::tempdir().unwrap();
        let injection = of(AgentBinary::Codex, &base.path().join("launch"));
        let values: Vec<_> = injection.values.iter().map(|value| value.to_str().unwrap()).collect();
        let guard = values.iter().find(|value| value.starts_with("hooks.PreToolUse=")).unwrap();
        let value: toml::Table = toml::from_str(guard).unwrap();
        let hook = &value["hooks"]["PreToolUse"][0]["hooks"][0];
        let command = hook["command"].as_str().unwrap();
        assert!(command.starts_with("'/opt/it'\\''s \"here\"/amplihack-hooks' pre-tool-use --host codex"));
        assert!(command.ends_with("exit 2; }"));
        assert_eq!(hook["timeout"].as_integer(), Some(10));
        let written = injection.write().unwrap();
        assert!(base.path().join("launch").is_dir(), "denials are noted there");
        assert_eq!(written.denials(), Some(Vec::new()));
    }
}
