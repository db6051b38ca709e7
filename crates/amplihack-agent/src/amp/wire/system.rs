//! The first message of a session: what it has.

use serde_json::{Map, Value};

use super::kept::{Kept, put, put_filled, unknown};
use super::scan::{Cursor, Fault};
use super::session;

/// `system`: the session's tools and MCP servers, or another notice of the CLI, as its subtype says.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SystemMessage {
    /// `init` for the first message.
    pub subtype: String,
    /// The thread, `T-…`.
    pub session_id: Option<String>,
    /// Working directory of the agent.
    pub cwd: Option<String>,
    /// Names of tools.
    pub tools: Vec<String>,
    /// MCP servers.
    pub mcp_servers: Vec<McpServerStatus>,
    /// Further keys.
    pub extra: Map<String, Value>,
    kept: Kept,
}

/// An MCP server and how it is.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct McpServerStatus {
    /// Its name.
    pub name: String,
    /// How it is.
    pub status: McpStatus,
    /// Further keys.
    pub extra: Map<String, Value>,
    kept: Kept,
}

/// How an MCP server is. An open set: a word that is not known is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum McpStatus {
    /// `awaiting-approval`
    AwaitingApproval,
    /// `authenticating`
    Authenticating,
    /// `connecting`
    Connecting,
    /// `reconnecting`
    Reconnecting,
    /// `connected`
    Connected,
    /// `denied`
    Denied,
    /// `failed`
    Failed,
    /// `blocked-by-registry`
    BlockedByRegistry,
    /// Any other word, as it came.
    Unknown(String),
    /// None was given.
    #[default]
    Absent,
}

impl McpStatus {
    /// The word of the wire form; empty if none was given.
    pub fn as_str(&self) -> &str {
        match self {
            Self::AwaitingApproval => "awaiting-approval",
            Self::Authenticating => "authenticating",
            Self::Connecting => "connecting",
            Self::Reconnecting => "reconnecting",
            Self::Connected => "connected",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::BlockedByRegistry => "blocked-by-registry",
            Self::Unknown(word) => word,
            Self::Absent => "",
        }
    }
}

impl From<String> for McpStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "awaiting-approval" => Self::AwaitingApproval,
            "authenticating" => Self::Authenticating,
            "connecting" => Self::Connecting,
            "reconnecting" => Self::Reconnecting,
            "connected" => Self::Connected,
            "denied" => Self::Denied,
            "failed" => Self::Failed,
            "blocked-by-registry" if !amplihack_utils::sabotage::active("amp-wire-statuses") => {
                Self::BlockedByRegistry
            }
            "" => Self::Absent,
            _ if amplihack_utils::sabotage::active("amp-wire-status-unknown") => Self::Absent,
            _ => Self::Unknown(word),
        }
    }
}

impl std::fmt::Display for McpStatus {
    /// The word, `unknown(word)` for one that is not known.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(word) => write!(f, "unknown({word})"),
            known => f.write_str(known.as_str()),
        }
    }
}

impl SystemMessage {
    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start(&self.extra);
        map.insert("type".to_owned(), "system".into());
        put_filled(&mut map, "subtype", &self.subtype);
        put(&mut map, "session_id", self.session_id.clone());
        put(&mut map, "cwd", self.cwd.clone());
        put(&mut map, "tools", (!self.tools.is_empty()).then(|| self.tools.clone()));
        let servers = || self.mcp_servers.iter().map(McpServerStatus::to_value).collect::<Value>();
        put(&mut map, "mcp_servers", (!self.mcp_servers.is_empty()).then(servers));
        Value::Object(map)
    }

    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        let mut message = Self::default();
        cursor.object(|cursor, key| {
            let kept = &mut message.kept;
            match key.as_ref() {
                "type" => cursor.own_type("system")?,
                "subtype" => message.subtype = kept.filled("subtype", cursor)?,
                "session_id" => message.session_id = session(kept, cursor)?,
                "cwd" => message.cwd = kept.text("cwd", cursor)?,
                "tools" if amplihack_utils::sabotage::active("amp-wire-system") => {
                    kept.odd("tools", cursor)?;
                }
                "tools" => message.tools = kept.texts("tools", cursor)?,
                "mcp_servers" => message.mcp_servers = servers(kept, cursor)?,
                _ => unknown(&mut message.extra, key, cursor)?,
            }
            Ok::<_, Fault>(())
        })?;
        Ok(message)
    }
}

/// A list of objects; anything else, and an empty list, is kept.
fn servers(kept: &mut Kept, cursor: &mut Cursor<'_>) -> Result<Vec<McpServerStatus>, Fault> {
    let from = cursor.at();
    let mut servers = Vec::new();
    let mut odd = cursor.peek() != b'[';
    if !odd {
        cursor.array(|cursor| {
            if cursor.peek() == b'{' {
                servers.push(McpServerStatus::read(cursor)?);
            } else {
                cursor.skip()?;
                odd = true;
            }
            Ok::<_, Fault>(())
        })?;
    }
    if odd || servers.is_empty() {
        cursor.go(from);
        kept.odd("mcp_servers", cursor)?;
        servers.clear();
    }
    Ok(servers)
}

impl McpServerStatus {
    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start(&self.extra);
        put_filled(&mut map, "name", &self.name);
        put_filled(&mut map, "status", self.status.as_str());
        Value::Object(map)
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        let mut server = Self::default();
        cursor.object(|cursor, key| {
            match key.as_ref() {
                "name" => server.name = server.kept.filled("name", cursor)?,
                "status" => server.status = server.kept.filled("status", cursor)?.into(),
                _ => unknown(&mut server.extra, key, cursor)?,
            }
            Ok::<_, Fault>(())
        })?;
        Ok(server)
    }
}
