//! State files of other versions: this one's as they were frozen, newer ones', the predecessors'. Each is read, or refused with a reason, and
//! what this version does not know in it is still there afterwards.
//!
//! `tests/formats/v0.18` was written by 0.18.0 and is never written anew: a change that cannot read it breaks users' state. `@HOME@` and the
//! like stand for places and times of the test. Newer files are made of the frozen ones, so that no format can be forgotten.

use std::path::{Path, PathBuf};

use amplihack_config::launcher_context::{SessionContext, SessionId};
use amplihack_testkit::{Output, Run, Sandbox, workspace};
use serde_json::{Value, json};

use crate::auto::plays;
use crate::scene::files;
use crate::world::{amplihack, run};

const AMPLIHACK: &str = "home/.amplihack";
const AUTO: &str = "20261128T203442Z-31189549a779";
const RUN: &str = "20261128T203429Z-9e43d3789136";
const SESSIONS: &str = "home/.amplihack/sessions";

/// What becomes of a file when a command of this version changes it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    /// Everything that this version does not know stays.
    Kept,
    /// Lines are added behind what is there.
    Appended,
    /// It is written for each launch anew.
    Replaced,
    /// Nothing of this version changes it.
    Never,
}

/// What is done with a file that says that it has a newer form.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Newer {
    /// The command that reads it ends with an error, and so does the one that changes it.
    Refused,
    /// The others of its kind are listed, it is named in a warning, and the command that changes it ends with an error.
    Named,
    /// It is as if it were not there, and it stays.
    Ignored,
    /// Its form has no number: what is known of it is read.
    Unnumbered,
}

/// A file with one owner, one way to see that it was read, and one command that changes it.
struct Format {
    file: String,
    /// Shows what is in the file.
    read: &'static [&'static str],
    /// A part of what that says.
    shows: &'static str,
    change: &'static [&'static str],
    becomes: Change,
    newer: Newer,
}

fn format(
    file: String,
    read: &'static [&'static str],
    shows: &'static str,
    change: &'static [&'static str],
    becomes: Change,
    newer: Newer,
) -> Format {
    Format { file, read, shows, change, becomes, newer }
}

fn formats() -> Vec<Format> {
    let own = |path: &str| format!("{AMPLIHACK}/{path}");
    vec![
        format(
            "work/.claude/runtime/launcher_context.json".into(),
            &["which", "--json"],
            "\"source\":\"context_file\"",
            &["claude", "--prompt", "hi"],
            Change::Replaced,
            Newer::Unnumbered,
        ),
        format(
            format!("{SESSIONS}/{RUN}/run.json"),
            &["sessions", "show", RUN],
            "state: success",
            &["sessions", "cost"],
            Change::Never,
            Newer::Unnumbered,
        ),
        format(
            format!("{SESSIONS}/{RUN}/events.jsonl"),
            &["sessions", "tail", RUN],
            "\"text\":\"working\"",
            &["sessions", "search", "working"],
            Change::Never,
            Newer::Unnumbered,
        ),
        format(
            format!("{SESSIONS}/{AUTO}/auto.jsonl"),
            &["sessions", "show", AUTO],
            "reports working: turn 1",
            &["auto", "--resume", AUTO],
            Change::Appended,
            Newer::Refused,
        ),
        format(
            own("recipe-runs/20261128T203429Z-83956874e9bb/journal.jsonl"),
            &["recipe", "runs", "list"],
            "killed       2026-11-28 20:34:29     1 steps   0 failed  two-steps",
            &["recipe", "run", "--resume", "20261128T203429Z"],
            Change::Appended,
            Newer::Named,
        ),
        format(
            own("install/journal.json"),
            &["uninstall", "--agent", "claude"],
            "restored: ~/.claude/settings.json",
            &["install", "--agent", "codex"],
            Change::Kept,
            Newer::Refused,
        ),
        format(own("versions.json"), &["doctor"], "claude", &["doctor"], Change::Kept, Newer::Ignored),
        format(
            own("proofs/claude-2.1.332.json"),
            &["doctor", "--json"],
            "\"detail\": \"the forbidden call was stopped\"",
            &["doctor"],
            Change::Never,
            Newer::Ignored,
        ),
        format(
            own("remote-state.json"),
            &["remote", "list"],
            "say hi",
            // Its agent is not there: the state is changed, and nothing runs on.
            &["remote", "start", "--backend", "local", "--agent", "codex", "say ho"],
            Change::Kept,
            Newer::Refused,
        ),
    ]
}

