//! What the scripted model says while a stream is recorded, read from `streams.toml` in the words of one agent.

use std::collections::BTreeMap;
use std::path::Path;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{
    ModelScript, ReplyUsage, ScriptedMessage, ScriptedPart, ScriptedReply, ScriptedStop,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The file, whole.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Book {
    /// Texts of the files of the working directory.
    files: BTreeMap<String, String>,
    /// Bytes of its images, in hexadecimal digits.
    images: BTreeMap<String, String>,
    /// Each agent's own calls, by their neutral names.
    tools: BTreeMap<String, BTreeMap<String, Template>>,
    scenario: Vec<Entry>,
}

/// A call in an agent's own words. A text `$name` stands for an argument of the neutral call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    tool: String,
    input: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// All agents, where none is named.
    #[serde(default)]
    agents: Vec<String>,
    prompt: String,
    /// A prompt of a run before, which is not recorded.
    before: Option<String>,
    replies: Vec<Reply>,
    #[serde(default)]
    nested: Vec<Nested>,
    /// What one agent needs beside.
    #[serde(default)]
    own: BTreeMap<String, Own>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nested {
    word: String,
    replies: Vec<Reply>,
}

/// What one agent needs for a scenario.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Own {
    /// Words of its command line.
    pub flags: Vec<String>,
    /// Words that amplihack gives it and this scenario does not.
    pub without: Vec<String>,
    /// Variables; an empty one is taken away.
    pub env: BTreeMap<String, String>,
    /// Settings for its file.
    pub settings: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    /// Parts of one key each: `think`, `redacted`, `text`, `web`, or a neutral call.
    say: Vec<BTreeMap<String, Value>>,
    stop: Option<Stop>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    fails: Option<u16>,
    /// Tokens of input; the other counts are those of every reply.
    input: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stop {
    MaxTokens,
    Refusal,
}

/// A scenario in the words of one agent.
#[derive(Debug)]
pub(super) struct Scenario {
    pub prompt: String,
    pub before: Option<String>,
    pub script: ModelScript,
    pub own: Own,
    /// Files of the working directory with their bytes.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Book {
    /// Reads the file of this directory, for the working directory `work` and a server of tools at `tools`.
    fn read(work: &str, tools: &str) -> Self {
        let text = include_str!("streams.toml").replace("{work}", work).replace("{tools}", tools);
        toml::from_str(&text).unwrap()
    }

    /// The names of the scenarios of `agent`.
    pub(super) fn names(agent: AgentBinary) -> Vec<String> {
        let book = Self::read("", "");
        book.entries(agent).map(|entry| entry.name.clone()).collect()
    }

    /// The scenario `name` in the words of `agent`, for the working directory `work` and a server of tools at `tools`.
    pub(super) fn open(agent: AgentBinary, name: &str, work: &Path, tools: &Path) -> Scenario {
        let book = Self::read(work.to_str().unwrap(), tools.to_str().unwrap());
        let entry = book.entries(agent).find(|entry| entry.name == name).unwrap();
        book.scenario(agent.name(), entry)
    }

    fn entries(&self, agent: AgentBinary) -> impl Iterator<Item = &Entry> {
        let is_for = move |entry: &&Entry| {
            entry.agents.is_empty() || entry.agents.iter().any(|named| named == agent.name())
        };
        self.scenario.iter().filter(is_for)
    }

    fn scenario(&self, agent: &str, entry: &Entry) -> Scenario {
        let mut script = self.script(agent, &entry.replies);
        for nested in &entry.nested {
            script = script.with_nested(&nested.word, self.script(agent, &nested.replies));
        }
        let texts = self.files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes()));
        let images = self.images.iter().map(|(name, digits)| (name.clone(), bytes(digits)));
        Scenario {
            prompt: entry.prompt.clone(),
            before: entry.before.clone(),
            script,
            own: entry.own.get(agent).cloned().unwrap_or_default(),
            files: texts.chain(images).collect(),
        }
    }

    /// The replies in the agent's words. One that has nothing for this agent is left out.
    fn script(&self, agent: &str, replies: &[Reply]) -> ModelScript {
        let message = |reply: &Reply| {
            let parts: Vec<_> = reply.say.iter().filter_map(|part| self.part(agent, part)).collect();
            if parts.is_empty() {
                return None;
            }
            let stop = reply.stop.map(|stop| match stop {
                Stop::MaxTokens => ScriptedStop::MaxTokens,
                Stop::Refusal => ScriptedStop::Refusal,
            });
            let usage = reply.input.map(|input| ReplyUsage { input, reasoning: 2, ..ReplyUsage::default() });
            let headers = reply.headers.clone().into_iter().collect();
            Some(ScriptedReply::Message(ScriptedMessage { parts, stop, usage, headers, fails: reply.fails }))
        };
        ModelScript::new(replies.iter().filter_map(message))
            .over_conversation()
            .with_usage(ReplyUsage { reasoning: 2, ..ReplyUsage::default() })
    }

    fn part(&self, agent: &str, part: &BTreeMap<String, Value>) -> Option<ScriptedPart> {
        let (word, value) = part.first_key_value().unwrap();
        assert_eq!(part.len(), 1, "{part:?}");
        let text = || value.as_str().unwrap().to_owned();
        Some(match word.as_str() {
            "think" => ScriptedPart::Thinking(text()),
            "redacted" => ScriptedPart::Redacted,
            "text" => ScriptedPart::Text(text()),
            "web" => ScriptedPart::Search(text()),
            word => {
                let known = self.tools.values().any(|tools| tools.contains_key(word));
                assert!(known, "no agent has a tool {word:?}");
                let template = self.tools[agent].get(word)?;
                let input = filled(&template.input, value);
                ScriptedPart::Call { tool: template.tool.clone(), input }
            }
        })
    }
}

/// `template` with each text `$name` replaced by the argument of this name; a text beginning with two is the model server's.
fn filled(template: &Value, arguments: &Value) -> Value {
    match template {
        Value::String(text) => {
            text.strip_prefix('$').and_then(|name| arguments.get(name)).unwrap_or(template).clone()
        }
        Value::Array(values) => values.iter().map(|value| filled(value, arguments)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), filled(value, arguments))).collect()
        }
        other => other.clone(),
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn real_calls_are_in_each_agents_words() {
    let template = json!({"path": "$path", "deep": ["$after:x", {"n": "$many"}]});
    let expected = json!({"path": "/f", "deep": ["$after:x", {"n": 2}]});
    assert_eq!(filled(&template, &json!({"path": "/f", "many": 2})), expected);
    for agent in [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Gemini] {
        assert!(Book::names(agent).len() >= 6, "{agent}");
        let tools = Book::open(agent, "tools", Path::new("/w"), Path::new("/t"));
        assert!(tools.script.replies.len() >= 8, "{agent}: {:?}", tools.script);
    }
}
