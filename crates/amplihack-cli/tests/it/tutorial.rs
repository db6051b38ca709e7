//! The tutorial and the README do what they say: their commands are taken from the pages and run.

use std::path::Path;
use std::time::Duration;

use amplihack_testkit::page::{self, Block};
use amplihack_testkit::procs::Sweep;
use amplihack_testkit::{NetNs, Sandbox, Script, long, real, skip_test, workspace};

use amplihack_config::env::Env;

use crate::auto::plays;
use crate::scene::program;
use crate::world::amplihack;

const TUTORIAL: &str = "docs/tutorial/ten-minutes.md";

fn text(path: &str) -> String {
    std::fs::read_to_string(workspace().join(path)).unwrap()
}

/// A `cargo` that takes the commands of the pages in a clone, and has built the program already.
///
/// Whether cargo builds it from a clean clone is seen by the long form of the tutorial's test.
fn cargo(sandbox: &Sandbox) {
    let program_text = format!(
        r#"#!/bin/sh
set -e
built='{}'
case "$*" in
"run --release -- "*) grep -q 'default-run = "amplihack"' crates/amplihack-cli/Cargo.toml; shift 3; exec "$built" "$@" ;;
"install --path crates/amplihack-cli"*) test -f crates/amplihack-cli/Cargo.toml; ln -sf "$built" '{}' ;;
"xtask test") grep -q '^xtask = "run' .cargo/config.toml; grep -q '"test") => test::run' xtask/src/main.rs ;;
"xtask agents") grep -q '"agents") => agents::run' xtask/src/main.rs; test -x agents/bin/claude ;;
test) exit 0 ;;
*) echo "cargo: not a command of the pages: $*" >&2; exit 101 ;;
esac
"#,
        amplihack().display(),
        sandbox.bin().join("amplihack").display()
    );
    program(sandbox, "cargo", &program_text);
    for part in ["agents", "crates", ".cargo", "xtask"] {
        std::os::unix::fs::symlink(workspace().join(part), sandbox.work().join(part)).unwrap();
    }
}

/// A clean clone and the real cargo, with what it has downloaded before and nothing else of the machine's.
fn clone(sandbox: &mut Sandbox) {
    let clone = sandbox.work();
    let root = workspace();
    let words = ["-c", "safe.directory=*", "clone", "--quiet"].map(std::ffi::OsStr::new);
    sandbox.run("git", words.into_iter().chain([root.as_os_str(), clone.as_os_str()])).assert_code(0);
    let cargo = Path::new(env!("CARGO"));
    let machine = Env::from_process();
    for (name, below) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let value = machine.path(name).or_else(|| Some(machine.home()?.join(below)));
        sandbox.set(name, value.expect("cargo keeps what it downloaded somewhere"));
    }
    sandbox.set("CARGO_INSTALL_ROOT", sandbox.root().join("installed")).set("CARGO_NET_OFFLINE", "true");
    let path = format!(
        "{}:{}:{}:/usr/local/bin:/usr/bin:/bin",
        sandbox.bin().display(),
        sandbox.root().join("installed/bin").display(),
        cargo.parent().unwrap().display()
    );
    sandbox.set("PATH", path);
    let agents = root.join("agents/node_modules");
    if agents.is_dir() {
        // Half a gigabyte that npm need not bring again; a link is used as it is.
        std::os::unix::fs::symlink(agents, clone.join("agents/node_modules")).unwrap();
    }
}

/// Leaves out the blocks for which this machine lacks something: a skip.
fn possible(blocks: &mut Vec<Block>) {
    let has = |condition: &str| match condition {
        "agent=claude" => real::real_agent("claude").is_some(),
        "needs=sshd" => Path::new("/usr/sbin/sshd").exists(),
        other => panic!("a condition that no test knows: {other}"),
    };
    blocks.retain(|block| {
        let missing = block.conditions.iter().find(|condition| !has(condition));
        if let Some(missing) = missing {
            skip_test(&format!("line {} of a page, {missing}", block.line));
        }
        missing.is_none()
    });
}