/// A repository and a home with the files of `tests/formats/<name>`, and a Claude Code that is done at once.
fn frozen(name: &str) -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    sandbox.set("ANTHROPIC_API_KEY", "dummy").set("OPENAI_API_KEY", "dummy");
    sandbox.fake("claude");
    plays(&mut sandbox, "claude", "echo x >> steps; say working; result done");
    let from = workspace().join("crates/amplihack-cli/tests/formats").join(name);
    let now = jiff::Timestamp::now();
    let places = [
        ("@HOME@", sandbox.home().display().to_string()),
        ("@WORK@", sandbox.work().canonicalize().unwrap().display().to_string()),
        ("@BIN@", sandbox.bin().display().to_string()),
        ("@NOW@", now.as_second().to_string()),
        ("@TIME@", now.to_string()),
    ];
    for file in files(&from) {
        let mut bytes = std::fs::read(&file).unwrap();
        if let Ok(text) = std::str::from_utf8(&bytes) {
            let text = places.iter().fold(text.to_owned(), |text, (word, place)| text.replace(word, place));
            bytes = text.into_bytes();
        }
        sandbox.write(file.strip_prefix(&from).unwrap(), bytes);
    }
    // The second step of the recipe waits for it.
    sandbox.write("work/go", "");
    sandbox
}

fn bytes(sandbox: &Sandbox, file: &str) -> Vec<u8> {
    std::fs::read(sandbox.root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn said(output: &Output) -> String {
    output.stdout_text() + &output.stderr_text()
}

/// Calls the hook of a stopped call where that is the command, else just runs it.
fn command(sandbox: &Sandbox, args: &[&str]) -> Output {
    if args[0] != "hook" {
        return run(sandbox, args);
    }
    let call = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}, "cwd": "/", "session_id": "s"});
    Run::new(sandbox.command(amplihack())).args(args).stdin(call.to_string()).output()
}

/// Gives every object in `value` a field that nobody knows, but not where names are keys or where a form is settled for good.
fn grow(value: &mut Value, name: &str) {
    const SETTLED: [&str; 8] =
        ["sessions", "vm_pool", "prices", "silence", "exit", "mark", "client", "asked"];
    match value {
        Value::Object(object) => {
            object.iter_mut().for_each(|(name, value)| grow(value, name));
            if !SETTLED.contains(&name) {
                object.insert("later".into(), json!({"x": [1, null]}));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| grow(item, name)),
        _ => {}
    }
}

/// Rewrites each object of a file: the whole of it, or each of its lines.
fn rewrite(sandbox: &Sandbox, file: &str, change: impl Fn(&mut Value)) {
    let text = String::from_utf8(bytes(sandbox, file)).unwrap();
    let changed = |text: &str| {
        let mut value: Value = serde_json::from_str(text).unwrap();
        change(&mut value);
        value.to_string()
    };
    let lines: Vec<String> =
        if is_of_lines(file) { text.lines().map(changed).collect() } else { vec![changed(&text)] };
    sandbox.write(file, lines.join("\n") + "\n");
}

fn is_of_lines(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|kind| kind == "jsonl")
}

/// Claims that `part` is in `whole`: every field of every object, and what nobody knows with its value, whatever else there is.
#[track_caller]
fn assert_within(part: &Value, whole: &Value, place: &str) {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            for (name, value) in part {
                let Some(there) = whole.get(name) else { panic!("{place}.{name} is gone: {whole:#?}") };
                assert_within(value, there, &format!("{place}.{name}"));
            }
        }
        (Value::Array(part), Value::Array(whole)) => {
            assert!(part.len() <= whole.len(), "{place} lost items: {whole:#?}");
            for (at, (part, whole)) in part.iter().zip(whole).enumerate() {
                assert_within(part, whole, &format!("{place}[{at}]"));
            }
        }
        // What this version knows it may change.
        _ => assert!(part == whole || !place.contains(".later"), "{place}: {part} became {whole}"),
    }
}

