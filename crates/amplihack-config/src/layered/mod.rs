//! Configuration in layers, each value with the place that it came from.

mod error;
mod file;
mod keys;
mod layer;
mod trust;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent_binary::AgentBinary;
use crate::env::Env;
use crate::repository::repository_root;

pub use error::{ConfigError, ConfigWarning, IgnoredSetting};
pub use keys::{ConfigKey, ConfigValue, ConfigValueKind, KEYS, RepositoryReach};
pub use layer::{ConfigLayer, ConfigOrigin};
pub use trust::{TrustChange, record_trust};

use file::ConfigFileLine as Line;
use keys::{ConfigKeyInstance, key_instances, similar_key};

/// The system's configuration file.
pub const SYSTEM_FILE: &str = "/etc/amplihack/config.toml";

/// The configuration file of a repository, below its root.
pub const REPOSITORY_FILE: &str = ".amplihack/config.toml";

const TRUSTED_REPOSITORIES: &str = "trusted_repositories";

/// The user's configuration file: below `XDG_CONFIG_HOME`, else `~/.config`. `None` if neither is an absolute path.
pub fn user_file(env: &Env) -> Option<PathBuf> {
    Some(env.config_home()?.join("amplihack/config.toml"))
}

/// A value of the command line for one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigOverride {
    /// The key.
    pub key: String,
    /// The value as it was given.
    pub value: String,
    /// The flag, to be named in messages.
    pub flag: String,
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSetting {
    /// The value.
    pub value: ConfigValue,
    /// Place that the value came from.
    pub origin: ConfigOrigin,
}

/// Line of `config show --origin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry<'a> {
    /// The key.
    pub key: String,
    /// Value of the key as text.
    pub value: String,
    /// Place that the value came from.
    pub origin: &'a ConfigOrigin,
}

/// The configuration of one process: all layers, merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayeredConfig {
    settings: BTreeMap<String, ConfigSetting>,
    /// The repository's root, if there is one.
    pub repository: Option<PathBuf>,
    /// Values that do not count where they stand.
    pub ignored: Vec<IgnoredSetting>,
    /// Warnings about what else has no effect.
    pub warnings: Vec<ConfigWarning>,
}

impl LayeredConfig {
    /// Loads all layers for a process that works in `cwd`.
    ///
    /// Precedence, lowest first: built-in, [`SYSTEM_FILE`], [`user_file`], [`REPOSITORY_FILE`], environment, `overrides`. An
    /// untrusted repository's file sets only what [`RepositoryReach`] lets it; the rest of it is in `ignored`.
    ///
    /// # Errors
    /// A file that cannot be read, is not TOML or gives a key a value that it cannot have; a variable or an override likewise,
    /// but for an unknown word in a variable, which is a warning.
    pub fn load(env: &Env, cwd: &Path, overrides: &[ConfigOverride]) -> Result<Self, ConfigError> {
        Self::load_with(Path::new(SYSTEM_FILE), env, cwd, overrides)
    }

    /// Loads all layers, with another system file.
    pub fn load_with(
        system: &Path,
        env: &Env,
        cwd: &Path,
        overrides: &[ConfigOverride],
    ) -> Result<Self, ConfigError> {
        let mut config = Self::built_in();
        config.add_file(ConfigLayer::System, system)?;
        if let Some(file) = user_file(env) {
            config.add_file(ConfigLayer::User, &file)?;
        }
        config.repository = repository_root(cwd, env);
        if let Some(root) = &config.repository {
            let file = root.join(REPOSITORY_FILE);
            config.add_file(ConfigLayer::Repository, &file)?;
        }
        config.add_environment(env)?;
        config.add_overrides(overrides)?;
        Ok(config)
    }

    fn built_in() -> Self {
        let value = |key: &ConfigKey| key.kind.parse_text(OsStr::new(key.default?));
        let settings = KEYS
            .iter()
            .filter_map(|key| {
                let setting = ConfigSetting { value: value(key)?, origin: ConfigOrigin::BUILT_IN };
                Some((key.name.to_owned(), setting))
            })
            .collect();
        Self { settings, repository: None, ignored: Vec::new(), warnings: Vec::new() }
    }

