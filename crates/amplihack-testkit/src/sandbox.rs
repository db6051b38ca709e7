//! A place for one test: a home, a working directory, a directory of programs, and an environment built from nothing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use amplihack_config::env::Env;
use tempfile::TempDir;

use crate::{Output, Record, Run, Script, programs};

/// Where a test's programs run. Everything in it is removed with it.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    env: Env,
}

impl Sandbox {
    /// A sandbox with an empty home and an empty working directory that is no repository.
    pub fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// A sandbox in `directory`, as [`Self::new`] makes one.
    pub fn within(directory: &Path) -> Self {
        let root = tempfile::Builder::new().prefix("kit-").tempdir_in(directory);
        let root = root.expect("a temporary directory can be made");
        for part in ["home", "work", "bin", "tmp"] {
            std::fs::create_dir(root.path().join(part)).expect("the sandbox is writable");
        }
        let path = root.path();
        let mut programs = path.join("bin").into_os_string();
        programs.push(":/usr/local/bin:/usr/bin:/bin");
        let env = Env::empty()
            .with_variable("PATH", programs)
            .with_variable("HOME", path.join("home"))
            .with_variable("TMPDIR", path.join("tmp"))
            .with_variable("LANG", "C.UTF-8")
            .with_variable("TZ", "UTC")
            // What lies above the temporary directory is nobody's repository here.
            .with_variable("GIT_CEILING_DIRECTORIES", path.parent().unwrap_or(path))
            .with_variable("TERM", "dumb")
            .with_variable("FAKE_AGENT_LOG", path.join("fake-agents.jsonl"));
        Self { root, env }
    }

    /// A sandbox whose working directory is a git repository with one empty commit, the same on every machine.
    pub fn repository() -> Self {
        let sandbox = Self::new();
        sandbox.write(
            "home/.gitconfig",
            "[user]\nname = Test\nemail = test@example.invalid\n[init]\ndefaultBranch = main\n",
        );
        sandbox.run("git", ["init", "--quiet"]).assert_code(0);
        let mut commit = sandbox.command("git");
        commit.args(["commit", "--quiet", "--allow-empty", "-m", "start"]);
        commit
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
        Run::new(commit).output().assert_code(0);
        sandbox
    }

    /// The directory that holds all of it.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// A word that no other sandbox has, to find this test's processes by.
    pub fn marker(&self, name: &str) -> String {
        let own = self.root().file_name().unwrap_or_default().to_string_lossy();
        format!("{name}-{own}")
    }

    /// A word that stands in the environment of every process of this sandbox, to see that none is left.
    pub fn everything(&self) -> String {
        self.root().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The working directory.
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// The first directory of PATH.
    pub fn bin(&self) -> PathBuf {
        self.root().join("bin")
    }

    /// The environment that programs get.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Sets a variable for all programs that are started from now on.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.env.set_variable(name, value);
        self
    }

    /// Removes a variable for all programs that are started from now on.
    pub fn unset(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.env.remove(name);
        self
    }

    /// Writes a file, `path` below the sandbox's root, and makes its directories. Returns the whole path.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).expect("the sandbox is writable");
        }
        std::fs::write(&path, bytes)
            .unwrap_or_else(|error| panic!("failed to write {}: {error}", path.display()));
        path
    }

    /// `program` with the sandbox's environment, in its working directory. A bare name is looked for in the sandbox's PATH.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(self.find(program.as_ref()));
        command.env_clear().envs(self.env.iter()).current_dir(self.work());
        command
    }

    /// Runs `program` with `args` to its end, `/dev/null` as its stdin.
    #[track_caller]
    pub fn run<A: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> Output {
        Run::new(self.command(program)).args(args).output()
    }

    /// Puts a fake agent into the sandbox's PATH under `name`.
    pub fn fake(&self, name: &str) -> PathBuf {
        self.link(name, &programs::fake_agent_path())
    }

    /// Puts the Amplifier stand-in into the sandbox's PATH as `amplifier`. Accepted calls are read by [`Self::accepted`].
    pub fn amplifier_stand_in(&mut self) -> PathBuf {
        self.set("AMPLIFIER_STAND_IN_RECORD", self.root().join("amplifier.jsonl"));
        self.link("amplifier", &programs::amplifier_stand_in_path())
    }

    /// Puts a link to `program` into the sandbox's PATH under `name`.
    pub fn link(&self, name: &str, program: &Path) -> PathBuf {
        let link = self.bin().join(name);
        std::os::unix::fs::symlink(program, &link)
            .unwrap_or_else(|error| panic!("failed to link {}: {error}", link.display()));
        link
    }

    /// Gives all fake agents this script.
    pub fn script(&mut self, script: &Script) -> &mut Self {
        self.set("FAKE_AGENT_SCRIPT", script.to_json())
    }

    /// Gives the fake agent `name` a script of its own.
    pub fn script_for(&mut self, name: &str, script: &Script) -> &mut Self {
        self.set(format!("FAKE_AGENT_SCRIPT_{}", name.to_uppercase()), script.to_json())
    }

    /// Every start of a fake agent, version probes included.
    pub fn starts(&self) -> Vec<Record> {
        Record::read_all(&self.root().join("fake-agents.jsonl"))
    }

    /// Every start of a fake agent that was more than a version probe.
    pub fn runs(&self) -> Vec<Record> {
        self.starts().into_iter().filter(|record| !record.is_version_probe()).collect()
    }

    /// The one start of a fake agent that was more than a version probe; fails the test if there was not exactly one.
    #[track_caller]
    pub fn only_run(&self) -> Record {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "expected one run, found {runs:#?}");
        runs.remove(0)
    }

    /// What the Amplifier stand-in accepted so far.
    pub fn accepted(&self) -> Vec<crate::amplifier::Accepted> {
        let text = std::fs::read_to_string(self.root().join("amplifier.jsonl")).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).expect("the stand-in writes whole records"))
            .collect()
    }

    fn find(&self, program: &OsStr) -> PathBuf {
        let direct = PathBuf::from(program);
        if direct.components().count() > 1 {
            return direct;
        }
        let path = self.env.get("PATH").unwrap_or_default();
        std::env::split_paths(path)
            .map(|directory| directory.join(program))
            .find(|path| path.is_file())
            .unwrap_or(direct)
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}
