//! The build whose promises can be broken, and the integration tests in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, shell};

/// The feature that no other build has.
const FEATURE: &str = "amplihack-sys/sabotage";

/// A test program of the build.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its crate, with underscores.
    package: String,
    /// Its name, `it` for most crates.
    name: String,
    pub(crate) path: PathBuf,
    /// The crate's directory, in which its tests run.
    pub(crate) directory: PathBuf,
    tests: Vec<String>,
}

/// One test: the index of its program, and its name there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Test {
    pub(crate) program: usize,
    pub(crate) name: String,
}

/// The build's target directory, away from all others.
pub(crate) fn target() -> PathBuf {
    shell::target().join("sabotage")
}

/// The file from which every process of the build reads its fault.
pub(crate) fn choice() -> PathBuf {
    target().join("fault")
}

/// The package in the crate's directory of this name, which may have another.
pub(crate) fn package_in(directory: &str) -> String {
    let manifest = shell::root().join("crates").join(directory).join("Cargo.toml");
    let text = std::fs::read_to_string(manifest).unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    name.unwrap_or(directory).to_owned()
}

fn cargo(words: &[&str], packages: &[String]) -> Command {
    let mut command = shell::cargo();
    command.args(words).args(["--features", FEATURE, "--package", "amplihack-sys"]);
    for package in packages {
        command.args(["--package", package]);
    }
    command.env("CARGO_TARGET_DIR", target()).env("AMPLIHACK_SABOTAGE_FILE", choice());
    command
}

/// Builds the shipped programs, the fake agents, and the tests of `packages`.
pub(crate) fn build(packages: &[String]) -> Result<Vec<Program>, Failure> {
    let shipped = ["amplihack-cli", "amplihack-hooks", "amplihack-testkit"].map(str::to_owned);
    shell::run(&mut cargo(&["build", "--quiet", "--bins"], &shipped))?;
    let words = ["test", "--quiet", "--no-run", "--tests", "--message-format", "json"];
    let messages = shell::read(&mut cargo(&words, packages))?;
    let mut programs: Vec<Program> = messages.lines().filter_map(program).collect();
    for program in &mut programs {
        let list = shell::read(
            Command::new(&program.path).current_dir(&program.directory).args(["--list", "--format", "terse"]),
        )?;
        program.tests =
            list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect();
    }
    Ok(programs)
}

/// The integration-test program that a message of cargo is about. Cargo writes each message on one line, without blanks.
fn program(message: &str) -> Option<Program> {
    let target = message.split_once(r#""target":{"#)?.1;
    target.starts_with(r#""kind":["test"]"#).then_some(())?;
    let directory = Path::new(&text(message, "manifest_path")?).parent()?.to_owned();
    let package = directory.file_name()?.to_str()?.replace('-', "_");
    Some(Program {
        package,
        name: text(target, "name")?,
        path: text(message, "executable")?.into(),
        directory,
        tests: Vec::new(),
    })
    // A program with a harness of its own lists nothing that a row could name.
    .filter(|program| program.name != "last_words")
}

/// The first text called `key` in a message; paths with escapes are none of ours.
fn text(message: &str, key: &str) -> Option<String> {
    let value = message.split_once(&format!(r#""{key}":""#))?.1;
    value.split_once('"').map(|(text, _)| text.to_owned())
}

/// The tests that `name`, `crate::module::test`, can mean: its modules are found in the program and the test's own path, in order.
pub(crate) fn find(name: &str, programs: &[Program]) -> Vec<Test> {
    let words: Vec<&str> = name.split("::").collect();
    let [package, modules @ .., test] = &words[..] else { return Vec::new() };
    let mut found = Vec::new();
    for (index, program) in programs.iter().enumerate().filter(|(_, program)| program.package == *package) {
        for listed in &program.tests {
            let mut path = std::iter::once(program.name.as_str()).chain(listed.split("::"));
            if listed.rsplit("::").next() == Some(test)
                && modules.iter().all(|word| path.any(|part| part == *word))
            {
                found.push(Test { program: index, name: listed.clone() });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_cargo_is_read() {
        let message = concat!(
            r#"{"reason":"compiler-artifact","package_id":"x","manifest_path":"/a/crates/amplihack-cli/Cargo.toml","#,
            r#""target":{"kind":["test"],"crate_types":["bin"],"name":"it","src_path":"/a/it/main.rs"},"#,
            r#""filenames":["/t/it-1"],"executable":"/t/it-1","fresh":true}"#
        );
        let found = program(message).expect("a test program");
        assert_eq!((found.package.as_str(), found.name.as_str()), ("amplihack_cli", "it"));
        assert_eq!((found.path, found.directory), ("/t/it-1".into(), "/a/crates/amplihack-cli".into()));
        assert!(program(&message.replace(r#"["test"]"#, r#"["lib"]"#)).is_none());
    }

    #[test]
    fn names_mean_tests_of_their_crate() {
        let program = |package: &str, name: &str, tests: &[&str]| Program {
            package: package.to_owned(),
            name: name.to_owned(),
            path: PathBuf::new(),
            directory: PathBuf::new(),
            tests: tests.iter().map(|test| (*test).to_owned()).collect(),
        };
        let programs =
            [program("a", "it", &["one::two::x", "one::y"]), program("b", "seed", &["x", "one::x"])];
        let named = |name: &str| find(name, &programs).into_iter().map(|test| test.name).collect::<Vec<_>>();
        assert_eq!(named("a::one::two::x"), ["one::two::x"]);
        assert_eq!(named("a::it::one::y"), ["one::y"]);
        assert_eq!(named("b::seed::x"), ["x", "one::x"]);
        assert_eq!(named("b::one::x"), ["one::x"]);
        assert_eq!(named("a::two::one::x"), [""; 0]);
        assert_eq!(named("c::x"), [""; 0]);
    }
}
