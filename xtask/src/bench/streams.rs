//! Streams of agents: our SDK and decoders beside the official SDKs, on the same recordings, in turns.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::sdks::{self, Sdks};
use super::table::middle;
use super::transcript::{self, Flavor, Recording};
use super::weigh::{self, Weight};
use crate::{Failure, shell, ui};

/// What the section of `docs/benchmarks.md` begins with.
pub(crate) const HEADING: &str = "## Streams";
/// The size of the recordings.
const BYTES: usize = 100_000_000;
/// The size of a recording that costs nothing but the start.
const SHORT: usize = 20_000;
/// How often each program runs; the programs take turns.
const ROUNDS: usize = 5;
/// How often a decoder reads its file in one process.
const PASSES: u32 = 5;
/// How many runs there are at once.
const MANY: &str = "500";

/// Measures, and writes the section.
pub(crate) fn section(bins: &Path) -> Result<String, Failure> {
    weigh::ensure()?;
    let place = Place::new()?;
    let sdks = sdks::ensure();
    Ok(format!(
        "{HEADING}\n\nRecordings of 100 MB, made by `xtask` with the mix of a session that writes code; no line of Amp's reaches 64 KiB, since its SDK for\n\
         Python reads no longer one. The CLI is a program that plays the recording (`cat`); it is in every figure. Seconds of the\n\
         processor are those of the whole process tree that was waited for, as the kernel counts them, in steps of 10 ms; peak memory is the largest\n\
         resident set of one process. {ROUNDS} rounds in turns, medians. \"Start\" is the same program on a recording of 20 kB: interpreter, imports, spawn.\n\n\
         {}\n{}\n{}",
        consumers(&place, bins, &sdks)?,
        decoders(&place, bins)?,
        many(&place, bins)?
    ))
}

/// A directory for recordings and fake CLIs, removed in the end.
struct Place(PathBuf);

impl Place {
    fn new() -> Result<Self, Failure> {
        let root = shell::target().join(format!("bench-streams-{}", std::process::id()));
        fs::create_dir_all(&root).map_err(|error| format!("failed to make {}: {error}", root.display()))?;
        Ok(Self(root))
    }

    fn recording(&self, flavor: Flavor, bytes: usize) -> Result<(PathBuf, Recording), Failure> {
        let path = self.0.join(format!("{}-{bytes}.jsonl", flavor.name()));
        let recording = transcript::write(&path, flavor, bytes)?;
        Ok((path, recording))
    }

    /// A CLI that plays `recording`.
    fn cli(&self, name: &str, before: &str, recording: &Path) -> Result<PathBuf, Failure> {
        let path = self.0.join(name);
        let text = format!("#!/bin/sh\n{before}exec cat '{}'\n", recording.display());
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(|error| format!("failed to write {}: {error}", path.display()))?;
        Ok(path)
    }

    /// `program` with an environment of its own.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.0).env_clear().env("HOME", &self.0);
        command.env("PATH", shell::variable("PATH").unwrap_or_default());
        command
    }

    fn weigh(&self, command: &Command) -> Result<(Weight, String), Failure> {
        weigh::weigh(command, &self.0.join("time"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // It lies in the target directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Claude Code's part of the handshake that claude-agent-sdk begins with: an answer to its first line, and its prompt taken.
const HANDSHAKE: &str = r#"case "$*" in *stream-json*) ;; *) echo '2.1.332 (Claude Code)'; exit 0;; esac
read -r line
id=${line#*'"request_id": "'}; id=${id%%'"'*}
case $line in *control_request*)
printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"commands":[]}}}\n' "$id"
read -r prompt;; esac
"#;

/// Amp's part: the prompt is taken.
const TAKE: &str = "read -r prompt\n";

/// A program that reads a stream, or why there is none.
struct Consumer {
    name: String,
    /// What it is measured against: rows of the same recording.
    flavor: Flavor,
    /// On the long recording and on the short one.
    commands: Result<[Command; 2], Failure>,
    ours: bool,
    goal: &'static str,
}

/// What a program cost and said, each time.
type Runs = Vec<(Weight, String)>;

