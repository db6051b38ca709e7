//! Scripts of the scripted model: named scenarios and free scripts, chosen by what a request already carries.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;

use super::dialect::RequestText;

/// The text that ends a conversation with tool calls.
pub const DONE: &str = "FAKE-DONE";
/// The text for a request without anything to do: the `text` scenario, or a tool call that no offered tool can make.
pub const HELLO: &str = "FAKE-HELLO";
/// The only model in the server's lists; any other name in a request is accepted too.
pub(crate) const MODEL: &str = "fake-model";
/// The command of a tool call when the run registered none.
pub(crate) const DEFAULT_COMMAND: &str = "echo hello-from-tool";

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptedReply {
    /// Text, which ends the turn.
    Text(String),
    /// A call of the shell tool that the request offers. A request that offers none gets [`HELLO`].
    Tool {
        /// The shell command.
        command: String,
    },
    /// A call of the file-writing tool that the request offers. A request that offers none gets [`HELLO`].
    Write {
        /// The file, an absolute path.
        path: String,
        /// All of its text.
        text: String,
    },
    /// A call of the tool of this name, with its namespace and a dot before it where it has one; [`HELLO`] if it is not offered.
    Call {
        /// The tool.
        tool: String,
        /// The call's arguments. A text `$after:WORDS` stands for the number that a tool last told behind these words, `$word-after:WORDS` for the word.
        input: Value,
    },
    /// An HTTP error with a body in the client's dialect.
    Error {
        /// The HTTP status.
        status: u16,
    },
    /// Silence for this long, then [`DONE`].
    Hang(Duration),
    /// Several parts in one message, and what a server says beside them.
    Message(ScriptedMessage),
}

/// A message of several parts. Tools may be called that a request does not list: some agents take those too. A request without any tool
/// gets the message without its calls, and [`HELLO`] if nothing is left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptedMessage {
    /// The parts, in their order.
    pub parts: Vec<ScriptedPart>,
    /// The reason why the model stopped, where it is neither its end nor a call.
    pub stop: Option<ScriptedStop>,
    /// Tokens that this message reports instead of the script's.
    pub usage: Option<ReplyUsage>,
    /// Headers of the HTTP response.
    pub headers: Vec<(String, String)>,
    /// Failure before the message, as an HTTP status: the first request of the run that gets this message gets it, the next one the message.
    pub fails: Option<u16>,
}

/// A part of a message. A dialect that has no such part leaves it out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptedPart {
    /// A thought.
    Thinking(String),
    /// A thought that is kept from the reader.
    Redacted,
    /// Text.
    Text(String),
    /// A search of the web, with one result, by the server itself.
    Search(String),
    /// A call of a tool, as [`ScriptedReply::Call`]; arguments that are a text are those of a tool without a schema.
    Call {
        /// The tool.
        tool: String,
        /// The call's arguments.
        input: Value,
    },
}

impl ScriptedPart {
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }
}

/// The reason why a model stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptedStop {
    /// The message is as long as it may be.
    MaxTokens,
    /// The model refused.
    Refusal,
}

/// The point from which a request's step in a [`ModelScript`] is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepCounting {
    /// Model turns after the last user prompt: every prompt starts the script anew.
    #[default]
    SincePrompt,
    /// Model turns in the whole conversation: a resumed session goes on where it was.
    Conversation,
}

/// Tokens that one reply reports. Each dialect writes them as its API counts: OpenAI's input includes cached tokens,
/// Anthropic's does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyUsage {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Input tokens read from a cache.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
    /// Output tokens of thoughts, where a dialect counts them; part of `output`.
    pub reasoning: u64,
}

impl Default for ReplyUsage {
    /// Three different numbers, so that a mix-up shows.
    fn default() -> Self {
        Self { input: 10, cached: 4, output: 5, reasoning: 0 }
    }
}

/// The sum of what a run's replies reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunUsageTotals {
    /// Replies with usage numbers; errors have none.
    pub replies: u64,
    /// Input tokens that were not cached.
    pub input: u64,
    /// Input tokens read from a cache.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
}

impl RunUsageTotals {
    pub(crate) fn add_usage(&mut self, usage: ReplyUsage) {
        self.replies += 1;
        self.input += usage.input;
        self.cached += usage.cached;
        self.output += usage.output;
    }
}

/// A list of replies, one a step; the last one repeats.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelScript {
    /// The replies; none means [`DONE`] at every step.
    pub replies: Vec<ScriptedReply>,
    /// The point from which a step is counted.
    pub counting: StepCounting,
    /// Tokens that every reply reports.
    pub usage: ReplyUsage,
    /// `true` if a call of a tool that a request does not offer is passed over, with all before the next one that it offers. Else it is
    /// [`HELLO`].
    pub skips: bool,
    /// Scripts of nested agents, each with a word of its prompt; the first whose word stands in what the user said holds.
    pub nested: Vec<(String, ModelScript)>,
}

