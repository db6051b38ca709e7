//! Commands beside launches: lists and exports of recorded runs, unattended turns, completions, an installation, what a remote start costs here.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::measure::{self, Entry, Job, Pairs};
use super::stage::{self, Stage};
use super::table;
use super::transcript::{self, Flavor};
use crate::{Failure, shell, ui};

/// What the section of `docs/benchmarks.md` begins with.
pub(crate) const HEADING: &str = "## More commands";
/// Recorded runs.
const SESSIONS: usize = 500;
/// Bytes of the long one.
const LONG: usize = 2_000_000;
/// The id of the long one, after all others.
const LATEST: &str = "20260102T000000Z-ffffffffffff";
/// Bytes of text in the history that is packaged.
const HISTORY: usize = 20_000_000;
/// What no run said.
const WORDS: &str = "no such words";
/// Pairs of what takes long.
const FEW: usize = 20;

/// Measures, and writes the section.
pub(crate) fn section(stage: &Stage, bins: &Path, runs: usize) -> Result<String, Failure> {
    let place = Place::new(stage)?;
    let mut rows = measure::rows(stage, place.entries(runs))?;
    let program = bins.join("examples/speed");
    ui::say("packaging and state, in one process");
    let packaged = (
        "packaging a history with 20 MB of text: searched for secrets against unsearched".to_owned(),
        "≤ 200 ms more: 100 MB/s",
        place.packaged(&program, runs.min(FEW))?,
    );
    rows.push(packaged);
    let changed = place.changed(&program, runs)?;
    Ok(format!(
        "{HEADING}\n\nBoth sides of a line run in turns, {runs} pairs, or {FEW} of what takes long. {SESSIONS} recorded runs lie in the home; the one that is exported\n\
         has {} MB of events. An unattended turn is everything between two prompts: the agent's answer judged, pictures of the working tree, the journal.\n\n\
         {}\n{}",
        LONG / 1_000_000,
        table::table(&rows),
        table::alone(&[(
            "a session added to a state of 1,000, from the lock to the disk",
            "≤ 50 ms",
            changed
        )])
    ))
}

/// Homes, a repository and an agent, below the stage.
struct Place<'a> {
    stage: &'a Stage,
    root: PathBuf,
}

impl<'a> Place<'a> {
    fn new(stage: &'a Stage) -> Result<Self, Failure> {
        let place = Self { stage, root: stage.file("commands") };
        place.build().map_err(|error| format!("failed to prepare {}: {error}", place.root.display()))?;
        let repository = place.root.join("repository");
        let git = |words: &[&str]| {
            let mut git = stage.command(Path::new("/usr/bin/git"));
            shell::run(
                git.current_dir(&repository).args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(words),
            )
        };
        git(&["init", "--quiet"])?;
        git(&["add", "."])?;
        git(&["commit", "--quiet", "-m", "one"])?;
        place.record()?;
        Ok(place)
    }

    fn build(&self) -> std::io::Result<()> {
        for part in ["repository", "packages", "plain", "records"] {
            fs::create_dir_all(self.root.join(part))?;
        }
        // Text as people write it, each file with other words.
        for number in 0..HISTORY / 100_000 {
            let line = format!(
                "    let value{number} = self.next(\"entry {number}\")?; // what comes next, if anything\n"
            );
            let mut text = line.repeat(100_000 / line.len() + 1);
            text.truncate(100_000);
            fs::write(self.root.join(format!("repository/{number}.rs")), text)?;
        }
        Ok(())
    }

    /// A command of amplihack with a home of its own below the place, in the repository. An agent that it launches plays `part`.
    fn job(&self, home: &str, part: &str, args: &[&str]) -> Job {
        self.at_home(Job::new(self.stage.amplihack(), args), home, part)
    }

    fn at_home(&self, job: Job, home: &str, part: &str) -> Job {
        job.at(self.root.join("repository"))
            .with("HOME", self.root.join(home))
            .with("FAKE_AGENT_SCRIPT", stage::part(part))
    }

    /// Records a short run many times, and a long one.
    fn record(&self) -> Result<(), Failure> {
        let sessions = self.root.join("records/.amplihack/sessions");
        for (bytes, ids) in [(20_000, SESSIONS - 1), (LONG, 1)] {
            let recording = self.root.join("recording");
            transcript::write(&recording, Flavor::Claude, bytes)?;
            let job =
                self.job("plain", PLAYER, &["claude", "--output", "json", "--prompt", "x", "--no-hooks"]);
            shell::run(&mut job.with("RECORDING", recording).command(self.stage)?)?;
            let made = self.root.join("plain/.amplihack/sessions");
            Self::copy(&made, &sessions, bytes == LONG, ids)
                .map_err(|error| format!("failed to copy {}: {error}", made.display()))?;
        }
        Ok(())
    }

    fn copy(made: &Path, to: &Path, long: bool, count: usize) -> std::io::Result<()> {
        for entry in fs::read_dir(made)? {
            let from = entry?.path();
            for number in 0..count {
                let name = if long { LATEST.to_owned() } else { format!("20260101T000000Z-{number:012x}") };
                let to = to.join(name);
                fs::create_dir_all(&to)?;
                for file in ["run.json", "events.jsonl"] {
                    fs::copy(from.join(file), to.join(file))?;
                }
            }
            fs::remove_dir_all(from)?;
        }
        Ok(())
    }

