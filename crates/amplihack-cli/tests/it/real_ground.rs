//! The ground that a launch's registration stands on, on the real agent CLIs: homes, settings and directories that are missing, foreign,
//! read-only or taken away, and switches by which an agent leaves out hooks.

use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};
use amplihack_testkit::{Output, Run};

use crate::world::{World, amplihack, sentinel};

/// A call that no policy lets through, and one that every policy does; the file shows which ran.
const FORBIDDEN: &str = "touch $S; git commit --allow-empty --no-verify -m x";
const HARMLESS: &str = "ls; touch $S";

/// The model asks for `first`, if there is something, then for the forbidden and for the harmless call.
pub(crate) fn asks(world: &World, first: Option<&str>) {
    let call = |(number, command): (usize, &str)| {
        let sentinel = sentinel(world, number).display().to_string();
        ScriptedReply::Tool { command: command.replace("$S", &sentinel) }
    };
    let mut replies: Vec<ScriptedReply> =
        first.map(|command| ScriptedReply::Tool { command: command.to_owned() }).into_iter().collect();
    replies.extend([FORBIDDEN, HARMLESS].into_iter().enumerate().map(call));
    replies.push(ScriptedReply::Text(HELLO.to_owned()));
    world.server.set_script("run", ModelScript::new(replies));
}

/// Which of the two calls ran.
pub(crate) fn ran(world: &World) -> [bool; 2] {
    [sentinel(world, 0).exists(), sentinel(world, 1).exists()]
}

/// A headless launch with every permission of the agent's own, below a shell that `prepares` its mounts.
fn launch(world: &World, agent: AgentBinary, prepares: &str, args: &[&str]) -> Output {
    let mut command = if prepares.is_empty() {
        world.sandbox.command(amplihack())
    } else {
        let mut command = world.sandbox.command("/usr/bin/unshare");
        command.args(["--mount", "--", "/bin/sh", "-ec", &format!("{prepares}\nexec \"$@\""), "sh"]);
        command.arg(amplihack());
        command
    };
    command.args([agent.name(), "-p", "--prompt", "go", "--permissions", "full"]).args(args);
    Run::new(command).timeout(Duration::from_mins(2)).output()
}

fn put(world: &World, files: &[(&str, &str)]) {
    for (name, text) in files {
        world.sandbox.write(name, text);
    }
}

/// A situation in which a guard could be gone.
struct Situation {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Commands of a shell before the launch.
    prepares: &'static str,
    /// Commands of a program of the session before the forbidden call.
    takes: &'static str,
    args: &'static [&'static str],
    /// The harmless call runs, or does not; a guard that lost its ground may stop it.
    harmless: Option<bool>,
}

const PLAIN: Situation =
    Situation { name: "", files: &[], prepares: "", takes: "", args: &[], harmless: Some(true) };