/// An `ssh` that reads the sandbox's configuration: ssh asks the system for the home, not HOME. Connections are shared below the
/// sandbox, as each user shares no one else's: another test's leads to another host of this name.
pub(crate) fn ssh(sandbox: &mut Sandbox) {
    let root = sandbox.root().to_owned();
    sandbox.set("XDG_RUNTIME_DIR", root);
    program(sandbox, "ssh", "#!/bin/sh\nexec /usr/bin/ssh -F \"$HOME/.ssh/config\" \"$@\"\n");
}

#[test]
fn every_command_of_the_tutorial_does_what_the_page_says() {
    let mut sandbox = Sandbox::new();
    // Four real agents make a hundred and fifty calls; a busy machine takes minutes for that.
    let mut timeout = Duration::from_mins(15);
    if long() {
        clone(&mut sandbox);
        timeout = Duration::from_mins(40);
    } else {
        cargo(&sandbox);
    }
    let mut blocks = page::blocks(&text(TUTORIAL));
    assert!(blocks.len() > 8, "{blocks:#?}");
    possible(&mut blocks);
    ssh(&mut sandbox);
    // Its sessions and its server outlive the commands that start them, should a command fail.
    let _sweep = Sweep::new(sandbox.root().display().to_string());
    NetNs::new()
        .on_thread(|| page::run(&sandbox, TUTORIAL, &blocks, timeout))
        .expect("a thread may enter the namespace that this test made");
}

/// A repository with a fake of every agent that plays its part in what the README shows.
fn readme() -> Sandbox {
    let mut sandbox = Sandbox::repository();
    cargo(&sandbox);
    sandbox.link("amplihack", amplihack());
    for agent in ["claude", "copilot", "codex"] {
        sandbox.fake(agent);
        sandbox.script_for(agent, &Script::new().print("done\n"));
    }
    sandbox.write("work/task.md", "Fix it\n");
    sandbox.write("work/tasks.txt", "one\ntwo\n");
    sandbox
}

#[test]
fn the_first_screen_of_the_readme_holds() {
    let sandbox = readme();
    let blocks = page::blocks(&text("README.md"));
    let first = &blocks[0];
    assert!(first.commands.contains("-- demo") && first.commands.contains("cargo xtask test"), "{first:?}");
    // Of a machine with fakes on PATH the demo would rightly say that they do not hold.
    for agent in ["claude", "copilot", "codex"] {
        std::fs::remove_file(sandbox.bin().join(agent)).unwrap();
    }
    let first = Block { expected: None, ..first.clone() };
    let printed = page::run(&sandbox, "README.md", &[first], Duration::from_mins(1));
    assert!(printed[0].contains("┆ holds   │"), "{}", printed[0]);
    // The README's picture has the same columns.
    let header = printed[0].lines().find(|line| line.starts_with("│ agent ")).unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let shown = text("README.md");
    let shown = shown.lines().find(|line| line.starts_with("│ agent ")).unwrap();
    assert_eq!(words(shown), words(header));
}