    fn entries(&self, runs: usize) -> Vec<Entry> {
        let floor = || Job::new("/bin/true", &[]);
        let few = runs.min(FEW);
        let events = self.root.join("records/.amplihack/sessions").join(LATEST).join("events.jsonl");
        let sessions = self.root.join("records/.amplihack/sessions");
        let (events, sessions) = (events.to_string_lossy(), sessions.to_string_lossy());
        let recorded = |args: &[&str]| self.job("records", "", args);
        // Who finds nothing ends with 1.
        let none_found = |script: &str| {
            Job::new("/bin/sh", &["-c", &format!("{script}; :")]).with("HOME", self.root.join("records"))
        };
        let turns = |count: &str| {
            let args = ["auto", "--agent", "claude", "--task", "x", "--permissions", "edit", "--json"];
            self.job("unattended", TURNS, &args).with("TURNS", count)
        };
        let state = self.stage.sessions();
        let status = ["remote", "status", "--state-file", &state.to_string_lossy()];
        vec![
            Entry::to_end(
                "`amplihack sessions list`, 500 runs, against `/bin/true`",
                "≤ 50 ms",
                recorded(&["sessions", "list"]),
                floor(),
                runs,
            ),
            Entry::to_end(
                "`amplihack sessions search` through 500 runs against `grep -rl`",
                "≤ 150 ms",
                none_found(&format!("'{}' sessions search '{WORDS}'", self.stage.amplihack().display())),
                none_found(&format!("grep -rlF '{WORDS}' '{sessions}'")),
                few,
            ),
            Entry::to_end(
                "`amplihack sessions export --html` of a run with 2 MB of events against `cat`",
                "≤ 150 ms",
                recorded(&["sessions", "export", LATEST, "--html"]),
                Job::new("/bin/cat", &[&events]),
                few,
            ),
            Entry::to_end(
                "`amplihack sessions export --otel` of the same",
                "≤ 100 ms",
                recorded(&["sessions", "export", LATEST, "--otel"]),
                Job::new("/bin/cat", &[&events]),
                few,
            ),
            Entry::to_end(
                "`amplihack remote status`, 1,000 sessions, against `/bin/true`",
                "≤ 50 ms",
                recorded(&status),
                floor(),
                runs,
            ),
            Entry::to_end(
                "`amplihack completions bash` against `/bin/true`",
                "≤ 20 ms",
                recorded(&["completions", "bash"]),
                floor(),
                few,
            ),
            Entry::to_end(
                "`amplihack install --agent claude`, again, against `/bin/true`",
                "≤ 50 ms",
                self.job("installed", "", &["install", "--agent", "claude"]),
                floor(),
                few,
            ),
            Entry::to_end(
                "an unattended run of one turn against its agent alone",
                "≤ 150 ms more",
                turns("1"),
                self.alone(),
                few,
            ),
            Entry::to_end(
                "an unattended run of three turns against one of one turn",
                "≤ 200 ms more: 100 ms a turn",
                turns("3"),
                turns("1"),
                few,
            ),
        ]
    }

    /// One answer of the agent of unattended runs.
    fn alone(&self) -> Job {
        self.at_home(Job::new(self.stage.agent(), &["-p"]), "unattended", TURNS).with("TURNS", "1")
    }

    fn packaged(&self, program: &Path, times: usize) -> Result<Pairs, Failure> {
        let mut speed = self.stage.command(program);
        speed.arg("package").arg(self.root.join("repository")).arg(self.root.join("packages"));
        let text = shell::read(speed.arg(times.to_string()))?;
        let mut pairs = Pairs::default();
        for line in text.lines() {
            let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            let [ours, against] = numbers[..] else { return Err(format!("the packager said {line:?}")) };
            pairs.push(ours, against);
        }
        Ok(pairs)
    }

    fn changed(&self, program: &Path, times: usize) -> Result<Vec<Duration>, Failure> {
        let file = self.root.join("state.json");
        fs::copy(self.stage.sessions(), &file)
            .map_err(|error| format!("failed to copy the state: {error}"))?;
        let text = shell::read(self.stage.command(program).arg("state").arg(&file).arg(times.to_string()))?;
        let times: Vec<Duration> = text
            .lines()
            .filter_map(|line| line.strip_prefix("state ")?.parse().ok().map(Duration::from_nanos))
            .collect();
        if times.is_empty() { Err("the state was not changed".to_owned()) } else { Ok(times) }
    }
}

/// An agent's part that plays a recording.
const PLAYER: &str = "cat > /dev/null\nexec cat \"$RECORDING\"\n";

/// An agent's part that changes a file each time, and is done at the last of TURNS times.
const TURNS: &str = r#"cat > /dev/null
n=$(($(cat "$HOME/turn" 2>/dev/null || echo 0) + 1))
[ "$n" -lt "$TURNS" ] && status=working || { status=done; : > "$HOME/turn"; }
[ "$status" = done ] || echo "$n" > "$HOME/turn"
echo x >> steps
echo '{"type":"system","subtype":"init","session_id":"s1","model":"none"}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"AMPLIHACK-STATUS: {\"status\":\"'$status'\",\"summary\":\"x\"}"}'
"#;
