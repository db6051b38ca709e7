//! Strict parser of the far side's answers. Output of a login before the answer is skipped.

use std::str::FromStr;

use jiff::Timestamp;

use crate::protocol::{CollectedResults, FarState, Observed, RemoteProbe, VERSION};
use crate::session::is_session_id;

/// The word that opens an answer's first line; the protocol's version follows it.
const MARK: &str = "amplihack-runner ";

/// Reports whether `text` has the form of a SHA-256; only such text is a name in the machine's store.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The offset of the answer proper in `bytes`, after the marking line. An error tells what is wrong with the answer.
pub(super) fn find_body(bytes: &[u8]) -> Result<usize, String> {
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        let Some(version) = line.strip_prefix(MARK.as_bytes()) else { continue };
        let Some(version) = version.strip_suffix(b"\n") else { break };
        return match String::from_utf8_lossy(version).trim_end().parse() {
            Ok(VERSION) => Ok(at),
            _ => Err(format!(
                "the runner there speaks version {} of the protocol, not {VERSION}",
                String::from_utf8_lossy(version)
            )),
        };
    }
    Err("the answer is not the runner's".to_owned())
}

fn unknown_line(line: &str) -> String {
    format!("the runner's answer has an unknown line '{}'", line.chars().take(80).collect::<String>())
}

fn parse_number<T: FromStr>(word: &str, line: &str) -> Result<T, String> {
    word.parse().map_err(|_| unknown_line(line))
}

/// The only line of an answer.
pub(super) fn only_line(text: &str) -> Result<&str, String> {
    let mut lines = text.lines();
    match (lines.next(), lines.next()) {
        (Some(line), None) if text.ends_with('\n') => Ok(line),
        _ => Err(unknown_line(text)),
    }
}

pub(super) fn parse_probe(text: &str) -> Result<RemoteProbe, String> {
    let mut probe = RemoteProbe::default();
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "protocol" => probe.protocol = parse_number(value, line)?,
            "machine" => value.clone_into(&mut probe.machine),
            "boot" => value.clone_into(&mut probe.boot),
            "cores" => probe.cores = parse_number(value, line)?,
            "memory_mb" => probe.memory_mb = parse_number(value, line)?,
            "free_mb" => probe.free_mb = parse_number(value, line)?,
            "program" => {
                let (name, version) = value.split_once(' ').unwrap_or((value, ""));
                probe.programs.push((name.to_owned(), Some(version.to_owned())));
            }
            "missing" => probe.programs.push((value.to_owned(), None)),
            // What a later version says besides.
            _ => {}
        }
    }
    if probe.protocol == 0 || probe.machine.is_empty() {
        return Err("the runner's answer is cut off".to_owned());
    }
    Ok(probe)
}

pub(super) fn parse_observed(text: &str) -> Result<Vec<Observed>, String> {
    text.lines().map(|line| parse_observed_line(line).ok_or_else(|| unknown_line(line))).collect()
}

fn parse_observed_line(line: &str) -> Option<Observed> {
    let [id, state, exit, started, ended, bytes] = *line.split(' ').collect::<Vec<_>>() else { return None };
    if !is_session_id(id) {
        return None;
    }
    let code = || exit.parse().ok();
    let state = match state {
        "absent" => FarState::Absent,
        "waiting" => FarState::Waiting,
        "running" => FarState::Running,
        "lost" => FarState::Lost,
        "ended" => FarState::Ended(code()?),
        "killed" => FarState::Killed(code()?),
        _ => return None,
    };
    Some(Observed {
        id: id.to_owned(),
        state,
        started: parse_second(started)?,
        ended: parse_second(ended)?,
        log_bytes: bytes.parse().ok()?,
    })
}

/// The time of a word: `Some(None)` for `-`, `None` for what is neither.
#[expect(clippy::option_option, reason = "a word may be a time, no time, or wrong")]
fn parse_second(word: &str) -> Option<Option<Timestamp>> {
    match word {
        "-" => Some(None),
        _ => Timestamp::from_second(word.parse().ok()?).ok().map(Some),
    }
}

