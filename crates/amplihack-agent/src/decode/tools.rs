//! Kind of a tool, its command, its query and its files, from its name and its arguments: one reading for all agents.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::wire::{WireInt, WireList, WireText, missing};
use crate::event::{AgentToolKind, ToolCall, ToolLocation, ToolResult};

/// The kind of a tool by an agent's table of names; a name that ends in `*` stands for all that begin so.
pub(crate) fn tool_kind(name: &str, kinds: &[(&str, AgentToolKind)]) -> AgentToolKind {
    let is_meant = |known: &str| match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == known,
    };
    kinds.iter().find(|(known, _)| is_meant(known)).map_or(AgentToolKind::Other, |(_, kind)| *kind)
}

/// Fills in the kind of `call` by its name, where it has none yet, and what its arguments say for a tool of that kind: the
/// command, the query and the files. What the caller has set already stays.
pub(crate) fn describe_call(call: &mut ToolCall, kinds: &[(&str, AgentToolKind)]) {
    if call.kind == AgentToolKind::Other {
        call.kind = tool_kind(&call.name, kinds);
    }
    let mut facts = ToolCallFacts::of_kind(call.kind);
    if !facts.is_complete() {
        // The reader stops as soon as it has all facts, which ends in an error of the text's rest.
        let _ = serde_json::Deserializer::from_str(call.input.text()).deserialize_any(&mut facts);
    }
    let ToolCallFacts { command, query, paths, line, .. } = facts;
    call.command = call.command.take().or(command);
    call.query = call.query.take().or(query);
    if call.locations.is_empty() {
        // A line is one of a single file.
        let line = line.filter(|line| paths.len() == 1 && *line > 0);
        call.locations = paths.into_iter().map(|path| ToolLocation { path, line }).collect();
    }
}

/// Sets the exit code of a command. A call whose command ended with another code than 0 failed, whatever the agent says.
pub(crate) fn settle_exit(result: &mut ToolResult, code: Option<i64>) {
    result.exit_code = code;
    result.is_error |= code.is_some_and(|code| code != 0);
}

/// Facts that the arguments of a call may hold, and those of them that a tool of its kind has.
#[derive(Default)]
struct ToolCallFacts {
    wants_command: bool,
    wants_query: bool,
    wants_paths: bool,
    /// The first path is all that there is to know: the other arguments may be large.
    one_path: bool,
    command: Option<String>,
    query: Option<String>,
    paths: Vec<String>,
    line: Option<u64>,
}

impl ToolCallFacts {
    fn of_kind(kind: AgentToolKind) -> Self {
        use AgentToolKind as Kind;
        Self {
            wants_command: kind == Kind::Execute,
            wants_query: matches!(kind, Kind::Search | Kind::Fetch),
            wants_paths: matches!(
                kind,
                Kind::Read | Kind::Edit | Kind::Write | Kind::Delete | Kind::Move | Kind::Search
            ),
            one_path: matches!(kind, Kind::Edit | Kind::Write),
            ..Self::default()
        }
    }

    fn is_complete(&self) -> bool {
        let wants = self.wants_query || self.wants_paths || (self.wants_command && self.command.is_none());
        !wants || (self.one_path && !self.paths.is_empty())
    }
}

