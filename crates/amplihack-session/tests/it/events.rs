//! Runs as streams of events, with the faults that stop others: each ends with exactly one end, and leaves nothing.

use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_agent::decode::new_decoder;
use amplihack_agent::event::{AgentEvent, Envelope, FailKind};
use amplihack_session::{
    ChildInput, Deadlines, EndEvidence, EventReading, EventRun, Journal, RunEnd, RunError, RunOutcome,
    RunRecord, RunSpec,
};

use crate::support::{LONG, block_on, mark, spec, tagged, wait_until};

const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","num_turns":1,"session_id":"s"}"#;
const TEXT: &str = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":" hi "}]},"session_id":"s"}"#;

fn reading() -> EventReading {
    EventReading::new(new_decoder(AgentBinary::Claude))
}

/// Runs `spec` to its end and returns its events, of which the last one and no other is an end.
fn events(spec: RunSpec) -> (Vec<Envelope>, RunEnd) {
    let tag = spec.tag.clone();
    let (events, finished) = block_on(async {
        let mut run = EventRun::start(spec, reading()).await.unwrap();
        let mut events = Vec::new();
        while let Some(event) = run.next().await.unwrap() {
            events.push(event);
        }
        (events, run.wait().await.unwrap())
    });
    let ends: Vec<_> = events.iter().filter(|event| matches!(event.event, AgentEvent::End(_))).collect();
    assert_eq!(ends.len(), 1, "{events:#?}");
    assert_eq!(events.last().unwrap().event, AgentEvent::End(finished.event.clone()));
    assert!(events.iter().zip(0..).all(|(event, seq)| event.seq == seq), "{events:#?}");
    assert_eq!(finished.survivors, []);
    assert_eq!(tagged(&tag), [""; 0]);
    (events, finished)
}

fn script(text: &str) -> RunSpec {
    spec(&text.replace("RESULT", RESULT).replace("TEXT", TEXT))
}

fn kind(finished: &RunEnd) -> Option<FailKind> {
    finished.event.kind
}