impl ModelScript {
    /// Creates a script of `replies`, counted from the last prompt, with the default usage.
    pub fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self { replies: replies.into_iter().collect(), ..Self::default() }
    }

    /// Returns the script, counted over the whole conversation.
    #[must_use]
    pub fn over_conversation(mut self) -> Self {
        self.counting = StepCounting::Conversation;
        self
    }

    /// Returns the script with other usage numbers.
    #[must_use]
    pub fn with_usage(mut self, usage: ReplyUsage) -> Self {
        self.usage = usage;
        self
    }

    /// Returns the script, in which calls of tools that are not offered are passed over.
    #[must_use]
    pub fn with_skipping(mut self) -> Self {
        self.skips = true;
        self
    }

    /// Returns the script with another one for conversations in which a user said `word`.
    #[must_use]
    pub fn with_nested(mut self, word: &str, script: Self) -> Self {
        self.nested.push((word.to_owned(), script));
        self
    }

    /// The script of the conversation in which `said` was said.
    pub(crate) fn for_conversation(&self, said: impl FnOnce() -> Vec<RequestText>) -> &Self {
        if self.nested.is_empty() {
            return self;
        }
        let said = said();
        let is_said = |word: &str| said.iter().any(|said| said.role == "user" && said.text.contains(word));
        self.nested.iter().find(|(word, _)| is_said(word)).map_or(self, |(_, script)| script)
    }

    pub(crate) fn reply_at(&self, step: usize) -> ScriptedReply {
        let last = self.replies.len().saturating_sub(1);
        self.replies.get(step.min(last)).cloned().unwrap_or_else(|| ScriptedReply::Text(DONE.to_owned()))
    }
}

/// A script by name. Its `Display` and `FromStr` form is what stands in the request path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelScenario {
    /// `text`: [`HELLO`].
    Text,
    /// `tool`: one tool call with the run's command, then [`DONE`].
    Tool,
    /// `slowtool31`: one tool call that takes this many seconds, then [`DONE`].
    SlowTool(u32),
    /// `loop`: tool calls without end.
    Loop,
    /// `turns3`: this many tool calls, then [`DONE`].
    Turns(u32),
    /// `err429`: this HTTP status, always.
    Error(u16),
    /// `hang60`: this many seconds of silence, then [`DONE`].
    Hang(u32),
    /// `script`: what the run registered with `ModelServer::script`.
    Script,
}

impl ModelScenario {
    /// The script of this scenario, with the run's command; `None` for [`ModelScenario::Script`].
    pub(crate) fn to_script(self, command: &str) -> Option<ModelScript> {
        let call = || ScriptedReply::Tool { command: command.to_owned() };
        let done = || ScriptedReply::Text(DONE.to_owned());
        Some(ModelScript::new(match self {
            Self::Text => vec![ScriptedReply::Text(HELLO.to_owned())],
            Self::Tool => vec![call(), done()],
            Self::SlowTool(seconds) => vec![ScriptedReply::Tool { command: slow_command(seconds) }, done()],
            Self::Loop => vec![call()],
            Self::Turns(turns) => (0..turns).map(|_| call()).chain([done()]).collect(),
            Self::Error(status) => vec![ScriptedReply::Error { status }],
            Self::Hang(seconds) => vec![ScriptedReply::Hang(Duration::from_secs(seconds.into()))],
            Self::Script => return None,
        }))
    }
}

/// Claude Code refuses a bare `sleep`, so time is passed by a reader of nothing.
fn slow_command(seconds: u32) -> String {
    format!("timeout {seconds} tail -f /dev/null || true")
}

impl fmt::Display for ModelScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Tool => f.write_str("tool"),
            Self::SlowTool(seconds) => write!(f, "slowtool{seconds}"),
            Self::Loop => f.write_str("loop"),
            Self::Turns(turns) => write!(f, "turns{turns}"),
            Self::Error(status) => write!(f, "err{status}"),
            Self::Hang(seconds) => write!(f, "hang{seconds}"),
            Self::Script => f.write_str("script"),
        }
    }
}

/// A name that is no scenario's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown scenario {0:?}; use text, tool, slowtool<seconds>, loop, turns<n>, err<status>, hang<seconds> or script"
)]
pub struct UnknownScenario(pub String);

impl FromStr for ModelScenario {
    type Err = UnknownScenario;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownScenario(name.to_owned());
        let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
        let (word, number) = name.split_at(digits);
        let number =
            if number.is_empty() { None } else { Some(number.parse::<u32>().map_err(|_| unknown())?) };
        Ok(match (word, number) {
            ("text", None) => Self::Text,
            ("tool", None) => Self::Tool,
            ("slowtool", seconds) => Self::SlowTool(seconds.unwrap_or(31)),
            ("loop", None) => Self::Loop,
            ("turns", Some(turns)) if turns <= 1000 => Self::Turns(turns),
            ("err", Some(status @ 400..=599)) => Self::Error(u16::try_from(status).map_err(|_| unknown())?),
            ("hang", seconds) => Self::Hang(seconds.unwrap_or(60)),
            ("script", None) => Self::Script,
            _ => return Err(unknown()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_survives_its_own_name() {
        let all = [
            ModelScenario::Text,
            ModelScenario::Tool,
            ModelScenario::SlowTool(2),
            ModelScenario::Loop,
            ModelScenario::Turns(3),
            ModelScenario::Error(429),
            ModelScenario::Hang(7),
            ModelScenario::Script,
        ];
        for scenario in all {
            assert_eq!(scenario.to_string().parse(), Ok(scenario));
        }
        assert_eq!("hang".parse(), Ok(ModelScenario::Hang(60)));
        for name in ["", "text1", "err", "err200", "err99999999999", "turns", "turns1001", "Tool", "tool-"] {
            assert_eq!(name.parse::<ModelScenario>(), Err(UnknownScenario(name.to_owned())), "{name}");
        }
    }

    #[test]
    fn the_last_reply_repeats() {
        let script = ModelScenario::Turns(2).to_script("id").unwrap();
        let tool = ScriptedReply::Tool { command: "id".to_owned() };
        let replies: Vec<_> = (0..4).map(|step| script.reply_at(step)).collect();
        let done = ScriptedReply::Text(DONE.to_owned());
        assert_eq!(replies, [tool.clone(), tool, done.clone(), done.clone()]);
        assert_eq!(ModelScript::default().reply_at(9), done);
    }
}
