//! Torn tails at every byte, writers side by side, writers that die and disks that are full.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn temp() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    (dir, path)
}

fn lines(path: &Path) -> Vec<(u64, Vec<u8>)> {
    read_from(path, 0).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn what_is_appended_is_read_with_its_offsets() {
    let (_dir, path) = temp();
    let mut log = JsonLog::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(log.read_from(0).unwrap().count(), 0);
    log.append(b"{}").unwrap();
    log.append_value(&json!({"text": "a\nb"})).unwrap();
    log.append(b"").unwrap();
    log.sync().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"{}\n{\"text\":\"a\\nb\"}\n\n");
    let right = vec![(0, b"{}".to_vec()), (3, br#"{"text":"a\nb"}"#.to_vec()), (19, Vec::new())];
    assert_eq!(lines(&path), right);
    // From each line on, and from the end, where what comes later will begin.
    for (index, offset) in [(0, 0), (1, 3), (2, 19), (3, 20)] {
        let from: Vec<_> = log.read_from(offset).unwrap().map(Result::unwrap).collect();
        assert_eq!(from, right[index..]);
    }
}

#[test]
fn reading_begins_only_where_a_line_begins_and_changes_nothing() {
    let (dir, path) = temp();
    std::fs::write(&path, "one\ntwo\ntorn").unwrap();
    for offset in [1, 3, 5, 7, 9, 12, 13, u64::MAX] {
        let error = read_from(&path, offset).unwrap_err();
        assert_eq!(error.kind(), "log_offset", "{offset}");
        assert!(error.to_string().contains(&format!("begins at byte {offset};")), "{error}");
    }
    assert_eq!(lines(&path), [(0, b"one".to_vec()), (4, b"two".to_vec())]);
    assert_eq!(read_from(&path, 8).unwrap().count(), 0);
    assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\ntorn");
    let missing = dir.path().join("missing.jsonl");
    assert!(read_from(&missing, 0).unwrap_err().to_string().contains("missing.jsonl"));
    assert!(!missing.exists());
}

#[test]
fn a_tail_torn_at_any_byte_is_not_read_and_is_cut() {
    let whole = b"{\"n\":1}\n{\"n\":22}\n\n{\"text\":\"\xc3\xa9\"}\n";
    for length in 0..=whole.len() {
        let (_dir, path) = temp();
        let torn = &whole[..length];
        let kept = torn.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        std::fs::write(&path, torn).unwrap();
        let seen = lines(&path);
        assert_eq!(seen.len(), torn.split(|&byte| byte == b'\n').count() - 1, "{length}");
        let mut log = JsonLog::open(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole[..kept], "{length}");
        log.append(b"next").unwrap();
        assert_eq!(lines(&path)[..seen.len()], seen, "{length}");
        assert_eq!(lines(&path).last().unwrap(), &(kept as u64, b"next".to_vec()), "{length}");
    }
}

#[test]
fn a_long_torn_tail_is_found_whatever_the_size_of_the_chunks() {
    for length in [1, 63, 64, 65, 4095, 4096, 4160, 65_535, 65_536, 69_697, 300_000] {
        for before in ["", "x\n", "long line that came before\n"] {
            let (_dir, path) = temp();
            std::fs::write(&path, before.to_owned() + &"t".repeat(length)).unwrap();
            JsonLog::open(&path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), before, "{length}");
        }
    }
}

#[test]
fn a_tail_torn_while_the_log_is_open_is_cut_before_the_next_line() {
    let (_dir, path) = temp();
    let mut log = JsonLog::open(&path).unwrap();
    log.append(b"one").unwrap();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"torn").unwrap();
    log.append(b"two").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\n");
}

#[test]
fn a_newline_in_a_line_is_refused_and_nothing_written() {
    let (_dir, path) = temp();
    let mut log = JsonLog::open(&path).unwrap();
    for line in ["\n", "a\n", "\na", "a\nb"] {
        let error = log.append(line.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), "log_newline");
        assert!(error.to_string().contains("events.jsonl"), "{error}");
    }
    let tuple_key = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert_eq!(log.append_value(&tuple_key).unwrap_err().kind(), "log_value");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn an_append_is_exactly_one_write() {
    let writes = || -> u64 {
        let io = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        io.lines().find_map(|line| line.strip_prefix("syscw: ")).unwrap().parse().unwrap()
    };
    let (_dir, path) = temp();
    let mut log = JsonLog::open(&path).unwrap();
    for size in [0, 10, 10 << 20] {
        let line = vec![b'x'; size];
        let before = writes();
        log.append(&line).unwrap();
        assert_eq!(writes() - before, 1, "{size}");
    }
}

