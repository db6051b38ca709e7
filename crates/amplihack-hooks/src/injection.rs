//! Hooks for one launch: nothing is installed, nothing is written into the repository, nothing stays behind.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::SessionId;
use amplihack_config::secret::Secret;
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};

use crate::answer_code::AnswerCode;
use crate::error::HookError;
use crate::guard::{PolicySnapshot, SNAPSHOT_FILE};
use crate::host::{HostLaunchHooks, LaunchContext, hook_host};
use crate::inline_commands::text_with_commands;
use crate::once::ASIDE_PREFIX;
use crate::registration::{HookProgram, RegistrationFacts, build_hooks};

/// The hooks of one launch, described. Nothing is written before [`Injection::write`].
#[derive(Debug, Clone)]
pub struct Injection {
    /// Values for the agent's row for hooks: a plugin directory, or a value for every event.
    pub values: Vec<OsString>,
    /// The directory of this launch; the hooks report to a socket in it.
    pub directory: PathBuf,
    /// The program that answers the hooks.
    pub program: PathBuf,
    /// The policy of the launch, in a file of that directory.
    pub snapshot: PolicySnapshot,
    /// Variables of the agent that stood in the user's own settings.
    pub variables: Vec<(String, Secret)>,
    /// The policy file by which the agent asks about every call, where it calls no hooks.
    pub asking: Option<PathBuf>,
    /// The text with commands in it that keeps the agent from being made to ask before each call.
    pub unasked_text: Option<PathBuf>,
    /// Files below the directory, with their text.
    files: Vec<(&'static str, String)>,
}

/// The start of a launch's agent, as its hooks need to know it.
#[derive(Debug, Clone, Copy)]
pub struct StartContext<'a> {
    /// The agent's environment.
    pub env: &'a Env,
    /// The agent's working directory.
    pub cwd: &'a Path,
    /// The user's own value of the flag that carries the hooks, see [`amplihack_agent::take_own_settings`].
    pub theirs: Option<&'a OsStr>,
    /// `true` if the agent is kept from the repository, see [`crate::acting`].
    pub is_held: bool,
    /// The user's own arguments for it.
    pub words: &'a [OsString],
}

/// The directory of a launch's hooks. Dropping it removes it.
#[derive(Debug)]
pub struct InjectedDirectory {
    directory: PathBuf,
}

/// The hooks of one launch of `agent` from `env`, answered by `program` by the policy in `snapshot`, with everything of theirs in
/// `directory`.
pub fn build_injection(
    agent: AgentBinary,
    program: &HookProgram,
    directory: &Path,
    facts: RegistrationFacts<'_>,
    snapshot: &PolicySnapshot,
    started: StartContext<'_>,
) -> Result<Injection, HookError> {
    let pin = snapshot.pin_hash();
    let io = |source| HookError::Io { path: directory.to_owned(), source };
    let code = AnswerCode::random_code().map_err(io)?;
    let host = hook_host(agent).map_err(|instead| HookError::NoHooks { binary: agent, instead })?;
    let is_to_ask = facts.skips_permissions && host.asks_before_each;
    // Where each call is asked about, commands inside of skills fail, which nobody can be asked about.
    let unasked_text = is_to_ask.then(|| text_with_commands(&started)).flatten();
    let skips_permissions = is_to_ask && unasked_text.is_none();
    let StartContext { env, cwd, theirs, is_held, .. } = started;
    let facts =
        // The pinned policy has its mode in it.
        RegistrationFacts { host: Some(agent), policy: None, launch: Some(directory), code: Some(code), pin: Some(&pin), skips_permissions, ..facts };
    let hooks = build_hooks(agent, program, facts)?;
    let asking = host.asks_by.map(|(name, _)| directory.join(name));
    let HostLaunchHooks { values, mut files, variables } = (host.bring)(&LaunchContext {
        hooks: &hooks,
        directory,
        env,
        cwd,
        theirs,
        asks_before_each: skips_permissions,
        is_held,
    })?;
    let variables = variables.into_iter().map(|(name, value)| (name, value.into())).collect();
    files.push((SNAPSHOT_FILE, snapshot.text().to_owned()));
    files.extend(host.asks_by.map(|(name, text)| (name, text.to_owned())));
    Ok(Injection {
        values,
        directory: directory.to_owned(),
        program: program.path.clone(),
        snapshot: snapshot.clone(),
        variables,
        asking,
        unasked_text,
        files,
    })
}

