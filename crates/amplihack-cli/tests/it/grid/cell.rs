//! One cell of the grid: a user's machine with one real agent, what its model asks for, and where the effects are looked for.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_probe::loopback::{DUMMY_KEY, LoopbackOptions, prepare_loopback};
use amplihack_probe::model::{ModelScenario, ModelScript, ScriptedReply};
use amplihack_testkit::grid::{JourneyCell, cell};
use amplihack_testkit::{Output, Run, long, loud, procs};
use serde_json::Value;

use crate::known_versions;
use crate::world::{World, amplihack, real};

/// The file that the harmless call writes.
pub(super) const CHANGED: &str = "changed.txt";
/// What is in it.
pub(super) const CONTENTS: &str = "changed\n";
/// What the user wants.
pub(super) const TASK: &str = "Write the file changed.txt.";
/// The check of that.
pub(super) const CHECK: &str = "test -s changed.txt";
/// The message of the commit that is forbidden.
const FORBIDDEN: &str = "past-the-hooks";
/// Longer than any journey takes on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_mins(3);

/// A user's machine with the one agent of a cell.
pub(super) struct Cell<'w> {
    pub(super) agent: AgentBinary,
    pub(super) world: &'w World,
    skipped: AtomicBool,
}

/// Makes the journey `name` with `agent`, and leaves for `cargo xtask test --grid` what came of it.
pub(super) fn run(name: &str, agent: AgentBinary, make: fn(&Cell<'_>)) {
    match cell(name, agent) {
        JourneyCell::Named(reason) => return note(name, agent, &format!("named: {reason}")),
        JourneyCell::Long if !long() => return,
        JourneyCell::Always | JourneyCell::Long => {}
    }
    let begun = Instant::now();
    let Some(program) = real(agent) else {
        return note(name, agent, "not run: the agent is not installed");
    };
    let mut line = "not run: there is no world for it".to_owned();
    World::with(agent, ModelScript::default(), |world| {
        world.sandbox.unset(format!("AMPLIHACK_{}_PATH", agent.name().to_uppercase()));
        let linked = world.sandbox.link(agent.name(), &program);
        known_versions::tell(&world.sandbox, agent, &linked);
        world.sandbox.link("amplihack", amplihack());
        // Each user has one; connections to machines are shared below it.
        let root = world.sandbox.root().to_owned();
        world.sandbox.set("XDG_RUNTIME_DIR", root);
        // The keys of the user, which a remote session takes along.
        for key in ["CODEX_API_KEY", "COPILOT_GITHUB_TOKEN"] {
            world.sandbox.set(key, DUMMY_KEY);
        }
        world.sandbox.write("work/README", "a project\n");
        for args in [&["add", "."][..], &["commit", "--quiet", "-m", "one"]] {
            world.sandbox.run("git", args).assert_code(0);
        }
        let cell = Cell { agent, world, skipped: AtomicBool::new(false) };
        make(&cell);
        procs::assert_none_soon(&world.everything(), Duration::from_secs(5));
        line = if cell.skipped.load(Ordering::Relaxed) {
            "not run: this machine has not what it needs".to_owned()
        } else {
            format!("holds {:.1}", begun.elapsed().as_secs_f32())
        };
    });
    note(name, agent, &line);
}

/// One line in a file of the cell.
fn note(name: &str, agent: AgentBinary, line: &str) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("grid");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(format!("{name}.{agent}")), format!("{line}\n")).unwrap();
    if !line.starts_with("holds") {
        loud(&format!("{name} {agent}: {line}"));
    }
}