#[test]
fn another_writer_that_holds_the_file_is_waited_for() {
    let (_dir, path) = temp();
    let mut log = JsonLog::open(&path).unwrap();
    let other = File::open(&path).unwrap();
    other.lock().unwrap();
    std::thread::scope(|scope| {
        let opener = scope.spawn(|| JsonLog::open(&path).map(drop));
        let writer = scope.spawn(|| log.append(b"late"));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!opener.is_finished() && !writer.is_finished());
        assert_eq!(lines(&path), [], "reading does not wait and sees nothing half-written");
        other.unlock().unwrap();
        opener.join().unwrap().unwrap();
        writer.join().unwrap().unwrap();
    });
    assert_eq!(lines(&path).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_but_a_newline_are_kept_through_torn_reopens(
        records in prop::collection::vec(
            (prop::collection::vec(any::<u8>().prop_filter("newline", |byte| *byte != b'\n'), 0..200), prop::option::of("[a-z]{1,80}")),
            0..12,
        ),
    ) {
        let (_dir, path) = temp();
        let mut offset = 0;
        let mut right = Vec::new();
        for (line, torn) in records {
            JsonLog::open(&path).unwrap().append(&line).unwrap();
            right.push((offset, line.clone()));
            offset += line.len() as u64 + 1;
            if let Some(torn) = torn {
                OpenOptions::new().append(true).open(&path).unwrap().write_all(torn.as_bytes()).unwrap();
            }
        }
        JsonLog::open(&path).unwrap();
        prop_assert_eq!(lines(&path), right);
    }
}

/// Not a test: the body of a child process, which a test starts with its orders on stdin.
#[test]
#[ignore = "run by other tests as a child process"]
fn child_appends() {
    let mut orders = String::new();
    io::stdin().read_to_string(&mut orders).unwrap();
    let [path, writer, count, size] = orders.lines().collect::<Vec<_>>()[..] else { return };
    let size: usize = size.parse().unwrap();
    for n in 0..count.parse::<usize>().unwrap() {
        // A new handle now and then: opening must not cut what the others are writing.
        let mut log = JsonLog::open(Path::new(path)).unwrap();
        for part in 0..4 {
            let pad = "p".repeat((n * 37 + part * 1009) % size);
            log.append_value(&json!({"writer": writer, "n": n * 4 + part, "pad": pad})).unwrap();
        }
    }
}

fn start_child(shell: Option<&str>, path: &Path, writer: usize, count: usize, size: usize) -> Child {
    let test = std::env::current_exe().unwrap();
    let mut cmd = match shell {
        Some(prelude) => {
            let mut cmd = Command::new("sh");
            cmd.arg("-c").arg(format!("{prelude}; exec \"$@\"")).arg("sh").arg(test);
            cmd
        }
        None => Command::new(test),
    };
    cmd.args(["log::tests::child_appends", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    let mut child = cmd.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let orders = format!("{}\n{writer}\n{count}\n{size}\n", path.display());
    child.stdin.take().unwrap().write_all(orders.as_bytes()).unwrap();
    child
}

/// The lines of each writer, in order, each parsed.
fn by_writer(path: &Path) -> std::collections::BTreeMap<String, Vec<u64>> {
    let mut writers = std::collections::BTreeMap::<_, Vec<_>>::new();
    for (offset, line) in lines(path) {
        let value: Value =
            serde_json::from_slice(&line).unwrap_or_else(|error| panic!("byte {offset}: {error}"));
        writers
            .entry(value["writer"].as_str().unwrap().into())
            .or_default()
            .push(value["n"].as_u64().unwrap());
    }
    writers
}

#[test]
fn four_processes_and_four_threads_lose_and_mix_nothing() {
    let (_dir, path) = temp();
    let children: Vec<_> = (0..4).map(|writer| start_child(None, &path, writer, 50, 20_000)).collect();
    std::thread::scope(|scope| {
        for writer in 4..8 {
            let path = &path;
            scope.spawn(move || {
                let mut log = JsonLog::open(path).unwrap();
                for n in 0..200 {
                    log.append_value(
                        &json!({"writer": writer.to_string(), "n": n, "pad": "q".repeat(n * 31)}),
                    )
                    .unwrap();
                }
            });
        }
    });
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let writers = by_writer(&path);
    assert_eq!(writers.len(), 8);
    for (writer, numbers) in writers {
        assert_eq!(numbers, (0..200).collect::<Vec<_>>(), "{writer}");
    }
}

#[test]
fn a_writer_killed_at_any_moment_leaves_whole_lines_and_a_log_that_goes_on() {
    let (_dir, path) = temp();
    let mut log = JsonLog::open(&path).unwrap();
    for round in 0..12 {
        let mut child = start_child(None, &path, round, 100_000, 400_000);
        let before = std::fs::metadata(&path).unwrap().len();
        while std::fs::metadata(&path).unwrap().len() == before {
            assert!(child.try_wait().unwrap().is_none(), "the child ended early");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(round as u64 * 731));
        child.kill().unwrap();
        child.wait().unwrap();
        log.append_value(&json!({"writer": "parent", "n": round})).unwrap();
    }
    let writers = by_writer(&path);
    assert_eq!(writers["parent"], (0..12).collect::<Vec<_>>());
    for (writer, numbers) in writers {
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "{writer}");
    }
}

#[test]
fn a_line_that_finds_room_for_its_beginning_only_is_taken_back() {
    let (_dir, path) = temp();
    // The shell's unit is 512 or 1024 bytes; the ignored signal makes the limit an error instead of a death.
    let child = start_child(Some("trap '' XFSZ; ulimit -f 20"), &path, 1, 1000, 3000);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(stderr.contains("no room for the whole line"), "{stderr}");
    assert!(std::fs::read(&path).unwrap().ends_with(b"\n"));
    let numbers = &by_writer(&path)["1"];
    assert_eq!(*numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    assert!(numbers.len() > 1);
    JsonLog::open(&path).unwrap().append(b"{\"writer\":\"1\",\"n\":0}").unwrap();
    assert_eq!(by_writer(&path)["1"].len(), numbers.len() + 1);
}
