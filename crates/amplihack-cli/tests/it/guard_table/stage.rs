//! One cell of the guard table: a user's machine with one real agent in one situation, and what its model asks for there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};
use amplihack_testkit::grid::AGENTS;
use amplihack_testkit::guard_table::{GuardCell, SITUATIONS, Situation};
use amplihack_testkit::{Output, Run, long, loud};

use super::calls::{Call, ToolUse, serve};
use crate::world::{World, amplihack, real};

/// Longer than any session takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);
/// A word of the prompt of a sub-agent.
const NESTED_WORD: &str = "guard-table-sub-agent";

/// What has to come of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Forbidden calls are stopped, harmless ones run.
    Held,
    /// The guard cannot judge: forbidden calls are stopped, maybe others too, or the launch is refused; and somebody is told.
    StoppedAloud,
    /// The guard is in force, or the launch is refused, or it says that there is no guard.
    HeldOrAnnounced,
}

/// How the cells of a situation are made.
#[derive(Clone, Copy)]
pub(super) enum CellKind {
    /// A session on a stage that is set for it.
    Staged(fn(&mut Stage<'_>)),
    /// Sessions of a test of its own, which says how many there were.
    Tested(fn(AgentBinary) -> String),
}

/// A situation in the making.
pub(super) struct Stage<'w> {
    pub(super) agent: AgentBinary,
    pub(super) world: &'w mut World,
    /// Arguments of `amplihack`; those of every launch if none are given.
    pub(super) arguments: Option<Vec<String>>,
    /// Arguments behind them.
    pub(super) more: Vec<String>,
    /// The program that is started.
    pub(super) program: PathBuf,
    /// Calls that the model makes before those that count.
    pub(super) before: Vec<ScriptedReply>,
    /// The calls that count; those of the table if none are given.
    pub(super) calls: Vec<Call>,
    pub(super) expected: Expected,
    /// What has to stand on stderr.
    pub(super) said: Vec<String>,
    /// Files that must not exist afterwards.
    pub(super) nowhere: Vec<PathBuf>,
    /// What somebody else does during the session.
    pub(super) meanwhile: Option<Box<dyn FnOnce() + Send>>,
    has_servers: bool,
    index: usize,
}

impl Stage<'_> {
    pub(super) fn home(&self) -> PathBuf {
        self.world.sandbox.home()
    }

    pub(super) fn work(&self) -> PathBuf {
        self.world.sandbox.work()
    }

    /// A file of the repository, before the launch.
    pub(super) fn put(&self, path: &str, text: &str) {
        self.world.sandbox.write(format!("work/{path}"), text);
    }

    /// A shell call that is not counted.
    pub(super) fn first(&mut self, command: &str) {
        self.before.push(ScriptedReply::Tool { command: command.to_owned() });
    }

    /// Passes `words` to the agent itself.
    pub(super) fn behind(&mut self, words: &[&str]) {
        if !self.more.iter().any(|word| word == "--") {
            self.more.push("--".to_owned());
        }
        self.more.extend(words.iter().map(|word| (*word).to_owned()));
    }

    /// The user trusts what the repository starts by itself.
    pub(super) fn trusts_repository(&mut self) {
        self.more.insert(0, "--trust-repo".to_owned());
    }

    /// The agent's command line has no place for servers of tools.
    pub(super) fn takes_no_server(&mut self) {
        self.has_servers = false;
    }

    /// What a shell call does only if it was not judged, in a file of its own.
    pub(super) fn sentinel(&self, name: &str) -> PathBuf {
        self.world.sandbox.root().join(name)
    }

    /// The uses of tools for this agent and situation: all of them in the whole run, else the shell's and two more, by place, so that
    /// the four agents of a situation make every one.
    fn chosen(&self) -> Vec<ToolUse> {
        let uses = ToolUse::ALL;
        let column = AGENTS.iter().position(|agent| *agent == self.agent).unwrap_or(0);
        let is_chosen =
            |place: usize| (place + uses.len() - self.index % uses.len()) % uses.len() / 2 == column;
        let chosen = uses.into_iter().enumerate().filter(|(place, tool)| {
            (long() || *tool == ToolUse::Shell || is_chosen(*place))
                && (self.has_servers || !tool.is_served())
        });
        chosen.map(|(_, tool)| tool).collect()
    }

    fn play(&self, calls: &[Call]) {
        let nested: Vec<ScriptedReply> = calls.iter().flat_map(|call| call.nested.clone()).collect();
        let mut replies = self.before.clone();
        replies.extend(calls.iter().flat_map(|call| call.replies.clone()));
        replies.push(ScriptedReply::Text(HELLO.to_owned()));
        // The end of a sub-agent may be told as if a user had said something.
        let mut script = ModelScript::new(replies).over_conversation();
        if !nested.is_empty() {
            let end = ScriptedReply::Text(HELLO.to_owned());
            script = script.with_nested(NESTED_WORD, ModelScript::new(nested.into_iter().chain([end])));
        }
        self.world.server.set_script("run", script);
    }

