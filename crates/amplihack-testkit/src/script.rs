//! What a fake agent does after it has written down how it was called: data that a test builds and the program obeys.

use serde::{Deserialize, Serialize};

/// A fake agent's part. The default reads stdin to its end, prints nothing and exits with 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The line that answers `--version`; `None` gives the real CLI's line of the name that it was called by.
    pub version: Option<String>,
    /// The exit code of `--version`.
    pub version_exit: u8,
    /// How long `--version` takes.
    pub version_sleep_ms: u64,
    /// Signals that the whole program ignores, by name without `SIG`.
    pub ignore: Vec<String>,
    /// How stdin is read before the record is written.
    pub stdin: StdinPlan,
    /// Whether it calls no hooks, as a real agent whose hooks are off. Without this it reports to its launch what they would report.
    pub without_hooks: bool,
    /// What follows, in order.
    pub steps: Vec<Step>,
}

/// How a fake agent treats its stdin. A terminal is never read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StdinPlan {
    /// To its end, at once.
    #[default]
    Read,
    /// To its end, after this many milliseconds.
    LateMs(u64),
    /// This many bytes; then stdin is closed, whatever is still to come.
    First(usize),
    /// Not at all.
    Never,
}

/// One thing that a fake agent does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Writes this text to stdout.
    Print(String),
    /// Writes this text to stderr.
    PrintError(String),
    /// Writes this many bytes, lines of `x`, to stdout.
    PrintBytes(usize),
    /// Writes this many bytes, lines of `x`, to stderr.
    PrintErrorBytes(usize),
    /// Writes what was read from stdin to stdout.
    EchoStdin,
    /// Sleeps this many milliseconds.
    SleepMs(u64),
    /// Starts a process and leaves it behind.
    Child(Child),
    /// Runs this text with `sh -c` in the same directory, environment and streams, and waits for its end.
    Shell(String),
    /// Dies by this signal, by name without `SIG`.
    Die(String),
    /// Exits with this code.
    Exit(u8),
}

/// A process that a fake agent leaves behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Child {
    /// Where it stands in the process tree.
    pub kind: Kind,
    /// A word in its argv, to find it by.
    pub marker: String,
    /// How long it lives.
    pub sleep_ms: u64,
    /// Whether it holds the agent's stdout and stderr open.
    pub holds_output: bool,
    /// Signals that it ignores, by name without `SIG`.
    pub ignore: Vec<String>,
}

/// Where a left-behind process stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A child in the agent's own process group.
    #[default]
    Plain,
    /// A child in a session of its own, as agents start their tools.
    Session,
    /// Forked twice, in a session of its own, no longer the agent's descendant.
    Daemon,
}

impl Default for Child {
    fn default() -> Self {
        Self {
            kind: Kind::Plain,
            marker: "fake-agent-left-behind".to_owned(),
            sleep_ms: 60_000,
            holds_output: false,
            ignore: Vec::new(),
        }
    }
}

impl Child {
    /// A child of `kind` that is found by `marker` and lives for a minute.
    pub fn new(kind: Kind, marker: &str) -> Self {
        Self { kind, marker: marker.to_owned(), ..Self::default() }
    }

    /// The same child, holding the agent's stdout and stderr open.
    #[must_use]
    pub fn holding_output(mut self) -> Self {
        self.holds_output = true;
        self
    }

    /// The same child, ignoring `signal` (a name without `SIG`) too.
    #[must_use]
    pub fn ignoring(mut self, signal: &str) -> Self {
        self.ignore.push(signal.to_owned());
        self
    }
}

impl Script {
    /// A script without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text for the variable `FAKE_AGENT_SCRIPT`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a script is plain data")
    }

    /// Answers `--version` with `line`.
    #[must_use]
    pub fn version(mut self, line: &str) -> Self {
        self.version = Some(line.to_owned());
        self
    }

    /// Ignores `signal` (a name without `SIG`) too.
    #[must_use]
    pub fn ignoring(mut self, signal: &str) -> Self {
        self.ignore.push(signal.to_owned());
        self
    }

    /// Treats stdin by `plan`.
    #[must_use]
    pub fn stdin(mut self, plan: StdinPlan) -> Self {
        self.stdin = plan;
        self
    }

    /// Then does `step`.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Then writes `text` to stdout.
    #[must_use]
    pub fn print(self, text: &str) -> Self {
        self.then(Step::Print(text.to_owned()))
    }

    /// Then writes `text` to stderr.
    #[must_use]
    pub fn print_error(self, text: &str) -> Self {
        self.then(Step::PrintError(text.to_owned()))
    }

    /// Then sleeps.
    #[must_use]
    pub fn sleep_ms(self, milliseconds: u64) -> Self {
        self.then(Step::SleepMs(milliseconds))
    }

    /// Then leaves `child` behind.
    #[must_use]
    pub fn leave(self, child: Child) -> Self {
        self.then(Step::Child(child))
    }

    /// Then runs `text` with `sh -c`.
    #[must_use]
    pub fn shell(self, text: &str) -> Self {
        self.then(Step::Shell(text.to_owned()))
    }

    /// Then exits with `code`.
    #[must_use]
    pub fn exit(self, code: u8) -> Self {
        self.then(Step::Exit(code))
    }

    /// Then dies by `signal`, a name without `SIG`.
    #[must_use]
    pub fn die(self, signal: &str) -> Self {
        self.then(Step::Die(signal.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Child, Kind, Script, StdinPlan};

    #[test]
    fn a_script_is_the_same_after_json() {
        let script = Script::new()
            .version("9.9.9")
            .ignoring("TERM")
            .stdin(StdinPlan::LateMs(5))
            .print("it's\n")
            .leave(Child::new(Kind::Daemon, "left").ignoring("HUP").holding_output())
            .die("SEGV");
        assert_eq!(serde_json::from_str::<Script>(&script.to_json()).unwrap(), script);
    }

    #[test]
    fn an_unknown_field_is_refused() {
        let error = serde_json::from_str::<Script>(r#"{"exit": 7}"#).unwrap_err();
        assert!(error.to_string().contains("exit"), "{error}");
    }
}
