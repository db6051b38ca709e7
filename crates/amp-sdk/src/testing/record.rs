//! Records of the calls of a fake.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A call of a fake. Bytes that are not UTF-8 are replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FakeCall {
    /// The arguments.
    pub args: Vec<String>,
    /// Everything that was on standard input.
    pub stdin: String,
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Contents of the files that the arguments named, where they were files of at most 1 MiB: by the argument.
    pub files: BTreeMap<String, String>,
}

/// Reads the directories `1`, `2`, ….
pub(super) fn read_calls(calls: &Path) -> Vec<FakeCall> {
    (1..=u32::MAX)
        .map(|number| calls.join(number.to_string()))
        .take_while(|call| call.is_dir())
        .map(|call| read_call(&call))
        .collect()
}

fn read_call(call: &Path) -> FakeCall {
    let text = |name: &str| {
        String::from_utf8_lossy(&std::fs::read(call.join(name)).unwrap_or_default()).into_owned()
    };
    let list = |name: &str| -> Vec<String> { text(name).split_terminator('\0').map(str::to_owned).collect() };
    let args = list("args");
    let files = args.iter().enumerate().filter_map(|(at, arg)| {
        let bytes = std::fs::read(call.join(format!("file-{}", at + 1))).ok()?;
        Some((arg.clone(), String::from_utf8_lossy(&bytes).into_owned()))
    });
    FakeCall {
        files: files.collect(),
        stdin: text("stdin"),
        env: list("env")
            .iter()
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        cwd: PathBuf::from(text("cwd").trim_end_matches('\n')),
        args,
    }
}
