//! Governed execution: command, directory and environment come from an explicit authority and from nowhere else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use amplihack_config::secret::REDACTED;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::options::Options;

/// Authority that materializes a governed launch. Its values never appear in errors or in Debug.
///
/// Made of a map with [`GovernedAuthority::try_from`]: every reference is required and not blank, `command` is a canonical absolute path, and
/// `clear_env` must be true. Unknown fields are refused by name.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GovernedAuthority {
    /// The eight required references, by name.
    pub references: BTreeMap<&'static str, String>,
    /// The program: an absolute path without links, `.` or `..`.
    pub command: PathBuf,
    /// The working directory; without one the host's own.
    pub cwd: Option<PathBuf>,
    /// The whole environment of the CLI.
    pub env: BTreeMap<String, String>,
    /// Directory of the configuration.
    pub config_root: Option<PathBuf>,
    /// Directory of the credentials.
    pub auth_root: Option<PathBuf>,
    /// The service.
    pub base_url: Option<String>,
    /// The name of the command in audits.
    pub command_ref: Option<String>,
    /// The name of the rule of redaction in audits.
    pub redaction_ref: Option<String>,
}

/// References that every authority has.
const REFERENCES: [&str; 8] = [
    "authority_ref",
    "credential_lease_ref",
    "connector_instance_ref",
    "connector_binding_ref",
    "provider_account_ref",
    "native_auth_assertion_ref",
    "target_ref",
    "operation_policy_ref",
];

impl std::fmt::Debug for GovernedAuthority {
    /// Names only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GovernedAuthority")
            .field("command", &REDACTED)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

fn invalid_authority(message: impl Into<String>) -> Error {
    Error::invalid_option("governed_authority", message)
}

impl TryFrom<Value> for GovernedAuthority {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self> {
        let Value::Object(mut map) = value else { return Err(invalid_authority("it is not an object")) };
        let mut references = BTreeMap::new();
        for name in REFERENCES {
            if amplihack_sys::sabotage::is_active("amp-governed-references") {
                let any = map
                    .remove(name)
                    .as_ref()
                    .and_then(Value::as_str)
                    .filter(|text| !text.is_empty())
                    .unwrap_or("any")
                    .to_owned();
                references.insert(name, any);
                continue;
            }
            references.insert(name, required_text(&mut map, name)?);
        }
        let alias = map.remove("materialized_command");
        if let Some(alias) = alias {
            if map.contains_key("command") {
                return Err(invalid_authority("command and materialized_command are given; give one"));
            }
            map.insert("command".to_owned(), alias);
        }
        let command = PathBuf::from(required_text(&mut map, "command")?);
        if map.remove("clear_env") != Some(Value::Bool(true)) {
            return Err(invalid_authority("clear_env must be true"));
        }
        let authority = Self {
            references,
            command,
            cwd: optional_path(&mut map, "cwd")?,
            env: parse_environment(map.remove("env"))?,
            config_root: optional_path(&mut map, "config_root")?,
            auth_root: optional_path(&mut map, "auth_root")?,
            base_url: optional_text(&mut map, "base_url")?,
            command_ref: optional_text(&mut map, "command_ref")?,
            redaction_ref: optional_text(&mut map, "redaction_ref")?,
        };
        // Every field was taken out of the map: what is left would otherwise be an authority that nobody checked.
        if let Some(unknown) = map.keys().next() {
            return Err(invalid_authority(format!("field {unknown:?} is unknown; drop it")));
        }
        authority.validate()?;
        Ok(authority)
    }
}

fn non_blank_text(value: Option<Value>, name: &str) -> Result<Option<String>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
        Some(_) => Err(invalid_authority(format!("{name} is not a text with something in it"))),
    }
}

fn required_text(map: &mut Map<String, Value>, name: &str) -> Result<String> {
    non_blank_text(map.remove(name), name)?.ok_or_else(|| invalid_authority(format!("{name} is missing")))
}

fn optional_text(map: &mut Map<String, Value>, name: &str) -> Result<Option<String>> {
    non_blank_text(map.remove(name), name)
}

fn optional_path(map: &mut Map<String, Value>, name: &str) -> Result<Option<PathBuf>> {
    Ok(optional_text(map, name)?.map(PathBuf::from))
}

fn parse_environment(value: Option<Value>) -> Result<BTreeMap<String, String>> {
    match value {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(map)) => map
            .into_iter()
            .map(|(name, value)| match value {
                Value::String(text) => Ok((name, text)),
                _ => Err(invalid_authority(format!("env.{name} is not a string"))),
            })
            .collect(),
        Some(_) => Err(invalid_authority("env is not an object")),
    }
}

