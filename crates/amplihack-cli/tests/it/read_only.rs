//! Reading is free: what only tells something starts nothing and writes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_testkit::Sandbox;

use crate::fakes::{fakes, forget, launch};
use crate::world::run;

/// Mode, size, time of change in nanoseconds, inode.
type Facts = (u32, u64, i128, u64);

/// Everything below the sandbox's root but the fake agents' log, directories included.
fn listing(sandbox: &Sandbox) -> BTreeMap<PathBuf, Facts> {
    let mut found = BTreeMap::new();
    for part in ["home", "work", "tmp", "bin"] {
        add(&sandbox.root().join(part), &mut found);
    }
    found
}

fn add(path: &Path, found: &mut BTreeMap<PathBuf, Facts>) {
    let meta = fs::symlink_metadata(path).unwrap();
    let time = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    found.insert(path.to_path_buf(), (meta.mode(), meta.size(), time, meta.ino()));
    if meta.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            add(&entry.unwrap().path(), found);
        }
    }
}

/// Paths that were added, removed or changed since `before`.
fn changed(before: &BTreeMap<PathBuf, Facts>, sandbox: &Sandbox) -> Vec<String> {
    let after = listing(sandbox);
    let paths = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    let mut paths: Vec<String> =
        paths.map(|path| path.strip_prefix(sandbox.root()).unwrap().display().to_string()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// A repository with a configuration, a context file, every agent and every tool, all of them fakes.
fn furnished() -> Sandbox {
    let sandbox = fakes();
    for tool in ["git", "tmux", "ssh"] {
        sandbox.fake(tool);
    }
    sandbox.write("work/.amplihack/config.toml", "max_depth = 3\n");
    sandbox.write("home/.config/amplihack/config.toml", "prompt_delivery = 'argv'\n");
    sandbox.write("work/.claude/runtime/launcher_context.json", r#"{"launcher":"codex"}"#);
    sandbox
}

#[test]
fn what_only_tells_writes_and_starts_nothing() {
    let mut sandbox = furnished();
    // Sockets of shared connections would be made here.
    sandbox.set("XDG_RUNTIME_DIR", sandbox.root().join("tmp"));
    let before = listing(&sandbox);
    for (args, code) in [
        (&["--version"][..], 0),
        (&["-V"], 0),
        (&["--help"], 0),
        (&["-h"], 0),
        (&["claude", "--help"], 0),
        (&["launch", "-h"], 0),
        (&["doctor", "--help"], 0),
        (&["demo", "--help"], 0),
        (&["which"], 0),
        (&["which", "--json"], 0),
        (&["config", "show"], 0),
        (&["config", "show", "--origin"], 0),
        (&["config", "show", "--json"], 0),
        (&["remote", "list"], 0),
        (&["remote", "list", "--json"], 0),
        (&["remote", "status"], 0),
        (&["remote", "pool", "list"], 0),
        (&["completions", "bash"], 0),
        (&["completions", "zsh"], 0),
        (&["completions", "fish"], 0),
        (&[], 2),
        (&["no-such-command"], 2),
        (&["claude", "--no-such-option"], 2),
        (&["claude", "--prompt", ""], 2),
    ] {
        let output = run(&sandbox, args);
        output.assert_code(code);
        assert_eq!(output.stdout.is_empty(), code != 0, "{args:?}: {output}");
        assert_eq!(output.stderr.is_empty(), code == 0, "{args:?}: {output}");
        assert_eq!(changed(&before, &sandbox), [""; 0], "{args:?}");
        assert_eq!(sandbox.starts(), [], "{args:?}");
    }
    run(&sandbox, &["which"]).assert_stdout("codex\n");
    let version = run(&sandbox, &["--version"]);
    version.assert_stdout(format!("amplihack {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn doctor_writes_the_version_cache_and_asks_for_versions_once() {
    let sandbox = furnished();
    let before = listing(&sandbox);
    let started = |sandbox: &Sandbox| {
        let mut calls: Vec<String> = sandbox
            .starts()
            .iter()
            .map(|record| {
                let args: Vec<String> = record.args().iter().map(amplihack_testkit::Bytes::lossy).collect();
                format!("{} {}", record.name, args.join(" "))
            })
            .collect();
        calls.sort();
        calls
    };
    let tools = ["git --version", "ssh -V", "tmux -V"];
    let first = run(&sandbox, &["doctor"]);
    first.assert_code(0).assert_stderr("");
    let mut all: Vec<String> = AgentBinary::ALL.map(|agent| format!("{agent} --version")).into();
    all.extend(tools.map(str::to_owned));
    all.sort();
    assert_eq!(started(&sandbox), all);
    // Agents unpack themselves into a throw-away directory below `tmp`, which is gone again.
    assert_eq!(
        changed(&before, &sandbox),
        ["home", "home/.amplihack", "home/.amplihack/versions.json", "tmp"]
    );
    let before = listing(&sandbox);
    for args in [&["doctor"][..], &["doctor", "--json"]] {
        forget(&sandbox);
        run(&sandbox, args).assert_code(0);
        assert_eq!(started(&sandbox), tools, "{args:?}");
        assert_eq!(changed(&before, &sandbox), [""; 0], "{args:?}");
    }
    let again = run(&sandbox, &["doctor"]);
    again.assert_stdout(&first.stdout);
}

#[test]
fn a_dry_run_writes_the_version_cache_only() {
    let sandbox = furnished();
    let before = listing(&sandbox);
    let long = "x".repeat(5000);
    for agent in ["claude", "copilot", "codex", "amplifier", "amp"] {
        run(&sandbox, &[agent, "--dry-run", "--prompt", &long]).assert_code(0);
    }
    assert_eq!(sandbox.runs(), []);
    assert_eq!(changed(&before, &sandbox), ["home", "home/.amplihack", "home/.amplihack/versions.json"]);
}

#[test]
fn a_launch_writes_its_context_and_nothing_else() {
    let sandbox = fakes();
    let before = listing(&sandbox);
    launch(&sandbox, &["claude", "hi"]);
    assert_eq!(
        changed(&before, &sandbox),
        [
            "home",
            "home/.amplihack",
            "home/.amplihack/.launches",
            "home/.amplihack/sessions",
            "home/.amplihack/versions.json",
            "work",
            "work/.claude",
            "work/.claude/runtime",
            "work/.claude/runtime/launcher_context.json",
            "work/.git/info",
            "work/.git/info/exclude",
        ]
    );
    let mode = |path: &str| fs::metadata(sandbox.root().join(path)).unwrap().mode() & 0o777;
    assert_eq!(mode("work/.claude/runtime/launcher_context.json"), 0o600);
    assert_eq!((mode("work/.claude/runtime"), mode("home/.amplihack")), (0o700, 0o700));
}
