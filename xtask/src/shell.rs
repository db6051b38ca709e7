//! Programs that the chores run, and where the workspace is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;

/// All packages that are tested, for cargo. The fuzz programs are run by `cargo xtask nightly`; that they compile is clippy's to say.
pub(crate) const EVERYTHING: [&str; 3] = ["--workspace", "--exclude", "amplihack-fuzz"];

/// The workspace's root directory.
pub(crate) fn root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    variable("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// An environment variable of this process.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::vars_os().find(|(found, _)| found == name).map(|(_, value)| value)
}

/// The cargo that runs this chore, in the workspace's root.
pub(crate) fn cargo() -> Command {
    program(variable("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// `command`, which so far names a program only, as one that takes what others leave of the processor.
pub(crate) fn behind_others(command: Command) -> Command {
    let Some(nice) = find("nice") else { return command };
    let mut behind = program(nice);
    behind.args(["-n", "19"]).arg(command.get_program());
    behind
}

/// Builds all programs and examples for the chores that start them, as they are built beside the tests: nothing is built twice.
pub(crate) fn build_programs() -> Result<(), Failure> {
    run(cargo().args(["build", "--quiet", "--bins", "--examples"]).args(EVERYTHING))
}

/// The program of the example `name`, which [`build_programs`] has built.
pub(crate) fn example(name: &str) -> Command {
    program(target().join("debug/examples").join(name))
}

/// `name` in the workspace's root.
pub(crate) fn program(name: impl Into<OsString>) -> Command {
    let mut command = Command::new(name.into());
    command.current_dir(root());
    command
}

/// Runs to the end, streams passed through; failure is an error that names the command.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| format!("failed to start {}: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", shown(command))) }
}

/// Runs to the end and returns stdout; failure is an error that names the command.
pub(crate) fn read(command: &mut Command) -> Result<String, Failure> {
    command.stderr(std::process::Stdio::inherit());
    let output = command.output().map_err(|error| format!("failed to start {}: {error}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", shown(command), output.status));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("{} printed bytes that are not UTF-8", shown(command)))
}

/// The names of the programs whose sources lie in `directory`, sorted: one file each.
pub(crate) fn programs(directory: &Path) -> Result<Vec<String>, Failure> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| format!("failed to read {}: {error}", directory.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| path.file_stem().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(format!("there are no programs in {}", directory.display()));
    }
    Ok(names)
}

/// The command line in words.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Where `program` is in PATH, `sbin` directories included.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(system)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}
