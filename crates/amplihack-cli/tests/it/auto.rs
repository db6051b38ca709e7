//! `amplihack auto` with fake agents: ends, verification, budgets, messages, resume's bounds.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use amplihack_testkit::{Output, Run, Sandbox, Script, procs};
use rustix::process::Signal;
use serde_json::Value;

use crate::world::prepare;

/// A repository with a fake Claude that plays `body` in each turn, as a shell script; `$n` is the turn, and `say`, `call`, `result`
/// and `answer` write its stream.
pub(crate) fn claude(body: &str) -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.fake("claude");
    plays(&mut sandbox, "claude", body);
    sandbox
}

/// Makes the fake `name` play `body` as Claude would.
pub(crate) fn plays(sandbox: &mut Sandbox, name: &str, body: &str) {
    let text = format!(
        r#"
n=$(($(cat "$HOME/turns-{name}" 2>/dev/null || echo 0) + 1)); echo $n > "$HOME/turns-{name}"
say() {{ echo '{{"type":"assistant","session_id":"s1","message":{{"id":"m'$n$2'","content":[{{"type":"text","text":"'"$1"'"}}],"usage":{{"input_tokens":10,"cache_read_input_tokens":4,"output_tokens":5}}}}}}'; }}
call() {{ echo '{{"type":"assistant","message":{{"id":"m'$n$1'","content":[{{"type":"tool_use","id":"c'$n$1'","name":"Bash","input":{{"command":"'"$2"'"}}}}],"usage":{{"input_tokens":10,"cache_read_input_tokens":4,"output_tokens":5}}}}}}'; echo '{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"c'$n$1'","is_error":'$3',"content":"x"}}]}}}}'; }}
result() {{ answer "AMPLIHACK-STATUS: {{\\\"status\\\":\\\"$1\\\",\\\"summary\\\":\\\"turn $n\\\"$2}}"; }}
answer() {{ printf '%s\n' '{{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"answer '"$n"'\n'"$1"'","usage":{{"input_tokens":10,"cache_read_input_tokens":4,"output_tokens":5}},"total_cost_usd":0.25}}'; }}
echo '{{"type":"system","subtype":"init","session_id":"s1","model":"fake"}}'
{body}
"#
    );
    let path = sandbox.write(format!("{name}.sh"), text);
    sandbox.script_for(name, &Script::new().shell(&format!(". {}", path.display())));
}

/// `amplihack auto` of the fake Claude with a task, and `args`.
pub(crate) fn auto(sandbox: &Sandbox, args: &[&str]) -> Run {
    let all = ["auto", "--agent", "claude", "--json"];
    let mut all = all.to_vec();
    if !args.contains(&"--task") && !args.contains(&"--task-file") {
        all.extend(["--task", "do it"]);
    }
    all.extend(args);
    prepare(sandbox, &all)
}

