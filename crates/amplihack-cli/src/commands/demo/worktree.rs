//! The scene `worktree`: an unattended task of the scripted agent, from a check that fails to the change in the checkout.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_export::visible;
use amplihack_probe::demo::scripted_agent;
use amplihack_probe::drive::DriveError;
use amplihack_probe::loopback::{Options, loopback};
use amplihack_probe::model::{Reply, Scenario, Script};
use amplihack_session::{Deadlines, Output, ProcessOutput, RunSpec, run_to_end};
use amplihack_utils::env::Env;
use amplihack_utils::fs::{Durability, create_private_dir, write_atomic};
use amplihack_utils::sys::{self, Exit};
use serde_json::Value;

use super::{Stage, mark};
use crate::ui::{self, Failure};

/// The run at the model.
const RUN: &str = "demo-worktree";
const TASK: &str = "Make greet.sh greet whom it is told to";
/// The check of the task.
const CHECK: &str = "sh check.sh";
/// The repository of the scene.
const FILES: &[(&str, &str)] =
    &[("greet.sh", "echo \"Hello.\"\n"), ("check.sh", "test \"$(sh greet.sh Ada)\" = \"Hello, Ada.\"\n")];
/// What the scripted model asks for, before it says that it is done.
const CALLS: &[&str] = &[
    r#"echo 'echo "Hello, $1."' > greet.sh"#,
    "git commit --quiet --no-verify --all --message 'past the hooks'",
];
/// The message of the forbidden commit.
const MESSAGE: &str = "past the hooks";
const CLAIM: &str = "It greets.\nAMPLIHACK-STATUS: {\"status\": \"done\", \"summary\": \"greet.sh greets\", \"changes\": true}";
/// A step that takes longer is stuck.
const DEADLINE: Duration = Duration::from_mins(1);
/// The most that is kept of a program's output.
const KEPT_OUTPUT: usize = 1 << 20;

/// Runs the task as a user would, by commands. Returns whether everything held.
pub(super) fn show(stage: &mut Stage<'_>) -> Result<bool, Failure> {
    let begun = Instant::now();
    let Some(machine) = Machine::new(stage)? else {
        ui::data("  not shown: git is not installed\n")?;
        return Ok(true);
    };
    let calls = CALLS.iter().map(|command| Reply::Tool { command: (*command).to_owned() });
    stage.server.script(RUN, Script::new(calls.chain([Reply::Text(CLAIM.to_owned())])));
    let mut report = Report { holds: true };
    report.line(!machine.checks(stage)?, "the check fails before")?;
    let run = [
        "auto",
        "--worktree",
        "--agent",
        "claude",
        "--permissions",
        "full",
        "--task",
        TASK,
        "--verify",
        CHECK,
    ];
    command(&run)?;
    let ended = machine.amplihack(stage, &[&run[..], &["--json"]].concat())?;
    let end = last_object(&ended.stdout.bytes);
    let Some(name) = end["end"].as_str() else {
        let said = format!(
            "{} {}",
            String::from_utf8_lossy(&ended.stderr.bytes),
            end["error"]["message"].as_str().unwrap_or_default()
        );
        report.line(false, &format!("the run has no end: {}", visible(said.trim())))?;
        return Ok(false);
    };
    let turned = end["baseline"] == "red" && name == "verified";
    let word = if turned { "the check turned from red to green" } else { "the check did not turn" };
    report.line(turned, &format!("the end is `{name}`: {word}"))?;
    // What the repository shows, and not only what the guard reports.
    let ran = machine.git(stage, &["log", "--all", "--format=%s"])?.contains(MESSAGE);
    let rule = end["denied"][0].as_str().filter(|_| !ran);
    let forbidden = rule.map_or_else(|| "ran".to_owned(), |rule| format!("stopped by {rule}"));
    report.line(rule.is_some(), &format!("a forbidden tool call, `git commit --no-verify`: {forbidden}"))?;
    let id = end["run"].as_str().unwrap_or_default().to_owned();
    report.line(
        !machine.checks(stage)?,
        "the checkout is as it was; the change is in the run's own worktree",
    )?;
    report.takes_in(stage, &machine, &id)?;
    let last = format!("the check passes in the checkout, after {:.1} s", begun.elapsed().as_secs_f32());
    report.line(machine.checks(stage)?, &last)?;
    Ok(report.holds)
}

/// What is printed, and whether all of it held.
struct Report {
    holds: bool,
}

impl Report {
    fn line(&mut self, holds: bool, text: &str) -> Result<(), Failure> {
        self.holds &= holds;
        ui::data(&format!("  {} {text}\n", mark(holds)))
    }

