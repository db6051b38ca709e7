//! Who alone reads what agents and hosts write, and who alone judges what they do: rules that a search over the code keeps.

use crate::source::{Source, has_word};
use crate::words::{SCRIPTED_AGENT, places};
use crate::{none, sources};

/// What only a stream of an agent says. Whoever writes one of these reads a stream past the decoders, or writes one.
const OF_STREAMS: &[&str] = &[
    "parent_tool_use_id",
    "stream_event",
    "cache_creation_input_tokens",
    "thread.started",
    "item.completed",
    "turn.completed",
    "aggregated_output",
    "toolRequests",
    "deltaContent",
    "totalPremiumRequestCost",
];

/// What only a host's hook payload, or the answer to one, says.
const OF_HOOKS: &[&str] = &[
    "hook_event_name",
    "hookEventName",
    "hookSpecificOutput",
    "permissionDecision",
    "permissionDecisionReason",
    "stop_hook_active",
    "tool_input",
    "toolArgs",
];

/// Sources that play an agent or the service of its model, and so write what the readers read; the pages that describe it.
const PLAYERS: &[&str] = &[
    SCRIPTED_AGENT,
    "crates/amplihack-probe/src/model",
    "crates/amp-sdk/src/testing",
    "crates/amplihack-cli/examples/reference",
];

/// Files that ship, are outside of `home` and play nobody, with a line that says one of `words`. The words stand in strings, so the
/// text is looked at, without what stands behind a comment's mark.
fn elsewhere(home: &str, words: &[&str]) -> Vec<String> {
    let sources = sources();
    let watched = sources.iter().filter(|source| {
        source.ships() && !source.is_in(home) && !PLAYERS.iter().any(|player| source.is_in(player))
    });
    let said = |source: &Source| {
        let lines = source.text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let found = lines.filter(|(_, line)| words.iter().any(|word| has_word(line, word)));
        found
            .map(|(index, line)| format!("{}:{}: {}", source.path.display(), index + 1, line.trim()))
            .collect::<Vec<_>>()
    };
    watched.flat_map(said).collect()
}

#[test]
fn agents_streams_have_one_reader() {
    none(
        "an agent's stream is read outside amplihack-agent",
        elsewhere("crates/amplihack-agent", OF_STREAMS),
    );
    let decoders = places(
        |source| source.ships() && !source.is_in("crates/amplihack-agent"),
        &["Decode for", "JsonLines for"],
    );
    none("a decoder is written outside amplihack-agent", decoders);
}

#[test]
fn hosts_hooks_have_one_reader() {
    none("a host's hook is read outside amplihack-hooks", elsewhere("crates/amplihack-hooks", OF_HOOKS));
}

/// Where hooks make a verdict themselves: nothing could be judged, so it is denied or asked about; another program judged; a person decided.
const HOOKS_VERDICTS: &[&str] = &[
    "crates/amplihack-hooks/src/aggregate/script.rs",
    "crates/amplihack-hooks/src/events/mod.rs",
    "crates/amplihack-hooks/src/events/pre_tool.rs",
    "crates/amplihack-hooks/src/events/skill.rs",
    "crates/amplihack-hooks/src/guard/mod.rs",
    "crates/amplihack-hooks/src/xpia/mod.rs",
];

#[test]
fn there_is_one_policy() {
    const POLICY: &str = "crates/amplihack-policy";
    const VERDICT: &str = "crates/amplihack-verdict";
    let outside = |source: &Source| source.ships() && !source.is_in(POLICY) && !source.is_in(VERDICT);
    let made = ["struct Verdict", "enum Decision", "struct RuleId", "Verdict {", "Verdict::new("];
    let verdicts = places(outside, &made).into_iter().filter(|place| {
        // What a function gives back is no verdict that is made there.
        !place.contains("->") && !HOOKS_VERDICTS.iter().any(|file| place.starts_with(file))
    });
    none("a verdict is made outside amplihack-policy", verdicts);
    let types = |source: &Source| source.ships() && source.is_in(VERDICT);
    let here = places(types, &["pub struct Verdict", "pub enum Decision"]);
    assert_eq!(here.len(), 2, "{here:#?}");
}

#[test]
fn bash_has_one_front_end() {
    const SHELL: &str = "crates/amplihack-shell";
    const PARSERS: &[&str] = &["tree_sitter", "tree_sitter_bash"];
    let parsing = |is_inside: bool| {
        places(move |source: &Source| source.ships() && source.is_in(SHELL) == is_inside, PARSERS)
    };
    none("bash is read outside amplihack-shell", parsing(false));
    assert!(!parsing(true).is_empty(), "nothing reads bash");
}

#[test]
fn the_searches_find_what_they_look_for() {
    // A word that nobody writes any more would let everything through.
    let sources = sources();
    let home = |home: &str, words: &[&str]| -> Vec<String> {
        let said = |word: &&&str| {
            sources
                .iter()
                .any(|source| source.is_in(home) && source.text.lines().any(|line| has_word(line, word)))
        };
        words.iter().filter(|word| !said(word)).map(|word| format!("{home}: {word}")).collect()
    };
    none("a word is not written where it belongs", home("crates/amplihack-agent/src", OF_STREAMS));
    none("a word is not written where it belongs", home("crates/amplihack-hooks/src", OF_HOOKS));
}

/// Types that are named like an end. All but the first two wrap [`RunEnd`], or are about a file.
const ENDS: &[(&str, &str)] = &[
    ("RunEnd", "crates/amplihack-session/src/run_end.rs"),
    ("RunOutcome", "crates/amplihack-agent/src/event/outcome.rs"),
    ("CliEnd", "crates/amp-sdk/src/error.rs"),
    ("RecordedEnd", "crates/amplihack-orchestration/src/journal/run_state.rs"),
    ("FileOutcome", "crates/amplihack-setup/src/install/mod.rs"),
    ("BaselineOutcome", "crates/amplihack-orchestration/src/verify/baseline.rs"),
];

/// Endings of names for an end of a run.
const LIKE_ENDS: &[&str] = &["End", "Ended", "Ending", "Finished", "Came", "Outcome"];

#[test]
fn the_end_of_a_run_has_one_type() {
    let sources = sources();
    let mut breaches = Vec::new();
    let mut found = 0;
    for source in sources.iter().filter(|source| source.ships()) {
        for (index, line) in source.text.lines().enumerate() {
            let words: Vec<&str> = line.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')).collect();
            let Some(name) =
                words.windows(2).find(|pair| matches!(pair[0], "struct" | "enum")).map(|pair| pair[1])
            else {
                continue;
            };
            if line.trim_start().starts_with("//") || !LIKE_ENDS.iter().any(|end| name.ends_with(end)) {
                continue;
            }
            found += 1;
            let place = source.path.display().to_string();
            if !ENDS.contains(&(name, place.as_str())) {
                breaches.push(format!("{place}:{}: {name}", index + 1));
            }
        }
    }
    assert_eq!(found, ENDS.len() + breaches.len(), "the list of ends has a type that is gone");
    for (name, place) in [ENDS[2], ENDS[3]] {
        let wraps = sources.iter().any(|source| {
            source.path.display().to_string() == place && source.text.contains("pub run: RunEnd,")
        });
        assert!(wraps, "{name} wraps RunEnd");
    }
    none("a second type says how a run ended; wrap amplihack_session::RunEnd", breaches);
}
