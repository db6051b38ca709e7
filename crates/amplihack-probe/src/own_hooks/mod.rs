//! The user's own hooks of an agent, as a throw-away home can hold them: in their places, and doing nothing.

mod harmless;
mod read;

use std::io;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_sys::fs::{WriteDurability, create_private_dir, read_limited, write_atomic};
use serde_json::{Map, Value};

use crate::agents::probed_agent;
pub(crate) use read::OwnHooksPart;
use read::{OwnHooksContent, hooks_content};

/// Bytes of a settings file.
const LIMIT: u64 = 1 << 20;
/// Files of a directory of hooks.
const MOST_FILES: usize = 100;
/// No JSON and no TOML.
const UNREADABLE: &str = "[\n{";

/// The settings of a user on the hooks of an agent, every command replaced by `true`. Nothing else of the
/// settings is in here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnHooks {
    /// Files below the home.
    files: Vec<(PathBuf, OwnHooksContent)>,
    hooks: usize,
}

/// A settings file that is there and cannot be looked at, or a copy that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}; check its permissions and size", path.display())]
pub struct OwnHooksError {
    path: PathBuf,
    source: io::Error,
}

/// The location of an agent's settings on hooks.
pub(crate) struct OwnHooksLocation {
    /// The variable that names the directory.
    pub(crate) variable: &'static str,
    /// The directory below the home without it.
    pub(crate) directory: &'static str,
    pub(crate) files: &'static [(&'static str, OwnHooksPart)],
    /// A directory of files with hooks.
    pub(crate) many: Option<&'static str>,
}

impl OwnHooks {
    /// Reads the settings of `agent` of the user whose environment is `env`. Only the files that hold hooks are opened.
    pub fn read_settings(agent: AgentBinary, env: &Env) -> Result<Self, OwnHooksError> {
        let mut own = Self::default();
        let Some(place) = probed_agent(agent).map(|probed| &probed.own) else { return Ok(own) };
        let named = env.path(place.variable).filter(|path| path.is_absolute());
        let Some(real) = named.or_else(|| env.home().map(|home| home.join(place.directory))) else {
            return Ok(own);
        };
        let mut files: Vec<_> = place.files.iter().map(|(name, part)| (PathBuf::from(name), *part)).collect();
        if let Some(many) = place.many {
            files.extend(
                json_files(&real.join(many))?
                    .into_iter()
                    .map(|name| (Path::new(many).join(name), OwnHooksPart::All)),
            );
        }
        for (name, part) in files {
            let path = real.join(&name);
            let bytes = match read_limited(&path, LIMIT) {
                Ok(bytes) => bytes,
                Err(error) if is_absent(&error) => continue,
                Err(source) => return Err(OwnHooksError { path, source }),
            };
            let content = hooks_content(&bytes, part, &mut own.hooks);
            own.files.extend(content.map(|content| (Path::new(place.directory).join(name), content)));
        }
        Ok(own)
    }

    /// Reports whether the settings have nothing on hooks.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Puts the copy into `home`, into the files that are there already or new ones.
    pub fn copy_into(&self, home: &Path) -> Result<(), OwnHooksError> {
        for (name, content) in &self.files {
            let path = home.join(name);
            let there = std::fs::read_to_string(&path).unwrap_or_default();
            write(&path, &file_text(content, &there)).map_err(|source| OwnHooksError { path, source })?;
        }
        Ok(())
    }
}

impl std::fmt::Display for OwnHooks {
    /// ``3 hooks, each as `true`, in ~/.claude/settings.json``.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.hooks {
            0 => f.write_str("the settings on hooks")?,
            1 => f.write_str("1 hook, as `true`,")?,
            hooks => write!(f, "{hooks} hooks, each as `true`,")?,
        }
        let name = |(name, content): &(PathBuf, OwnHooksContent)| {
            let note = if *content == OwnHooksContent::Unreadable { ", which cannot be read" } else { "" };
            format!("~/{}{note}", name.display())
        };
        write!(f, " in {}", self.files.iter().map(name).collect::<Vec<_>>().join(" and "))
    }
}

/// A part of the path is missing, or is a file where a directory should be: then there are no settings.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
    )
}

/// The names of the JSON files in `directory`, in order.
fn json_files(directory: &Path) -> Result<Vec<PathBuf>, OwnHooksError> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(source) => return Err(OwnHooksError { path: directory.to_owned(), source }),
    };
    let names = entries.flatten().map(|entry| PathBuf::from(entry.file_name()));
    let mut names: Vec<_> = names.filter(|name| name.extension().is_some_and(|end| end == "json")).collect();
    names.sort();
    names.truncate(MOST_FILES);
    Ok(names)
}

/// The text of a file that has `content` besides the settings in `there`.
fn file_text(content: &OwnHooksContent, there: &str) -> String {
    match content {
        OwnHooksContent::Unreadable => UNREADABLE.to_owned(),
        OwnHooksContent::Json { settings, relaxed } => {
            let mut all = serde_json::from_str(there).unwrap_or_default();
            merge_objects(&mut all, settings);
            let comment = if *relaxed { "// as in the original\n" } else { "" };
            format!("{comment}{:#}\n", Value::Object(all))
        }
        OwnHooksContent::Toml(settings) => {
            let there: Option<toml::Table> = toml::from_str(there).ok();
            let mut all = match serde_json::to_value(there.unwrap_or_default()) {
                Ok(Value::Object(all)) => all,
                _ => Map::new(),
            };
            merge_objects(&mut all, settings);
            // What came from TOML goes back into it.
            toml::to_string(&all).unwrap_or_else(|_| UNREADABLE.to_owned())
        }
    }
}

/// Adds `more` to `all`; where both have an object, to that.
fn merge_objects(all: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (all.get_mut(key), value) {
            (Some(Value::Object(all)), Value::Object(more)) => merge_objects(all, more),
            _ => {
                all.insert(key.clone(), value.clone());
            }
        }
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        create_private_dir(directory)?;
    }
    write_atomic(path, text.as_bytes(), 0o600, WriteDurability::Process)
}

#[cfg(test)]
mod tests;
