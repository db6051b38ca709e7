//! Runs as events, and what is kept of them: `--output`, `sessions`, `stream decode`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use amplihack_testkit::{Sandbox, Script, long, procs, workspace};
use rustix::process::Signal;
use serde_json::Value;

use crate::fakes::fakes;
use crate::world::prepare;

fn scripted(script: &Script) -> Sandbox {
    let mut sandbox = fakes();
    sandbox.script_for("amplifier", script);
    sandbox
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The one session's directory.
fn kept(sandbox: &Sandbox) -> PathBuf {
    let all = fs::read_dir(sandbox.home().join(".amplihack/sessions")).unwrap();
    // Beside the sessions there is an index of those that run.
    let is_session = |path: &PathBuf| !path.file_name().unwrap().to_string_lossy().starts_with('.');
    let mut all = all.map(|entry| entry.unwrap().path()).filter(is_session);
    let one = all.next().unwrap();
    assert!(all.next().is_none());
    one
}

#[test]
fn events_are_printed_as_they_are_kept() {
    let sandbox = scripted(&Script::new().print("one\n two \n"));
    let output = prepare(&sandbox, &["amplifier", "--prompt", "hi", "--output", "stream-json"]).output();
    output.assert_code(0);
    let events = lines(&output.stdout_text());
    assert_eq!(kinds(&events), ["started", "text", "text", "end"]);
    assert_eq!(events[2]["text"], " two ");
    assert_eq!((&events[3]["end"], &events[3]["text"]), (&"success".into(), &"one\n two \n".into()));
    // The journal has the lines too, and nobody else may read it.
    let directory = kept(&sandbox);
    let journal = directory.join("events.jsonl");
    assert_eq!(fs::metadata(&journal).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    let mut recorded = lines(&fs::read_to_string(&journal).unwrap());
    assert_eq!(recorded[2]["raw"], " two ");
    for event in &mut recorded {
        event.as_object_mut().unwrap().remove("raw");
    }
    assert_eq!(recorded, events);
    let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["events.jsonl", "run.json"]);
}

#[test]
fn one_object_tells_the_whole_run() {
    let sandbox = scripted(&Script::new().print("hi\n").print_error("no quota\n").exit(3));
    let output = prepare(&sandbox, &["amplifier", "--prompt", "hi", "--output", "json"]).output();
    output.assert_code(3).assert_stderr_has("agent: no quota");
    let whole = output.json();
    assert_eq!(
        (&whole["end"], &whole["kind"], &whole["text"]),
        (&"failed".into(), &"exit".into(), &"hi\n".into())
    );
    assert_eq!(kinds(whole["events"].as_array().unwrap()), ["started", "text", "end"]);
    assert!(whole["message"].as_str().unwrap().contains("no quota"), "{whole}");
    assert_eq!(whole["usage"]["input_tokens"], 0);
}

#[test]
fn silence_and_length_end_a_run_with_5() {
    let sandbox = scripted(&Script::new().print("hi\n").sleep_ms(60_000));
    for (flag, end) in [("--idle-timeout", "stalled"), ("--timeout", "budget")] {
        let args = ["amplifier", "--prompt", "hi", "--output", "json", flag, "700ms"];
        let output = prepare(&sandbox, &args).output();
        output.assert_code(5);
        assert_eq!(output.json()["end"], end);
    }
    procs::assert_none(&sandbox.everything());
}

/// It once counted from the start of a run that it could not hear, and ended it in the middle of its work.
#[test]
fn silence_of_a_run_that_is_not_read_is_refused() {
    let sandbox = scripted(&Script::new().print("hi\n"));
    let args = ["amplifier", "--prompt", "hi", "--idle-timeout", "1s"];
    let output = prepare(&sandbox, &args).output();
    output
        .assert_code(2)
        .assert_stdout("")
        .assert_stderr_has("--idle-timeout")
        .assert_stderr_has("--output json");
}

#[test]
fn an_agents_own_command_has_no_events() {
    let sandbox = fakes();
    let output = prepare(&sandbox, &["claude", "--output", "json", "--", "mcp", "list"]).output();
    output.assert_code(2).assert_stdout_has("has no events");
}

#[test]
fn a_run_is_listed_shown_searched_printed_and_removed() {
    let sandbox = scripted(&Script::new().print("the Needle lies here\n"));
    let run = |args: &[&str]| prepare(&sandbox, args).output();
    run(&["sessions", "list"]).assert_code(0).assert_stdout_has("no run has been recorded yet");
    run(&["amplifier", "--prompt", "hi", "--output", "json"]).assert_code(0);
    let id = kept(&sandbox).file_name().unwrap().to_string_lossy().into_owned();

    let list = run(&["sessions", "list", "--json"]).json();
    assert_eq!(list["sessions"][0]["id"], id.as_str());
    assert_eq!(list["sessions"][0]["state"], "success");
    run(&["sessions", "list"]).assert_stdout_has(&id);
    let show = run(&["sessions", "show", "latest"]);
    show.assert_code(0).assert_stdout_has("state: success").assert_stdout_has("\nthe Needle lies here\n");
    run(&["sessions", "show", &id[..id.len() - 2]]).assert_code(0);
    run(&["sessions", "show", "nobody"]).assert_code(3).assert_stderr_has("sessions list");
    run(&["sessions", "search", "needle"]).assert_stdout(format!("{id} 1 text: the Needle lies here\n"));
    let none = run(&["sessions", "search", "nowhere"]);
    none.assert_code(1).assert_stdout("").assert_stderr_has("no recorded run has \"nowhere\" in it");
    let cost = run(&["sessions", "cost", "--json"]).json();
    assert_eq!(cost["together"]["input_tokens"], 0);
    let tail = run(&["sessions", "tail", &id, "--follow"]);
    let journal = fs::read(kept(&sandbox).join("events.jsonl")).unwrap();
    tail.assert_code(0).assert_stdout(&journal);
    let first = journal.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    run(&["sessions", "tail", &id, "--from", &first.to_string()]).assert_stdout(&journal[first..]);
    run(&["sessions", "tail", &id, "--from", "1"]).assert_code(1).assert_stderr_has("no line");
    // What never told its session cannot go on.
    run(&["sessions", "resume", &id, "--prompt", "more"])
        .assert_code(1)
        .assert_stderr_has("did not report the id of its session");

    run(&["sessions", "prune", "--older-than", "1h"]).assert_stdout("");
    run(&["sessions", "prune", "--older-than", "0s", "--dry-run"]).assert_stdout(format!("{id}\n"));
    assert!(kept(&sandbox).exists());
    run(&["sessions", "prune", "--older-than", "0s"]).assert_stdout(format!("{id}\n"));
    run(&["sessions", "list", "--json"]).assert_stdout("{\"sessions\":[]}\n");
}

/// Names of directories, models and sessions are what others chose.
#[test]
fn what_is_kept_of_a_run_is_no_command_to_the_terminal() {
    let sandbox = fakes();
    let record = |id: &str, text: &str| {
        sandbox.write(format!("home/.amplihack/sessions/{id}/run.json"), text);
    };
    record(
        "s-1",
        r#"{"agent":"claude","cwd":"/x/\u001b[2J","model":"\u001b]0;m\u0007","agent_session":"a\u001bb","pid":4000000,
            "start_time":1,"started_at":"2026-01-01T00:00:00Z"}"#,
    );
    sandbox.write("home/.amplihack/sessions/s-1/events.jsonl", "");
    for args in [&["sessions", "list"][..], &["sessions", "show", "s-1"]] {
        let output = prepare(&sandbox, args).output();
        let said = output.assert_code(0).stdout_text();
        assert!(said.contains("[U+001B]") && !said.contains('\u{1b}'), "{said}");
    }
    // What cannot be read is told with what to do about it, and stays.
    record("s-2", r#"{"agent":"nobody"}"#);
    let said = prepare(&sandbox, &["sessions", "list"]).output().assert_code(0).stderr_text();
    assert!(said.contains("s-2/run.json cannot be read: unknown variant `nobody`"), "{said}");
    assert!(said.contains("if nobody needs it, remove"), "{said}");
    let pruned = prepare(&sandbox, &["sessions", "prune", "--older-than", "0s"]).output();
    pruned.assert_code(0).assert_stdout("s-1\n");
    assert!(sandbox.home().join(".amplihack/sessions/s-2/run.json").exists());
}

#[test]
fn what_a_killed_launch_left_is_removed_with_the_old_runs() {
    let mut sandbox = fakes();
    sandbox.script(&Script::new().print("ready\n").sleep_ms(60_000));
    let mut running = prepare(&sandbox, &["claude", "hi"]).spawn();
    running.until_stdout_has("ready");
    let id = kept(&sandbox).file_name().unwrap().to_string_lossy().into_owned();
    let prune = |age: &str| prepare(&sandbox, &["sessions", "prune", "--older-than", age]).output();
    prune("0s").assert_code(0).assert_stdout("");
    running.signal(Signal::KILL);
    running.wait();
    procs::assert_none_soon(&sandbox.everything(), Duration::from_secs(10));
    prune("1h").assert_stdout("");
    // Something that no launch makes is somebody's.
    sandbox.write(format!("home/.amplihack/sessions/{id}/notes"), "");
    prune("0s").assert_stdout("");
    fs::remove_file(kept(&sandbox).join("notes")).unwrap();
    prune("0s").assert_code(0).assert_stdout(format!("{id}\n"));
    assert_eq!(fs::read_dir(sandbox.home().join(".amplihack/sessions")).unwrap().count(), 0);
}

#[test]
fn a_recording_is_read_by_the_decoder_of_live_runs() {
    let sandbox = fakes();
    let output = prepare(&sandbox, &["stream", "decode", "--agent", "amplifier"]).stdin("a\n\nb").output();
    output.assert_code(0);
    assert_eq!(kinds(&lines(&output.stdout_text())), ["started", "text", "text", "end"]);
    let output = prepare(&sandbox, &["stream", "decode", "--agent", "amplifier", "none.txt"]).output();
    output.assert_code(1).assert_stderr_has("none.txt");
}

/// Codex states what its session used, not its run: the recordings are of one session, and of the same one resumed.
#[test]
fn a_resumed_session_is_not_counted_twice() {
    let mut sandbox = fakes();
    let recording = |name: &str| {
        let path = workspace().join("crates/amplihack-agent/tests/transcripts").join(name);
        Script::new().print(&fs::read_to_string(path).unwrap())
    };
    sandbox.script_for("codex", &recording("codex-0.171.0.jsonl"));
    prepare(&sandbox, &["codex", "--prompt", "hi", "--output", "json"]).output().assert_code(0);
    sandbox.script_for("codex", &recording("codex-0.171.0-resumed.jsonl"));
    let args = ["sessions", "resume", "latest", "--prompt", "more", "--output", "json"];
    let second = prepare(&sandbox, &args).output();
    second.assert_code(0);
    let counts = |usage: &Value| {
        ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"]
            .map(|name| usage[name].clone())
    };
    // The session's total is 40, 16, 12 and 20; the first run's was 20, 0, 0 and 10.
    let whole = second.json();
    assert_eq!(counts(&whole["usage"]), [20, 16, 12, 10]);
    let told = whole["events"].as_array().unwrap().iter().find(|event| event["type"] == "usage").unwrap();
    assert_eq!(counts(told), [20, 16, 12, 10]);
    let cost = prepare(&sandbox, &["sessions", "cost", "--json"]).output().json();
    assert_eq!(counts(&cost["together"]), [40, 16, 12, 20]);

    // The first run's record goes: what it used is remembered in the second's.
    let first = cost["sessions"][0]["id"].as_str().unwrap();
    fs::remove_dir_all(sandbox.home().join(".amplihack/sessions").join(first)).unwrap();
    let third = prepare(&sandbox, &args).output().json();
    assert_eq!(counts(&third["usage"]), [0, 0, 0, 0], "the recording states the same total again");
}

/// Kills the reader at any moment: the journal has whole lines without gaps, the agent is gone, and whoever prints the rest
/// later has each line once.
#[test]
fn a_killed_reader_leaves_a_journal_of_whole_lines() {
    let rounds = if long() { 200 } else { 8 };
    let lines_of_it: Vec<String> =
        (0..400).map(|number| format!("{number} {}\n", "x".repeat(number % 23 * 8))).collect();
    let mut script = Script::new();
    for part in lines_of_it.chunks(20) {
        script = script.print(&part.concat()).sleep_ms(2);
    }
    for round in 0..rounds {
        let sandbox = scripted(&script);
        let mut running =
            prepare(&sandbox, &["amplifier", "--prompt", "hi", "--output", "stream-json"]).spawn();
        running.until_stdout_has("\n");
        std::thread::sleep(Duration::from_micros(700 * (round * 37 % 101)));
        let printed_by_then = running.stdout_so_far();
        running.signal(Signal::KILL);
        running.wait();
        procs::assert_none_soon(&sandbox.everything(), Duration::from_secs(10));

        let journal = fs::read(kept(&sandbox).join("events.jsonl")).unwrap();
        let whole = journal.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let events = lines(std::str::from_utf8(&journal[..whole]).unwrap());
        for (seq, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], seq, "round {round}");
        }
        // Nothing was shown that is not kept.
        let shown = String::from_utf8_lossy(&printed_by_then).matches('\n').count();
        assert!(events.len() >= shown, "round {round}: {} kept, {shown} shown", events.len());

        let half = journal[..whole / 2].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let rest =
            prepare(&sandbox, &["sessions", "tail", "latest", "--follow", "--from", &half.to_string()])
                .output();
        rest.assert_code(0).assert_stdout(&journal[half..whole]);
        let state = prepare(&sandbox, &["sessions", "list", "--json"]).output().json();
        let expected = if events.last().unwrap()["type"] == "end" { "success" } else { "killed" };
        assert_eq!(state["sessions"][0]["state"], expected, "round {round}");
    }
}