/// Claims that the file became what its format says, after `output` of the command that changes it.
#[track_caller]
fn assert_becomes(sandbox: &Sandbox, format: &Format, before: &[u8], output: &Output) {
    let after = bytes(sandbox, &format.file);
    let name = &format.file;
    match format.becomes {
        Change::Never => assert!(after == before, "{name} was changed\n{output}"),
        Change::Replaced => assert_ne!(after, before, "{name} is as it was\n{output}"),
        Change::Appended => {
            assert!(
                after.starts_with(before) && after.len() > before.len(),
                "{name} does not go on\n{output}"
            );
        }
        Change::Kept => {
            assert_ne!(after, before, "{name} is as it was\n{output}");
            let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
            assert_within(&value(before), &value(&after), name);
        }
    }
}

/// What a file needs to be of use here.
fn prepare(sandbox: &Sandbox, format: &Format) {
    if format.read[0] == "doctor" {
        // The guard that was registered is not on this machine, and doctor would rightly say so.
        std::fs::remove_file(sandbox.home().join(".claude/settings.json")).unwrap();
    }
    if format.file.contains("/proofs/") {
        // A proof belongs to the program's content, which a launch finds out and remembers.
        rewrite(sandbox, &format.file, |value| value["program"] = "".into());
        command(sandbox, format.read);
        let programs: Value =
            serde_json::from_slice(&bytes(sandbox, "home/.amplihack/programs.json")).unwrap();
        let program = programs.as_object().and_then(|programs| programs.values().next()).unwrap();
        rewrite(sandbox, &format.file, |value| value["program"] = program["digest"].clone());
    }
    if format.file.ends_with("versions.json") {
        rewrite(sandbox, &format.file, |value| {
            *value = json!({"/elsewhere/claude": {"size": 1, "mtime_ns": 2, "version": "1.0.0"}});
        });
    }
}

#[test]
fn what_0_18_wrote_is_read_and_gone_on_with() {
    for format in formats() {
        let sandbox = frozen("v0.18");
        prepare(&sandbox, &format);
        let before = bytes(&sandbox, &format.file);
        let output = command(&sandbox, format.change);
        assert_becomes(&sandbox, &format, &before, &output);

        let sandbox = frozen("v0.18");
        prepare(&sandbox, &format);
        let output = command(&sandbox, format.read);
        output.assert_code(0);
        assert!(said(&output).contains(format.shows), "{}\n{output}", format.file);
    }
}

#[test]
fn runs_of_0_18_that_were_killed_are_ended_by_this_version() {
    let sandbox = frozen("v0.18");
    run(&sandbox, &["recipe", "run", "--resume", "latest"]).assert_code(0);
    // The first step had ended, and did not run again.
    assert_eq!(String::from_utf8(bytes(&sandbox, "work/done")).unwrap(), "two\n");
    run(&sandbox, &["auto", "--resume", AUTO]).assert_code(0).assert_stdout_has("turns: 2");
    run(&sandbox, &["uninstall"]).assert_code(0).assert_stdout_has("restored: ~/.claude/settings.json");
    assert_eq!(bytes(&sandbox, "home/.claude/settings.json"), b"{\n  // mine\n  \"model\": \"x\",\n}\n");
    assert!(!sandbox.home().join(".amplihack/install").exists());
    let id = SessionId::parse("20261128T203442Z-f360ef7f3316").unwrap();
    let context = SessionContext::read(&sandbox.home().join(".amplihack"), &id).unwrap().unwrap();
    assert_eq!((context.agent.name(), context.pid), ("claude", 29_199));
    run(&sandbox, &["audit", "show"])
        .assert_code(0)
        .assert_stdout_has("guards/cwd-delete claude Bash: rm -rf /");
    run(&sandbox, &["audit", "verify"]).assert_code(0).assert_stdout_has("the chain is intact");
}