impl<'de> Visitor<'de> for &mut ToolCallFacts {
    type Value = ();
    missing!(bool number text null list);

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a call's arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<WireText<'de>>()? {
            match key.text() {
                "command" | "cmd" if self.wants_command => {
                    self.command = map.next_value::<Texts<'de>>()?.into_command();
                }
                "pattern" | "query" | "filePattern" | "url" if self.wants_query => {
                    self.query = map.next_value::<WireText<'de>>()?.into_option();
                }
                "objective" if self.wants_query && self.wants_paths => {
                    self.query = self.query.take().or(map.next_value::<WireText<'de>>()?.into_option());
                }
                "file_path" | "path" | "paths" | "file_paths" | "notebook_path" | "absolute_path"
                | "dir_path"
                    if self.wants_paths =>
                {
                    let texts = map.next_value::<Texts<'de>>()?.0;
                    self.paths.extend(texts.into_iter().map(Cow::into_owned));
                }
                "offset" | "start_line" if self.wants_paths => {
                    self.line = map.next_value::<WireInt>()?.as_count();
                }
                "view_range" | "read_range" if self.wants_paths => {
                    let range = map.next_value::<WireList<WireInt>>()?.0;
                    self.line = range.first().and_then(|line| line.as_count());
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            if self.is_complete() {
                break;
            }
        }
        Ok(())
    }
}

/// A text, or a list of texts.
#[derive(Default)]
struct Texts<'a>(Vec<Cow<'a, str>>);

impl Texts<'_> {
    /// A command line; of a shell's own words the script only.
    fn into_command(self) -> Option<String> {
        match self.0.as_slice() {
            [] => None,
            [_, flag, script] if matches!(flag.as_ref(), "-c" | "-lc") => Some(script.clone().into_owned()),
            words => Some(words.join(" ")),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Texts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextsVisitor;
        impl<'de> Visitor<'de> for TextsVisitor {
            type Value = Texts<'de>;
            missing!(bool number null map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Texts(vec![Cow::Borrowed(text)]))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Texts(vec![Cow::Owned(text.to_owned())]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element::<WireText<'de>>()? {
                    texts.extend(text.0);
                }
                Ok(Texts(texts))
            }
        }
        deserializer.deserialize_any(TextsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::EventJson;

    const KINDS: &[(&str, AgentToolKind)] = &[
        ("Read", AgentToolKind::Read),
        ("Write", AgentToolKind::Write),
        ("Grep", AgentToolKind::Search),
        ("Bash", AgentToolKind::Execute),
        ("WebFetch", AgentToolKind::Fetch),
        ("mcp__*", AgentToolKind::Mcp),
    ];

    fn described(name: &str, input: &serde_json::Value) -> ToolCall {
        let mut call = ToolCall::new("c", name, EventJson::from(input));
        describe_call(&mut call, KINDS);
        call
    }

    #[test]
    fn a_call_is_described_by_its_name_and_its_arguments() {
        let told = |name: &str, input: serde_json::Value| {
            let call = described(name, &input);
            let places: Vec<_> = call.locations.into_iter().map(|at| (at.path, at.line)).collect();
            (call.kind, call.command, call.query, places)
        };
        let text = |text: &str| Some(text.to_owned());
        let path = |line| vec![("/a".to_owned(), line)];
        assert_eq!(
            told("Bash", json!({"description": "d", "command": "ls \"x\"", "path": "/a"})),
            (AgentToolKind::Execute, text("ls \"x\""), None, vec![])
        );
        assert_eq!(
            told("Bash", json!({"cmd": ["bash", "-lc", "ls | wc"]})),
            (AgentToolKind::Execute, text("ls | wc"), None, vec![])
        );
        assert_eq!(told("Bash", json!({"command": ["ls", "-l"]})).1, text("ls -l"));
        assert_eq!(
            told("Read", json!({"file_path": "/a", "offset": 7, "command": "view"})),
            (AgentToolKind::Read, None, None, path(Some(7)))
        );
        assert_eq!(told("Read", json!({"view_range": [3, 9], "path": "/a"})).3, path(Some(3)));
        assert_eq!(told("Read", json!({"path": "/a", "offset": 0})).3, path(None));
        assert_eq!(told("Read", json!({"paths": ["/a", "/b"], "offset": 4})).3[1], ("/b".to_owned(), None));
        assert_eq!(
            told("Write", json!({"file_path": "/a", "content": "x", "path": "/b"})).3,
            path(None),
            "what follows the path is not read"
        );
        assert_eq!(
            told("Grep", json!({"pattern": "a.b", "path": "/a"})),
            (AgentToolKind::Search, None, text("a.b"), path(None))
        );
        assert_eq!(told("WebFetch", json!({"url": "http://h/", "prompt": "p"})).2, text("http://h/"));
        assert_eq!(told("mcp__s__t", json!({"path": "/a"})), (AgentToolKind::Mcp, None, None, vec![]));
        assert_eq!(told("Novel", json!({"path": "/a"})), (AgentToolKind::Other, None, None, vec![]));
    }

    #[test]
    fn arguments_of_other_types_and_what_the_caller_knows_are_left_alone() {
        for input in
            [json!(null), json!("x"), json!([1]), json!({"command": {"a": 1}}), json!({"command": []})]
        {
            assert_eq!(described("Bash", &input).command, None, "{input}");
        }
        let mut call = ToolCall {
            kind: AgentToolKind::Edit,
            command: Some("known".to_owned()),
            locations: vec![ToolLocation::new("known")],
            ..ToolCall::new("c", "Bash", EventJson::from(&json!({"command": "x", "path": "/a"})))
        };
        describe_call(&mut call, KINDS);
        assert_eq!((call.kind, call.command.as_deref()), (AgentToolKind::Edit, Some("known")));
        assert_eq!(call.locations, [ToolLocation::new("known")]);
    }

    #[test]
    fn another_code_than_0_is_an_error_and_0_excuses_nothing() {
        for (said, code, expected) in
            [(false, None, false), (false, Some(0), false), (false, Some(3), true), (true, Some(0), true)]
        {
            let mut result = ToolResult { is_error: said, ..ToolResult::default() };
            settle_exit(&mut result, code);
            assert_eq!((result.is_error, result.exit_code), (expected, code));
        }
    }
}
