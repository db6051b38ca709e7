//! The scene `worktree`: an unattended task of the scripted agent, from a check that fails to the change in the checkout.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_config::env::Env;
use amplihack_export::make_visible;
use amplihack_probe::demo::scripted_agent;
use amplihack_probe::drive::DriveError;
use amplihack_probe::loopback::{LoopbackOptions, prepare_loopback};
use amplihack_probe::model::{ModelScenario, ModelScript, ScriptedReply};
use amplihack_session::{ChildOutput, Deadlines, ProcessOutput, RunSpec, run_to_end};
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};
use amplihack_sys::{self as sys, ProcessExit};
use serde_json::Value;

use super::{DemoContext, result_mark};
use crate::ui::{self, CommandFailure};

/// The run at the model.
const RUN: &str = "demo-worktree";
const TASK: &str = "Make greet.sh greet whom it is told to";
/// The check of the task.
const CHECK: &str = "sh check.sh";
/// The repository of the scene.
const FILES: &[(&str, &str)] =
    &[("greet.sh", "echo \"Hello.\"\n"), ("check.sh", "test \"$(sh greet.sh Ada)\" = \"Hello, Ada.\"\n")];
/// Shell commands that the scripted model asks for, before it reports that it is done.
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
pub(super) fn show_worktree(stage: &mut DemoContext<'_>) -> Result<bool, CommandFailure> {
    let begun = Instant::now();
    let Some(machine) = DemoRepository::new(stage)? else {
        ui::print_data("  not shown: git is not installed\n")?;
        return Ok(true);
    };
    let calls = CALLS.iter().map(|command| ScriptedReply::Tool { command: (*command).to_owned() });
    stage
        .bench
        .server()
        .set_script(RUN, ModelScript::new(calls.chain([ScriptedReply::Text(CLAIM.to_owned())])));
    let mut report = WorktreeDemoReport { holds: true };
    report.print_line(!machine.passes_check(stage)?, "the check fails before")?;
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
    print_next_command(&run)?;
    let ended = machine.run_amplihack(stage, &[&run[..], &["--json"]].concat())?;
    let end = last_object(&ended.stdout.bytes);
    let Some(name) = end["end"].as_str() else {
        let said = format!(
            "{} {}",
            String::from_utf8_lossy(&ended.stderr.bytes),
            end["error"]["message"].as_str().unwrap_or_default()
        );
        report.print_line(false, &format!("the run has no end: {}", make_visible(said.trim())))?;
        return Ok(false);
    };
    let turned = end["baseline"] == "red" && name == "verified";
    let word = if turned { "the check turned from red to green" } else { "the check did not turn" };
    report.print_line(turned, &format!("the end is `{name}`: {word}"))?;
    // What the repository shows, and not only what the guard reports.
    let ran = machine.git_output(stage, &["log", "--all", "--format=%s"])?.contains(MESSAGE);
    let rule = end["denied"][0].as_str().filter(|_| !ran);
    let forbidden = rule.map_or_else(|| "ran".to_owned(), |rule| format!("stopped by {rule}"));
    report.print_line(
        rule.is_some(),
        &format!("a forbidden tool call, `git commit --no-verify`: {forbidden}"),
    )?;
    let id = end["run"].as_str().unwrap_or_default().to_owned();
    report.print_line(
        !machine.passes_check(stage)?,
        "the checkout is as it was; the change is in the run's own worktree",
    )?;
    report.show_and_merge(stage, &machine, &id)?;
    let last = format!("the check passes in the checkout, after {:.1} s", begun.elapsed().as_secs_f32());
    report.print_line(machine.passes_check(stage)?, &last)?;
    Ok(report.holds)
}

/// The state of the printed report: whether all of it held.
struct WorktreeDemoReport {
    holds: bool,
}

impl WorktreeDemoReport {
    fn print_line(&mut self, holds: bool, text: &str) -> Result<(), CommandFailure> {
        self.holds &= holds;
        ui::print_data(&format!("  {} {text}\n", result_mark(Some(holds))))
    }