impl Cell<'_> {
    /// The machine has not what the journey needs, which has been said.
    pub(super) fn is_skipped(&self) {
        self.skipped.store(true, Ordering::Relaxed);
    }

    /// The agent's settings as they are before its user trusts a directory.
    pub(super) fn trusts_nothing(&self) {
        let url = self.world.server.base_url(ModelScenario::Script, "run");
        prepare_loopback(self.agent, &url, &self.world.sandbox.home(), LoopbackOptions::default()).unwrap();
    }

    /// The user's checkout.
    pub(super) fn checkout(&self) -> PathBuf {
        self.world.sandbox.work()
    }

    /// The agent changes the file, tries what is forbidden, and says `end`.
    pub(super) fn script(&self, end: &str) -> Vec<ScriptedReply> {
        script(&self.world.sandbox.home(), end)
    }

    /// Lets the model play these replies.
    pub(super) fn play(&self, replies: Vec<ScriptedReply>) {
        self.world.server.set_script("run", ModelScript::new(replies));
    }

    /// Runs `amplihack` with `args` in the checkout.
    pub(super) fn amplihack(&self, args: &[&str]) -> Output {
        Run::new(self.world.command(args)).timeout(PATIENCE).output()
    }

    /// Types `line` into a shell in the checkout.
    pub(super) fn typed(&self, line: &str) -> Output {
        let mut shell = self.world.sandbox.command("/bin/sh");
        shell.args(["-c", line]);
        Run::new(shell).timeout(PATIENCE).output()
    }

    /// The change is in `directory`.
    #[track_caller]
    pub(super) fn assert_changed(&self, directory: &Path, after: &Output) {
        let found = std::fs::read_to_string(directory.join(CHANGED)).ok();
        assert_eq!(found.as_deref(), Some(CONTENTS), "{}: {after}\n{:#?}", directory.display(), self.said());
    }

    /// The forbidden calls left nothing in the repository and in amplihack's home, and the guard says that it was asked.
    #[track_caller]
    pub(super) fn assert_guarded(&self, after: &Output) {
        assert!(!forbidden_file(&self.world.sandbox.home()).exists(), "{after}");
        self.assert_no_commit(&self.checkout(), after);
        let audit = self.amplihack(&["audit", "show", "--decision", "deny", "--json"]);
        audit.assert_code(0);
        assert_denied(self.agent, audit.json().as_array().unwrap(), after);
        self.amplihack(&["audit", "verify"]).assert_code(0);
    }

    /// The forbidden commit is nowhere in the repository at `directory`.
    #[track_caller]
    pub(super) fn assert_no_commit(&self, directory: &Path, after: &Output) {
        let mut git = self.world.sandbox.command("git");
        git.args(["log", "--all", "--reflog", "--format=%s"]).current_dir(directory);
        let log = Run::new(git).output();
        log.assert_code(0);
        assert!(!log.stdout_text().contains(FORBIDDEN), "{log}\n{after}");
    }

    /// What the model was told, for messages.
    pub(super) fn said(&self) -> Vec<String> {
        let mut said: Vec<String> = self
            .world
            .server
            .request_texts("run")
            .into_iter()
            .filter(|said| said.role == "tool")
            .map(|said| said.text)
            .collect();
        said.dedup();
        said
    }
}

/// There is no change in `directory`.
#[track_caller]
pub(super) fn assert_unchanged(directory: &Path, after: &Output) {
    assert!(!directory.join(CHANGED).exists(), "{}: {after}", directory.display());
}

/// The model asks for a harmless change and for two forbidden calls where `home` is the user's, then says `end`; it begins
/// anew with each prompt.
pub(super) fn script(home: &Path, end: &str) -> Vec<ScriptedReply> {
    let tool = |command: String| ScriptedReply::Tool { command };
    vec![
        tool(format!("echo changed > {CHANGED}")),
        tool(format!("git commit --allow-empty --no-verify -m {FORBIDDEN}")),
        tool(format!("touch {}", forbidden_file(home).display())),
        ScriptedReply::Text(end.to_owned()),
    ]
}

/// The file in amplihack's state that the agent tries to make.
fn forbidden_file(home: &Path) -> PathBuf {
    home.join(".amplihack/sessions/forbidden")
}

/// The audit has both forbidden calls, denied.
#[track_caller]
pub(super) fn assert_denied(agent: AgentBinary, audit: &[Value], after: &Output) {
    for part in [FORBIDDEN, ".amplihack/sessions/forbidden"] {
        let denied = |line: &Value| {
            line["host"] == agent.name()
                && line["decision"] == "deny"
                && line["data"]["command"].as_str().is_some_and(|command| command.contains(part))
        };
        assert!(audit.iter().any(denied), "{part}: {audit:#?}\n{after}");
    }
}

/// The command in `output` that begins with `words`, as a person would copy it.
#[track_caller]
pub(super) fn printed(output: &Output, words: &str) -> String {
    let text = format!("{}\n{}", output.stdout_text(), output.stderr_text());
    let found = text.lines().find_map(|line| line.find(words).map(|start| line[start..].to_owned()));
    let line = found.unwrap_or_else(|| panic!("no line has {words:?}: {output}"));
    let end = line.find(['`', '\'', ';', ')']).or_else(|| line.find("  ")).unwrap_or(line.len());
    line[..end].trim_end().to_owned()
}

/// An answer of the agent in an unattended run.
pub(super) fn claim(status: &str) -> String {
    format!("I wrote it.\nAMPLIHACK-STATUS: {{\"status\": \"{status}\", \"summary\": \"written\"}}")
}