/// Reports whether nothing in `path` needs resolving.
fn is_plain(path: &Path) -> bool {
    use std::path::Component::{Normal, RootDir};
    let text = path.as_os_str().as_encoded_bytes();
    path.is_absolute()
        && path.components().all(|part| matches!(part, RootDir | Normal(_)))
        && !text.ends_with(b"/")
        && !text.windows(2).any(|two| two == b"//")
        && !text.windows(3).any(|three| three == b"/./")
        && !text.ends_with(b"/.")
}

impl GovernedAuthority {
    /// Checks every value.
    ///
    /// # Errors
    /// `invalid_configuration`, naming the field and never its value: a reference is missing, a path is not absolute or `command` not
    /// canonical, `env` holds a name that is none or a NUL byte, or `base_url` is no http or https address.
    pub fn validate(&self) -> Result<()> {
        if let Some(name) = REFERENCES
            .into_iter()
            .find(|name| self.references.get(name).is_none_or(|text| text.trim().is_empty()))
        {
            return Err(invalid_authority(format!("{name} is missing")));
        }
        if !is_plain(&self.command) {
            return Err(invalid_authority("command is not a canonical absolute path"));
        }
        let paths = [("cwd", &self.cwd), ("config_root", &self.config_root), ("auth_root", &self.auth_root)];
        if let Some((name, _)) =
            paths.into_iter().find(|(_, path)| path.as_ref().is_some_and(|path| !path.is_absolute()))
        {
            return Err(invalid_authority(format!("{name} is not an absolute path")));
        }
        if let Some(name) = self.env.keys().find(|name| !crate::options::is_variable(name)) {
            return Err(invalid_authority(format!("env holds {name:?}, which is no name of a variable")));
        }
        if let Some(name) = self.env.iter().find(|(_, value)| value.contains('\0')).map(|(name, _)| name) {
            return Err(invalid_authority(format!("env.{name} holds a NUL byte")));
        }
        let host = |url: &str| {
            let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']))
        };
        if self.base_url.as_deref().is_some_and(|url| !host(url)) {
            return Err(invalid_authority("base_url is no http or https address with a host"));
        }
        Ok(())
    }

    /// Refuses every option that the authority does not govern, by name.
    pub(crate) fn check_options(options: &Options) -> Result<()> {
        let overrides =
            options.model_payload.as_ref().is_some_and(|payload| !payload.env_overrides.is_empty());
        let unmanaged = [
            ("cwd", options.cwd.is_some()),
            ("settings_file", options.settings_file.is_some()),
            ("log_level", options.log_level.is_some()),
            ("log_file", options.log_file.is_some()),
            ("env", !options.env.is_empty()),
            ("base_env", options.base_env.is_some()),
            ("cli_path", options.cli_path.is_some()),
            ("mcp_config", options.mcp_config.as_ref().is_some_and(|config| !config.is_empty())),
            ("toolbox", options.toolbox.is_some()),
            ("skills", options.skills.is_some()),
            ("permissions", options.permissions.is_some()),
            ("enabled_tools", options.enabled_tools.is_some()),
            ("executor", options.executor.is_some()),
            ("runner_dir", options.runner_dir.is_some()),
            ("project", options.project.is_some()),
            ("attach", !options.attach.is_empty()),
            ("execution_surface", !options.execution_surface.is_local()),
            ("dangerously_allow_all", options.dangerously_allow_all.is_some()),
            ("model_payload.env_overrides", overrides),
        ];
        match unmanaged
            .into_iter()
            .find(|(_, given)| *given && !amplihack_sys::sabotage::is_active("amp-governed-options"))
        {
            Some((name, _)) => Err(Error::invalid_option(
                name,
                "governed execution takes it from the authority alone; drop it or drop governed_authority",
            )),
            None => Ok(()),
        }
    }

    /// Every value that must not be seen, the longest first, so that a part of another does not spoil it.
    pub(crate) fn hidden_values(&self) -> Vec<String> {
        let paths =
            [Some(&self.command), self.cwd.as_ref(), self.config_root.as_ref(), self.auth_root.as_ref()];
        let texts = [&self.base_url, &self.command_ref, &self.redaction_ref];
        let mut values: Vec<String> = self
            .references
            .values()
            .chain(self.env.values())
            .chain(texts.into_iter().flatten())
            .cloned()
            .chain(paths.into_iter().flatten().map(|path| path.display().to_string()))
            // Shorter ones are everywhere: a `1` in the environment would redact every number.
            .filter(|value| value.len() >= 4)
            .collect();
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        values
    }
}