/// The table of SDKs.
fn consumers(place: &Place, bins: &Path, sdks: &Sdks) -> Result<String, Failure> {
    let all = all(place, bins, sdks)?;
    let mut found: Vec<[Runs; 2]> = all.iter().map(|_| [Vec::new(), Vec::new()]).collect();
    let mut failures: Vec<Option<Failure>> =
        all.iter().map(|consumer| consumer.commands.as_ref().err().cloned()).collect();
    for round in 1..=ROUNDS {
        ui::say(&format!("streams, round {round} of {ROUNDS}"));
        for ((consumer, found), failure) in all.iter().zip(&mut found).zip(&mut failures) {
            let (Ok(commands), None) = (&consumer.commands, &failure) else { continue };
            for (command, found) in commands.iter().zip(found) {
                match run(place, consumer, command) {
                    Ok(once) => found.push(once),
                    Err(why) => *failure = Some(why),
                }
            }
        }
    }
    let mut text = String::from(
        "| program | CPU, s | of that its start, s | MB/s of CPU | wall, s | peak, MB | messages | first message of the short one, ms | its CPU over ours | goal |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for ((consumer, runs), failure) in all.iter().zip(&found).zip(&failures) {
        if let Some(why) = failure {
            if consumer.ours {
                return Err(why.clone());
            }
            // A page names no place of this machine.
            let why = why.replace(&shell::root().display().to_string(), "…").replace('|', " ");
            let _ = writeln!(
                text,
                "| {} | not measured: {why} |  |  |  |  |  |  |  | {} |",
                consumer.name, consumer.goal
            );
            continue;
        }
        let ours = all.iter().zip(&found).find(|(other, _)| other.ours && other.flavor == consumer.flavor);
        text.push_str(&row(consumer, runs, ours.map(|(_, [long, _])| long)));
    }
    Ok(text)
}

fn run(place: &Place, consumer: &Consumer, command: &Command) -> Result<(Weight, String), Failure> {
    let (weight, said) = place.weigh(command)?;
    if said.trim().is_empty() {
        return Err(format!("{} said nothing", consumer.name));
    }
    Ok((weight, said))
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn row(consumer: &Consumer, [long, short]: &[Runs; 2], ours: Option<&Runs>) -> String {
    let cpu = |runs: &Runs| middle(runs.iter().map(|(weight, _)| weight.cpu.as_secs_f64()));
    let word = |runs: &Runs, at: usize| -> Vec<f64> {
        runs.iter().filter_map(|(_, said)| said.split_whitespace().nth(at)?.parse().ok()).collect()
    };
    // Round by round, so that a busy moment meets both.
    let ratios = ours.map(|ours| {
        let pairs = long.iter().zip(ours);
        middle(
            pairs.map(|((theirs, _), (ours, _))| theirs.cpu.as_secs_f64() / ours.cpu.as_secs_f64().max(0.01)),
        )
    });
    let wall = middle(long.iter().map(|(weight, _)| weight.wall.as_secs_f64()));
    let peak = long.iter().map(|(weight, _)| weight.peak_kib).max().unwrap_or_default();
    let first = word(short, 1);
    format!(
        "| {} | {:.2} | {:.2} | {:.0} | {wall:.2} | {:.1} | {} | {} | {} | {} |\n",
        consumer.name,
        cpu(long),
        cpu(short),
        BYTES as f64 / 1e6 / cpu(long).max(0.01),
        peak as f64 * 1024.0 / 1e6,
        word(long, 0).first().map_or_else(String::new, |count| format!("{count:.0}")),
        if first.is_empty() { String::new() } else { format!("{:.1}", middle(first.into_iter()) / 1e3) },
        if consumer.ours {
            "1".to_owned()
        } else {
            ratios.map_or_else(String::new, |ratio| format!("{ratio:.1}"))
        },
        consumer.goal,
    )
}

fn all(place: &Place, bins: &Path, sdks: &Sdks) -> Result<Vec<Consumer>, Failure> {
    let mut amp = Vec::new();
    let mut claude = Vec::new();
    let mut files = Vec::new();
    for bytes in [BYTES, SHORT] {
        let (file, _) = place.recording(Flavor::Amp, bytes)?;
        amp.push(place.cli(&format!("amp-{bytes}"), TAKE, &file)?);
        files.push(file);
        let (file, _) = place.recording(Flavor::Claude, bytes)?;
        claude.push(place.cli(&format!("claude-{bytes}"), HANDSHAKE, &file)?);
    }
    let both = |make: &dyn Fn(usize) -> Command| [make(0), make(1)];
    let python = |script: &'static str, clis: &[PathBuf]| {
        let directory = sdks.python.clone()?;
        Ok(both(&|at| {
            let mut command = place.command("python3");
            command.env("PYTHONPATH", &directory).env("PYTHONDONTWRITEBYTECODE", "1");
            // Amp's finds its CLI by a variable, Claude's by an option.
            command.env("AMP_CLI_PATH", &clis[at]).arg(sdks::programs().join(script)).arg(&clis[at]);
            command
        }))
    };
    let node = sdks.node.clone().map(|directory| {
        both(&|at| {
            let mut command = place.command("node");
            command.env("BENCH_RECORDING", &files[at]).arg(directory.join("amp.mjs"));
            command
        })
    });
    let consumer =
        |name: String, flavor, commands, ours, goal| Consumer { name, flavor, commands, ours, goal };
    Ok(vec![
        consumer(
            "`wc -l`, which looks for newlines and does nothing".to_owned(),
            Flavor::Amp,
            Ok(both(&|at| {
                let mut command = place.command("sh");
                command.arg("-c").arg(format!("'{}' | wc -l", amp[at].display()));
                command
            })),
            false,
            "",
        ),
        consumer(
            "**`amp-sdk`**, this one".to_owned(),
            Flavor::Amp,
            Ok(both(&|at| {
                let mut command = place.command(bins.join("examples/count"));
                command.arg(&amp[at]);
                command
            })),
            true,
            "≥ 300 MB/s, ≤ 10 MB and twice the longest line",
        ),
        consumer(
            format!("Amp's SDK for Python, `amp-sdk` {}", sdks::version("amp-sdk")),
            Flavor::Amp,
            python("amp.py", &amp),
            false,
            "≥ 6",
        ),
        consumer(
            format!(
                "Amp's SDK for TypeScript, `@sourcegraph/amp-sdk` {}; its CLI has to be a program for node",
                sdks::version("@sourcegraph/amp-sdk")
            ),
            Flavor::Amp,
            node,
            false,
            "",
        ),
        consumer(
            "**`amplihack-session`** with Claude Code's decoder".to_owned(),
            Flavor::Claude,
            Ok(both(&|at| {
                let mut command = place.command(bins.join("examples/count_events"));
                command.arg("claude").arg(&claude[at]).arg("stream-json");
                command
            })),
            true,
            "≥ 300 MB/s, ≤ 10 MB and twice the longest line",
        ),
        consumer(
            format!("`claude-agent-sdk` for Python {}", sdks::version("claude-agent-sdk")),
            Flavor::Claude,
            python("claude.py", &claude),
            false,
            "≥ 10",
        ),
    ])
}

