//! `recipe-runner-rs` against recorded cases: a recipe, a command line, and what has to come of them.
//!
//! `tests/recipes/<case>/case.json`: `args`, `env`, `setup` (bash, in the working directory), `probe` (files to compare), `want`.
//! `differs`: there the predecessor does something else, for the reason in `note`. `{case}`, `{work}`, `{home}`, `{tmp}` and `{box}`
//! stand for directories of the sandbox.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use amplihack_testkit::{Output, Run, Sandbox, programs};
use serde_json::{Value, json};

/// Cases of which a part is wrong, with the argument.
const WRONG: &[(&str, &str)] = &[
    // `a -1 == 4` is a whole expression with something behind it, as `n -1 == 1` in case 061, which has to be an error. One of the
    // two cases is wrong; the predecessor's silence about the rest of a condition is the bug that 061 is about.
    ("066-cond-misc-identifiers", "c01"),
    // A placeholder in single quotes is its value, as case 023 wants; the predecessor prints the name of its variable.
    ("048-dollar-and-braces-kept", "a.output"),
];

struct Place {
    sandbox: Sandbox,
    case: PathBuf,
}

impl Place {
    fn new(source: &Path) -> Self {
        let sandbox = Sandbox::new();
        let case = sandbox.root().join("case");
        copy(source, &case);
        for name in ["amplihack", "claude", "copilot", "codex", "amplifier"] {
            sandbox.link(name, &programs::obedient_agent_path());
        }
        Self { sandbox, case }
    }

    fn put(&self, text: &str) -> String {
        let root = self.sandbox.root();
        [("{case}", &self.case), ("{work}", &self.sandbox.work()), ("{home}", &self.sandbox.home())]
            .into_iter()
            .fold(text.to_owned(), |text, (name, path)| text.replace(name, &path.to_string_lossy()))
            .replace("{tmp}", &root.join("tmp").to_string_lossy())
            .replace("{box}", &root.to_string_lossy())
    }

