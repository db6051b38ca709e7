//! Where the measured programs run: a home, a repository, an agent and a prompt of their own, below the target directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, shell};

/// The size of the large prompt.
const PROMPT_BYTES: usize = 1 << 20;
/// The agent's part: it reads its stdin to the end, says one word, and ends.
const SCRIPT: &str = r#"{"steps":[{"print":"ready\n"}]}"#;

/// A stage. What it holds is removed with it.
pub(crate) struct Stage {
    root: PathBuf,
    amplihack: PathBuf,
}

impl Stage {
    /// A new stage for the programs in `bins`.
    pub(crate) fn new(bins: &Path) -> Result<Self, Failure> {
        let bins =
            bins.canonicalize().map_err(|error| format!("failed to find {}: {error}", bins.display()))?;
        let root = shell::target().join(format!("bench-{}", std::process::id()));
        let stage = Self { amplihack: bins.join("amplihack"), root };
        stage
            .build(&bins.join("fake-agent"))
            .map_err(|error| format!("failed to prepare {}: {error}", stage.root.display()))?;
        Ok(stage)
    }

    fn build(&self, agent: &Path) -> std::io::Result<()> {
        for directory in ["home", "bin", "work/.git/info"] {
            fs::create_dir_all(self.root.join(directory))?;
        }
        symlink(agent, self.agent())?;
        let line = "A line of a prompt: it's \"quoted\", $HOME and `code`.\n";
        let mut prompt = line.repeat(PROMPT_BYTES / line.len() + 1);
        prompt.truncate(PROMPT_BYTES);
        fs::write(self.prompt(), prompt)
    }

    /// The binary under test.
    pub(crate) fn amplihack(&self) -> &Path {
        &self.amplihack
    }

    /// The agent: the test kit's fake one, under the name that launches look for.
    pub(crate) fn agent(&self) -> PathBuf {
        self.root.join("bin/claude")
    }

    /// A file with a prompt of 1 MiB.
    pub(crate) fn prompt(&self) -> PathBuf {
        self.root.join("prompt")
    }

    /// `program` in the stage's repository, with the stage's environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root.join("work"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.root.join("home"))
            .env("FAKE_AGENT_SCRIPT", SCRIPT)
            .env("AMPLIHACK_CLAUDE_PATH", self.agent());
        command
    }

    /// A file of the stage.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // It lies in the target directory; what stays is only in the way of nobody.
        let _ = fs::remove_dir_all(&self.root);
    }
}
