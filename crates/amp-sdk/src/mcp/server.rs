//! A server of the list.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The type of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerType {
    /// A program that the CLI starts.
    Command,
    /// An address.
    Url,
    /// Something that this crate does not know.
    Other(String),
}

impl ServerType {
    /// As the CLI writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Command => "command",
            Self::Url => "url",
            Self::Other(word) => word,
        }
    }
}

/// A configured server.
///
/// Wire form of current CLIs: `{"name", "type", "source", "spec": {"command", "args", "env"} | {"url", "headers"}}`; of older ones the same without
/// `spec`, its fields beside the name. Debug shows names of variables and headers, no values.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct McpServer {
    /// Name of the server.
    pub name: String,
    /// Type of the server.
    pub server_type: ServerType,
    /// Place of its configuration: `global`, `workspace`, …
    pub source: Option<String>,
    /// The program.
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Option<Vec<String>>,
    /// The program's environment; may hold secrets.
    pub env: Option<BTreeMap<String, String>>,
    /// The address.
    pub url: Option<String>,
    /// Headers of requests; may hold secrets. The CLI prints them in clear.
    pub headers: Option<BTreeMap<String, String>>,
    /// Further fields of the wire form, and known ones in an unknown form.
    pub extra: Map<String, Value>,
    /// Further keys within `spec`; `None`: the older form, without one.
    pub spec_extra: Option<Map<String, Value>>,
}

impl std::fmt::Debug for McpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = |map: &Option<BTreeMap<String, String>>| {
            map.as_ref().map(|map| map.keys().cloned().collect::<Vec<_>>())
        };
        f.debug_struct("McpServer")
            .field("name", &self.name)
            .field("server_type", &self.server_type)
            .field("source", &self.source)
            .field("command", &self.command)
            .field("env", &names(&self.env))
            .field("headers", &names(&self.headers))
            .field("extra", &self.extra.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Takes `key` out of `map` if it has the form that is asked for.
fn take_typed<T: serde::de::DeserializeOwned>(map: &mut Map<String, Value>, key: &str) -> Option<T> {
    let value = serde_json::from_value(map.get(key)?.clone()).ok()?;
    map.remove(key);
    Some(value)
}

impl McpServer {
    /// Reads an entry of the list in either form. Errors quote no value.
    pub(super) fn read(value: Value) -> Result<Self, String> {
        let Value::Object(mut map) = value else { return Err("an entry is no object".to_owned()) };
        let name: String = take_typed(&mut map, "name").ok_or("an entry has no \"name\"")?;
        let word: String =
            take_typed(&mut map, "type").ok_or(format!("the server {name:?} has no \"type\""))?;
        let server_type = match word.as_str() {
            "command" => ServerType::Command,
            "url" => ServerType::Url,
            _ => ServerType::Other(word),
        };
        let source = take_typed(&mut map, "source");
        let mut spec: Option<Map<String, Value>> = take_typed(&mut map, "spec");
        let fields = spec.as_mut().unwrap_or(&mut map);
        Ok(Self {
            name,
            server_type,
            source,
            command: take_typed(fields, "command"),
            args: take_typed(fields, "args"),
            env: take_typed(fields, "env"),
            url: take_typed(fields, "url"),
            headers: take_typed(fields, "headers"),
            extra: map,
            spec_extra: spec.filter(|_| !amplihack_sys::sabotage::is_active("amp-list-servers")),
        })
    }

    /// The wire form, in the form in which it came.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("name".into(), self.name.clone().into());
        map.insert("type".into(), self.server_type.as_str().into());
        if let Some(source) = &self.source {
            map.insert("source".into(), source.clone().into());
        }
        let mut fields = Map::new();
        let known = [
            ("command", self.command.as_ref().map(|text| json!(text))),
            ("args", self.args.as_ref().map(|list| json!(list))),
            ("env", self.env.as_ref().map(|map| json!(map))),
            ("url", self.url.as_ref().map(|text| json!(text))),
            ("headers", self.headers.as_ref().map(|map| json!(map))),
        ];
        fields.extend(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        match &self.spec_extra {
            Some(extra) => {
                fields.extend(extra.clone());
                map.insert("spec".into(), Value::Object(fields));
            }
            None => map.extend(fields),
        }
        map.extend(self.extra.clone());
        Value::Object(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_given_back() {
        for value in [
            json!({"name": "fs", "type": "command", "source": "global", "command": "npx", "args": ["-y"], "new": 1}),
            json!({"name": "fs", "type": "command", "source": "workspace", "spec": {"command": "npx", "env": {"A": "b"}, "new": 1}, "more": {}}),
            json!({"name": "r", "type": "url", "source": "account", "spec": {"url": "https://h", "headers": {"K": "hunter2"}}}),
            json!({"name": "r", "type": "url", "url": 5}),
            json!({"name": "p", "type": "plugin", "spec": {}}),
        ] {
            let server = McpServer::read(value.clone()).unwrap();
            assert_eq!(server.to_value(), value);
            assert!(!format!("{server:?}").contains("hunter2"));
        }
        for value in [json!([]), json!({"type": "url"}), json!({"name": "x", "url": "https://hunter2"})] {
            assert!(!McpServer::read(value).unwrap_err().contains("hunter2"));
        }
    }
}
