//! What has nothing to be measured against but its goal: judging and scanning.

use std::path::Path;
use std::time::Duration;

use super::stage::Stage;
use crate::{Failure, shell};

/// The rows, by the word that the example of `amplihack-policy` says for each.
const ROWS: &[(&str, &str, &str)] = &[
    ("warm", "judging twelve everyday commands, warm", "median ≤ 25 µs, p99 ≤ 250 µs"),
    ("document", "judging a here-document of 64 KiB", "≤ 5 ms"),
    ("longer", "judging a here-document of 256 KiB", "≤ 5 × that of 64 KiB"),
    ("log", "scanning 1 MiB of a build's log", "≤ 8 ms"),
    ("prose", "scanning 1 MiB of prose about instructions", "≤ 8 ms"),
    ("base64", "scanning 1 MiB of base64", "≤ 8 ms"),
    ("cyrillic", "scanning 1 MiB of Russian", ""),
    (
        "hostile",
        "judging hostile scripts of 64 KiB, to a verdict or to the deny of what takes too long",
        "≤ 50 ms",
    ),
];

/// A name, a goal, times.
pub(crate) type Row = (&'static str, &'static str, Vec<Duration>);

/// All of them.
pub(crate) fn rows(stage: &Stage, bins: &Path, runs: usize) -> Result<Vec<Row>, Failure> {
    let cold = |part| -> Result<Vec<Duration>, Failure> {
        Ok(stage.audited(part)?.into_iter().map(Duration::from_micros).collect())
    };
    let mut rows = vec![
        (
            "the guard's part of a whole process, cold: payload, policy, verdict",
            "median ≤ 250 µs",
            cold("cargo test")?,
        ),
        ("the same of `X=$(…); …`, read by parser and lexer", "", cold("rev-parse")?),
    ];
    let program = bins.join("examples/bench");
    let text = shell::read(shell::program(program).args(["samples", &runs.to_string()]))?;
    for &(word, name, goal) in ROWS {
        rows.push((name, goal, times(&text, word)?));
    }
    Ok(rows)
}

/// The times behind `word` in lines of `WORD NANOSECONDS`.
fn times(text: &str, word: &str) -> Result<Vec<Duration>, Failure> {
    let of = |line: &str| line.strip_prefix(word)?.strip_prefix(' ')?.parse().ok().map(Duration::from_nanos);
    let found: Vec<Duration> = text.lines().filter_map(of).collect();
    if found.is_empty() { Err(format!("the policy's bench says nothing about {word:?}")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_behind_their_word() {
        let text = "log 7\nlogs 8\nwarm 1000\nlog 9\n";
        assert_eq!(times(text, "log"), Ok([7, 9].map(Duration::from_nanos).to_vec()));
        assert!(times(text, "prose").unwrap_err().contains("prose"));
    }
}
