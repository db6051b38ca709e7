//! The files that a check is or reads: its script, tests, the configuration of builds and of continuous integration.
//!
//! An agent that changes one of them may have changed the verdict and not the work.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use amplihack_shell::{Limits, RedirectKind, ShellCommand, commands};
use amplihack_sys::fs::normal_path;

use crate::tree_diff::FileChange;

/// Programs that look at what they are given: what they name is the work, not the check.
const LOOKS: &[&str] = &[
    "test", "[", "[[", "grep", "egrep", "fgrep", "rg", "cat", "head", "tail", "wc", "ls", "stat", "find",
    "file", "sort", "uniq", "cut", "tr", "sed", "awk", "echo", "printf", "true", "false", ":", "cd", "git",
    "tee", "cp", "mv", "rm", "mkdir", "touch", "sleep", "jq", "exit", "wait", "date", "read",
];
/// Programs that compare the work with what is expected.
const COMPARES: &[&str] = &["diff", "cmp", "sha256sum", "md5sum", "cksum"];
/// Files that say what a test command runs.
const BUILD_FILES: &[&str] = &[
    "package.json",
    "makefile",
    "gnumakefile",
    "justfile",
    "tox.ini",
    "noxfile.py",
    "pyproject.toml",
    "setup.cfg",
    "pytest.ini",
    "cargo.toml",
    "build.rs",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "cmakelists.txt",
    "meson.build",
    "rakefile",
    "composer.json",
    "mix.exs",
    "deno.json",
    "nextest.toml",
    ".coveragerc",
    ".mocharc.json",
    "phpunit.xml",
    "build.sbt",
    "gemfile",
];
/// Files and directories of continuous integration.
const INTEGRATION: &[&str] = &[
    ".github/workflows/",
    ".gitlab-ci.yml",
    ".circleci/",
    ".travis.yml",
    "jenkinsfile",
    "azure-pipelines.yml",
    ".buildkite/",
];
/// Directories of tests.
const TEST_DIRECTORIES: &[&str] =
    &["test", "tests", "__tests__", "spec", "specs", "e2e", "__snapshots__", "testdata"];
/// Scripts that are read for what they run in their turn, at most.
const MOST_SCRIPTS: usize = 32;
/// The longest script that is read, in bytes.
const MAX_SCRIPT: u64 = 256 * 1024;

/// Returns the files of `changed` that a check of `texts`, run in `directory` of the repository `root`, is or reads.
pub(super) fn find_own_files<'a>(
    texts: &[&str],
    directory: &Path,
    root: &Path,
    changed: &'a [FileChange],
) -> Vec<&'a FileChange> {
    let mut reader =
        CheckScriptReader { root, named: BTreeSet::new(), compared: BTreeSet::new(), runs: false, read: 0 };
    for text in texts {
        reader.read_script(text, directory);
    }
    let own = |change: &&FileChange| {
        let path = Path::new(OsStr::from_bytes(&change.raw));
        reader.named.contains(path)
            || (change.before.is_present() && reader.compared.contains(path))
            || (reader.runs && is_test_file(&change.path))
    };
    changed.iter().filter(own).collect()
}

/// Reads scripts for the files that they name.
struct CheckScriptReader<'a> {
    root: &'a Path,
    /// Files that are run, or given to what is run.
    named: BTreeSet<PathBuf>,
    /// Files with which the work is compared.
    compared: BTreeSet<PathBuf>,
    /// Something is run that may run tests.
    runs: bool,
    read: usize,
}

impl CheckScriptReader<'_> {
    fn read_script(&mut self, text: &str, directory: &Path) {
        for command in commands(text.as_bytes(), &Limits::default()).commands {
            self.read_command(&command, directory);
        }
    }

    fn read_command(&mut self, command: &ShellCommand, directory: &Path) {
        let Some(program) = command.program_name() else { return };
        let mut here = directory.to_owned();
        for target in command.cds.iter().filter_map(amplihack_shell::ShellWord::literal_text) {
            here.push(target);
        }
        if LOOKS.contains(&program.as_str()) {
            return;
        }
        let reads = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        let words = command.words.iter().chain(reads.map(|redirect| &redirect.target));
        let words: Vec<String> = words.filter_map(amplihack_shell::ShellWord::literal_text).collect();
        if COMPARES.contains(&program.as_str()) {
            let compared: Vec<PathBuf> =
                words.iter().skip(1).filter_map(|word| self.repository_path(&here, word)).collect();
            return self.compared.extend(compared);
        }
        self.runs = true;
        for word in &words {
            // `tests/test_a.py::test_b`, `--config=jest.json`
            let word = word.split_once("::").map_or(word.as_str(), |(path, _)| path);
            let value =
                word.split_once('=').filter(|_| word.starts_with('-')).map_or(word, |(_, value)| value);
            let Some(path) = self.repository_path(&here, value) else { continue };
            let full = self.root.join(&path);
            if !full.is_dir() && self.named.insert(path) {
                self.follow_script(&full, &here);
            }
        }
        match program.as_str() {
            "npm" | "npx" | "yarn" | "pnpm" | "bun" => self.read_package(&here),
            "make" | "gmake" => self.read_makefile(&here),
            _ => {}
        }
    }

    /// Reads what a shell script runs in its turn.
    fn follow_script(&mut self, path: &Path, directory: &Path) {
        let Some(text) = self.read_text(path) else { return };
        let is_shell = text.lines().next().is_some_and(|line| line.starts_with("#!") && line.contains("sh"));
        if is_shell || path.extension().is_some_and(|end| end == "sh") {
            self.read_script(&text, directory);
        }
    }

    /// Reads what the scripts of a package run.
    fn read_package(&mut self, directory: &Path) {
        let Some(text) = self.read_text(&directory.join("package.json")) else { return };
        let Ok(package) = serde_json::from_str::<serde_json::Value>(&text) else { return };
        let scripts = package["scripts"].as_object().into_iter().flat_map(|scripts| scripts.values());
        for script in scripts.filter_map(serde_json::Value::as_str) {
            self.read_script(script, directory);
        }
    }

    /// Reads what the recipes of a makefile run.
    fn read_makefile(&mut self, directory: &Path) {
        for name in ["GNUmakefile", "makefile", "Makefile"] {
            let Some(text) = self.read_text(&directory.join(name)) else { continue };
            let recipes = text.lines().filter_map(|line| line.strip_prefix('\t'));
            let recipes: Vec<&str> = recipes.map(|line| line.trim_start_matches(['@', '-', '+'])).collect();
            return self.read_script(&recipes.join("\n"), directory);
        }
    }

    fn read_text(&mut self, path: &Path) -> Option<String> {
        self.read += 1;
        let bytes =
            amplihack_sys::fs::read_regular(path, MAX_SCRIPT).ok().filter(|_| self.read <= MOST_SCRIPTS)?;
        String::from_utf8(bytes).ok()
    }

    /// `word` as a path from the top of the repository; `None` for one outside of it, and for an option.
    fn repository_path(&self, directory: &Path, word: &str) -> Option<PathBuf> {
        if word.is_empty() || word.starts_with('-') {
            return None;
        }
        let path = normal_path(&directory.join(word));
        path.strip_prefix(self.root).ok().filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned)
    }
}

