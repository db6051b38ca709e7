//! Generated scripts under real bash, in which no program exists: what bash then looks for must be among the commands that are
//! found, by the parser alone too, or the script must not be decided.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly, too")]

mod generator;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use amplihack_shell::{BashReaders, Limits, Parsed, ShellWord, commands};

use generator::{Generator, Random};

/// Runs each script `N` in a shell of its own, with `N.log` as what it looked for; `N.ok` if bash takes its grammar.
///
/// No program is found, whatever its name, and no script lives longer than a second of work. Line ends in words become `\035`, because
/// bash writes line by line, and two commands of one pipeline would write into each other's records.
const DRIVER: &str = r#"
PATH=/nonexistent FUNCNEST=5
command_not_found_handle() { local line; printf -v line '%s\037' "$@"; printf '%s\036' "${line//$'\n'/$'\035'}" >&9; [[ $1 != *[13579] ]]; }
for script in *.sh; do
  "$BASH" -n "./$script" 2>/dev/null && : > "${script%.sh}.ok"
  ( ulimit -t 1 -f 1000; exec 9>>"${script%.sh}.log"; . "./$script"; wait ) </dev/null >/dev/null 2>&1
done
wait
"#;

/// Scripts that one bash runs.
const BATCH: usize = 25;

/// What bash looked for in each of `scripts`, and whether it takes the script's grammar.
fn looked_for(scripts: &[String]) -> Vec<(bool, Vec<Vec<String>>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = |number: usize, end: &str| -> PathBuf { dir.path().join(format!("{number:06}.{end}")) };
    for (number, script) in scripts.iter().enumerate() {
        fs::write(path(number, "sh"), script).unwrap();
        fs::write(path(number, "log"), "").unwrap();
    }
    let bash = ["/usr/bin/bash", "/bin/bash"].iter().find(|bash| Path::new(bash).exists()).unwrap();
    let status = Command::new(bash)
        .args(["--norc", "--noprofile", "-c", DRIVER])
        .env_clear()
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let read = |number| {
        let log = String::from_utf8_lossy(&fs::read(path(number, "log")).unwrap()).into_owned();
        let argv = |line: &str| {
            line.strip_suffix('\u{1f}')
                .unwrap_or(line)
                .split('\u{1f}')
                .map(|word| word.replace('\u{1d}', "\n"))
                .collect()
        };
        (path(number, "ok").exists(), log.split_terminator('\u{1e}').map(argv).collect())
    };
    (0..scripts.len()).map(read).collect()
}

/// Whether one of the commands may be `argv`; words that are made at run time may be anything.
fn covers(parsed: &Parsed, argv: &[String]) -> bool {
    // `time` and its options alone start nothing.
    if argv[0] == "time" && argv[1..].iter().all(|word| word.starts_with('-')) {
        return true;
    }
    // Behind `time`, other shells take it for an option, and no program has such a name.
    if argv[0].starts_with('-') {
        return true;
    }
    parsed.commands.iter().any(|command| {
        let Some(name) = command.words.first().map(ShellWord::literal_text) else { return false };
        let words: Option<Vec<String>> = command.words.iter().map(ShellWord::literal_text).collect();
        name.is_none_or(|name| name == argv[0])
            && words.is_none_or(|words| {
                words == argv || words.iter().any(|word| word.contains(['*', '[', '~', '{']))
            })
    })
}

/// What is missed of `scripts`, and how many of them bash takes and all readers leave undecided.
fn compared(scripts: &[String]) -> (Vec<String>, usize, usize) {
    let (mut missed, mut taken, mut undecided) = (Vec::new(), 0, 0);
    for (script, (valid, started)) in scripts.iter().zip(looked_for(scripts)) {
        taken += usize::from(valid);
        for readers in [BashReaders::All, BashReaders::Tree] {
            let limits = Limits { deadline: Duration::from_secs(5), readers, ..Limits::default() };
            let parsed = commands(script.as_bytes(), &limits);
            if !parsed.undecided.is_empty() {
                undecided += usize::from(valid && readers == BashReaders::All);
                continue;
            }
            let all = started.iter().filter(|argv| !covers(&parsed, argv));
            missed.extend(all.map(|argv| format!("{readers:?}: {script:?}: {argv:?}")));
        }
    }
    (missed, taken, undecided)
}

/// Compares a share of the scripts, from a seed of its own.
fn compare(seed: u64) {
    let count = if amplihack_testkit::long() { 5_000 } else { 25 };
    let mut random = Random::new(seed);
    let (mut missed, mut taken, mut undecided) = (0, 0, 0);
    for batch in 0..count / BATCH {
        let scripts: Vec<String> = (0..BATCH).map(|_| Generator::new(&mut random).script()).collect();
        let (found, more, left) = compared(&scripts);
        // A long trial that is ended says what it had found.
        for line in &found {
            amplihack_testkit::loud(&format!("seed {seed}, batch {batch}: {line}"));
        }
        missed += found.len();
        taken += more;
        undecided += left;
    }
    amplihack_testkit::loud(&format!(
        "seed {seed}: bash takes {taken} of {count}, {undecided} of them are undecided"
    ));
    assert!(missed == 0, "{missed} missed");
    assert!(taken * 3 > count, "bash takes {taken} of {count} scripts");
    assert!(undecided * 10 < taken * 8, "{undecided} of {taken} scripts are undecided");
}

// One test for each seed, so that they run beside each other.

#[test]
fn whatever_bash_looks_for_is_found_or_undecided() {
    compare(17);
}

#[test]
fn whatever_bash_looks_for_is_found_or_undecided_from_seed_18() {
    compare(18);
}

#[test]
fn whatever_bash_looks_for_is_found_or_undecided_from_seed_19() {
    compare(19);
}

#[test]
fn whatever_bash_looks_for_is_found_or_undecided_from_seed_20() {
    compare(20);
}

#[test]
fn whatever_bash_looks_for_is_found_or_undecided_from_seed_21() {
    compare(21);
}

#[test]
fn whatever_bash_looks_for_is_found_or_undecided_from_seed_22() {
    compare(22);
}

#[test]
fn whatever_bash_looks_for_is_found_or_undecided_from_seed_23() {
    compare(23);
}

#[test]
fn whatever_bash_looks_for_is_found_or_undecided_from_seed_24() {
    compare(24);
}