fn texts(events: &[Envelope]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_run_is_its_events_and_one_end() {
    let (events, finished) = events(script("echo 'TEXT'; printf '%s\\r\\n' 'RESULT'"));
    assert_eq!(texts(&events), [" hi "]);
    assert!(finished.is_success(), "{finished:?}");
    assert_eq!(finished.event.summary.text.as_deref(), Some("done"));
}

#[test]
fn stderr_of_any_length_holds_nothing_up() {
    let (_, finished) = events(script("head -c 300000 /dev/zero | tr '\\0' 'e' >&2; echo 'RESULT'"));
    assert!(finished.is_success(), "{finished:?}");
}

#[test]
fn a_line_of_20_mb_comes_whole() {
    let head = TEXT.split(" hi ").next().unwrap();
    let (events, finished) = events(script(&format!(
        "printf '%s' '{head}'; head -c 20000000 /dev/zero | tr '\\0' 'x'; echo '\"}}]}}}}'; echo 'RESULT'"
    )));
    assert_eq!(texts(&events).iter().map(|text| text.len()).collect::<Vec<_>>(), [20_000_000]);
    assert!(finished.is_success());
}

#[test]
fn a_line_that_is_no_json_is_told_and_the_next_one_is_read() {
    let (events, finished) = events(script("echo 'Warning: {'; echo 'TEXT'; echo 'RESULT'"));
    let warned = events
        .iter()
        .any(|event| matches!(&event.event, AgentEvent::Warning(warning) if warning.kind == "not_json"));
    assert!(warned, "{events:#?}");
    assert_eq!(texts(&events), [" hi "]);
    assert!(finished.is_success());
}

#[test]
fn one_that_stays_after_its_result_is_ended_and_was_a_success() {
    let started = Instant::now();
    let (_, finished) = events(script(&format!("echo 'RESULT'; {LONG}")));
    assert!(finished.is_success(), "{finished:?}");
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_grandchild_that_keeps_stdout_open_keeps_nothing_open() {
    let (_, finished) = events(script(&format!("setsid {LONG} & echo 'RESULT'")));
    assert!(finished.is_success(), "{finished:?}");
}

#[test]
fn a_prompt_that_was_not_read_to_its_end_is_no_success() {
    for (text, size, unread) in [
        ("exec 0<&-; sleep 0.2; echo 'RESULT'", 2 << 20, 2 << 20),
        ("head -c 10 >/dev/null; echo 'RESULT'", 300_000, 299_990),
        ("echo 'RESULT'", 1, 1),
    ] {
        let (_, finished) = events(RunSpec { stdin: ChildInput::Bytes(vec![b'x'; size]), ..script(text) });
        let said = (finished.name(), finished.code(), finished.evidence, finished.unread_prompt);
        assert_eq!(said, ("prompt_unread", 1, EndEvidence::Prompt, Some(unread)), "{text}");
        assert_eq!(finished.event.summary.text.as_deref(), Some("done"), "the answer is kept");
    }
    let (_, finished) = events(RunSpec {
        stdin: ChildInput::Bytes(b"x".to_vec()),
        ..script("cat >/dev/null; echo 'RESULT'")
    });
    assert!(finished.is_success(), "{finished:?}");
}

#[test]
fn what_is_not_said_or_not_so_is_a_failure_with_a_name() {
    for (text, expected) in [
        ("echo 'RESULT'; exit 1", FailKind::ExitAfterSuccess),
        ("echo 'RESULT'; kill -9 $$", FailKind::ExitAfterSuccess),
        ("echo 'TEXT'", FailKind::NoResult),
        ("exit 0", FailKind::NoResult),
        ("echo 'TEXT'; exit 3", FailKind::Exit),
        ("kill -9 $$", FailKind::Exit),
    ] {
        assert_eq!(kind(&events(script(text)).1), Some(expected), "{text}");
    }
    let (_, finished) = events(script("echo 'no such model' >&2; exit 3"));
    assert!(kind(&finished).is_some() && finished.reason().contains("no such model"));
}

#[test]
fn each_deadline_has_its_own_end() {
    let within = |deadlines, text: &str| events(RunSpec { deadlines, ..script(text) }).1;
    let short = Some(Duration::from_millis(300));
    let none = Deadlines::default();
    let end = within(Deadlines { startup: short, ..none }, LONG);
    assert!(end.event.kind == Some(FailKind::Startup), "{end:?}");
    let end = within(Deadlines { idle: short, ..none }, &format!("echo 'TEXT'; {LONG}"));
    assert!(end.outcome() == RunOutcome::Stalled, "{end:?}");
    let end = within(
        Deadlines { total: short, idle: Some(Duration::from_mins(1)), ..none },
        "while :; do echo 'TEXT'; sleep 0.05; done",
    );
    assert!(end.outcome() == RunOutcome::Budget, "{end:?}");
    // Nobody speaks for it, but it does not stop either.
    let end = within(Deadlines { total: short, ..none }, "yes 'TEXT'");
    assert!(end.outcome() == RunOutcome::Budget, "{end:?}");
}

#[test]
fn a_slow_reader_loses_nothing_and_is_no_silence_of_the_agent() {
    let deadlines = Deadlines { idle: Some(Duration::from_millis(400)), ..Deadlines::default() };
    let spec = RunSpec {
        deadlines,
        ..script("i=0; while [ $i -lt 3000 ]; do echo 'TEXT'; i=$((i+1)); done; echo 'RESULT'")
    };
    let (count, finished) = block_on(async {
        let mut run = EventRun::start(spec, reading()).await.unwrap();
        let mut count = 0;
        while let Some(event) = run.next().await.unwrap() {
            if matches!(event.event, AgentEvent::Text(_)) {
                count += 1;
                if count % 1000 == 1 {
                    std::thread::sleep(Duration::from_millis(600));
                }
            }
        }
        (count, run.wait().await.unwrap())
    });
    assert_eq!(count, 3000);
    assert!(finished.is_success(), "{finished:?}");
}

#[test]
fn a_reader_that_stops_costs_no_memory_and_dropping_it_leaves_nobody() {
    let spec = script("yes 'TEXT'");
    let tag = spec.tag.clone();
    block_on(async {
        let mut run = EventRun::start(spec, reading()).await.unwrap();
        run.next().await.unwrap().unwrap();
        // The pipe is full by now, and `yes` waits.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!tagged(&tag).is_empty());
        drop(run);
    });
    wait_until("nobody left", || tagged(&tag).is_empty());
}

#[test]
fn five_hundred_runs_at_once_end_without_a_thread_each() {
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let (before, prefix) = (threads(), mark());
    let most = block_on(async {
        let mut set = tokio::task::JoinSet::new();
        for number in 0..500 {
            let spec = RunSpec {
                tag: format!("{prefix}-{number}"),
                ..script("echo 'TEXT'; sleep 1; echo 'RESULT'")
            };
            set.spawn(async move { EventRun::start(spec, reading()).await.unwrap().wait().await.unwrap() });
        }
        let mut most = 0;
        while let Some(finished) = set.join_next().await {
            let finished = finished.unwrap();
            assert!(finished.is_success(), "{finished:?}");
            assert_eq!(finished.survivors, []);
            most = most.max(threads());
        }
        most
    });
    assert!(most <= before + 12, "{most} threads, {before} before");
    let zombies = amplihack_sys::list_processes().unwrap().into_iter();
    let own = std::process::id();
    assert_eq!(zombies.filter(|proc| proc.ppid == own && proc.dead).count(), 0);
}

/// A journal whose file is gone from under it, as on a full disk: the run is ended, and nobody waits for its end for ever.
#[test]
fn a_run_that_was_lost_has_no_end_to_wait_for() {
    let home = tempfile::tempdir().unwrap();
    let id = amplihack_config::launcher_context::new_session_id().unwrap();
    let record = RunRecord::from_this_process(AgentBinary::Claude, home.path());
    let journal = Journal::create(home.path(), &id, record).unwrap();
    // The record is written again when the session begins: a directory in its place does not let it.
    let place = id.directory(home.path()).join("run.json");
    std::fs::remove_file(&place).unwrap();
    std::fs::create_dir_all(place.join("in the way")).unwrap();
    let init = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    let spec = script(&format!("echo '{init}'; {LONG}"));
    let tag = spec.tag.clone();
    block_on(async {
        let mut run =
            EventRun::start(spec, EventReading { journal: Some(journal), ..reading() }).await.unwrap();
        assert!(matches!(run.next().await, Err(RunError::Journal(_))));
        assert!(matches!(run.wait().await, Err(RunError::Lost)));
    });
    wait_until("nobody left", || tagged(&tag).is_empty());
}