/// The table of decoders: recordings of 100 MB, and single lines.
fn decoders(place: &Place, bins: &Path) -> Result<String, Failure> {
    let program = bins.join("examples/decode_speed");
    let mut text = format!(
        "The decoders alone: a file is read, split into lines and turned into typed events; {PASSES} passes in one process, the process's time over them. The last lines are recordings\n\
         whose one tool result has this size: the speed must not sink.\n\n\
         | decoder | recording | longest line, kB | CPU a pass, s | MB/s of CPU | peak, MB | goal |\n|---|---|---|---|---|---|---|\n"
    );
    for flavor in Flavor::ALL {
        ui::say(&format!("the decoder of {}", flavor.name()));
        let (file, recording) = place.recording(flavor, BYTES)?;
        let what = format!("{} lines", recording.lines);
        text.push_str(&decoded(place, &program, flavor, &file, &what, recording.longest, "≥ 300 MB/s")?);
    }
    for megabytes in [1, 5, 20, 60] {
        let (file, bytes) = (place.0.join("long.jsonl"), megabytes * 1_000_000);
        transcript::one_long_line(&file, bytes)?;
        let what = format!("one line of {megabytes} MB");
        text.push_str(&decoded(
            place,
            &program,
            Flavor::Amp,
            &file,
            &what,
            bytes,
            "≤ 10 MB and twice the line",
        )?);
    }
    Ok(text)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn decoded(
    place: &Place,
    program: &Path,
    flavor: Flavor,
    file: &Path,
    what: &str,
    longest: usize,
    goal: &str,
) -> Result<String, Failure> {
    let bytes =
        fs::metadata(file).map_err(|error| format!("failed to read {}: {error}", file.display()))?.len();
    // Short files are read more often, so that the kernel's steps do not show.
    let passes = u64::from(PASSES).max(u64::from(PASSES) * (BYTES as u64 / bytes.max(1)));
    let mut command = place.command(program);
    command.arg(flavor.name()).arg(file).arg(passes.to_string());
    let mut weights = Vec::new();
    for _ in 0..3 {
        weights.push(place.weigh(&command)?.0);
    }
    let cpu = middle(weights.iter().map(|weight| weight.cpu.as_secs_f64())) / passes as f64;
    let peak = weights.iter().map(|weight| weight.peak_kib).max().unwrap_or_default();
    Ok(format!(
        "| {} | {what} | {} | {cpu:.3} | {:.0} | {:.1} | {goal} |\n",
        flavor.name(),
        longest / 1000,
        bytes as f64 / 1e6 / cpu.max(1e-6),
        peak as f64 * 1024.0 / 1e6
    ))
}

/// Many runs at once, in one thread.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn many(place: &Place, bins: &Path) -> Result<String, Failure> {
    ui::say(&format!("{MANY} runs at once"));
    let (file, _) = place.recording(Flavor::Amp, SHORT)?;
    let cli = place.cli("amp-many", TAKE, &file)?;
    let mut command = place.command(bins.join("examples/count"));
    command.arg(cli).arg(MANY);
    let (Weight { cpu, wall, peak_kib }, said) = place.weigh(&command)?;
    let messages = said.split_whitespace().next().unwrap_or_default();
    Ok(format!(
        "{MANY} runs of the short recording at once in one thread of `amp-sdk`: {messages} messages, {:.2} s of CPU with the {MANY} CLIs, {:.2} s by the clock,\n\
         {:.1} MB at most.\n",
        cpu.as_secs_f64(),
        wall.as_secs_f64(),
        peak_kib as f64 * 1024.0 / 1e6
    ))
}
