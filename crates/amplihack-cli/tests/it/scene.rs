//! What tests of several topics do: wait for a file, look into one, ask `which`, make output the same on every machine.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use amplihack_testkit::{Output, Record, Run, Sandbox};
use serde_json::Value;

use crate::world::amplihack;

/// Where a launch in the sandbox's working directory says who is in charge.
pub(crate) const CONTEXT: &str = "work/.claude/runtime/launcher_context.json";

/// A sandboxed repository with fake agents of these names, and `amplihack` on PATH.
pub(crate) fn repository(agents: &[&str]) -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.link("amplihack", amplihack());
    for agent in agents {
        sandbox.fake(agent);
    }
    sandbox
}

/// A program of this name and text on the sandbox's PATH.
pub(crate) fn program(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.write(format!("bin/{name}"), text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Waits until `path` below the sandbox's root has contents, and returns them without blanks around them.
#[track_caller]
pub(crate) fn when_written(sandbox: &Sandbox, path: &str) -> String {
    let path = sandbox.root().join(path);
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        // A line that has not ended is still being written.
        if text.ends_with('\n') {
            return text.trim().to_owned();
        }
        assert!(Instant::now() < end, "{} was not written: {text:?}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The JSON file at `path` below the sandbox's root.
#[track_caller]
pub(crate) fn json(sandbox: &Sandbox, path: impl AsRef<Path>) -> Value {
    let path = sandbox.root().join(path);
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Permissions of `path` below the sandbox's root.
#[track_caller]
pub(crate) fn mode(sandbox: &Sandbox, path: impl AsRef<Path>) -> u32 {
    let path = sandbox.root().join(path);
    let found = std::fs::metadata(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    found.permissions().mode() & 0o7777
}

/// `which --json` in the sandbox.
#[track_caller]
pub(crate) fn which(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(amplihack(), ["which", "--json"]);
    output.assert_code(0).json()
}

/// `which --json` as a process asks that still has the environment of the recorded agent.
#[track_caller]
pub(crate) fn which_below(sandbox: &Sandbox, agent: &Record) -> Value {
    let mut command = sandbox.command(amplihack());
    command.env_clear().args(["which", "--json"]);
    let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    command.envs(agent.env.iter().map(|(name, value)| (text(&name.0), text(&value.0))));
    Run::new(command).output().assert_code(0).json()
}

/// The value of a variable that the recorded agent was started with.
pub(crate) fn variable(agent: &Record, name: &str) -> Option<String> {
    agent.variable(name).map(amplihack_testkit::Bytes::lossy)
}

/// All files below `directory`, links not followed.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Claims that no file in the sandbox's home and working directory holds `text`.
#[track_caller]
pub(crate) fn assert_in_no_file(sandbox: &Sandbox, text: &str) {
    for file in files(&sandbox.home()).into_iter().chain(files(&sandbox.work())) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!found, "{} holds {text}", file.display());
    }
}

/// Stdout, stderr where there is any, and the exit code, with everything that changes from run to run replaced.
pub(crate) fn shown(sandbox: &Sandbox, output: &Output) -> String {
    let stdout = masked(sandbox, &output.stdout_text());
    let stderr = match output.stderr_text() {
        text if text.is_empty() => text,
        text => format!("--- stderr\n{}", masked(sandbox, &text)),
    };
    let code = output.code.map_or("by signal".to_owned(), |code| code.to_string());
    format!("{stdout}{stderr}--- exit {code}\n")
}

/// `text` with the sandbox's path, sessions, times and this version of amplihack replaced.
pub(crate) fn masked(sandbox: &Sandbox, text: &str) -> String {
    let root = sandbox.root().canonicalize().unwrap();
    let text = text.replace(&*root.to_string_lossy(), "[ROOT]");
    let part_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.');
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(part_of_word) {
        let word = &rest[start..];
        let word = &word[..word.find(|c| !part_of_word(c)).unwrap_or(word.len())];
        out.push_str(&rest[..start]);
        // A launch's mark is `<session>:<agent>`.
        let (head, tail) = word.split_once(':').map_or((word, ""), |(head, _)| (head, &word[head.len()..]));
        let mask = replacement(word).map(str::to_owned);
        let mask = mask.or_else(|| replacement(head).map(|mask| format!("{mask}{tail}")));
        out.push_str(&mask.unwrap_or_else(|| word.to_owned()));
        rest = &rest[start + word.len()..];
    }
    out + rest
}

fn replacement(word: &str) -> Option<&'static str> {
    let is_session = || {
        let (time, random) = word.split_once('-')?;
        let hex = random.len() == 12 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
        (time.len() == 16 && time.ends_with('Z') && hex).then_some("[SESSION]")
    };
    let is_version = || (word == env!("CARGO_PKG_VERSION")).then_some("[VERSION]");
    is_session().or_else(is_version).or_else(|| word.parse::<jiff::Timestamp>().is_ok().then_some("[TIME]"))
}