/// Parses the answer of `collect`: the results, and warnings about work that it could not gather.
pub(super) fn parse_collected(text: &str) -> Result<(CollectedResults, Vec<String>), String> {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let ["results", bytes, sha256, wip] = *first.split(' ').collect::<Vec<_>>() else {
        return Err(unknown_line(first));
    };
    let bytes = parse_number(bytes, first)?;
    if bytes > 0 && !is_digest(sha256) {
        return Err(unknown_line(first));
    }
    let sha256 = if bytes > 0 { sha256.to_owned() } else { String::new() };
    let wip = (wip != "-").then(|| wip.to_owned());
    let (mut left, mut warnings) = (Vec::new(), Vec::new());
    for line in lines {
        match line.strip_prefix("left ") {
            Some(what) => left.push(what.to_owned()),
            None => warnings.push(line.strip_prefix("warning ").unwrap_or(line).to_owned()),
        }
    }
    Ok((CollectedResults { bytes, sha256, wip, left }, warnings))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "sess-20260101-000000-0001";

    #[test]
    fn the_answer_begins_after_the_mark_whatever_a_login_says() {
        for (text, rest) in [
            ("amplihack-runner 1\nstored\n", Ok("stored\n")),
            ("Welcome!\n\nLast login: today\namplihack-runner 1\n", Ok("")),
            ("hi\namplihack-runner 1\namplihack-runner 1\n", Ok("amplihack-runner 1\n")),
        ] {
            assert_eq!(find_body(text.as_bytes()).map(|at| &text[at..]), rest);
        }
        for (text, said) in [
            ("", "not the runner's"),
            ("motd\n", "not the runner's"),
            ("amplihack-runner 1", "not the runner's"),
            ("amplihack-runner 2\n", "version 2"),
        ] {
            assert!(find_body(text.as_bytes()).unwrap_err().contains(said), "{text}");
        }
    }

    #[test]
    fn sessions_are_read_strictly() {
        let text = format!("{ID} ended 7 100 200 42\n{ID} waiting - - - 0\n{ID} killed 143 - 9 0\n");
        let found = parse_observed(&text).unwrap();
        let states: Vec<FarState> = found.iter().map(|one| one.state).collect();
        assert_eq!(states, [FarState::Ended(7), FarState::Waiting, FarState::Killed(143)]);
        assert_eq!((found[0].started.unwrap().as_second(), found[0].log_bytes), (100, 42));
        for wrong in [
            format!("{ID} ended - 100 200 42"),
            format!("{ID} gone 7 100 200 42"),
            format!("{ID} ended 7 100 200"),
            format!("{ID} ended 7 100 200 42 1"),
            format!("{ID} ended 7 soon 200 42"),
            "x ended 7 100 200 42".to_owned(),
        ] {
            assert!(parse_observed(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn machines_and_results_are_read() {
        let text = "protocol 1\nmachine x86_64\nboot b\ncores 2\nmemory_mb 10\nfree_mb 20\nhome /root\nprogram git git version 2\nmissing x\n";
        let found = parse_probe(text).unwrap();
        assert_eq!((found.cores, found.memory_mb, found.free_mb), (2, 10, 20));
        assert_eq!(found.programs[0], ("git".to_owned(), Some("git version 2".to_owned())));
        assert_eq!(found.programs[1], ("x".to_owned(), None));
        assert!(parse_probe("").is_err());
        let digest = "0".repeat(64);
        let (some, warnings) =
            parse_collected(&format!("results 5 {digest} wip/{ID}\nwarning w\nleft l\n")).unwrap();
        assert_eq!((some.bytes, some.wip.as_deref()), (5, Some("wip/sess-20260101-000000-0001")));
        assert_eq!((warnings, &some.left[..]), (vec!["w".to_owned()], &["l".to_owned()][..]));
        assert_eq!(parse_collected("results 0 - -\n").unwrap().0.bytes, 0);
        assert!(parse_collected("results 5 - -\n").is_err());
        assert!(parse_collected("").is_err());
    }
}