#[test]
fn the_readmes_first_ten_minutes_are_the_tutorials_own_commands() {
    let page = text("README.md");
    let section = page.split("\n## First ten minutes\n").nth(1).expect("the README has this section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let tutorial: Vec<String> = page::blocks(&text(TUTORIAL))
        .iter()
        .flat_map(|block| block.commands.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let mut rest = tutorial.iter();
    let commands = page::blocks(section).remove(0).commands;
    let commands: Vec<&str> =
        commands.lines().map(|line| line.split("  #").next().unwrap_or_default().trim()).collect();
    assert!(commands.len() >= 5, "{commands:?}");
    for command in commands {
        assert!(rest.any(|line| line == command), "not in the tutorial, or not in this order: {command}");
    }
    // Each section that the README leads to has this name there.
    let headings: Vec<String> = text(TUTORIAL)
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|title| {
            let kept = title.to_lowercase().replace(' ', "-");
            kept.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect()
        })
        .collect();
    let anchors: Vec<&str> =
        section.split("ten-minutes.md#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert_eq!(anchors.len(), 5, "{section}");
    for anchor in anchors {
        assert!(headings.iter().any(|heading| heading == anchor), "{anchor} is none of {headings:?}");
    }
}

/// What a line of the README needs to run here, and the code that it must end with; a new kind of line has to be added.
fn adapted(line: &str) -> (String, i32) {
    let verb =
        line.split("amplihack ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    match verb {
        // Agents of the bundled recipes answer by a form; running them is `recipe_bundled`'s.
        "recipe" => (format!("{line} --dry-run"), 0),
        "claude" | "codex" | "copilot" | "auto" | "parallel" | "sessions" | "policy" | "which" | "help" => {
            (line.to_owned(), 0)
        }
        // The fakes speak to no model, so that nothing can be proved of them.
        "doctor" if line.contains("--prove") => (line.to_owned(), 1),
        "doctor" => (line.to_owned(), 0),
        _ => panic!("README.md has a line that no test runs: {line}"),
    }
}

#[test]
fn every_line_of_the_readmes_use_block_runs() {
    let page = text("README.md");
    let use_block = page.split("\n## Use\n").nth(1).expect("the README has a section Use");
    let block = page::blocks(use_block).remove(0);
    for line in block.commands.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        // A machine of the reader's own; that the line is read has a test of its own.
        if line.starts_with("amplihack remote ") {
            continue;
        }
        let (command, code) = adapted(line);
        let mut sandbox = readme();
        if line.contains("amplihack auto")
            || line.contains("amplihack parallel")
            || line.contains("stream-json")
        {
            plays(&mut sandbox, "claude", "echo x >> steps; say working; result done");
            sandbox.script_for("codex", &codex());
        }
        let output = sandbox.run("bash", ["--norc", "-c", &format!("set -o pipefail; {command}")]);
        assert_eq!(output.code, Some(code), "{line}\n{output}");
    }
}

/// A Codex that changes a file and says that it is done.
fn codex() -> Script {
    let answer = r#"{\"status\":\"done\",\"summary\":\"s\",\"changes_expected\":true}"#;
    Script::new().shell("echo x >> steps").print(&format!(
        "{{\"type\":\"thread.started\",\"thread_id\":\"t1\"}}\n{{\"type\":\"turn.started\"}}\n\
         {{\"type\":\"item.completed\",\"item\":{{\"id\":\"i\",\"type\":\"agent_message\",\"text\":\"{answer}\"}}}}\n\
         {{\"type\":\"turn.completed\",\"usage\":{{\"input_tokens\":1,\"cached_input_tokens\":0,\"output_tokens\":1}}}}\n"
    ))
}

/// Runs the commands of a page about a job, in a repository with a fake Claude Code that changes a file.
fn how_to(name: &str) {
    let mut sandbox = Sandbox::repository();
    sandbox.link("amplihack", amplihack());
    let page = format!("docs/how-to/{name}.md");
    let mut blocks = page::blocks(&text(&page));
    assert!(!blocks.is_empty(), "{page} has no commands");
    possible(&mut blocks);
    if blocks.iter().any(|block| block.conditions == ["agent=claude"]) {
        sandbox.link("claude", &real::real_agent("claude").unwrap());
    } else {
        sandbox.fake("claude");
        plays(&mut sandbox, "claude", "echo x >> steps; say working; result done");
        // The check of the reader's project.
        program(&sandbox, "npm", "#!/bin/sh\ntest -f steps\n");
    }
    NetNs::new()
        .on_thread(|| drop(page::run(&sandbox, &page, &blocks, Duration::from_mins(2))))
        .expect("a thread may enter the namespace that this test made");
}

#[test]
fn pages_about_a_job_do_what_they_say() {
    let pages = std::fs::read_dir(workspace().join("docs/how-to")).unwrap().flatten();
    let mut names: Vec<String> =
        pages.filter_map(|page| Some(page.file_name().to_str()?.strip_suffix(".md")?.to_owned())).collect();
    names.sort();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        how_to(&name);
    }
}
