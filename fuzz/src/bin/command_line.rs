//! The command itself, as a process: files and pipes of others end in an answer or an error with a known code, never in a crash.
//!
//! The binary is `$AMPLIHACK`, else what `cargo build` made of the workspace.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use amplihack_fuzz::{Scratch, Target, run, seeds, words};

const SEEDS: &[&str] = &[
    "{\"command\":\"rm -rf /\",\"cwd\":\"/w\",\"branch\":\"main\",\"expected\":\"deny\"}\n{\"command\":\"ls\"}\n",
    "do one thing\n\nand another\n",
    "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"git push --force\"},\"session_id\":\"s\",\"cwd\":\"/\",\"hook_event_name\":\"PreToolUse\"}",
    "{\"amp.permissions\": [{\"tool\": \"Bash\", \"action\": \"reject\", \"matches\": {\"cmd\": \"rm *\"}}]}",
    "name: r\nsteps:\n  - {id: a, command: 'echo {{x}}'}\n",
    "policy = \"strict\"\n[agents.claude]\nprices = \"input=3 output=15\"\n",
];

/// What is run: the words, in which `FILE` is the input's file; its stdin is the input too.
const CALLS: &[&[&str]] = &[
    &["policy", "check", "--batch", "-"],
    &["policy", "check", "--batch", "FILE", "--json"],
    &["policy", "test", "FILE", "--json"],
    &["parallel", "--task-file", "FILE", "--agents", "claude", "--json"],
    &["auto", "--task-file", "-", "--agent", "claude", "--json"],
    &["claude", "--stdin"],
    &["hook", "pre-tool-use", "--host", "claude"],
    &["hook", "aggregate"],
    &["hook", "xpia"],
    &["amp", "permissions", "test", "Bash", "--cmd", "rm x", "--settings-file", "FILE", "--json"],
    &["recipe", "validate", "FILE"],
    &["recipe", "run", "FILE", "--dry-run"],
    &["sessions", "list", "--json"],
    &["sessions", "show", "20260502T030405Z-0123456789ab"],
    &["sessions", "search", "hi"],
    &["sessions", "export", "20260502T030405Z-0123456789ab", "--html"],
    &["recipe", "runs", "list"],
    &["recipe", "runs", "show", "r1"],
    &["audit", "show"],
    &["audit", "verify"],
    &["config", "show", "--origin"],
    &["doctor", "--json"],
    &["which", "--json"],
    &["remote", "list", "--json"],
];

fn main() -> std::process::ExitCode {
    let mut begin = seeds::texts(SEEDS);
    begin.extend(seeds::own("state"));
    let target = Target {
        name: "command_line",
        seeds: begin,
        dictionary: words::JSON,
        longest: 32 << 10,
        // The processes do the work; what they take is bounded by their own deadline below.
        most: |_| Duration::from_secs(5),
    };
    let program = built();
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path().join("repo/.git")).expect("a repository can be made");
    fs::write(scratch.path().join("repo/.git/HEAD"), "ref: refs/heads/main\n").expect("and is one");
    run(target, |bytes| {
        let file = scratch.write("repo/input.yaml", bytes);
        let id = "home/.amplihack/sessions/20260502T030405Z-0123456789ab";
        for name in ["run.json", "events.jsonl", "auto.jsonl"] {
            scratch.write(&format!("{id}/{name}"), bytes);
        }
        scratch.write("home/.amplihack/recipe-runs/r1/journal.jsonl", bytes);
        scratch.write("home/.claude/logs/xpia/rust_security_20260502.log", bytes);
        scratch.write("repo/.claude/runtime/launcher_context.json", bytes);
        // What fails every command is asked for with one of them only.
        let call = CALLS[bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % CALLS.len()];
        let config = scratch.path().join("home/.config/amplihack/config.toml");
        let _ = fs::remove_file(&config);
        if call[0] == "config" {
            scratch.write("home/.config/amplihack/config.toml", bytes);
        }
        one(&program, call, &file, scratch.path());
    })
}

/// The binary of the workspace beside this one, if there is a choice the one with its checks on.
fn built() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let found = ["debug/amplihack", "release/amplihack"]
        .map(|name| target.join(name))
        .into_iter()
        .find(|path| path.is_file());
    found.expect("build the workspace first")
}

fn one(program: &Path, call: &[&str], file: &Path, scratch: &Path) {
    let mut command = Command::new("/usr/bin/timeout");
    command.args(["--signal=KILL", "20"]).arg(program);
    command.args(call.iter().map(|word| if *word == "FILE" { file.as_os_str() } else { word.as_ref() }));
    command.env_clear().env("HOME", scratch.join("home")).env("TMPDIR", scratch).env("PATH", "/nowhere");
    command.current_dir(scratch.join("repo")).stdin(File::open(file).expect("it is there"));
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("panicked"), "{call:?}: {said}");
    let code = output.status.code();
    assert!(code.is_some_and(|code| (0..=5).contains(&code)), "{call:?} ends with {code:?}: {said}");
    // An error says something.
    assert!(
        code == Some(0) || !(said.is_empty() && output.stdout.is_empty()),
        "{call:?} ends with {code:?} and says nothing"
    );
    let left = fs::read_dir(scratch).expect("it is there").flatten();
    let left: Vec<_> = left
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().starts_with("amplihack-"))
        .collect();
    assert!(left.is_empty(), "{call:?} leaves {left:?}");
}