    /// Shows the diff of the run `id`, and takes it into the checkout.
    fn show_and_merge(
        &mut self,
        stage: &DemoContext<'_>,
        machine: &DemoRepository,
        id: &str,
    ) -> Result<(), CommandFailure> {
        print_next_command(&["sessions", "diff", id])?;
        let diff = machine.run_amplihack(stage, &["sessions", "diff", id])?;
        for line in String::from_utf8_lossy(&diff.stdout.bytes).lines() {
            ui::print_data(&format!("       {line}\n"))?;
        }
        print_next_command(&["sessions", "merge", id])?;
        let merged = machine.run_amplihack(stage, &["sessions", "merge", id])?;
        let is_in = merged.exit == ProcessExit::Code(0);
        let said = String::from_utf8_lossy(&merged.stderr.bytes).into_owned();
        let why = if is_in { String::new() } else { format!(": {}", make_visible(said.trim())) };
        self.print_line(is_in, &format!("the change is taken in{why}"))
    }
}

/// The command of `amplihack` that is run next, as a user would type it.
fn print_next_command(words: &[&str]) -> Result<(), CommandFailure> {
    let quoted = |word: &&str| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() };
    let shown: Vec<String> = words.iter().map(quoted).collect();
    ui::print_data(&format!("  $ amplihack {}\n", shown.join(" ")))
}

/// A throw-away home with a repository, and the variables that lead the scripted agent to its model.
struct DemoRepository {
    env: Env,
    work: PathBuf,
    program: PathBuf,
}

impl DemoRepository {
    /// Makes it; `None` where there is no git.
    fn new(stage: &DemoContext<'_>) -> Result<Option<Self>, CommandFailure> {
        let root = stage.bench.directory().join("worktree");
        let (home, work, tmp) = (root.join("home"), root.join("work"), root.join("tmp"));
        let io = |source| DriveError::Io { what: "the throw-away home could not be made", source };
        for directory in [&home, &work, &tmp] {
            create_private_dir(directory).map_err(io)?;
        }
        let url = stage.bench.server().base_url(ModelScenario::Script, RUN);
        let agent = scripted_agent(stage.bench.directory())?;
        let variables = prepare_loopback(AgentBinary::Claude, &url, &home, LoopbackOptions::default())
            .map_err(DriveError::from)?;
        let mut env = Env::from_iter(variables.env);
        for name in ["PATH", "TERM", "LANG"] {
            if let Some(value) = stage.env.get(name) {
                env.set_variable(name, value);
            }
        }
        std::fs::write(home.join(".gitconfig"), "[user]\nname = Demo\nemail = demo@example.invalid\n")
            .map_err(io)?;
        env.set_variable("TMPDIR", tmp);
        // A program of its own: amplihack never launches itself as an agent.
        let claude = root.join("claude");
        let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", agent.path.display());
        write_atomic(&claude, script.as_bytes(), 0o700, WriteDurability::Process).map_err(io)?;
        env.set_variable("AMPLIHACK_CLAUDE_PATH", claude);
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
            if !machine
                .run_program(stage, Path::new("git"), args)
                .is_ok_and(|done| done.exit == ProcessExit::Code(0))
            {
                return Ok(None);
            }
        }
        Ok(Some(machine))
    }

    fn run_amplihack(&self, stage: &DemoContext<'_>, args: &[&str]) -> Result<ProcessOutput, CommandFailure> {
        self.run_program(stage, &self.program, args)
    }

    /// Runs git and returns its standard output.
    fn git_output(&self, stage: &DemoContext<'_>, args: &[&str]) -> Result<String, CommandFailure> {
        let done = self.run_program(stage, Path::new("git"), args)?;
        Ok(String::from_utf8_lossy(&done.stdout.bytes).into_owned())
    }

    /// Reports whether the check of the task passes in the checkout.
    fn passes_check(&self, stage: &DemoContext<'_>) -> Result<bool, CommandFailure> {
        Ok(self.run_program(stage, Path::new("/bin/sh"), &["-c", CHECK])?.exit == ProcessExit::Code(0))
    }

    /// Runs a program in the checkout while the model server answers.
    fn run_program(
        &self,
        stage: &DemoContext<'_>,
        program: &Path,
        args: &[&str],
    ) -> Result<ProcessOutput, CommandFailure> {
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(self.env.iter()).current_dir(&self.work);
        let spec = RunSpec {
            stdout: ChildOutput::Tail(KEPT_OUTPUT),
            stderr: ChildOutput::Tail(KEPT_OUTPUT),
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