    fn launch(&mut self) -> Output {
        let meanwhile = self.meanwhile.take().map(std::thread::spawn);
        let mut command = self.world.sandbox.command(&self.program);
        match &self.arguments {
            Some(arguments) => command.args(arguments),
            None => command.args([self.agent.name(), "-p", "--prompt", "go", "--permissions", "full"]),
        };
        command.args(&self.more);
        let output = Run::new(command).timeout(PATIENCE).output();
        if let Some(meanwhile) = meanwhile {
            meanwhile.join().unwrap();
        }
        output
    }

    #[track_caller]
    fn judge(&self, calls: &[Call], output: &Output) {
        let tell = || format!("{output}\n{:#?}", self.told());
        let stderr = output.stderr_text();
        let announced = self.expected == Expected::HeldOrAnnounced
            && (output.code != Some(0) || stderr.contains("without a guard"));
        for call in calls.iter().filter(|_| !announced) {
            let had_effect = call.evidence.is_there(self);
            match self.expected {
                Expected::Held | Expected::HeldOrAnnounced => {
                    assert_eq!(had_effect, !call.is_forbidden, "{}: {}", call.name, tell());
                }
                Expected::StoppedAloud => {
                    assert!(!had_effect || !call.is_forbidden, "{} ran: {}", call.name, tell());
                }
            }
        }
        for path in &self.nowhere {
            assert!(!path.exists(), "{} was made: {}", path.display(), tell());
        }
        for words in &self.said {
            assert!(stderr.contains(words), "nobody was told {words:?}: {}", tell());
        }
        // A guard that holds is not taken for one that does not.
        if self.expected == Expected::Held {
            assert!(!stderr.contains("is not in force"), "{}", tell());
        }
        // What was held back was not held back in silence.
        if calls.iter().any(|call| call.is_forbidden) {
            let is_told = stderr.contains("denied") || stderr.contains("guard") || output.code != Some(0);
            assert!(is_told, "silence: {}", tell());
        }
    }

    /// What the model was told by tools, for messages.
    fn told(&self) -> Vec<String> {
        let said = self.world.server.request_texts("run").into_iter().filter(|said| said.role == "tool");
        let mut told: Vec<String> = said.map(|said| said.text.chars().take(400).collect()).collect();
        told.dedup();
        told
    }
}

/// The prompt by which a sub-agent's conversation is known.
pub(super) fn nested_prompt() -> String {
    format!("do your part, {NESTED_WORD}")
}

/// Makes the cell of the situation `name` and `agent`, and leaves for the page what came of it.
pub(super) fn run(name: &str, agent: AgentBinary, kind: CellKind) {
    if matches!(Situation::of_name(name).cell(agent), GuardCell::Never(_)) {
        return;
    }
    let begun = Instant::now();
    if real(agent).is_none() {
        return note(name, agent, "not run");
    }
    let made = match kind {
        CellKind::Staged(prepare) => staged(name, agent, prepare),
        CellKind::Tested(test) => test(agent),
    };
    note(name, agent, &format!("holds: {made}, {:.1} s", begun.elapsed().as_secs_f32()));
}

/// One session on a stage that `prepare` sets; returns how many calls counted.
fn staged(name: &str, agent: AgentBinary, prepare: fn(&mut Stage<'_>)) -> String {
    let mut made = String::new();
    World::with(agent, ModelScript::default(), |world| {
        // Else Claude Code offers half of its tools only when they are searched for.
        world.sandbox.set("ENABLE_TOOL_SEARCH", "false");
        world
            .sandbox
            .write("home/.ssh/id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\nsecret-of-the-key\n");
        world.sandbox.write("work/README.md", "readme-of-the-project\n");
        let mut stage = Stage {
            agent,
            world,
            arguments: None,
            more: Vec::new(),
            program: amplihack().to_owned(),
            before: Vec::new(),
            calls: Vec::new(),
            expected: Expected::Held,
            said: Vec::new(),
            nowhere: Vec::new(),
            meanwhile: None,
            has_servers: true,
            index: SITUATIONS.iter().position(|situation| situation.name == name).unwrap_or(0),
        };
        prepare(&mut stage);
        let mut calls = std::mem::take(&mut stage.calls);
        if calls.is_empty() {
            let chosen = stage.chosen();
            if chosen.iter().any(|tool| tool.is_served()) {
                serve(&mut stage);
            }
            calls = chosen.iter().flat_map(|tool| tool.calls(&stage)).collect();
        }
        stage.play(&calls);
        let output = stage.launch();
        stage.judge(&calls, &output);
        let forbidden = calls.iter().filter(|call| call.is_forbidden).count();
        made = format!("{forbidden} forbidden, {} harmless", calls.len() - forbidden);
    });
    made
}

/// One line in a file of the cell.
fn note(name: &str, agent: AgentBinary, line: &str) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guard-table");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(format!("{name}.{agent}")), format!("{line}\n")).unwrap();
    if !line.starts_with("holds") {
        loud(&format!("{name} {agent}: {line}"));
    }
}