    /// Texts in which the sandbox's root is `{box}`.
    fn taken(&self, text: &str) -> String {
        text.replace(&*self.sandbox.root().to_string_lossy(), "{box}")
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            let _ = std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().map(|items| items.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn play(place: &mut Place, case: &Value) -> Output {
    let variables = [
        ("CASE", place.case.clone().into_os_string()),
        ("WORK", place.sandbox.work().into_os_string()),
        ("USER", "tester".into()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
    ];
    for (name, value) in variables {
        place.sandbox.set(name, value);
    }
    for (name, value) in case["env"].as_object().into_iter().flatten() {
        let value = place.put(value.as_str().unwrap());
        place.sandbox.set(name, value);
    }
    if let Some(setup) = case["setup"].as_str() {
        place.sandbox.run("bash", ["-c", setup]).assert_code(0);
    }
    let args: Vec<String> = strings(&case["args"]).into_iter().map(|arg| place.put(arg)).collect();
    let command: Command = place.sandbox.command(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    Run::new(command).args(args).timeout(Duration::from_secs(90)).output()
}

/// What differs from what the case wants.
fn faults(name: &str, place: &Place, case: &Value, output: &Output) -> Vec<String> {
    let want = &case["want"];
    let mut faults = Vec::new();
    let mut expect = |what: String, holds: bool, got: &dyn std::fmt::Debug| {
        let known = WRONG.iter().any(|(case, part)| *case == name && what.starts_with(part));
        if !holds && !known {
            faults.push(format!("{what}: got {got:?}"));
        }
    };
    let text = |bytes: &[u8]| place.taken(&String::from_utf8_lossy(bytes));
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    if let Some(code) = want["exit"].as_i64() {
        expect(format!("exit {code}"), output.code.map(i64::from) == Some(code), &(output.code, &stderr));
    }
    for code in want["exit_not"].as_array().into_iter().flatten() {
        expect(format!("exit not {code}"), output.code.map(i64::from) != code.as_i64(), &output.code);
    }
    let result: Value = serde_json::from_str(&stdout).unwrap_or_default();
    if let Some(success) = want["success"].as_bool() {
        expect("success".to_owned(), result["success"] == success, &result["success"]);
    }
    if let Some(steps) = want["steps"].as_array() {
        let got = result["step_results"].as_array().cloned().unwrap_or_default();
        let ids = |steps: &[Value], key: &str| steps.iter().map(|step| step[key].clone()).collect::<Vec<_>>();
        expect("ids".to_owned(), ids(steps, "id") == ids(&got, "step_id"), &ids(&got, "step_id"));
        for (step, got) in steps.iter().zip(&got) {
            let id = step["id"].as_str().unwrap();
            if let Some(status) = step.get("status") {
                expect(format!("{id}.status {status}"), *status == got["status"], got);
            }
            if let Some(wanted) = step.get("output") {
                expect(format!("{id}.output {wanted}"), *wanted == got["output"], &got["output"]);
            }
            let error = got["error"].as_str().unwrap_or_default();
            if let Some(wanted) = step["error"].as_bool() {
                expect(format!("{id}.error {wanted}"), wanted != error.is_empty(), &error);
            }
            for part in strings(&step["error_contains"]) {
                let holds = error.to_lowercase().contains(&part.to_lowercase());
                expect(format!("{id}.error with {part}"), holds, &error);
            }
            for part in strings(&step["output_contains"]) {
                expect(
                    format!("{id}.output with {part}"),
                    got["output"].to_string().contains(part),
                    &got["output"],
                );
            }
        }
    }
    for (name, value) in want["context"].as_object().into_iter().flatten() {
        let got = &result["context"][name];
        expect(format!("context.{name} {value}"), same(value, got), got);
    }
    for name in strings(&want["context_absent"]) {
        expect(format!("no context.{name}"), result["context"].get(name).is_none(), &result["context"]);
    }
    for (file, wanted) in want["files"].as_object().into_iter().flatten() {
        let got = std::fs::read(place.put(file)).map_or(Value::Null, |bytes| Value::String(text(&bytes)));
        expect(format!("file {file} {wanted}"), *wanted == got, &got);
    }
    for part in strings(&want["stdout_contains"]) {
        expect(format!("stdout with {part}"), stdout.contains(part), &stdout);
    }
    for part in strings(&want["stdout_lacks"]) {
        expect(format!("stdout without {part}"), !stdout.contains(part), &stdout);
    }
    for part in strings(&want["stderr_contains"]) {
        let holds = stderr.to_lowercase().contains(&part.to_lowercase());
        expect(format!("stderr with {part}"), holds, &stderr);
    }
    let calls = calls(place);
    if let Some(wanted) = want["agent_calls"].as_array() {
        let got: Vec<Value> = calls.iter().map(|call| without_texts(call, place)).collect();
        expect("agent calls".to_owned(), *wanted == got, &got);
    }
    if let Some(count) = want["agent_calls_n"].as_u64() {
        expect(format!("{count} agent calls"), calls.len() as u64 == count, &calls);
    }
    for part in strings(&want["agent_argv_contains"]) {
        let holds = calls.iter().any(|call| has_argument(call, part));
        expect(format!("an argument with {part}"), holds, &calls);
    }
    for part in strings(&want["agent_every_call_contains"]) {
        let holds = calls.iter().all(|call| has_argument(call, part));
        expect(format!("an argument with {part} in each call"), holds, &calls);
    }
    faults
}

fn has_argument(call: &Value, part: &str) -> bool {
    strings(&call["argv"]).iter().any(|arg| arg.contains(part))
}

fn calls(place: &Place) -> Vec<Value> {
    let log = std::fs::read_to_string(place.sandbox.root().join("fake-agents.jsonl")).unwrap_or_default();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A call with its prompt and system prompt taken out: their wording is nobody's contract.
fn without_texts(call: &Value, place: &Place) -> Value {
    let args = strings(&call["argv"]);
    let mut shown: Vec<String> = Vec::new();
    for (index, arg) in args.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| args[index]);
        shown.push(match before {
            Some("-p" | "--print" | "--prompt") => "<prompt>".to_owned(),
            Some("--system-prompt" | "--append-system-prompt") => "<system>".to_owned(),
            _ => place.taken(arg),
        });
    }
    json!({ "tool": call["tool"], "argv": shown })
}

/// The same JSON, whatever the spelling of numbers.
fn same(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::Number(wanted), Value::Number(got)) => {
            // The last digit depends on how exactly the build reads numbers, which any of its crates may switch.
            let (wanted, got) = (wanted.as_f64().unwrap_or(f64::NAN), got.as_f64().unwrap_or(f64::NAN));
            (wanted - got).abs() <= wanted.abs() * f64::EPSILON
        }
        (Value::Array(wanted), Value::Array(got)) => {
            wanted.len() == got.len() && wanted.iter().zip(got).all(|(wanted, got)| same(wanted, got))
        }
        (Value::Object(wanted), Value::Object(got)) => {
            wanted.len() == got.len()
                && wanted.iter().all(|(name, wanted)| got.get(name).is_some_and(|got| same(wanted, got)))
        }
        _ => wanted == got,
    }
}

#[test]
fn every_recorded_case_comes_out_as_wanted() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes");
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert_eq!(cases.len(), 160);
    let next = Mutex::new(cases.iter());
    let failed = Mutex::new(Vec::new());
    // Most of them wait for processes.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(path) = { next.lock().unwrap().next() } {
                    let name = path.file_name().unwrap().to_str().unwrap();
                    let text = std::fs::read_to_string(path.join("case.json")).unwrap();
                    let case: Value = serde_json::from_str(&text).unwrap();
                    let mut place = Place::new(path);
                    let output = play(&mut place, &case);
                    let faults = faults(name, &place, &case, &output);
                    if !faults.is_empty() {
                        failed.lock().unwrap().push(format!("{name}\n  {}", faults.join("\n  ")));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}
