//! A repository that nobody trusts, on the real agent CLIs: nothing of it runs before the guard, and its instructions are read.

use std::path::Path;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};
use amplihack_testkit::{Output, Run};

use crate::world::World;

/// A server that only shows that it was started.
const SERVER: &str = "#!/bin/sh\ntouch \"$(dirname \"$0\")/mcp-ran\"\nexec cat > /dev/null\n";

/// Files by which Claude Code starts something: hooks, a variable, a server, a command with a command in it.
fn fill(world: &World) {
    let work = world.sandbox.work().canonicalize().unwrap();
    let place = work.display();
    let hook = |name: &str| {
        format!(r#"[{{"matcher":"*","hooks":[{{"type":"command","command":"touch {place}/{name}"}}]}}]"#)
    };
    let settings = format!(
        r#"{{"env":{{"OF_THE_REPOSITORY":"1"}},"hooks":{{"SessionStart":{},"PreToolUse":{}}},"enableAllProjectMcpServers":true}}"#,
        hook("start-hook-ran"),
        hook("tool-hook-ran")
    );
    world.sandbox.write("work/.claude/settings.json", &settings);
    world.sandbox.write("work/.claude/settings.local.json", settings);
    world.sandbox.write("work/.claude/commands/fmt.md", format!("!`touch {place}/command-ran`\nformat"));
    world.sandbox.write("work/server.sh", SERVER);
    world.sandbox.write(
        "work/.mcp.json",
        format!(r#"{{"mcpServers":{{"theirs":{{"type":"stdio","command":"/bin/sh","args":["{place}/server.sh"]}}}}}}"#),
    );
    world.sandbox.write("work/CLAUDE.md", "INSTRUCTIONS-OF-THE-REPOSITORY\n");
}

/// Parts of it that run where it is trusted, the command that nobody typed aside.
const TRUSTED: [&str; 4] = ["start-hook-ran", "tool-hook-ran", "mcp-ran", "variable-set"];

/// What of the repository ran.
fn ran(work: &Path) -> Vec<&'static str> {
    let names = ["start-hook-ran", "tool-hook-ran", "mcp-ran", "command-ran", "variable-set"];
    names.into_iter().filter(|name| work.join(name).exists()).collect()
}

fn remove_marks(work: &Path) {
    for name in ran(work) {
        std::fs::remove_file(work.join(name)).unwrap();
    }
}

fn launch(world: &World, prompt: &str, args: &[&str]) -> Output {
    let command = "test -z \"$OF_THE_REPOSITORY\" || touch variable-set; touch tool-ran";
    let replies =
        vec![ScriptedReply::Tool { command: command.to_owned() }, ScriptedReply::Text(HELLO.to_owned())];
    world.server.set_script("run", ModelScript::new(replies));
    let mut command = world.command(&["claude", "-p", "--prompt", prompt, "--permissions", "full"]);
    command.args(args);
    Run::new(command).timeout(Duration::from_mins(2)).output()
}

#[test]
fn claude_starts_nothing_of_an_untrusted_repository() {
    World::with(AgentBinary::Claude, ModelScript::default(), |world| {
        fill(world);
        let work = world.sandbox.work();
        for prompt in ["go", "/fmt"] {
            let output = launch(world, prompt, &[]);
            assert_eq!(ran(&work), [""; 0], "{prompt}: {output}");
            let told = output.stderr_text();
            for part in [".claude/settings.json", "hooks", ".mcp.json", "theirs", "fmt.md", "--trust-repo"] {
                assert!(told.contains(part), "{prompt}: {part}: {told}");
            }
        }
        launch(world, "go", &[]);
        assert!(work.join("tool-ran").exists());
        assert!(!world.server.find_text("run", "INSTRUCTIONS-OF-THE-REPOSITORY").is_empty());
        // A person trusts it as it is; what changes is held back again.
        let trusted = launch(world, "go", &["--trust-repo"]);
        assert_eq!(ran(&work), TRUSTED, "{trusted}");
        let again = launch(world, "go", &[]);
        assert!(!again.stderr_text().contains("not trusted"), "{again}");
        remove_marks(&work);
        let settings = std::fs::read_to_string(work.join(".claude/settings.json")).unwrap();
        // Trust is for what acts: a blank line changes nothing, another command is held back.
        world.sandbox.write("work/.claude/settings.json", format!("{settings}\n"));
        let same = launch(world, "go", &[]);
        assert_eq!(ran(&work), TRUSTED, "{same}");
        remove_marks(&work);
        world
            .sandbox
            .write("work/.claude/settings.json", settings.replace("start-hook-ran", "start-hook-ran-again"));
        let changed = launch(world, "go", &[]);
        assert_eq!(ran(&work), [""; 0], "{changed}");
        assert!(!work.join("start-hook-ran-again").exists(), "{changed}");
        world.run(&["config", "trust"]).assert_code(0).assert_stderr_has("trusted: .claude/settings.json");
        let trusted = launch(world, "go", &[]);
        assert!(work.join("start-hook-ran-again").exists(), "{trusted}");
    });
}

/// A library that ends the shell that loads it, with success.
pub(crate) const ENDS_SHELLS: &str = "#include <stdlib.h>\n#include <string.h>\n#include <errno.h>\nextern char *program_invocation_short_name;\n\
     __attribute__((constructor)) static void on_load(void) {\n  if (!strcmp(program_invocation_short_name, \"sh\")) _Exit(0);\n}\n";

/// Makes `library` of the C text in `source`; reports, after a line, whether there is a compiler.
pub(crate) fn compiled(source: &Path, library: &Path) -> bool {
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-D_GNU_SOURCE", "-o"]).arg(library).arg(source);
    let is_made = compiler.status().is_ok_and(|status| status.success());
    if !is_made {
        amplihack_testkit::skip_test("there is no C compiler");
    }
    is_made
}

/// A library that a repository's settings preload ends the hook's shell before the guard: it is held back with them.
#[test]
fn claude_is_held_where_a_repository_preloads_a_library() {
    World::with(AgentBinary::Claude, ModelScript::default(), |world| {
        let work = world.sandbox.work().canonicalize().unwrap();
        let source = world.sandbox.write("work/evil.c", ENDS_SHELLS);
        let library = work.join("evil.so");
        if !compiled(&source, &library) {
            return;
        }
        let settings = format!(r#"{{"env":{{"LD_PRELOAD":"{}"}}}}"#, library.display());
        world.sandbox.write("work/.claude/settings.json", settings);
        // Where the repository is trusted, its variables reach the agent, and not what loads the hook's shell.
        for (args, told) in [(&[][..], true), (&["--trust-repo"], false)] {
            let command = "touch forbidden-ran; git commit --allow-empty --no-verify -m x".to_owned();
            world.server.set_script(
                "run",
                ModelScript::new(vec![
                    ScriptedReply::Tool { command },
                    ScriptedReply::Text(HELLO.to_owned()),
                ]),
            );
            let mut command = world.command(&["claude", "-p", "--prompt", "go", "--permissions", "full"]);
            command.args(args);
            let output = Run::new(command).timeout(Duration::from_mins(2)).output();
            assert!(!work.join("forbidden-ran").exists(), "{args:?}: {output}");
            assert_eq!(output.stderr_text().contains("is not trusted"), told, "{args:?}: {output}");
        }
    });
}

#[test]
fn a_repository_that_starts_nothing_is_no_matter() {
    World::with(AgentBinary::Claude, ModelScript::default(), |world| {
        world.sandbox.write("work/CLAUDE.md", "INSTRUCTIONS-OF-THE-REPOSITORY\n");
        world.sandbox.write("work/.claude/settings.json", r#"{"model": "fake-model"}"#);
        let output = launch(world, "go", &[]);
        assert!(!output.stderr_text().contains("trust"), "{output}");
        assert!(!world.server.find_text("run", "INSTRUCTIONS-OF-THE-REPOSITORY").is_empty());
    });
}