/// The directories in which the hooks of the launch `session` may be, the best first: with the session, with the temporary files, and,
/// which only root can write, where root's programs keep what they need while they run.
pub fn launch_directories(env: &Env, session: &SessionId) -> Vec<PathBuf> {
    let aside = |parent: PathBuf| parent.join(format!("{ASIDE_PREFIX}{session}"));
    let own = env.amplihack_home().map(|home| session.directory(&home).join("hooks"));
    own.into_iter().chain([aside(env.temporary_dir()), aside("/run".into())]).collect()
}

/// Reports whether `agent` would read the hooks of a launch from `directory`. An agent that has no hooks does not care.
pub fn reads_hooks_from(agent: AgentBinary, directory: &Path) -> bool {
    hook_host(agent).ok().is_none_or(|host| (host.reads)(directory))
}

impl Injection {
    /// The files that the launch writes: the registration and what the hooks judge by.
    pub fn file_paths(&self) -> impl Iterator<Item = PathBuf> {
        self.files.iter().map(|(name, _)| self.directory.join(name))
    }

    /// Makes the directory, for this user only, and the files in it.
    pub fn write(&self) -> Result<InjectedDirectory, HookError> {
        let io = |source| HookError::Io { path: self.directory.clone(), source };
        create_private_dir(self.directory.parent().unwrap_or(&self.directory)).map_err(io)?;
        // One that is there already is somebody else's.
        DirBuilder::new().mode(0o700).create(&self.directory).map_err(io)?;
        let written = InjectedDirectory { directory: self.directory.clone() };
        for (name, text) in &self.files {
            let path = self.directory.join(name);
            create_private_dir(path.parent().unwrap_or(&self.directory)).map_err(io)?;
            write_atomic(&path, text.as_bytes(), 0o600, WriteDurability::Process).map_err(io)?;
        }
        Ok(written)
    }
}

impl InjectedDirectory {
    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for InjectedDirectory {
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
        let facts = RegistrationFacts { headless: true, ..RegistrationFacts::default() };
        let program = HookProgram::from_binary("/opt/it's \"here\"/amplihack-hooks");
        let snapshot = PolicySnapshot::capture(&Env::empty(), directory, "standard", None).unwrap();
        let started =
            StartContext { env: &Env::empty(), cwd: directory, theirs: None, is_held: false, words: &[] };
        build_injection(host, &program, directory, facts, &snapshot, started).unwrap()
    }

