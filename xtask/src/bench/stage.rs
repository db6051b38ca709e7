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

/// Files of the repository that agents are launched in: git's own, and some of those that a launch looks at, since an agent acts on them.
const REPOSITORY: [(&str, &str); 6] = [
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\trepositoryformatversion = 0\n"),
    ("CLAUDE.md", "# How to work here\n\nRun the tests.\n"),
    (".claude/settings.json", "{\"model\": \"none\"}\n"),
    (
        ".claude/skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews a change\n---\n\nRead the diff.\n",
    ),
    (".claude/agents/tester.md", "---\nname: tester\ndescription: Runs tests\n---\n\nRun them.\n"),
];

/// A script of the agent whose part is the shell text `text`, which must have no control characters but newlines and tabs.
pub(crate) fn part(text: &str) -> String {
    format!("{{\"steps\":[{{\"shell\":{text:?}}}]}}")
}

/// A stage. What it holds is removed with it.
pub(crate) struct Stage {
    root: PathBuf,
    amplihack: PathBuf,
    guard: PathBuf,
}

impl Stage {
    /// A new stage for the programs in `bins`, and the hook binary `guard`.
    pub(crate) fn new(bins: &Path, guard: &Path) -> Result<Self, Failure> {
        let real = |path: &Path| {
            path.canonicalize().map_err(|error| format!("failed to find {}: {error}", path.display()))
        };
        let (bins, guard) = (real(bins)?, real(guard)?);
        let root = shell::target().join(format!("bench-{}", std::process::id()));
        let stage = Self { amplihack: bins.join("amplihack"), guard, root };
        stage
            .build(&bins.join("fake-agent"))
            .map_err(|error| format!("failed to prepare {}: {error}", stage.root.display()))?;
        Ok(stage)
    }

    fn build(&self, agent: &Path) -> std::io::Result<()> {
        for directory in ["home", "bin", "work/.git/info", "work/.git/objects", "work/.git/refs/heads"] {
            fs::create_dir_all(self.root.join(directory))?;
        }
        for (file, text) in REPOSITORY {
            let path = self.root.join("work").join(file);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, text)?;
        }
        symlink(agent, self.agent())?;
        let line = "A line of a prompt: it's \"quoted\", $HOME and `code`.\n";
        let mut prompt = line.repeat(PROMPT_BYTES / line.len() + 1);
        prompt.truncate(PROMPT_BYTES);
        fs::write(self.prompt(), prompt)?;
        fs::write(self.sessions(), sessions())?;
        fs::write(self.payload("listing"), self.call("ls -la"))?;
        fs::write(self.payload("plain"), self.call("cargo test -p x 2>&1 | tail -20"))?;
        fs::write(self.payload("substitution"), self.call("X=$(git rev-parse HEAD); echo $X > head"))
    }

    /// What Claude Code sends before it runs `command`, which must need no escapes.
    fn call(&self, command: &str) -> String {
        let work = self.root.join("work");
        format!(
            "{{\"session_id\":\"5d0c1f66-3a2b-4f4e-9a51-0b6d7c1e2f30\",\"transcript_path\":\"/x/t.jsonl\",\"cwd\":\"{}\",\
             \"permission_mode\":\"default\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":\
             {{\"command\":\"{command}\",\"description\":\"Does it\"}},\"tool_use_id\":\"toolu_01\"}}\n",
            work.display()
        )
    }

    /// The binary under test.
    pub(crate) fn amplihack(&self) -> &Path {
        &self.amplihack
    }

    /// The hook binary under test.
    pub(crate) fn guard(&self) -> &Path {
        &self.guard
    }

    /// A file with a payload for it.
    pub(crate) fn payload(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.json"))
    }

    /// Microseconds that each call of a command with `part` in it took up to its verdict, as the audit has them.
    pub(crate) fn audited(&self, part: &str) -> Result<Vec<u64>, Failure> {
        let logs = self.root.join("home/.claude/logs/xpia");
        let failed = |error| format!("failed to read the audit in {}: {error}", logs.display());
        let mut found = Vec::new();
        for log in fs::read_dir(&logs).map_err(failed)? {
            let text = fs::read_to_string(log.map_err(failed)?.path()).map_err(failed)?;
            found.extend(text.lines().filter(|line| line.contains(part)).filter_map(duration));
        }
        Ok(found)
    }

    /// The agent: the test kit's fake one, under the name that launches look for.
    pub(crate) fn agent(&self) -> PathBuf {
        self.root.join("bin/claude")
    }

    /// A file with a prompt of 1 MiB.
    pub(crate) fn prompt(&self) -> PathBuf {
        self.root.join("prompt")
    }

    /// A state file with a thousand remote sessions.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join("remote-state.json")
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

/// The state of a thousand remote sessions that have ended, one of them in four with a long prompt.
fn sessions() -> String {
    let session = |number: usize| {
        let id = format!("sess-20260101-000000-{number:04x}");
        let prompt = "do what is to be done. ".repeat(if number.is_multiple_of(4) { 100 } else { 2 });
        format!(
            "\"{id}\":{{\"session_id\":\"{id}\",\"vm_name\":\"machine-{}\",\"workspace\":\"~/x/{id}\",\"tmux_session\":\"{id}\",\
             \"prompt\":\"{prompt}\",\"command\":\"auto\",\"max_turns\":10,\"status\":\"completed\",\"memory_mb\":32768,\
             \"created_at\":\"2026-01-01T00:00:00Z\",\"started_at\":\"2026-01-01T00:00:01Z\",\
             \"completed_at\":\"2026-01-01T01:00:00Z\",\"exit_code\":0,\"backend\":\"ssh\",\"agent\":\"claude\",\"phase\":\"started\"}}",
            number % 50
        )
    };
    let all: Vec<String> = (0..1000).map(session).collect();
    format!("{{\"version\":2,\"sessions\":{{{}}},\"vm_pool\":{{}}}}\n", all.join(",\n"))
}

/// The duration in a line of the audit.
fn duration(line: &str) -> Option<u64> {
    let (_, rest) = line.rsplit_once("\"duration_us\":")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

impl Drop for Stage {
    fn drop(&mut self) {
        // It lies in the target directory; what stays is only in the way of nobody.
        let _ = fs::remove_dir_all(&self.root);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_part_is_a_script_in_json() {
        let script: serde_json::Value = serde_json::from_str(&super::part("a 'b' \"c\" \\n\n\td")).unwrap();
        assert_eq!(script["steps"][0]["shell"], "a 'b' \"c\" \\n\n\td");
    }

    #[test]
    fn a_line_of_the_audit_says_how_long_it_took() {
        assert_eq!(super::duration(r#"{"cwd":"/w","duration_us":187,"prev":"00"}"#), Some(187));
        assert_eq!(super::duration(r#"{"cwd":"/w"}"#), None);
    }
}