const READ_ONLY: &str = "mount --bind \"$HOME\" \"$HOME\"; mount -o remount,bind,ro \"$HOME\"";
const DISABLED: (&str, &str) = ("work/.claude/settings.json", r#"{"disableAllHooks": true}"#);
const REWRITE: &str = "mkdir -p .claude ~/.claude; echo '{\"disableAllHooks\":true}' | tee .claude/settings.json \
                       .claude/settings.local.json > ~/.claude/settings.json";

/// Situations that every host is tried in.
const EVERYWHERE: &[Situation] = &[
    Situation { name: "the home is read-only", prepares: READ_ONLY, harmless: None, ..PLAIN },
    Situation {
        name: "the launch's directory is removed",
        takes: "rm -rf ~/.amplihack/sessions/*/hooks",
        harmless: None,
        ..PLAIN
    },
    Situation {
        name: "all of amplihack's home is removed",
        takes: "rm -rf ~/.amplihack",
        harmless: None,
        ..PLAIN
    },
];

const OF_CLAUDE: &[Situation] = &[
    Situation { name: "its plugins are a file", files: &[("home/.claude/plugins", "")], ..PLAIN },
    Situation {
        name: "its plugins become a file",
        takes: "rm -rf ~/.claude/plugins; mkdir -p ~/.claude; touch ~/.claude/plugins",
        ..PLAIN
    },
    Situation {
        name: "its plugins lead nowhere",
        prepares: "mkdir -p ~/.claude; ln -s /nonexistent ~/.claude/plugins",
        ..PLAIN
    },
    Situation { name: "the repository disables hooks", files: &[DISABLED], ..PLAIN },
    Situation {
        name: "local settings disable hooks",
        files: &[("work/.claude/settings.local.json", r#"{"disableAllHooks": true}"#)],
        ..PLAIN
    },
    Situation {
        name: "the user's own --settings are innocent",
        files: &[DISABLED],
        args: &["--", "--settings", r#"{"includeCoAuthoredBy":false}"#],
        ..PLAIN
    },
    Situation {
        name: "the user's own --settings are a file with hooks",
        files: &[
            DISABLED,
            (
                "work/own.json",
                r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch ../own"}]}]}}"#,
            ),
        ],
        args: &["--", "--settings", "own.json"],
        ..PLAIN
    },
    Situation {
        name: "no sources of settings",
        files: &[DISABLED],
        args: &["--", "--setting-sources", ""],
        ..PLAIN
    },
    Situation { name: "settings are rewritten", takes: REWRITE, ..PLAIN },
];

fn holds(agent: AgentBinary, situations: &[Situation]) {
    for Situation { name, files, prepares, takes, args, harmless } in situations {
        World::with(agent, ModelScript::default(), |world| {
            put(world, files);
            world.sandbox.write("take.sh", format!("{takes}\n"));
            asks(world, (!takes.is_empty()).then_some("sh ../take.sh"));
            let output = launch(world, agent, prepares, args);
            let [forbidden, other] = ran(world);
            assert!(!forbidden, "{name}: the forbidden call ran: {}", output.stderr_text());
            assert!(
                harmless.is_none_or(|expected| expected == other),
                "{name}: the harmless call: {other}: {}",
                output.stderr_text()
            );
            if files.iter().any(|(file, _)| *file == "work/own.json") {
                assert!(world.sandbox.root().join("own").exists(), "{name}: the user's own hook did not run");
            }
        });
    }
}

#[test]
fn claude_is_held_on_every_ground() {
    holds(AgentBinary::Claude, EVERYWHERE);
    holds(AgentBinary::Claude, OF_CLAUDE);
}

#[test]
fn codex_is_held_on_every_ground() {
    holds(AgentBinary::Codex, EVERYWHERE);
}

#[test]
fn copilot_is_held_on_every_ground() {
    holds(AgentBinary::Copilot, EVERYWHERE);
}

#[test]
fn gemini_is_held_on_every_ground() {
    holds(AgentBinary::Gemini, EVERYWHERE);
}

#[test]
fn no_agent_is_free_without_a_home() {
    for agent in [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Gemini] {
        World::with(agent, ModelScript::default(), |world| {
            asks(world, None);
            // A place that not even root can make.
            world.sandbox.set("HOME", "/proc/nonexistent");
            let output = launch(world, agent, "", &[]);
            assert!(!ran(world)[0], "{agent}: {}", output.stderr_text());
            // What cannot be made in the home is said; what needs none of it runs.
            let refused = output.stderr_text().contains("cannot be written");
            assert!(refused || agent != AgentBinary::Claude || ran(world)[1], "{}", output.stderr_text());
        });
    }
}

/// A launch that is refused: the words are in its error, no model is asked, and without the guard the agent starts.
fn refused(agent: AgentBinary, args: &[&str], prepares: &str, files: &[(&str, &str)], words: &[&str]) {
    World::with(agent, ModelScript::default(), |world| {
        put(world, files);
        asks(world, None);
        let output = launch(world, agent, prepares, args);
        output.assert_code(1).assert_stdout("");
        let said = output.stderr_text();
        assert!(
            words.iter().all(|word| said.contains(word)) && said.contains("--no-hooks"),
            "{args:?}: {said}"
        );
        assert!(world.server.requests("run").is_empty(), "{args:?}: a model was asked");
        let mut free = vec!["--no-hooks"];
        free.extend(args);
        let output = launch(world, agent, prepares, &free);
        output.assert_stderr_has("runs without a guard");
        assert!(ran(world)[0], "{args:?} does not do what the error says: {}", output.stderr_text());
    });
}

#[test]
fn claude_is_not_started_with_a_switch_that_leaves_the_guard_out() {
    for (args, word) in [
        (&["--", "--bare"][..], "--bare"),
        (&["--", "--safe-mode"], "--safe-mode"),
        (&["--", "--settings", r#"{"disableAllHooks":true}"#], "disableAllHooks"),
        (&["--", "--managed-settings", r#"{"allowManagedHooksOnly":true}"#], "--managed-settings"),
    ] {
        refused(AgentBinary::Claude, args, "", &[], &[word]);
    }
}

#[test]
fn claude_is_not_started_where_its_user_disabled_hooks() {
    let own = [("home/.claude/settings.json", r#"{"disableAllHooks": true}"#)];
    refused(AgentBinary::Claude, &[], "", &own, &["settings.json", "disableAllHooks"]);
}

#[test]
fn codex_is_not_started_with_a_switch_that_leaves_the_guard_out() {
    for args in [
        &["--", "-c", "features.hooks=false"][..],
        &["--", "--config=features={hooks=false}"],
        &["--", "--disable", "hooks"],
        &["--", "-c", "hooks.PreToolUse=[]"],
    ] {
        refused(AgentBinary::Codex, args, "", &[], &[args[1].split('=').next().unwrap()]);
    }
}

#[test]
fn codex_is_not_started_where_its_user_disabled_hooks() {
    let own = "[features]\nhooks = false\n";
    World::with(AgentBinary::Codex, ModelScript::default(), |world| {
        asks(world, None);
        let path = world.sandbox.home().join(".codex/config.toml");
        let text = std::fs::read_to_string(&path).unwrap().replace("[features]\n", own);
        std::fs::write(&path, text).unwrap();
        let output = launch(world, AgentBinary::Codex, "", &[]);
        output.assert_code(1).assert_stderr_has("config.toml sets features.hooks");
        assert_eq!(ran(world), [false, false]);
    });
}

/// `/etc` with `file` in it, for this process and those below it.
fn etc(file: &str, text: &str) -> String {
    format!(
        "mkdir -p ../etc ../etc-work; mount -t overlay overlay -o lowerdir=/etc,upperdir=../etc,workdir=../etc-work /etc\n\
         mkdir -p \"$(dirname {file})\"; printf '%s' '{text}' > {file}"
    )
}

/// An administrator's file, with its text, by which an agent leaves out the guard, and a word of what is told.
type Managed = (AgentBinary, &'static str, &'static str, &'static str);

fn managed() -> Vec<Managed> {
    let claude = "/etc/claude-code/managed-settings.json";
    vec![
        (AgentBinary::Claude, claude, r#"{"allowManagedHooksOnly":true}"#, "allowManagedHooksOnly"),
        (AgentBinary::Claude, claude, r#"{"strictPluginOnlyCustomization":["hooks"]}"#, "strictPluginOnly"),
        (
            AgentBinary::Claude,
            "/etc/claude-code/managed-settings.d/1.json",
            r#"{"disableAllHooks":true}"#,
            "1.json",
        ),
        (
            AgentBinary::Codex,
            "/etc/codex/requirements.toml",
            "allow_managed_hooks_only = true",
            "allow_managed",
        ),
        (AgentBinary::Codex, "/etc/codex/managed_config.toml", "features.hooks = false", "features.hooks"),
        (
            AgentBinary::Copilot,
            "/etc/github-copilot/managed-settings.json",
            r#"{"allowManagedHooksOnly":true}"#,
            "allowManagedHooksOnly",
        ),
        (
            AgentBinary::Gemini,
            "/etc/gemini-cli/settings.json",
            r#"{"hooksConfig":{"enabled":false}}"#,
            "hooksConfig.enabled",
        ),
    ]
}

/// Refuses `agent` under each of an administrator's settings that leave the guard out; tells under how many.
pub(crate) fn managed_settings(agent: AgentBinary) -> String {
    if !amplihack_testkit::require_root() {
        return "not run without root".to_owned();
    }
    let own: Vec<Managed> = managed().into_iter().filter(|(of, ..)| *of == agent).collect();
    for (agent, file, text, word) in &own {
        refused(*agent, &[], &etc(file, text), &[], &[file, word]);
    }
    format!("{} refused", own.len())
}

#[test]
fn variables_that_leave_the_guard_out_are_not_passed_on() {
    for name in ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"] {
        World::with(AgentBinary::Claude, ModelScript::default(), |world| {
            asks(world, None);
            world.sandbox.set(name, "1");
            let output = launch(world, AgentBinary::Claude, "", &[]);
            assert_eq!(ran(world), [false, true], "{}", output.stderr_text());
            output.assert_stderr_has(&format!("{name} is not passed on to claude"));
        });
    }
}

/// A profile and files of the user and the repository that deny Codex's hooks, and hooks that nobody trusted.
#[test]
fn codex_runs_the_guard_and_no_hooks_that_nobody_trusted() {
    let guessed = "[hooks.state.\"/<session-flags>/config.toml:pre_tool_use:0:0\"]\nenabled = false\n[features]\nhooks = false\n";
    let theirs = |file: &str| {
        format!(
            r#"{{"hooks":{{"SessionStart":[{{"hooks":[{{"type":"command","command":"touch ../{file}"}}]}}]}}}}"#
        )
    };
    World::with(AgentBinary::Codex, ModelScript::default(), |world| {
        asks(world, None);
        world.sandbox.write("work/.codex/hooks.json", theirs("of-the-repository"));
        world.sandbox.write("work/.codex/config.toml", guessed);
        world.sandbox.write("home/.codex/hooks.json", theirs("of-the-user"));
        world.sandbox.write("home/.codex/p.config.toml", guessed);
        let output = launch(world, AgentBinary::Codex, "", &["--", "--profile", "p"]);
        assert_eq!(ran(world), [false, true], "{}", output.stderr_text());
        for file in ["of-the-repository", "of-the-user"] {
            assert!(!world.sandbox.root().join(file).exists(), "a hook ran that nobody trusted: {file}");
        }
        for noise in ["bypass-hook-trust", "clamping"] {
            assert!(!output.stderr_text().contains(noise), "{}", output.stderr_text());
        }
    });
}

/// Codex asks no hook about what it writes to a command that waits, so none waits.
#[test]
fn codex_keeps_no_command_waiting_for_input() {
    World::with(AgentBinary::Codex, ModelScript::default(), |world| {
        let sentinel = sentinel(world, 0).display().to_string();
        let call =
            |tool: &str, input: serde_json::Value| ScriptedReply::Call { tool: tool.to_owned(), input };
        world.server.set_script(
            "run",
            ModelScript::new(vec![
                call("exec_command", serde_json::json!({"cmd": "bash", "tty": true, "yield_time_ms": 500})),
                call(
                    "write_stdin",
                    serde_json::json!({"session_id": 1, "chars": format!("touch {sentinel}\n")}),
                ),
                ScriptedReply::Text(HELLO.to_owned()),
            ]),
        );
        let output = launch(world, AgentBinary::Codex, "", &[]);
        assert!(!ran(world)[0], "{}", output.stderr_text());
    });
}

/// A directory of Copilot's own flag counts like the launch's.
#[test]
fn copilot_is_not_started_for_a_directory_that_disables_hooks() {
    let there = [("elsewhere/.claude/settings.json", r#"{"disableAllHooks": true}"#)];
    refused(
        AgentBinary::Copilot,
        &["--", "-C", "../elsewhere"],
        "",
        &there,
        &["elsewhere", "disableAllHooks"],
    );
}

/// The person sees the reason of a denial, and no hook that failed.
pub(crate) fn denial_is_shown(agent: AgentBinary) -> String {
    World::with(agent, ModelScript::default(), |world| {
        asks(world, None);
        let output = launch(world, agent, "", &[]);
        assert_eq!(ran(world), [false, true], "{}", output.stderr_text());
        let said = format!("{}{}", output.stdout_text(), output.stderr_text());
        assert!(!said.contains("failed for event") && !said.contains("hook errored"), "{said}");
        assert!(said.contains("guards/"), "{said}");
    });
    "1 forbidden, 1 harmless".to_owned()
}
