//! The first message of a session: what it has.

use serde_json::{Map, Value};

use super::read_session_id;
use super::scan::{JsonCursor, ScanFault};
use super::untyped_fields::{UntypedFields, put_filled, put_value, read_unknown_field};

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
    kept: UntypedFields,
}

/// An MCP server and how it is.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct McpServerStatus {
    /// Name of the server.
    pub name: String,
    /// State of the server.
    pub status: McpStatus,
    /// Further keys.
    pub extra: Map<String, Value>,
    kept: UntypedFields,
}

/// State of an MCP server. An open set: a word that is not known is kept.
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
            "blocked-by-registry" if !amplihack_sys::sabotage::is_active("amp-wire-statuses") => {
                Self::BlockedByRegistry
            }
            "" => Self::Absent,
            _ if amplihack_sys::sabotage::is_active("amp-wire-status-unknown") => Self::Absent,
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
        let mut map = self.kept.start_map(&self.extra);
        map.insert("type".to_owned(), "system".into());
        put_filled(&mut map, "subtype", &self.subtype);
        put_value(&mut map, "session_id", self.session_id.clone());
        put_value(&mut map, "cwd", self.cwd.clone());
        put_value(&mut map, "tools", (!self.tools.is_empty()).then(|| self.tools.clone()));
        let servers = || self.mcp_servers.iter().map(McpServerStatus::to_value).collect::<Value>();
        put_value(&mut map, "mcp_servers", (!self.mcp_servers.is_empty()).then(servers));
        Value::Object(map)
    }

    pub(super) fn read(cursor: &mut JsonCursor<'_>) -> Result<Self, ScanFault> {
        let mut message = Self::default();
        cursor.read_object(|cursor, key| {
            let kept = &mut message.kept;
            match key.as_ref() {
                "type" => cursor.own_type("system")?,
                "subtype" => message.subtype = kept.read_filled("subtype", cursor)?,
                "session_id" => message.session_id = read_session_id(kept, cursor)?,
                "cwd" => message.cwd = kept.read_text("cwd", cursor)?,
                "tools" if amplihack_sys::sabotage::is_active("amp-wire-system") => {
                    kept.keep_next("tools", cursor)?;
                }
                "tools" => message.tools = kept.read_texts("tools", cursor)?,
                "mcp_servers" => message.mcp_servers = read_servers(kept, cursor)?,
                _ => read_unknown_field(&mut message.extra, key, cursor)?,
            }
            Ok::<_, ScanFault>(())
        })?;
        Ok(message)
    }
}

/// A list of objects; anything else, and an empty list, is kept.
fn read_servers(
    kept: &mut UntypedFields,
    cursor: &mut JsonCursor<'_>,
) -> Result<Vec<McpServerStatus>, ScanFault> {
    let from = cursor.position();
    let mut servers = Vec::new();
    let mut odd = cursor.peek() != b'[';
    if !odd {
        cursor.read_array(|cursor| {
            if cursor.peek() == b'{' {
                servers.push(McpServerStatus::read(cursor)?);
            } else {
                cursor.skip_value()?;
                odd = true;
            }
            Ok::<_, ScanFault>(())
        })?;
    }
    if odd || servers.is_empty() {
        cursor.move_to(from);
        kept.keep_next("mcp_servers", cursor)?;
        servers.clear();
    }
    Ok(servers)
}

impl McpServerStatus {
    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start_map(&self.extra);
        put_filled(&mut map, "name", &self.name);
        put_filled(&mut map, "status", self.status.as_str());
        Value::Object(map)
    }

    fn read(cursor: &mut JsonCursor<'_>) -> Result<Self, ScanFault> {
        let mut server = Self::default();
        cursor.read_object(|cursor, key| {
            match key.as_ref() {
                "name" => server.name = server.kept.read_filled("name", cursor)?,
                "status" => server.status = server.kept.read_filled("status", cursor)?.into(),
                _ => read_unknown_field(&mut server.extra, key, cursor)?,
            }
            Ok::<_, ScanFault>(())
        })?;
        Ok(server)
    }
}
