//! MCP servers of one run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::setters::setters;

/// A server that is a program. Wire form: `{"command", "args"?, "env"?, "disabled"?}`.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpStdioServer {
    /// The program. Required, not blank.
    pub command: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Environment of the program; may hold secrets, Debug shows names only.
    pub env: BTreeMap<String, String>,
    /// Configured and not started.
    pub disabled: bool,
}

setters! {
    McpStdioServer {
        list(String) with_args = args,
        pairs with_env = env,
        plain(bool) with_disabled = disabled,
    }
}

/// A server behind an address. Wire form: `{"url", "headers"?, "transport"?, "disabled"?}`.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpHttpServer {
    /// The address. Required, not blank.
    pub url: String,
    /// Headers of every request; may hold secrets, Debug shows names only.
    pub headers: BTreeMap<String, String>,
    /// `http`, `sse`, …
    pub transport: Option<String>,
    /// Configured and not connected.
    pub disabled: bool,
}

setters! {
    McpHttpServer {
        pairs with_headers = headers,
        into(String) with_transport = transport,
        plain(bool) with_disabled = disabled,
    }
}

/// The MCP servers of a run. They reach the CLI in a private file, never on a command line.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum McpConfig {
    /// Servers by name.
    Servers(Map<String, Value>),
    /// The servers as JSON text.
    Json(String),
    /// A file that has it.
    Path(PathBuf),
}

impl McpStdioServer {
    /// A server of this program, checked.
    ///
    /// # Errors
    /// `invalid_configuration` if `command` is blank.
    pub fn new(command: impl Into<String>) -> Result<Self> {
        let command = command.into();
        if command.trim().is_empty() {
            return Err(Error::invalid_option("mcp_config", "command is blank; name the server's program"));
        }
        Ok(Self { command, ..Self::default() })
    }

    /// The wire form.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("command".into(), self.command.clone().into());
        if !self.args.is_empty() && !amplihack_sys::sabotage::is_active("amp-mcp-program") {
            map.insert("args".into(), self.args.clone().into());
        }
        if !self.env.is_empty() {
            map.insert("env".into(), json!(self.env));
        }
        if self.disabled {
            map.insert("disabled".into(), true.into());
        }
        Value::Object(map)
    }
}

impl McpHttpServer {
    /// A server at this address, checked.
    ///
    /// # Errors
    /// `invalid_configuration` if `url` is blank.
    pub fn new(url: impl Into<String>) -> Result<Self> {
        let url = url.into();
        if url.trim().is_empty() {
            return Err(Error::invalid_option("mcp_config", "url is blank; give the server's address"));
        }
        Ok(Self { url, ..Self::default() })
    }

    /// The wire form.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("url".into(), self.url.clone().into());
        if !self.headers.is_empty() && !amplihack_sys::sabotage::is_active("amp-mcp-address") {
            map.insert("headers".into(), json!(self.headers));
        }
        if let Some(transport) = &self.transport {
            map.insert("transport".into(), transport.clone().into());
        }
        if self.disabled {
            map.insert("disabled".into(), true.into());
        }
        Value::Object(map)
    }
}

impl std::fmt::Debug for McpStdioServer {
    /// Names of variables only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpStdioServer")
            .field("command", &self.command)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for McpHttpServer {
    /// Names of headers only; the address may hold a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpHttpServer")
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for McpConfig {
    /// Names of servers only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Servers(servers) => {
                f.debug_tuple("Servers").field(&servers.keys().collect::<Vec<_>>()).finish()
            }
            Self::Json(text) => write!(f, "Json({} bytes)", text.len()),
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
        }
    }
}

impl McpConfig {
    /// No servers; add them with [`McpConfig::with_stdio`] and [`McpConfig::with_http`].
    pub fn new() -> Self {
        Self::Servers(Map::new())
    }

    /// Adds a program as the server `name`.
    #[must_use]
    pub fn with_stdio(self, name: impl Into<String>, server: &McpStdioServer) -> Self {
        self.with_server(name, server.to_value())
    }