    fn add_file(&mut self, layer: ConfigLayer, file: &Path) -> Result<(), ConfigError> {
        for line in file::read_entries(file)? {
            let origin = |line| ConfigOrigin { line: Some(line), ..ConfigOrigin::new(layer, file.display()) };
            match line {
                Line::Known { instance, value, line } => self.admit_value(&instance, value, origin(line)),
                Line::Unknown { key, line } => {
                    let suggestion = similar_key(&key);
                    self.warnings.push(ConfigWarning::UnknownKey { key, origin: origin(line), suggestion });
                }
            }
        }
        Ok(())
    }

    /// Takes a value if it may come from there, else keeps it as ignored.
    fn admit_value(&mut self, instance: &ConfigKeyInstance, value: ConfigValue, origin: ConfigOrigin) {
        match self.refusal_reason(instance, &value, origin.layer) {
            None => self.set_value(&instance.name, value, origin),
            Some(why) => {
                self.ignored.push(IgnoredSetting {
                    key: instance.name.clone(),
                    value: value.to_string(),
                    origin,
                    why,
                });
            }
        }
    }

    fn refusal_reason(
        &self,
        instance: &ConfigKeyInstance,
        value: &ConfigValue,
        layer: ConfigLayer,
    ) -> Option<&'static str> {
        let untrusted = layer == ConfigLayer::Repository
            && !self.repository.as_deref().is_some_and(|root| self.is_trusted(root));
        match instance.key.reach {
            RepositoryReach::UserOnly if layer != ConfigLayer::User => {
                Some("only the user's own file may set it")
            }
            RepositoryReach::Trusted if untrusted => {
                Some("this repository is not trusted; see `amplihack config trust`")
            }
            RepositoryReach::Lower if untrusted => {
                match (value, self.get(&instance.name).map(|setting| &setting.value)) {
                    (ConfigValue::Number(new), Some(ConfigValue::Number(old))) if new <= old => None,
                    _ => Some(
                        "a repository that is not trusted may only lower it; see `amplihack config trust`",
                    ),
                }
            }
            _ => None,
        }
    }

    fn set_value(&mut self, name: &str, value: ConfigValue, origin: ConfigOrigin) {
        self.settings.insert(name.to_owned(), ConfigSetting { value, origin });
    }

    fn add_environment(&mut self, env: &Env) -> Result<(), ConfigError> {
        for ConfigKeyInstance { key, name, variable } in key_instances() {
            let Some(variable) = variable else { continue };
            // Blank is unset; a program's name is taken as it is, UTF-8 or not.
            let Some(text) =
                env.get(&variable).filter(|text| text.to_str().is_none_or(|text| !text.trim().is_empty()))
            else {
                continue;
            };
            let origin = ConfigOrigin::new(ConfigLayer::Environment, &variable);
            match (key.kind.parse_text(text), key.kind) {
                (Some(value), _) => self.set_value(&name, value, origin),
                (None, ConfigValueKind::Word(words)) => {
                    let instead = words.first().copied().unwrap_or_default().to_owned();
                    self.set_value(&name, ConfigValue::Word(instead.clone()), origin);
                    self.warnings.push(ConfigWarning::UnknownWord {
                        variable,
                        expected: words.join(", "),
                        instead,
                    });
                }
                (None, kind) => {
                    return Err(ConfigError::Variable { variable, expected: kind.expected_text() });
                }
            }
        }
        Ok(())
    }

    fn add_overrides(&mut self, overrides: &[ConfigOverride]) -> Result<(), ConfigError> {
        let known = key_instances();
        for ConfigOverride { key, value, flag } in overrides {
            let Some(instance) = known.iter().find(|instance| instance.name == *key) else {
                let (flag, key) = (flag.clone(), key.clone());
                return Err(ConfigError::UnknownKey { suggestion: similar_key(&key), flag, key });
            };
            let kind = instance.key.kind;
            let value = kind
                .parse_text(OsStr::new(value))
                .ok_or_else(|| ConfigError::Flag { flag: flag.clone(), expected: kind.expected_text() })?;
            self.admit_value(instance, value, ConfigOrigin::new(ConfigLayer::CommandLine, flag));
        }
        Ok(())
    }

    /// The setting of a key, if it has one.
    pub fn get(&self, name: &str) -> Option<&ConfigSetting> {
        self.settings.get(name)
    }

    /// All settings in the order of [`KEYS`].
    pub fn list_entries(&self) -> Vec<ConfigEntry<'_>> {
        let entry = |name: String| {
            let ConfigSetting { value, origin } = self.get(&name)?;
            Some(ConfigEntry { value: value.to_string(), key: name, origin })
        };
        key_instances().into_iter().filter_map(|instance| entry(instance.name)).collect()
    }

    /// `prompt_delivery`: `auto`, `argv`, `tempfile` or `stdin`.
    pub fn prompt_delivery(&self) -> &str {
        match self.get("prompt_delivery") {
            Some(ConfigSetting { value: ConfigValue::Word(word), .. }) => word,
            _ => "auto",
        }
    }

    /// `policy`: `standard`, `strict` or `observe`.
    pub fn policy(&self) -> &str {
        match self.get("policy") {
            Some(ConfigSetting { value: ConfigValue::Word(word), .. }) => word,
            _ => "standard",
        }
    }

    /// `require_proof`: whether a launch needs a guard that was proved.
    pub fn require_proof(&self) -> bool {
        matches!(self.get("require_proof"), Some(ConfigSetting { value: ConfigValue::Flag(true), .. }))
    }

    /// `prompt_reminder`: whether installed hooks add a reminder to prompts that begin new work.
    pub fn prompt_reminder(&self) -> bool {
        matches!(self.get("prompt_reminder"), Some(ConfigSetting { value: ConfigValue::Flag(true), .. }))
    }

    /// `max_depth`: launches deeper than this are refused.
    pub fn max_depth(&self) -> u32 {
        self.get_number("max_depth")
    }

    /// `stop_grace_seconds`: how long an ended headless run may take after SIGTERM.
    pub fn stop_grace(&self) -> Duration {
        Duration::from_secs(self.get_number("stop_grace_seconds").into())
    }

    /// `agents.<agent>.path`: the program to use for an agent, if one is set.
    pub fn agent_path(&self, agent: AgentBinary) -> Option<&Path> {
        match self.get(&format!("agents.{agent}.path")) {
            Some(ConfigSetting { value: ConfigValue::Program(path), .. }) => Some(path),
            _ => None,
        }
    }

    /// `prices.<agent>`: what its tokens cost, in the words of the configuration.
    pub fn prices(&self, agent: AgentBinary) -> Option<&str> {
        self.get_text(&format!("prices.{agent}"))
    }

    /// `test_command`: the shell command by which work in this repository is checked.
    pub fn test_command(&self) -> Option<&str> {
        self.get_text("test_command")
    }

    /// `worktrees.directory`: where worktrees of unattended runs are made, as it is written.
    pub fn worktrees_directory(&self) -> Option<&str> {
        self.get_text("worktrees.directory")
    }

    /// `worktrees.include`: patterns of ignored files that are copied into a new worktree.
    pub fn worktrees_include(&self) -> &[String] {
        match self.get("worktrees.include") {
            Some(ConfigSetting { value: ConfigValue::Texts(patterns), .. }) => patterns,
            _ => &[],
        }
    }

    /// `worktrees.setup`: the shell command that is run once in a new worktree.
    pub fn worktrees_setup(&self) -> Option<&str> {
        self.get_text("worktrees.setup")
    }

    /// `worktrees.setup_seconds`: how long the setup of a worktree may take.
    pub fn worktrees_setup_timeout(&self) -> Duration {
        Duration::from_secs(self.get_number("worktrees.setup_seconds").into())
    }

    /// `worktrees.submodules`: whether submodules are initialized in a new worktree.
    pub fn worktrees_submodules(&self) -> bool {
        matches!(self.get("worktrees.submodules"), Some(ConfigSetting { value: ConfigValue::Flag(true), .. }))
    }

    fn get_text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(ConfigSetting { value: ConfigValue::Text(text), .. }) => Some(text),
            _ => None,
        }
    }

    /// Reports whether the user trusts the repository with this root, a path without symbolic links.
    pub fn is_trusted(&self, root: &Path) -> bool {
        matches!(self.get(TRUSTED_REPOSITORIES),
            Some(ConfigSetting { value: ConfigValue::Directories(trusted), .. }) if trusted.iter().any(|path| path == root))
    }

    /// A number of the table; every one has a default there.
    fn get_number(&self, name: &str) -> u32 {
        match self.get(name) {
            Some(ConfigSetting { value: ConfigValue::Number(number), .. }) => *number,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