#[test]
fn settings_of_0_18_are_read_and_edited_in_place() {
    let sandbox = frozen("v0.18");
    run(&sandbox, &["config", "show"]).assert_code(0).assert_stdout_has("max_depth = 7");
    run(&sandbox, &["policy", "check", "terraform apply"])
        .assert_code(4)
        .assert_stdout_has("user/plans-only");
    run(&sandbox, &["remote", "doctor", "--backend", "ssh"]).assert_stdout_has("build-1: not ready");
    let other = sandbox.root().join("other");
    std::fs::create_dir(&other).unwrap();
    sandbox.run("git", ["init", "--quiet", other.to_str().unwrap()]).assert_code(0);
    // What this version does not know stays in the user's file, and is said to be unknown.
    let file = "home/.config/amplihack/config.toml";
    let text = String::from_utf8(bytes(&sandbox, file)).unwrap();
    sandbox.write(file, text.replace("max_depth = 7", "max_depth = 7\nlater = [1] # new"));
    run(&sandbox, &["config", "show"]).assert_code(0).assert_stderr_has("later");
    run(&sandbox, &["config", "trust", other.to_str().unwrap()]).assert_code(0);
    let text = String::from_utf8(bytes(&sandbox, file)).unwrap();
    assert!(
        text.starts_with("# mine\nmax_depth = 7\nlater = [1] # new\n") && text.contains("/other"),
        "{text}"
    );
    // A rule that is only understood in part would not be the user's rule.
    for (file, ask) in [
        ("policy.toml", &["policy", "check", "ls"][..]),
        ("hosts.toml", &["remote", "doctor", "--backend", "ssh"]),
    ] {
        let sandbox = frozen("v0.18");
        let file = format!("home/.config/amplihack/{file}");
        let text = String::from_utf8(bytes(&sandbox, &file)).unwrap() + "later = 1\n";
        sandbox.write(&file, &text);
        let output = run(&sandbox, ask);
        assert!(output.code != Some(0) && output.stderr_text().contains("later"), "{output}");
        assert_eq!(String::from_utf8(bytes(&sandbox, &file)).unwrap(), text);
    }
}

#[test]
fn fields_and_lines_of_a_newer_version_are_passed_over_and_stay() {
    for format in formats() {
        let newer = || {
            let sandbox = frozen("v0.18");
            prepare(&sandbox, &format);
            rewrite(&sandbox, &format.file, |value| grow(value, ""));
            if is_of_lines(&format.file) {
                let line =
                    r#"{"at":"2026-11-28T20:34:43Z","seq":9,"entry":"dreamt","type":"dreamt","later":1}"#;
                let text = String::from_utf8(bytes(&sandbox, &format.file)).unwrap();
                sandbox.write(&format.file, format!("{text}{line}\n"));
            }
            sandbox
        };
        let sandbox = newer();
        let before = bytes(&sandbox, &format.file);
        let output = command(&sandbox, format.change);
        assert_becomes(&sandbox, &format, &before, &output);

        let sandbox = newer();
        let output = command(&sandbox, format.read);
        output.assert_code(0);
        assert!(said(&output).contains(format.shows), "{}\n{output}", format.file);
    }
}

#[test]
fn a_file_in_a_newer_form_is_named_and_left_alone() {
    for format in formats() {
        let newer = || {
            let sandbox = frozen("v0.18");
            prepare(&sandbox, &format);
            let field = if format.file.ends_with("remote-state.json") { "version" } else { "schema_version" };
            rewrite(&sandbox, &format.file, |value| value[field] = 99.into());
            sandbox
        };
        let sandbox = newer();
        let before = bytes(&sandbox, &format.file);
        let changed = command(&sandbox, format.change);
        let after = bytes(&sandbox, &format.file);
        let read = command(&newer(), format.read);
        let refused = |output: &Output| output.code != Some(0) && said(output).contains("a newer amplihack");
        let expected = match format.newer {
            Newer::Refused => refused(&read) && refused(&changed),
            Newer::Named => {
                let named = said(&read).contains("a newer amplihack");
                read.code == Some(0) && named && changed.code != Some(0)
            }
            Newer::Ignored => read.code == Some(0),
            Newer::Unnumbered => read.code == Some(0) && said(&read).contains(format.shows),
        };
        assert!(expected, "{}: {:?}\n{read}\n{changed}", format.file, format.newer);
        if format.becomes != Change::Replaced {
            assert!(after == before, "{} was changed\n{changed}", format.file);
        }
    }
}