/// The events that a run printed.
pub(crate) fn events(output: &Output) -> Vec<Value> {
    output.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The last event, which is the end.
pub(crate) fn ended(output: &Output) -> Value {
    let last = events(output).pop().unwrap_or_else(|| panic!("{output}"));
    assert_eq!(last["type"], "ended", "{output}");
    last
}

/// The directory of the one unattended run.
pub(crate) fn directory(sandbox: &Sandbox) -> PathBuf {
    let mut all = fs::read_dir(sandbox.home().join(".amplihack/sessions")).unwrap().flatten();
    let found = all.find(|entry| entry.path().join("auto.jsonl").is_file());
    found.expect("there is an unattended run").path()
}

/// Claims that the run ended so, with this code.
#[track_caller]
pub(crate) fn assert_ended(output: &Output, end: &str, code: i32) -> Value {
    let last = ended(output);
    assert_eq!(last["end"], end, "{output}");
    output.assert_code(code);
    last
}

#[test]
fn a_run_ends_when_the_check_passes_and_not_before() {
    let sandbox = claude("echo x >> steps; say working; result done");
    let output = auto(&sandbox, &["--verify", "test $(wc -l < steps) -ge 3"]).output();
    let last = assert_ended(&output, "verified", 0);
    assert_eq!((&last["turns"], &last["changed"]), (&3.into(), &true.into()));
    assert_eq!(last["used"]["input_tokens"], 30);
    assert_eq!(last["used"]["cost_usd"], 0.75);
    // Turns go on with the agent's session, and only the first brings the task.
    let runs = sandbox.runs();
    assert_eq!(runs.len(), 3);
    let words: Vec<String> = runs[1].args().iter().map(amplihack_testkit::Bytes::lossy).collect();
    assert!(words.contains(&"--resume=s1".to_owned()), "{words:?}");
    assert!(!runs[1].prompt().contains("do it") && runs[1].prompt().contains("the check failed"));
    // What is kept is this user's alone.
    let directory = directory(&sandbox);
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    for file in ["auto.jsonl", "diff.patch", "processes"] {
        let mode = fs::metadata(directory.join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{file}");
    }
    let id = directory.file_name().unwrap().to_str().unwrap().to_owned();
    let shown = prepare(&sandbox, &["sessions", "show", &id]).output();
    shown.assert_code(0).assert_stdout_has("state: verified").assert_stdout_has("turn 3: claude");
    shown
        .assert_stdout_has("failed: `test")
        .assert_stdout_has("passed: `test")
        .assert_stdout_has("+++ b/steps");
    let shown = prepare(&sandbox, &["sessions", "show", &id, "--json"]).output().json();
    assert_eq!(shown["turns"].as_array().unwrap().len(), 3);
    assert!(shown["diff"].as_str().unwrap().contains("+x"));
    prepare(&sandbox, &["sessions", "list"]).output().assert_stdout_has(&id);
    // One that is complete answers with its result.
    prepare(&sandbox, &["auto", "--resume", &id]).output().assert_code(0).assert_stdout_has("verified");
    procs::assert_none(&sandbox.everything());
}

#[test]
fn a_claim_that_the_check_refutes_is_never_an_end() {
    let sandbox = claude("result done");
    let output = auto(&sandbox, &["--verify", "false", "--max-turns", "1"]).output();
    assert_ended(&output, "max_turns", 1);
    let busy = claude("echo x >> f; result done");
    let output = auto(&busy, &["--verify", "false", "--max-turns", "4"]).output();
    assert_eq!(assert_ended(&output, "max_turns", 1)["turns"], 4);
    let claimed = auto(&busy, &[]).output();
    assert_ended(&claimed, "claimed", 0);
}

#[test]
fn an_agent_that_never_stops_uses_up_its_turns() {
    let sandbox = claude("result working");
    let output = auto(&sandbox, &["--max-turns", "3", "--task", "do it\nall of it"]).output();
    assert_ended(&output, "max_turns", 1);
    let phases: Vec<Value> = events(&output)
        .into_iter()
        .filter(|event| event["type"] == "turn")
        .map(|event| event["phase"].clone())
        .collect();
    assert_eq!(phases, ["clarify", "plan", "execute"]);
    // One that calls tools without end is cut, turn by turn.
    let endless = claude("i=0; while :; do i=$((i+1)); call $i true$i false; sleep 0.01; done");
    let output = auto(&endless, &["--max-turns", "2", "--max-calls", "5"]).output();
    let last = assert_ended(&output, "max_turns", 1);
    assert_eq!(last["turns"], 2);
    procs::assert_none(&endless.everything());
}

#[test]
fn the_same_failing_call_and_silence_are_stalls() {
    let failing = claude("i=0; while :; do i=$((i+1)); call $i 'make it' true; sleep 0.01; done");
    let output = auto(&failing, &[]).output();
    let last = assert_ended(&output, "stalled", 1);
    assert!(last["reason"].as_str().unwrap().contains("the same call of Bash failed 5 times"), "{last}");
    let silent = claude("sleep 60");
    let output = auto(&silent, &["--idle-timeout", "700ms"]).output();
    assert_ended(&output, "stalled", 1);
    procs::assert_none(&silent.everything());
}

#[test]
fn budgets_and_deadlines_end_a_run_with_5() {
    let endless = "i=0; while :; do i=$((i+1)); call $i true$i false; sleep 0.05; done";
    let sandbox = claude(endless);
    let output = auto(&sandbox, &["--budget-tokens", "100"]).output();
    let last = assert_ended(&output, "budget", 5);
    let used = last["used"]["input_tokens"].as_u64().unwrap() / 10;
    // 19 tokens a message: the sixth is over, and one more may be under way.
    assert!((6..=7).contains(&used), "{last}");
    let output = auto(&claude("result working"), &["--budget-usd", "0.4"]).output();
    let last = assert_ended(&output, "budget", 5);
    assert_eq!((&last["turns"], &last["used"]["cost_usd"]), (&2.into(), &0.5.into()));
    let output = auto(&claude("sleep 60"), &["--deadline", "1s"]).output();
    assert_ended(&output, "deadline", 5);
    // Whoever does not say what it costs needs a price.
    let mut sandbox = Sandbox::repository();
    sandbox.fake("codex");
    sandbox.script(&Script::new());
    let args = ["auto", "--agent", "codex", "--task", "x", "--budget-usd", "1"];
    prepare(&sandbox, &args).output().assert_code(2).assert_stderr_has("prices.codex");
    assert_eq!(sandbox.starts(), []);
}

/// Repeated messages, retries and sub-agents: each message once, whatever its lines.
#[test]
fn usage_counts_each_message_once() {
    let sandbox = claude(
        r#"say a; say a; say b x; echo '{"type":"system","subtype":"api_retry","attempt":1}'
echo '{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"sub","content":[{"type":"text","text":"s"}],"usage":{"input_tokens":100,"output_tokens":1}}}'
echo '{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"sub","content":[{"type":"text","text":"s"}],"usage":{"input_tokens":100,"output_tokens":50}}}'
kill -9 $$"#,
    );
    let output = auto(&sandbox, &["--max-turns", "1"]).output();
    let last = ended(&output);
    let used = &last["used"];
    assert_eq!(
        (&used["input_tokens"], &used["cache_read_tokens"], &used["output_tokens"]),
        (&120.into(), &8.into(), &60.into()),
        "{last}"
    );
}

#[test]
fn a_quota_that_is_used_up_goes_to_the_other_agent_and_is_announced() {
    let mut sandbox = claude(
        r#"echo '{"type":"result","subtype":"success","is_error":true,"result":"You exceeded your current quota","session_id":"s1"}'; exit 1"#,
    );
    sandbox.fake("amplifier");
    let answer = "all done\nAMPLIHACK-STATUS: {\"status\":\"done\"}\n";
    sandbox.script_for("amplifier", &Script::new().print(answer));
    let output = auto(&sandbox, &["--fallback", "amplifier", "--verify", "true"]).output();
    let last = assert_ended(&output, "verified", 0);
    assert_eq!(last["turns"], 2);
    output.assert_stdout_has("continuing with amplifier");
    // The other agent knows nothing of it yet: it is told the task.
    let words = sandbox.runs().pop().unwrap();
    assert!(words.prompt().contains("do it"));
    let alone = auto(&sandbox, &[]).output();
    assert_ended(&alone, "failed", 1);
}

#[test]
fn the_end_is_told_once_with_its_outcome() {
    let sandbox = claude("result done");
    let notify = "echo $AMPLIHACK_RUN_OUTCOME $AMPLIHACK_RUN_TURNS $AMPLIHACK_RUN_TOKENS >> \"$HOME/told\"";
    auto(&sandbox, &["--verify", "true", "--notify", notify]).output().assert_code(0);
    assert_eq!(fs::read_to_string(sandbox.home().join("told")).unwrap(), "verified 1 19\n");
    let id = directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    prepare(&sandbox, &["auto", "--resume", &id]).output().assert_code(0);
    assert_eq!(fs::read_to_string(sandbox.home().join("told")).unwrap().lines().count(), 1);
}

#[test]
fn conflict_markers_and_an_unchanged_tree_refute_a_claim() {
    let marked = claude("printf '<<<<<<< a\\n=======\\n>>>>>>> b\\n' > f; result done");
    let output = auto(&marked, &["--verify", "true", "--max-turns", "1"]).output();
    assert_ended(&output, "max_turns", 1);
    output.assert_stdout_has("conflict marker");
    let claims = r#"echo '{"type":"result","subtype":"success","session_id":"s1","result":"AMPLIHACK-STATUS: {\"status\":\"done\",\"changes\":true}"}'"#;
    let output = auto(&claude(claims), &["--verify", "true", "--max-turns", "1"]).output();
    assert_ended(&output, "nothing_done", 1);
    output.assert_stdout_has("no file changed");
}

#[test]
fn the_repositorys_own_test_command_counts_only_if_it_is_trusted() {
    let sandbox = claude("echo x >> f; result done");
    sandbox.write("work/.amplihack/config.toml", "test_command = 'false'\n");
    assert_ended(&auto(&sandbox, &["--max-turns", "2"]).output(), "claimed", 0);
    prepare(&sandbox, &["config", "trust"]).output().assert_code(0);
    assert_ended(&auto(&sandbox, &["--max-turns", "2"]).output(), "max_turns", 1);
}

#[test]
fn a_message_is_in_the_next_turn_once_and_is_bounded() {
    let sandbox = claude("while [ $n = 1 ] && [ ! -e \"$HOME/go\" ]; do sleep 0.02; done; result working");
    let running = auto(&sandbox, &["--max-turns", "3"]).spawn();
    let id = loop {
        if sandbox.runs().len() == 1 {
            break directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let append = |text: &str| prepare(&sandbox, &["auto", "append", &id, text]).output();
    append("use `tabs`, it's $(needed)").assert_code(0);
    append(&"x".repeat(101 * 1024)).assert_code(1).assert_stderr_has("100 KiB");
    append(" ").assert_code(1);
    prepare(&sandbox, &["auto", "append", "nobody", "x"]).output().assert_code(3);
    fs::write(sandbox.home().join("go"), "").unwrap();
    running.wait().assert_code(1);
    let told: Vec<bool> =
        sandbox.runs().iter().map(|run| run.prompt().contains("use `tabs`, it's $(needed)")).collect();
    assert_eq!(told, [false, true, false]);
    append("too late").assert_code(1).assert_stderr_has(&format!("auto --resume {id}"));
}

#[test]
fn nothing_of_the_prompt_is_printed_or_logged() {
    let mut sandbox = claude("result done");
    sandbox.set("AMPLIHACK_LOG", "trace").set("AMPLIHACK_PROMPT_DELIVERY", "stdin");
    let secret = "the-secret-of-the-task";
    for json in [true, false] {
        let mut args = vec!["auto", "--agent", "claude", "--task", secret, "--verify", "true"];
        args.extend(json.then_some("--json"));
        let output = prepare(&sandbox, &args).output();
        output.assert_code(0).assert_nowhere(secret);
    }
    for run in sandbox.runs() {
        assert!(run.args().iter().all(|word| !word.lossy().contains(secret)));
        assert!(String::from_utf8_lossy(&run.stdin.clone().unwrap().0).contains(secret));
    }
}

#[test]
fn a_long_task_is_delivered_byte_for_byte() {
    let sandbox = claude("result done");
    let task = format!("$(touch pwned) it's \"quoted\" `x`\n{}", "plan it\n".repeat(25_000));
    sandbox.write("task.md", &task);
    let file = sandbox.root().join("task.md");
    let output = auto(&sandbox, &["--task-file", file.to_str().unwrap(), "--verify", "true"]).output();
    assert_ended(&output, "verified", 0);
    let stdin = sandbox.runs()[0].stdin.clone().unwrap().0;
    assert!(task.len() > 200_000 && String::from_utf8(stdin).unwrap().contains(&task));
    assert!(!sandbox.work().join("pwned").exists());
}

#[test]
fn amplifier_takes_arguments_only() {
    let mut sandbox = Sandbox::repository();
    sandbox.amplifier_stand_in();
    for delivery in ["stdin", "tempfile"] {
        let run = prepare(&sandbox, &["auto", "--agent", "amplifier", "--task", "x"]);
        let output = run.env("AMPLIHACK_PROMPT_DELIVERY", delivery).output();
        output.assert_code(1).assert_stderr_has("amplifier");
        assert!(sandbox.accepted().is_empty());
        assert!(!sandbox.home().join(".amplihack/sessions").exists());
    }
    let args = ["auto", "--agent", "amplifier", "--task", "x", "--max-turns", "2", "--json"];
    let output = prepare(&sandbox, &args).output();
    assert_eq!(ended(&output)["turns"], 2, "{output}");
    assert_eq!(sandbox.accepted().len(), 2);
}

#[test]
fn a_signal_ends_a_run_and_says_so() {
    let sandbox = claude("say hi; sleep 60");
    let mut running = auto(&sandbox, &[]).spawn();
    running.until_stdout_has("\"writing\"");
    running.signal(Signal::INT);
    let output = running.wait();
    assert_ended(&output, "interrupted", 130);
    procs::assert_none(&sandbox.everything());
}

#[test]
fn the_verb_of_an_agent_works_unattended_too() {
    let sandbox = claude("result done");
    let output = prepare(&sandbox, &["claude", "--auto", "--verify", "true", "--", "do it"]).output();
    output
        .assert_code(0)
        .assert_stdout_has("was green already: verified: the check passed")
        .assert_stderr_has("no --permissions");
    output.assert_stderr_has("turn 1 of 10: claude, execute");
    let usage = |args: &[&str], text: &str| {
        prepare(&sandbox, args).output().assert_code(2).assert_stderr_has(text);
    };
    usage(&["claude", "--verify", "true", "--", "do it"], "need --auto");
    usage(&["claude", "--auto", "--", "--foreign", "-x", "do it"], "agent's own");
    usage(&["claude", "--auto", "--dry-run", "--", "do it"], "--dry-run");
    usage(&["auto", "--agent", "claude"], "there is no task");
}

#[test]
fn a_worktree_is_kept_while_it_holds_work_and_goes_when_it_holds_none() {
    let sandbox = claude("echo x > new; result done");
    let output = auto(&sandbox, &["--worktree", "--verify", "test -e new"]).output();
    assert_ended(&output, "verified", 0);
    assert!(!sandbox.work().join("new").exists());
    let list = sandbox.run("git", ["worktree", "list", "--porcelain"]).stdout_text();
    assert!(list.contains("branch refs/heads/amplihack/") && !list.contains("locked"), "{list}");
    let clean = claude("git worktree list --porcelain > \"$HOME/list\"; result done");
    let output = auto(&clean, &["--worktree", "--verify", "true"]).output();
    assert_ended(&output, "verified", 0);
    assert!(fs::read_to_string(clean.home().join("list")).unwrap().contains("locked"));
    let list = clean.run("git", ["worktree", "list"]).stdout_text();
    assert_eq!(list.lines().count(), 1, "{list}");
    assert_eq!(clean.run("git", ["branch", "--list", "amplihack/*"]).stdout_text(), "");
}

#[test]
fn a_message_to_another_users_run_is_not_taken() {
    if !amplihack_testkit::require_root() {
        return;
    }
    let sandbox = claude("say hi; sleep 60");
    let mut running = auto(&sandbox, &[]).spawn();
    running.until_stdout_has("\"writing\"");
    let directory = directory(&sandbox);
    let id = directory.file_name().unwrap().to_str().unwrap();
    std::os::unix::fs::chown(&directory, Some(12345), None).unwrap();
    let output = prepare(&sandbox, &["auto", "append", id, "psst"]).output();
    output.assert_code(1).assert_stderr_has("another user's");
    running.signal(Signal::INT);
    running.wait().assert_code(130);
}
