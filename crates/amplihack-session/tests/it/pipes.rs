//! Bytes in and out at the same time, and pipes that somebody else holds open.

use std::time::{Duration, Instant};

use amplihack_session::{AgentRun, ChildInput, ChildOutput, ProcessExit, RunSpec, RunStep};

use crate::support::{block_on, run_clean, spec, text};

const TEN_MB: usize = 10 << 20;

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

#[test]
fn stdin_arrives_whole_while_the_child_echoes_it() {
    for size in [0, 1, 64 << 10, (64 << 10) + 1, TEN_MB] {
        let bytes = pattern(size);
        let outcome = run_clean(RunSpec { stdin: ChildInput::Bytes(bytes.clone()), ..spec("cat") });
        assert!(outcome.stdout.bytes == bytes, "{size}");
        assert_eq!(outcome.unread, None, "{size}");
    }
}

#[test]
fn files_are_stdin_and_stdout_without_being_held() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    std::fs::write(&from, pattern(TEN_MB)).unwrap();
    let outcome = run_clean(RunSpec {
        stdin: ChildInput::File(std::fs::File::open(&from).unwrap()),
        stdout_file: Some(std::fs::File::create(&to).unwrap()),
        ..spec("cat; echo said >&2")
    });
    assert!(std::fs::read(&to).unwrap() == pattern(TEN_MB));
    assert_eq!((outcome.stdout.bytes.len(), text(&outcome.stderr.bytes)), (0, "said\n".into()));
}

#[test]
fn a_child_that_writes_ten_megabytes_before_it_reads_ten_does_not_hang() {
    let script = "head -c 10485760 /dev/zero; head -c 10485760 /dev/zero >&2; wc -c";
    let outcome = run_clean(RunSpec { stdin: ChildInput::Bytes(pattern(TEN_MB)), ..spec(script) });
    let (zeroes, count) = outcome.stdout.bytes.split_at(TEN_MB);
    assert!(zeroes.iter().all(|byte| *byte == 0));
    assert_eq!(text(count).trim(), TEN_MB.to_string());
    assert_eq!(
        (outcome.stderr.bytes.len(), outcome.stderr.dropped),
        (64 << 10, (TEN_MB - (64 << 10)) as u64)
    );
}

#[test]
fn what_a_child_leaves_unread_is_counted_to_the_byte_and_is_no_failure_by_itself() {
    let table = [
        ("exec <&-; sleep 0.1; exit 0", 2 << 20, 2 << 20),
        ("head -c 10 >/dev/null; exit 0", 2 << 20, (2 << 20) - 10),
        // Short enough for the pipe: all of it is written, and nobody reads it.
        ("exit 0", 1, 1),
        ("exec <&-; sleep 0.1; exit 0", 1000, 1000),
        ("dd bs=100 count=1 of=/dev/null 2>/dev/null", 60_000, 59_900),
    ];
    for (script, size, unread) in table {
        let outcome = run_clean(RunSpec { stdin: ChildInput::Bytes(pattern(size)), ..spec(script) });
        assert_eq!(outcome.exit, ProcessExit::Code(0), "{script}");
        assert_eq!(outcome.unread, Some(unread), "{script}");
    }
}

#[test]
fn an_open_input_takes_bytes_until_it_is_closed() {
    let spec = RunSpec {
        stdin: ChildInput::Open(b"a".to_vec()),
        stdout: ChildOutput::Stream,
        ..spec("cat; echo end")
    };
    let more = pattern(300 << 10);
    let (heard, output) = block_on(async {
        let mut run = AgentRun::start(spec).await.unwrap();
        let (mut heard, mut fed) = (Vec::new(), 0);
        loop {
            match run.next_step().await.unwrap() {
                RunStep::Output(bytes) => heard.extend_from_slice(bytes),
                RunStep::Over => break,
                _ => {
                    assert_eq!(run.takes_input(), fed < 2);
                    fed += 1;
                    match fed {
                        1 => run.write_input(&more),
                        _ => run.close_input(),
                    }
                }
            }
        }
        (heard, run.finish_run().unwrap())
    });
    assert!(heard == [b"a", &*more, b"end\n"].concat(), "{} bytes", heard.len());
    assert_eq!((output.exit, output.unread), (ProcessExit::Code(0), None));
}

#[test]
fn without_a_payload_stdin_is_empty() {
    let outcome = run_clean(spec("wc -c"));
    assert_eq!(text(&outcome.stdout.bytes).trim(), "0");
}

#[test]
fn a_grandchild_that_holds_stdout_does_not_keep_the_run_open() {
    let start = Instant::now();
    let outcome = run_clean(spec("sleep 47 & echo said"));
    assert_eq!((outcome.exit, text(&outcome.stdout.bytes)), (ProcessExit::Code(0), "said\n".into()));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(outcome.background.iter().map(|process| process.name.as_str()).collect::<Vec<_>>(), ["sleep"]);
}

#[test]
fn the_last_words_of_a_pipeline_behind_the_child_are_kept() {
    let outcome = run_clean(spec("(sleep 0.2; echo late) & exit 0"));
    assert_eq!(text(&outcome.stdout.bytes), "late\n");
    assert_eq!(outcome.background, []);
}

#[test]
fn an_output_that_goes_nowhere_is_not_kept() {
    let outcome = run_clean(RunSpec {
        stdout: ChildOutput::Null,
        stderr: ChildOutput::Head(3),
        ..spec("echo out; echo error >&2")
    });
    assert_eq!(outcome.stdout.bytes, b"");
    assert_eq!((text(&outcome.stderr.bytes), outcome.stderr.dropped), ("err".into(), 3));
}