    /// Shows the diff of the run `id`, and takes it into the checkout.
    fn takes_in(&mut self, stage: &Stage<'_>, machine: &Machine, id: &str) -> Result<(), Failure> {
        command(&["sessions", "diff", id])?;
        let diff = machine.amplihack(stage, &["sessions", "diff", id])?;
        for line in String::from_utf8_lossy(&diff.stdout.bytes).lines() {
            ui::data(&format!("       {line}\n"))?;
        }
        command(&["sessions", "merge", id])?;
        let merged = machine.amplihack(stage, &["sessions", "merge", id])?;
        let is_in = merged.exit == Exit::Code(0);
        let said = String::from_utf8_lossy(&merged.stderr.bytes).into_owned();
        let why = if is_in { String::new() } else { format!(": {}", visible(said.trim())) };
        self.line(is_in, &format!("the change is taken in{why}"))
    }
}

/// The command of `amplihack` that is run next, as a user would type it.
fn command(words: &[&str]) -> Result<(), Failure> {
    let quoted = |word: &&str| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() };
    let shown: Vec<String> = words.iter().map(quoted).collect();
    ui::data(&format!("  $ amplihack {}\n", shown.join(" ")))
}

/// A throw-away home with a repository, and the variables that lead the scripted agent to its model.
struct Machine {
    env: Env,
    work: PathBuf,
    program: PathBuf,
}

impl Machine {
    /// Makes it; `None` where there is no git.
    fn new(stage: &Stage<'_>) -> Result<Option<Self>, Failure> {
        let root = stage.bench.path().join("worktree");
        let (home, work, tmp) = (root.join("home"), root.join("work"), root.join("tmp"));
        let io = |source| DriveError::Io { what: "the throw-away home could not be made", source };
        for directory in [&home, &work, &tmp] {
            create_private_dir(directory).map_err(io)?;
        }
        let url = stage.server.base_url(Scenario::Script, RUN);
        let agent = scripted_agent(stage.bench.path())?;
        let variables =
            loopback(AgentBinary::Claude, &url, &home, Options::default()).map_err(DriveError::from)?;
        let mut env = Env::from_iter(variables.env);
        for name in ["PATH", "TERM", "LANG"] {
            if let Some(value) = stage.env.get(name) {
                env.set(name, value);
            }
        }
        std::fs::write(home.join(".gitconfig"), "[user]\nname = Demo\nemail = demo@example.invalid\n")
            .map_err(io)?;
        env.set("TMPDIR", tmp);
        // A program of its own: amplihack never launches itself as an agent.
        let claude = root.join("claude");
        let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", agent.path.display());
        write_atomic(&claude, script.as_bytes(), 0o700, Durability::Process).map_err(io)?;
        env.set("AMPLIHACK_CLAUDE_PATH", claude);
        for (name, text) in FILES {
            std::fs::write(work.join(name), text).map_err(io)?;
        }
        let program = sys::own_file().map_err(io)?;
        let machine = Self { env, work, program };
        let git: [&[&str]; 3] = [
            &["init", "--quiet", "--initial-branch=main"],
            &["add", "."],
            &["commit", "--quiet", "--message", "a greeting"],
        ];
        for args in git {
            if !machine.run(stage, Path::new("git"), args).is_ok_and(|done| done.exit == Exit::Code(0)) {
                return Ok(None);
            }
        }
        Ok(Some(machine))
    }

    fn amplihack(&self, stage: &Stage<'_>, args: &[&str]) -> Result<ProcessOutput, Failure> {
        self.run(stage, &self.program, args)
    }

    /// What git prints.
    fn git(&self, stage: &Stage<'_>, args: &[&str]) -> Result<String, Failure> {
        let done = self.run(stage, Path::new("git"), args)?;
        Ok(String::from_utf8_lossy(&done.stdout.bytes).into_owned())
    }

    /// Whether the check of the task passes in the checkout.
    fn checks(&self, stage: &Stage<'_>) -> Result<bool, Failure> {
        Ok(self.run(stage, Path::new("/bin/sh"), &["-c", CHECK])?.exit == Exit::Code(0))
    }

    /// Runs a program in the checkout while the model server answers.
    fn run(&self, stage: &Stage<'_>, program: &Path, args: &[&str]) -> Result<ProcessOutput, Failure> {
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(self.env.iter()).current_dir(&self.work);
        let spec = RunSpec {
            stdout: Output::Tail(KEPT_OUTPUT),
            stderr: Output::Tail(KEPT_OUTPUT),
            deadlines: Deadlines { total: Some(DEADLINE), ..Deadlines::default() },
            ..RunSpec::new(command)
        };
        Ok(stage.runtime.block_on(run_to_end(spec))?)
    }
}

/// The last object of lines of JSON; null if there is none.
fn last_object(output: &[u8]) -> Value {
    let text = String::from_utf8_lossy(output);
    text.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default()
}