/// Reports whether a file belongs to tests, to what configures them, or to continuous integration, by its usual name.
fn is_test_file(path: &str) -> bool {
    let path = path.to_lowercase();
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let in_tests = directories.split('/').any(|directory| TEST_DIRECTORIES.contains(&directory));
    let named = stem.starts_with("test_")
        || ["_test", "_tests", "_spec", ".test", ".spec"].iter().any(|end| stem.ends_with(end))
        || ["tests.rs", "conftest.py"].contains(&name)
        || [".bats", ".snap"].iter().any(|end| name.ends_with(end))
        || ["test.java", "tests.java", "test.kt", "tests.cs", "test.php", "spec.scala"]
            .iter()
            .any(|end| name.ends_with(end))
        || ["jest.config.", "vitest.config.", "karma.conf.", "playwright.config."]
            .iter()
            .any(|start| name.starts_with(start));
    let integrates = INTEGRATION
        .iter()
        .any(|place| if place.ends_with('/') { path.starts_with(place) } else { path == *place });
    in_tests || named || integrates || BUILD_FILES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree_diff::entry;

    fn changed(paths: &[&str]) -> Vec<FileChange> {
        let one = |path: &&str| FileChange {
            path: (*path).to_owned(),
            raw: path.as_bytes().to_owned(),
            before: entry(!path.starts_with("new")),
            after: entry(true),
        };
        paths.iter().map(one).collect()
    }

    fn own(root: &Path, text: &str, paths: &[&str]) -> Vec<String> {
        let changed = changed(paths);
        find_own_files(&[text], root, root, &changed).into_iter().map(|change| change.path.clone()).collect()
    }

    #[test]
    fn a_check_is_its_script_and_what_that_names() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir(root.join("ci")).unwrap();
        std::fs::write(root.join("check.sh"), "#!/bin/sh\n. ci/lib.sh\npython3 ci/probe.py\n").unwrap();
        std::fs::write(root.join("package.json"), r#"{"scripts":{"test":"node checks/all.js"}}"#).unwrap();
        std::fs::write(root.join("Makefile"), "check:\n\t@python3 verify.py\n").unwrap();
        let paths = [
            "check.sh",
            "ci/lib.sh",
            "ci/probe.py",
            "src/a.c",
            "checks/all.js",
            "verify.py",
            "expected",
            "new",
        ];
        for (text, expected) in [
            ("./check.sh", &["check.sh", "ci/lib.sh", "ci/probe.py"][..]),
            ("sh -c 'bash ./check.sh'", &["check.sh", "ci/lib.sh", "ci/probe.py"]),
            ("sh < check.sh", &["check.sh", "ci/lib.sh", "ci/probe.py"]),
            ("cd ci && ../check.sh", &["check.sh"]),
            ("npm test", &["checks/all.js"]),
            ("make check", &["verify.py"]),
            ("pytest ci/probe.py::test_a --rootdir=src/a.c", &["ci/probe.py", "src/a.c"]),
            // What is looked at is the work; what it is compared with is not.
            ("test -e src/a.c && grep -q x src/a.c", &[]),
            ("./run | diff expected new", &["expected"]),
        ] {
            assert_eq!(own(root, text, &paths), expected, "{text}");
        }
    }

    #[test]
    fn tests_and_their_configuration_count_where_anything_is_run() {
        let paths = [
            "tests/a.rs",
            "src/test_a.py",
            "a/b_test.go",
            "x.test.ts",
            "x.spec.js",
            "ConfTest.py",
            "conftest.py",
            "Cargo.toml",
            ".github/workflows/ci.yml",
            "src/main.rs",
            "src/latest.py",
            "docs/testing.md",
            "contest/a.c",
        ];
        let root = Path::new("/nowhere");
        let found = own(root, "cargo test", &paths);
        assert_eq!(
            found,
            [
                "tests/a.rs",
                "src/test_a.py",
                "a/b_test.go",
                "x.test.ts",
                "x.spec.js",
                "ConfTest.py",
                "conftest.py",
                "Cargo.toml",
                ".github/workflows/ci.yml"
            ]
        );
        assert_eq!(own(root, "test -e tests/a.rs", &paths), [""; 0]);
    }
}