    #[test]
    fn copilots_private_directory_goes_away() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("launch");
        let injection = of(AgentBinary::Copilot, &directory);
        assert_eq!(injection.values, [directory.as_os_str()]);
        assert!(!directory.exists(), "nothing is written before it is asked for");
        let written = injection.write().unwrap();
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        let text = fs::read_to_string(directory.join("hooks/hooks.json")).unwrap();
        guards(&serde_json::from_str(&text).unwrap(), AgentBinary::Copilot, &directory);
        let manifest = fs::read_to_string(directory.join(".claude-plugin/plugin.json")).unwrap();
        assert!(manifest.contains("\"name\": \"amplihack\""));
        drop(written);
        assert!(!directory.exists());
    }

    /// Asserts that settings in Claude's format hold the guard's command, and the longest time for it.
    fn guards(settings: &Value, host: AgentBinary, directory: &Path) {
        let guard = &settings["hooks"]["PreToolUse"][0];
        assert_eq!(guard["matcher"], "*");
        assert_eq!(guard["hooks"][0]["timeout"], 2_147_483);
        let command = guard["hooks"][0]["command"].as_str().unwrap();
        let start = format!(
            "'/opt/it'\\''s \"here\"/amplihack-hooks' pre-tool-use --host {host} --headless --launch {} --pin ",
            directory.display()
        );
        let (_, rest) = command.split_once(&start).unwrap();
        let pin = rest.split(' ').next().unwrap();
        assert!(!directory.exists() || PolicySnapshot::open(directory, pin).is_ok(), "{command}");
    }

    fn claude(facts: RegistrationFacts<'_>, theirs: &str, cwd: &Path) -> Result<Value, String> {
        let program = HookProgram::from_binary("/opt/it's \"here\"/amplihack-hooks");
        let started = StartContext {
            env: &Env::empty(),
            cwd,
            theirs: Some(OsStr::new(theirs)),
            is_held: false,
            words: &[],
        };
        let snapshot = PolicySnapshot::capture(&Env::empty(), cwd, "standard", None).unwrap();
        let directory = Path::new("/nonexistent/launch");
        let injection = build_injection(AgentBinary::Claude, &program, directory, facts, &snapshot, started);
        let injection = injection.map_err(|error| error.to_string())?;
        Ok(serde_json::from_str(injection.values[0].to_str().unwrap()).unwrap())
    }

    #[test]
    fn claudes_settings_carry_the_guard_in_front_of_the_users_own() {
        let base = tempfile::tempdir().unwrap();
        let theirs = r#"{"model": "m", "env": {"KEY": "s3cret"}, "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}], "Setup": []}}"#;
        fs::write(base.path().join("s.json"), theirs).unwrap();
        let facts = RegistrationFacts { headless: true, ..RegistrationFacts::default() };
        for given in [theirs, "s.json"] {
            let settings = claude(facts, given, base.path()).unwrap();
            guards(&settings, AgentBinary::Claude, Path::new("/nonexistent/launch"));
            assert_eq!(settings["disableAllHooks"], false);
            assert_eq!(settings["model"], "m");
            // What a file kept from other users is not shown to them.
            assert_eq!(settings["env"]["KEY"].is_null(), given == "s.json");
            assert_eq!(settings["env"]["LD_PRELOAD"], "");
            assert_eq!(settings["hooks"]["PreToolUse"][1]["hooks"][0]["command"], "x");
            assert!(settings["hooks"]["Setup"].is_array() && settings["hooks"]["Stop"].is_array());
        }
        for (bad, why) in [
            (r#"{"disableAllHooks": true}"#, "disableAllHooks"),
            (r#"{"disableAllHooks": "true"}"#, "disableAllHooks"),
            (r#"{"hooks": []}"#, "no JSON object"),
            (r#"{"hooks": {"PreToolUse": {}}}"#, "PreToolUse"),
            ("{", "line 1"),
            ("missing.json", "missing.json"),
        ] {
            let error = claude(facts, bad, base.path()).unwrap_err();
            assert!(error.contains(why) && error.contains("--no-hooks"), "{bad}: {error}");
        }
    }

    #[test]
    fn claude_asks_a_hook_before_each_call_where_nobody_else_is_asked() {
        let of = |theirs: &str, skips_permissions| {
            claude(
                RegistrationFacts { skips_permissions, ..RegistrationFacts::default() },
                theirs,
                Path::new("/"),
            )
        };
        let settings = of(r#"{"permissions": {"ask": ["Read"], "deny": ["Bash(x)"]}}"#, true).unwrap();
        assert_eq!(settings["permissions"]["ask"], serde_json::json!(["Read", "*"]));
        assert_eq!(settings["permissions"]["deny"][0], "Bash(x)");
        let command = settings["hooks"]["PermissionRequest"][0]["hooks"][0]["command"].as_str().unwrap();
        assert!(
            command.contains(" permission-request --host claude ") && command.contains(" --code "),
            "{command}"
        );
        let settings = of("{}", false).unwrap();
        assert!(settings["permissions"].is_null() && settings["hooks"]["PermissionRequest"].is_null());
        for bad in [r#"{"permissions": []}"#, r#"{"permissions": {"ask": "Bash"}}"#] {
            assert!(of(bad, true).unwrap_err().contains("permissions"), "{bad}");
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
    fn codex_takes_its_hooks_as_one_value_with_its_trust_in_them() {
        let base = tempfile::tempdir().unwrap();
        let injection = of(AgentBinary::Codex, &base.path().join("launch"));
        let [value] = &injection.values[..] else { panic!("{:?}", injection.values) };
        let value: toml::Table = toml::from_str(value.to_str().unwrap()).unwrap();
        let hook = &value["hooks"]["PreToolUse"][0]["hooks"][0];
        let command = hook["command"].as_str().unwrap();
        assert!(command.starts_with("'/opt/it'\\''s \"here\"/amplihack-hooks' pre-tool-use --host codex"));
        assert!(command.ends_with("exit 2 ;; esac"));
        assert_eq!(hook["timeout"].as_integer(), Some(2_147_483));
        assert_eq!(value["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"].as_integer(), Some(3));
        let state = value["hooks"]["state"].as_table().unwrap();
        let trust = &state["/<session-flags>/config.toml:pre_tool_use:0:0"];
        assert_eq!(trust["enabled"].as_bool(), Some(true));
        assert!(trust["trusted_hash"].as_str().unwrap().starts_with("sha256:"));
        assert_eq!(state.len(), value["hooks"].as_table().unwrap().len() - 1, "every hook is trusted");
        let written = injection.write().unwrap();
        assert!(written.directory().is_dir(), "the hooks report to a socket in it");
    }
}