#[test]
fn what_the_predecessors_left_is_read_and_stays() {
    let sandbox = frozen("predecessor");
    let state = workspace().join("crates/amplihack-remote/tests/fixtures/state/predecessor.json");
    sandbox.write("home/.amplihack/remote-state.json", std::fs::read(state).unwrap());
    let everything = || -> Vec<(PathBuf, Vec<u8>)> {
        let all = files(sandbox.root());
        all.into_iter()
            .filter(|path| !path.starts_with(sandbox.work().join(".git")))
            .map(|path| (path.clone(), std::fs::read(&path).unwrap_or_default()))
            .collect()
    };
    let before = everything();
    let which = run(&sandbox, &["which", "--json"]).json();
    assert_eq!((&which["agent"], &which["source"]), (&json!("copilot"), &json!("context_file")));
    let audit = run(&sandbox, &["audit", "show", "--json"]).assert_code(0).json();
    let decisions: Vec<&Value> = audit.as_array().unwrap().iter().map(|entry| &entry["decision"]).collect();
    assert_eq!(decisions, ["none", "deny", "deny"]);
    let verified = run(&sandbox, &["audit", "verify"]);
    verified.assert_code(0).assert_stdout_has("3 lines of the predecessor before the chain");
    run(&sandbox, &["remote", "list"]).assert_code(0).assert_stdout_has("sess-20260502-030405-00ff");
    run(&sandbox, &["recipe", "validate", "old.yaml"]).assert_code(0);
    assert!(everything() == before, "reading wrote something");

    run(&sandbox, &["recipe", "run", "old.yaml"]).assert_code(0).assert_stdout_has("SUCCESS");
    // A lock of the predecessor's keeps its own session going, as it did.
    let stop = json!({"hook_event_name": "Stop", "session_id": "4711", "cwd": sandbox.work()});
    let stopped =
        Run::new(sandbox.command(amplihack())).args(["hook", "stop"]).stdin(stop.to_string()).output();
    assert!(said(&stopped).contains("block"), "{stopped}");
    let left = [
        "home/.amplihack/.installed-version",
        "home/.claude/logs/xpia/rust_security_20260101.log",
        "home/.claude/logs/xpia/security_20260101.log",
        "work/old.yaml",
    ];
    for file in left {
        let (_, was) = before.iter().find(|(path, _)| *path == sandbox.root().join(file)).unwrap();
        assert!(bytes(&sandbox, file) == *was, "{file} was changed");
    }
}

#[test]
fn every_file_that_is_read_back_has_a_row() {
    let tested: Vec<String> = formats().into_iter().map(|format| format.file).collect();
    let root = workspace().join("crates/amplihack-cli/tests/formats/v0.18");
    // Files that others own, that users write, that are tested above by name, or that hold no form: outputs, trees, process tables.
    let others = |path: &Path| {
        let text = path.to_string_lossy();
        [
            ".claude/",
            ".config/",
            "originals/",
            "/steps/",
            "/objects/",
            "/index",
            "/processes",
            "schema.json",
            "r.yaml",
            "context.json",
        ]
        .iter()
        .any(|part| text.contains(part))
    };
    for file in files(&root) {
        let below = file.strip_prefix(&root).unwrap();
        let kind = below.file_name().unwrap();
        let known = tested.iter().any(|name| Path::new(name).file_name() == Some(kind));
        assert!(known || others(below), "{} has no row", below.display());
    }
}
