//! A server in a settings file that a person writes too: comments stay, a lock, whole or not at all, 0600.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::jsonc;
use amplihack_sys::fs::{WriteDurability, create_private_dir, read_regular, write_atomic};
use amplihack_sys::lock::FileLock;
use jsonc_parser::cst::{CstNode, CstRootNode};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::launch::CliLaunch;
use crate::options::Options;
use crate::settings::{LIMIT, settings_paths};

/// The key of the servers.
const SERVERS: &str = "amp.mcpServers";

/// Time to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The file that `amp mcp add` would write: the given one; `.amp/settings.json` below the working directory; `AMP_SETTINGS_FILE`; else
/// `amp/settings.json`, or `.jsonc` if only that is there, below `$XDG_CONFIG_HOME` or `~/.config`.
pub(super) fn settings_path(options: &Options, workspace: bool) -> Result<PathBuf> {
    options.validate()?;
    let launch = CliLaunch::new(options)?;
    if !options.execution_surface.is_local() {
        let message = "headers and environment are written into the settings file, and that is on another machine; add the server there";
        return Err(Error::invalid_option("execution_surface", message));
    }
    if workspace {
        return Ok(options.cwd.clone().unwrap_or_default().join(".amp/settings.json"));
    }
    if let Some(file) = &options.settings_file {
        return Ok(options.cwd.clone().unwrap_or_default().join(file));
    }
    let places = settings_paths(launch.env());
    let found = places.iter().find(|place| place.exists()).or(places.first());
    found.cloned().ok_or_else(|| {
        let message = "neither HOME nor XDG_CONFIG_HOME is an absolute path, so there are no settings; set HOME or settings_file";
        Error::invalid_option("env", message)
    })
}

fn invalid_settings(path: &Path, message: impl Into<String>) -> Error {
    Error::InvalidConfiguration {
        field: path.display().to_string(),
        message: message.into(),
        path: Some(path.to_owned()),
    }
}

/// Adds the server `name`. Errors quote nothing of the file.
pub(super) fn add_server(path: &Path, name: &str, server: &Value) -> Result<()> {
    let failed = |what: &str, error: &io::Error| invalid_settings(path, format!("{what}: {error}"));
    // A link stays a link: what it leads to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_private_dir(directory).map_err(|error| failed("its directory cannot be made", &error))?;
    let mut lock = path.clone().into_os_string();
    lock.push(".amp-sdk-lock");
    let _lock = FileLock::acquire(Path::new(&lock), PATIENCE)
        .map_err(|error| invalid_settings(path, error.to_string()))?;
    let text = match read_regular(path, LIMIT) {
        Ok(bytes) => {
            String::from_utf8(bytes).map_err(|_| invalid_settings(path, "it is not UTF-8; correct it"))?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed("it cannot be read", &error)),
    };
    let text = with_server(&text, name, server).map_err(|message| invalid_settings(path, message))?;
    write_atomic(path, text.as_bytes(), 0o600, WriteDurability::Machine)
        .map_err(|error| failed("it cannot be written", &error))
}

/// The text of a settings file with one more server.
fn with_server(text: &str, name: &str, server: &Value) -> std::result::Result<String, String> {
    let root = CstRootNode::parse(text, &jsonc::OPTIONS)
        .map_err(|error| format!("line {} is not JSON; correct it", error.line_display()))?;
    if root.value().is_some_and(|value: CstNode| value.as_object().is_none()) {
        return Err("it is no JSON object; correct it".to_owned());
    }
    let none = || format!("{SERVERS} is no JSON object; correct it");
    let servers = root.object_value_or_create().ok_or_else(none)?;
    let servers = servers.object_value_or_create(SERVERS).ok_or_else(none)?;
    if servers.properties().iter().any(|prop| prop.decoded_name().as_deref() == Some(name)) {
        return Err(format!("{SERVERS} has a server {name:?} already; remove it first"));
    }
    servers.append(name, jsonc::to_cst_input(server));
    let mut text = root.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    #[test]
    fn comments_stay_and_everything_else_too() {
        let text = "// mine\n{\n  \"amp.x\": 1, // keep\n  \"amp.mcpServers\": {\n    \"fs\": { \"command\": \"npx\" }, // fs\n  },\n}\n";
        let server = json!({"url": "https://h/mcp", "headers": {"Authorization": "Bearer \"x\""}});
        insta::assert_snapshot!(with_server(text, "api", &server).unwrap());
        insta::assert_snapshot!("made", with_server("", "api", &server).unwrap());
        for (text, part) in [
            ("[]", "no JSON object"),
            ("{", "line 1"),
            ("{\"amp.mcpServers\": 5}", "no JSON object"),
            ("{\"amp.mcpServers\": {\"api\": {}}}", "already"),
        ] {
            let error = with_server(text, "api", &server).unwrap_err();
            assert!(error.contains(part) && !error.contains("Bearer"), "{error}");
        }
    }

    #[test]
    fn a_link_stays_a_link_and_the_file_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("real.json"), dir.path().join("settings.json"));
        std::fs::write(&file, "{}").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        add_server(&link, "fs", &json!({"command": "npx"})).unwrap();
        assert!(link.is_symlink());
        assert!(std::fs::read_to_string(&file).unwrap().contains("npx"));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let new = dir.path().join("a/b/settings.json");
        add_server(&new, "fs", &json!({"command": "npx"})).unwrap();
        assert_eq!(new.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(add_server(&new, "fs", &json!({})).is_err());
    }

    #[test]
    fn writers_at_the_same_time_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("settings.json");
        std::thread::scope(|scope| {
            for at in 0..8 {
                let file = &file;
                scope.spawn(move || add_server(file, &format!("s{at}"), &json!({"command": "x"})).unwrap());
            }
        });
        let read: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(read[SERVERS].as_object().unwrap().len(), 8);
    }
}
