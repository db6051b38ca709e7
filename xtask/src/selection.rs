//! Which tests a run of the runner takes, in the words of the runner that is there.

use std::process::Command;

use crate::shell::{self, EVERYTHING};
use crate::ui;

/// Tests of some packages.
///
/// nextest is asked by a filter over the whole workspace, never by `--package`: cargo gives the libraries of fewer packages fewer
/// features, and so would build half of the workspace once more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestSelection {
    pub(crate) packages: &'static [&'static str],
    pub(crate) kind: TestKind,
    /// Modules of tests; all if there are none.
    pub(crate) modules: &'static [&'static str],
}

/// Place of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestKind {
    /// Beside the code of a library.
    Unit,
    /// In the program `it` of a package.
    Integration,
}

impl TestSelection {
    /// The command that runs them.
    pub(crate) fn runner(self) -> Command {
        let words =
            if has_nextest() { vec!["--filterset".to_owned(), self.filter()] } else { self.arguments() };
        runner(&words.iter().collect::<Vec<_>>())
    }

    /// For nextest.
    fn filter(self) -> String {
        let packages: Vec<String> = self.packages.iter().map(|name| format!("package(={name})")).collect();
        let kind = match self.kind {
            TestKind::Unit => "kind(lib)",
            TestKind::Integration => "binary(=it)",
        };
        let filter = format!("({}) & {kind}", packages.join(" | "));
        if self.modules.is_empty() {
            return filter;
        }
        format!("{filter} & test(/^({})::/)", self.modules.join("|"))
    }

    /// For cargo's own runner.
    fn arguments(self) -> Vec<String> {
        let packages = self.packages.iter().flat_map(|name| ["--package", name]);
        let kind = match self.kind {
            TestKind::Unit => &["--lib"][..],
            TestKind::Integration => &["--test", "it"],
        };
        let words = packages.chain(kind.iter().copied()).map(str::to_owned);
        words.chain(self.modules.iter().map(|module| format!("{module}::"))).collect()
    }
}

/// nextest where it is installed, else cargo's own runner; `args` go to it, and select within the workspace.
pub(crate) fn runner(args: &[&String]) -> Command {
    let mut command = shell::cargo();
    if has_nextest() {
        command.args(["nextest", "run", "--no-fail-fast"]);
        if !selects_packages(args) {
            command.args(["--test-threads", &threads().to_string()]);
        }
    } else {
        ui::say("cargo-nextest is not installed; cargo test runs the tests");
        command.args(["test", "--no-fail-fast", "--tests"]);
    }
    if !selects_packages(args) {
        command.args(EVERYTHING);
    }
    command.args(args);
    command
}

fn has_nextest() -> bool {
    shell::find("cargo-nextest").is_some()
}

/// Half as many tests again as there are processors: the tests of agents and of remote machines wait for half of their time.
fn threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    processors + processors / 2
}

/// Reports whether `args` name packages, so that the workspace is not meant.
pub(crate) fn selects_packages(args: &[&String]) -> bool {
    args.iter()
        .any(|arg| arg.as_str() == "--package" || arg.starts_with("-p") || arg.starts_with("--package="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_runners_are_asked_for_the_same_tests() {
        let modules = TestSelection { packages: &["one"], kind: TestKind::Integration, modules: &["a", "b"] };
        assert_eq!(modules.filter(), "(package(=one)) & binary(=it) & test(/^(a|b)::/)");
        assert_eq!(modules.arguments(), ["--package", "one", "--test", "it", "a::", "b::"]);
        let whole = TestSelection { packages: &["one", "two"], kind: TestKind::Unit, modules: &[] };
        assert_eq!(whole.filter(), "(package(=one) | package(=two)) & kind(lib)");
        assert_eq!(whole.arguments(), ["--package", "one", "--package", "two", "--lib"]);
    }
}