    /// Adds an address as the server `name`.
    #[must_use]
    pub fn with_http(self, name: impl Into<String>, server: &McpHttpServer) -> Self {
        self.with_server(name, server.to_value())
    }

    /// Adds a server of this wire form. Text and files are replaced by a list of this one server.
    #[must_use]
    pub fn with_server(self, name: impl Into<String>, server: Value) -> Self {
        let mut servers = match self {
            Self::Servers(servers) => servers,
            Self::Json(_) | Self::Path(_) => Map::new(),
        };
        servers.insert(name.into(), server);
        Self::Servers(servers)
    }

    /// Reports whether the configuration asks for nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Servers(servers) => servers.is_empty(),
            Self::Json(text) => text.trim().is_empty(),
            Self::Path(path) => path.as_os_str().is_empty(),
        }
    }

    /// Checks text for being a JSON object.
    ///
    /// # Errors
    /// `invalid_configuration` if a text that is not blank is no JSON object; the error quotes nothing of it.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Json(text) if !text.trim().is_empty() => match serde_json::from_str::<Value>(text) {
                Ok(Value::Object(_)) => Ok(()),
                // The parser's own words may quote the text.
                Ok(_) | Err(_) => Err(Error::invalid_option(
                    "mcp_config",
                    "the text is no JSON object; give one, or a path",
                )),
            },
            _ => Ok(()),
        }
    }

    /// Returns the content of a private file, or the path of the caller's own file.
    pub(crate) fn file_content(&self) -> std::result::Result<Vec<u8>, &Path> {
        match self {
            Self::Servers(servers) => Ok(json!(servers).to_string().into_bytes()),
            Self::Json(text) => Ok(text.clone().into_bytes()),
            Self::Path(path) => Err(path),
        }
    }
}

impl Default for McpConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&str> for McpConfig {
    /// JSON if it begins with `{`, else a path.
    fn from(text: &str) -> Self {
        if text.trim_start().starts_with('{') && !amplihack_sys::sabotage::is_active("amp-mcp-text") {
            Self::Json(text.to_owned())
        } else {
            Self::Path(PathBuf::from(text))
        }
    }
}

impl TryFrom<Value> for McpConfig {
    type Error = Error;

    /// An object of servers, or a string: JSON if it begins with `{`, else a path. A `null` in a server's `env` or `headers` counts as
    /// absent.
    fn try_from(value: Value) -> Result<Self> {
        match value {
            Value::Object(mut servers) => {
                for server in servers.values_mut().filter_map(Value::as_object_mut) {
                    for key in ["env", "headers"] {
                        if let Some(Value::Object(map)) = server.get_mut(key) {
                            map.retain(|_, value| {
                                !value.is_null() || amplihack_sys::sabotage::is_active("amp-nulls")
                            });
                        }
                    }
                }
                Ok(Self::Servers(servers))
            }
            Value::String(text) => Ok(text.as_str().into()),
            _ => Err(Error::invalid_option("mcp_config", "it is neither an object nor a text")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let mut stdio = McpStdioServer::new("npx").unwrap();
        stdio.env.insert("TOKEN".into(), "hunter2".into());
        let mut http = McpHttpServer::new("https://h/mcp?key=hunter2").unwrap();
        http.headers.insert("Authorization".into(), "hunter2".into());
        let config = McpConfig::new().with_stdio("fs", &stdio).with_http("api", &http);
        let shown = format!("{stdio:?} {http:?} {config:?} {:?}", McpConfig::from("{\"a\":\"hunter2\"}"));
        assert!(
            shown.contains("TOKEN") && shown.contains("Authorization") && shown.contains("fs"),
            "{shown}"
        );
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(McpStdioServer::new(" ").is_err() && McpHttpServer::new("").is_err());
        let error = McpConfig::from("{\"a\": hunter2").validate().unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
