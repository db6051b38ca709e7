//! Budgets with fake agents: dollars that nobody states, flags that are ignored, one budget for several runs.

use amplihack_testkit::{Output, Sandbox};
use serde_json::Value;

use crate::auto::{assert_ended, auto, claude};
use crate::world::prepare;

/// Sets in the user's configuration what a million of Claude's tokens cost.
fn priced(sandbox: &Sandbox, prices: &str) {
    let directory = sandbox.home().join(".config/amplihack");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), format!("[prices]\nclaude = \"{prices}\"\n")).unwrap();
}

/// Calls without end, 19 tokens each.
const ENDLESS: &str = "i=0; while :; do i=$((i+1)); call $i true$i false; sleep 0.05; done";

#[test]
fn dollars_are_priced_while_a_later_turn_works() {
    // The first turn states $0.25; the second never ends, and ignores --max-budget-usd.
    let sandbox = claude(&format!("[ $n = 1 ] && {{ result working; exit; }}; {ENDLESS}"));
    priced(&sandbox, "input=10000 output=10000");
    let output = auto(&sandbox, &["--budget-usd", "1"]).output();
    let last = assert_ended(&output, "budget", 5);
    let cost = last["used"]["cost_usd"].as_f64().unwrap();
    // $0.19 a message: the fourth is over, and one more may be under way.
    assert!((1.0..=1.0 + 0.19 * 2.0).contains(&cost), "{last}");
}

#[test]
fn tokens_without_a_stated_cost_are_never_free() {
    let result = |cost: &str| {
        claude(&format!(
            r#"say x; echo '{{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"AMPLIHACK-STATUS: {{\"status\":\"working\"}}","usage":{{"input_tokens":10,"output_tokens":5}}{cost}}}'"#
        ))
    };
    for cost in ["", r#","total_cost_usd":0"#] {
        let output = auto(&result(cost), &["--budget-usd", "1"]).output();
        let last = assert_ended(&output, "budget", 5);
        assert!(last["reason"].as_str().unwrap().contains("prices.claude"), "{last}");
        assert_eq!((&last["turns"], &last["used"]["cost_usd"]), (&1.into(), &Value::Null));
        // With a price they cost what it says.
        let sandbox = result(cost);
        priced(&sandbox, "input=20000 output=20000");
        let output = auto(&sandbox, &["--budget-usd", "1"]).output();
        let last = assert_ended(&output, "budget", 5);
        assert!(last["used"]["cost_usd"].as_f64().unwrap() >= 1.0, "{last}");
        assert!(last["turns"].as_u64().unwrap() > 1, "{last}");
    }
}

#[test]
fn files_of_nested_agents_count_in_calls_and_tokens() {
    let body = r#"
directory="$HOME/.claude/projects/-w/s1/subagents"; mkdir -p "$directory"; i=0
call main 'true' false
while :; do i=$((i+1)); echo '{"type":"assistant","message":{"id":"n'$i'","content":[{"type":"tool_use","id":"nc'$i'"}],"usage":{"input_tokens":10,"output_tokens":9}}}' >> "$directory/agent-a.jsonl"; sleep 0.3; done
"#;
    let output = auto(&claude(body), &["--max-calls", "5", "--max-turns", "1"]).output();
    assert_ended(&output, "max_turns", 1);
    let output = auto(&claude(body), &["--budget-tokens", "100"]).output();
    let last = assert_ended(&output, "budget", 5);
    // 19 a message, the first in the stream: the sixth is over.
    let used = last["used"]["input_tokens"].as_u64().unwrap() / 10;
    assert!((6..=7).contains(&used), "{last}");
}

/// The rows of a table, and what all of them used.
fn rows(output: &Output) -> (Vec<Value>, u64, f64) {
    let last: Value = serde_json::from_str(output.stdout_text().lines().last().unwrap()).unwrap();
    let rows = last["runs"].as_array().unwrap().clone();
    let count = |row: &Value, field: &str| row["used"][field].as_u64().unwrap_or_default();
    let tokens = rows.iter().map(|row| {
        ["input_tokens", "cache_read_tokens", "output_tokens"]
            .iter()
            .map(|field| count(row, field))
            .sum::<u64>()
    });
    let dollars = rows.iter().map(|row| row["used"]["cost_usd"].as_f64().unwrap_or_default());
    (rows.clone(), tokens.sum(), dollars.sum())
}

fn parallel(sandbox: &Sandbox, tasks: usize, args: &[&str]) -> Output {
    sandbox.write("tasks", "a task\n".repeat(tasks));
    let file = sandbox.root().join("tasks").display().to_string();
    let all = ["parallel", "--task-file", &file, "--agents", "claude", "--json"];
    prepare(sandbox, &[&all[..], args].concat()).output()
}

#[test]
fn parallel_runs_share_one_budget_of_tokens() {
    let output = parallel(&claude(ENDLESS), 5, &["--max", "3", "--budget-tokens", "400"]);
    output.assert_code(5);
    let (rows, tokens, _) = rows(&output);
    // Each of three writes on until it hears, later on a busy machine; two with budgets of their own would have used twice as much.
    assert!((400..800).contains(&tokens), "{tokens}\n{output}");
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row["end"], if number < 3 { "budget" } else { "not_begun" }, "{row}");
        let reason = row["reason"].as_str().unwrap();
        assert!(reason.contains("by all runs together"), "{row}");
        assert_eq!(reason.starts_with("not begun: "), number >= 3, "{row}");
    }
}

#[test]
fn parallel_runs_share_one_budget_of_dollars() {
    // Each turn states $0.25.
    let output = parallel(&claude("result working"), 4, &["--max", "2", "--budget-usd", "1"]);
    output.assert_code(5);
    let (rows, _, dollars) = rows(&output);
    assert!((1.0..=1.25).contains(&dollars), "{dollars}\n{output}");
    let ends: Vec<&str> = rows.iter().map(|row| row["end"].as_str().unwrap()).collect();
    assert_eq!(ends, ["budget", "budget", "not_begun", "not_begun"], "{output}");
}
