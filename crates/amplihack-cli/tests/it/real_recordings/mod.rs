//! Recordings of the real CLIs, made by `streams.toml`: a live run tells the same kinds of lines, or the recordings are out of date.
//!
//! `cargo xtask record` runs these tests with `AMPLIHACK_RECORD` set: then they write the recordings instead.

mod normal;
mod play;
mod scenario;

use std::collections::{BTreeMap, BTreeSet};

use amplihack_agent::AgentBinary;
use amplihack_config::env::Env;
use amplihack_testkit::{long, loud};

use crate::reference::pages::streams::{DATES, TRANSCRIPTS, line_kind, read_dates, recordings};

use scenario::Book;

/// Scenario of the short form: the one with the most kinds.
const SHORT: &str = "tools";

/// What `AMPLIHACK_RECORD` says: `all`, or the name of a scenario; `None` for a test.
fn asked() -> Option<String> {
    Env::from_process().text("AMPLIHACK_RECORD").map(str::to_owned)
}

/// Plays the scenarios of `agent` and writes them or compares them with their recordings.
fn plays(agent: AgentBinary) {
    let (asked, names) = (asked(), Book::names(agent));
    if let Some(asked) = asked.as_ref().filter(|asked| *asked != "all") {
        assert!(names.contains(asked), "{agent} has no scenario {asked:?}; it has {names:?}");
    }
    for name in names {
        match &asked {
            Some(asked) if asked == "all" || *asked == name => {
                let Some(lines) = play::play(agent, &name) else { return };
                write(agent, &name, &lines);
            }
            None if long() || name == SHORT => {
                let Some(lines) = play::play(agent, &name) else { return };
                compare(agent, &name, &lines);
            }
            _ => {}
        }
    }
}

/// The version of `agent` that its recordings are of.
fn version(agent: AgentBinary) -> String {
    recordings().iter().find(|found| found.agent == agent).unwrap().version.clone()
}

fn write(agent: AgentBinary, scenario: &str, lines: &[String]) {
    let directory = amplihack_testkit::workspace().join(TRANSCRIPTS);
    let name = format!("{agent}-{}-{scenario}", version(agent));
    std::fs::write(directory.join(format!("{name}.jsonl")), lines.concat()).unwrap();
    let mut dates = read_dates();
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    dates.insert(name.clone(), today);
    let dates: Vec<String> = dates.iter().map(|(name, date)| format!("{date} {name}\n")).collect();
    std::fs::write(amplihack_testkit::workspace().join(DATES), dates.concat()).unwrap();
    loud(&format!("recorded {name}: {} lines", lines.len()));
}

/// Holds the kinds of `lines` against those of the recording.
fn compare(agent: AgentBinary, scenario: &str, lines: &[String]) {
    let found = recordings();
    let recording = found
        .iter()
        .find(|found| found.agent == agent && found.scenario == scenario)
        .unwrap_or_else(|| panic!("{agent} {scenario} was never recorded; run `cargo xtask record`"));
    let kinds = |lines: &mut dyn Iterator<Item = &str>| -> BTreeSet<String> {
        lines.map(|line| line_kind(agent, line)).collect()
    };
    let live = kinds(&mut lines.iter().map(String::as_str));
    let recorded = kinds(&mut recording.text.lines());
    let differences: BTreeMap<&str, Vec<&String>> = BTreeMap::from([
        ("new", live.difference(&recorded).collect()),
        ("gone", recorded.difference(&live).collect()),
    ]);
    assert!(
        differences.values().all(Vec::is_empty),
        "{agent} {scenario}: {differences:?}; if its stream changed, run `cargo xtask record {agent}`\n{}",
        lines.concat()
    );
}

#[test]
fn claude_streams_as_recorded() {
    plays(AgentBinary::Claude);
}

#[test]
fn codex_streams_as_recorded() {
    plays(AgentBinary::Codex);
}

#[test]
fn copilot_streams_as_recorded() {
    plays(AgentBinary::Copilot);
}

#[test]
fn gemini_streams_as_recorded() {
    plays(AgentBinary::Gemini);
}