#[test]
fn a_resume_works_in_the_recorded_directory_unless_the_user_says_here() {
    let mut sandbox = fakes();
    let stream = workspace().join("crates/amplihack-agent/tests/transcripts/codex-0.171.0.jsonl");
    sandbox.script_for("codex", &Script::new().print(&fs::read_to_string(stream).unwrap()));
    let first = ["codex", "--prompt", "hi", "--output", "json"];
    crate::world::run(&sandbox, &first).assert_code(0);
    let elsewhere = sandbox.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let from_elsewhere = |more: &[&str]| {
        let mut command = sandbox.command(crate::world::amplihack());
        command
            .current_dir(&elsewhere)
            .args(["sessions", "resume", "latest", "--prompt", "more", "--output", "json"]);
        amplihack_testkit::Run::new(command).args(more).output()
    };
    let last_directory = || PathBuf::from(sandbox.runs().last().unwrap().cwd.lossy());
    from_elsewhere(&[]).assert_code(0);
    assert_eq!(last_directory(), sandbox.work().canonicalize().unwrap());
    let launches = sandbox.runs().len();
    let moved = sandbox.root().join("moved");
    fs::rename(sandbox.work(), &moved).unwrap();
    let gone = from_elsewhere(&[]);
    gone.assert_code(3).assert_stderr_has("which no longer exists").assert_stderr_has("--here");
    assert_eq!(sandbox.runs().len(), launches);
    from_elsewhere(&["--here"]).assert_code(0);
    assert_eq!(last_directory(), elsewhere.canonicalize().unwrap());
}
