//! Recipes that come with the program: each to its end with a fake agent, and to the failure that it promises; `recipe new`.

use amplihack_testkit::{Sandbox, Script};
use serde_json::{Value, json};

use crate::fakes::RECIPE_OPTIONS;
use crate::world::run;

/// A repository with a file that is not committed, and an agent that answers by what it is asked: `answers` before the usual ones.
///
/// An answer is a part of the prompt, and what `sh` does for it; the first that fits is given.
fn world(answers: &[(&str, &str)]) -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.fake("amplifier");
    sandbox.write("work/tracked.txt", "one\n");
    sandbox.run("git", ["add", "."]).assert_code(0);
    sandbox.run("git", ["commit", "--quiet", "-m", "a file"]).assert_code(0);
    let usual = [
        ("Say which kind of task", r#"echo '{"kind": "both", "done_when": ["it works"]}'"#),
        ("Plan this change", r#"echo 'Well: {"steps": ["write it"]}'"#),
        ("Make this change", "echo made >>tracked.txt; echo changed tracked.txt"),
        ("Review the changes", r#"echo '{"verdict": "approve", "findings": []}'"#),
        ("Split this question", r#"echo '{"questions": ["why"]}'"#),
        ("Answer these questions", "echo because, tracked.txt:1"),
        ("Check these findings", r#"echo '{"confirmed": ["because"], "refuted": []}'"#),
        ("Write the answer", "echo '# Because'"),
        ("Judge whether this task", r#"echo '{"met": true, "missing": []}'"#),
        ("one of three reviewers", r#"echo '{"verdict": "approve", "blocking": [], "notes": []}'"#),
        ("Put three reviews", "echo '# Approved'"),
        ("Audit these files", r#"echo '{"findings": []}'"#),
        ("Check the findings of two", r#"echo '{"findings": [{"severity": "high"}], "serious": 1}'"#),
        ("Mend these findings", "echo mended >>tracked.txt; echo mended"),
        ("These findings were to be", r#"echo '{"findings": [], "serious": 0}'"#),
    ];
    let cases = answers.iter().chain(&usual).map(|(part, answer)| format!("*'{part}'*) {answer};;\n"));
    let cases = cases.collect::<Vec<_>>().concat();
    // The prompt is an argument of the program that starts this shell.
    let text = format!(
        "case $(tr '\\0' ' ' </proc/$PPID/cmdline) in\n{cases}*) echo nobody expected this >&2; exit 9;; esac"
    );
    sandbox.script_for("amplifier", &Script::new().shell(&text));
    sandbox
}

/// Runs a recipe; gives its result.
#[track_caller]
fn result(sandbox: &Sandbox, recipe: &str, set: &[&str], code: i32) -> Value {
    let mut args = [&["recipe", "run", recipe][..], &RECIPE_OPTIONS].concat();
    args.extend(set.iter().flat_map(|value| ["-c", value]));
    let output = run(sandbox, &args);
    output.assert_code(code);
    output.json()
}

/// Ids of the steps with a status, those of recipes below with them.
fn steps(results: &Value, status: &str) -> Vec<String> {
    let mut found = Vec::new();
    for step in results["step_results"].as_array().into_iter().flatten() {
        if step["status"] == status {
            found.push(step["step_id"].as_str().unwrap().to_owned());
        }
        found.extend(steps(step, status));
    }
    found
}

#[test]
fn a_change_is_planned_made_reviewed_and_verified() {
    let sandbox = world(&[]);
    let set = ["task_description=it's \"quoted\" $(touch bad)", "verify_command=grep -q made tracked.txt"];
    let result = result(&sandbox, "default-workflow", &set, 0);
    let skipped = ["changed", "revise", "mend", "verify"];
    assert_eq!(steps(&result, "skipped"), skipped, "{result}");
    assert_eq!(steps(&result, "failed"), [""; 0]);
    let summary = result["context"]["summary"].as_str().unwrap();
    assert!(summary.starts_with("Verified by: grep -q made tracked.txt"), "{summary}");
    assert!(summary.contains("M tracked.txt"), "{summary}");
    assert!(!sandbox.work().join("bad").exists());
}

#[test]
fn what_fails_is_mended_once_and_must_hold_then() {
    let mend = ("After the changes", "echo good >>tracked.txt; echo mended");
    let set = ["task_description=t", "verify_command=echo looking; grep -q good tracked.txt"];
    let mended = result(&world(&[mend]), "default-workflow", &set, 0);
    assert_eq!(steps(&mended, "skipped"), ["changed", "revise"], "{mended}");
    assert!(mended["context"]["trial"].as_str().unwrap().starts_with("looking\n"), "{mended}");

    let hopeless = ("After the changes", "echo I did nothing");
    let failed = result(&world(&[hopeless]), "default-workflow", &set, 1);
    assert_eq!(steps(&failed, "failed"), ["verify"], "{failed}");
}

#[test]
fn a_review_that_asks_for_it_is_followed_and_nothing_done_is_a_failure() {
    let answers = [
        ("Review the changes", r#"echo '{"verdict": "revise", "findings": ["tracked.txt:2, say more"]}'"#),
        ("A review of the changes", "echo more >>tracked.txt; echo said more"),
    ];
    let set = ["task_description=t", "verify_command=grep -q more tracked.txt"];
    let revised = result(&world(&answers), "default-workflow", &set, 0);
    assert!(steps(&revised, "completed").contains(&"revise".to_owned()), "{revised}");

    let idle = [("Make this change", "echo I changed everything")];
    let failed = result(&world(&idle), "default-workflow", &["task_description=t"], 1);
    assert_eq!(steps(&failed, "failed"), ["changed"], "{failed}");
    let allowed =
        result(&world(&idle), "default-workflow", &["task_description=t", "require_change=false"], 0);
    assert_eq!(allowed["success"], json!(true));
}

#[test]
fn an_investigation_writes_its_report_and_changes_nothing_else() {
    let sandbox = world(&[]);
    let set = ["task_description=why", "report_path=report.md", "report_command=grep -q Because"];
    let found = result(&sandbox, "investigation-workflow", &set, 0);
    assert_eq!(steps(&found, "skipped"), ["unchanged", "answered"], "{found}");
    assert_eq!(std::fs::read_to_string(sandbox.work().join("report.md")).unwrap(), "# Because\n");

    let meddling = world(&[("Answer these questions", "touch new; echo because")]);
    let failed = result(&meddling, "investigation-workflow", &["task_description=why"], 1);
    assert_eq!(steps(&failed, "failed"), ["unchanged"], "{failed}");
    let set = ["task_description=why", "report_command=grep -q Otherwise"];
    let failed = result(&world(&[]), "investigation-workflow", &set, 1);
    assert_eq!(steps(&failed, "failed"), ["verify"], "{failed}");
}

#[test]
fn a_task_is_classified_and_goes_where_it_belongs() {
    let set = ["task_description=t", "verify_command=grep -q made tracked.txt"];
    let both = result(&world(&[]), "smart-orchestrator", &set, 0);
    let done = steps(&both, "completed");
    for step in ["classify", "investigate", "explore", "change", "implement", "verify", "judge"] {
        assert!(done.contains(&step.to_owned()), "{step}: {both}");
    }
    assert_eq!(both["context"]["background"], "# Because");

    let question = ("Say which kind", r#"echo '{"kind": "investigation"}'"#);
    let only = result(&world(&[question]), "smart-orchestrator", &["task_description=why"], 0);
    assert_eq!(steps(&only, "skipped")[..2], ["unchanged", "answered"], "{only}");
    assert!(steps(&only, "skipped").contains(&"change".to_owned()), "{only}");

    let failed =
        result(&world(&[]), "smart-orchestrator", &["task_description=t", "verify_command=false"], 1);
    assert!(steps(&failed, "failed").contains(&"change".to_owned()), "{failed}");
    let unmet = ("Judge whether this task", r#"echo '{"met": false, "missing": ["all of it"]}'"#);
    let failed = result(&world(&[unmet]), "smart-orchestrator", &["task_description=t"], 1);
    assert_eq!(steps(&failed, "failed"), ["unmet"], "{failed}");
}

#[test]
fn a_change_is_taken_by_a_quorum_of_reviewers() {
    let changed = |answers: &[(&str, &str)]| {
        let sandbox = world(answers);
        sandbox.write("work/tracked.txt", "two\n");
        sandbox.write("work/new.txt", "new\n");
        sandbox
    };
    let sandbox = changed(&[]);
    let taken = result(&sandbox, "consensus-review", &["verify_command=test -e new.txt"], 0);
    assert_eq!(taken["context"]["approvals"], json!(3), "{taken}");
    let change = taken["context"]["change"].as_str().unwrap();
    assert!(change.contains("+two") && change.contains("new.txt"), "{change}");

    let reject = ("your part is security", r#"echo '{"verdict": "reject", "blocking": ["x"]}'"#);
    result(&changed(&[reject]), "consensus-review", &[], 0);
    let failed = result(&changed(&[reject]), "consensus-review", &["quorum=3"], 1);
    assert_eq!(steps(&failed, "failed"), ["decide"], "{failed}");
    let failed = result(&changed(&[]), "consensus-review", &["verify_command=exit 3"], 1);
    assert_eq!(steps(&failed, "failed"), ["verify"], "{failed}");
    for (base, says) in [("HEAD", "nothing differs"), ("--output=x", "there is no commit")] {
        let failed = result(&world(&[]), "consensus-review", &[&format!("base={base}")], 1);
        assert!(failed["step_results"][0]["error"].as_str().unwrap().contains(says), "{failed}");
    }
}

#[test]
fn an_audit_is_checked_mended_and_gated() {
    let looked = result(&world(&[]), "quality-audit", &[], 0);
    assert_eq!(steps(&looked, "skipped"), ["mend", "check-again", "verify", "serious"], "{looked}");
    let gated = result(&world(&[]), "quality-audit", &["gate=true"], 1);
    assert_eq!(steps(&gated, "failed"), ["serious"], "{gated}");
    let set = ["gate=true", "fix=true", "verify_command=grep -q mended tracked.txt"];
    let mended = result(&world(&[]), "quality-audit", &set, 0);
    assert_eq!(mended["context"]["report"]["serious"], json!(0), "{mended}");
    let failed = result(&world(&[]), "quality-audit", &["verify_command=false"], 1);
    assert_eq!(steps(&failed, "failed"), ["verify"], "{failed}");
}

#[test]
fn bundled_recipes_are_listed_shown_and_validated_and_an_own_one_wins() {
    let sandbox = world(&[]);
    let output = run(&sandbox, &["recipe", "list", "--json"]);
    let listed = output.json();
    let names: Vec<&str> = listed["recipes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|found| found["bundled"] == json!(true))
        .map(|found| found["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "consensus-review",
            "default-workflow",
            "investigation-workflow",
            "quality-audit",
            "smart-orchestrator"
        ]
    );
    run(&sandbox, &["recipe", "list"]).assert_code(0).assert_stdout_has("(bundled)");
    for name in names {
        let shown = run(&sandbox, &["recipe", "show", name]);
        shown.assert_code(0).assert_stdout_has(&format!("name: {name}\n"));
        let output = run(&sandbox, &["recipe", "validate", name]);
        output.assert_code(0).assert_stderr("").assert_stdout_has(&format!("{name}: valid"));
    }
    sandbox.write(
        "work/.claude/recipes/quality-audit.yaml",
        "name: quality-audit\ndescription: my own\nsteps: [{id: own, command: 'echo mine'}]\n",
    );
    run(&sandbox, &["recipe", "list"]).assert_stdout_has("my own\n");
    let own = result(&sandbox, "quality-audit", &[], 0);
    assert_eq!(steps(&own, "completed"), ["own"]);
    run(&sandbox, &["recipe", "show", "bundled:quality-audit"])
        .assert_code(0)
        .assert_stdout_has("audit-defects");
}

#[test]
fn a_bundled_recipe_that_failed_goes_on() {
    let sandbox = world(&[("After the changes", "echo I cannot")]);
    let set = ["task_description=t", "verify_command=test -e ../there"];
    result(&sandbox, "default-workflow", &set, 1);
    let asked = sandbox.runs().len();
    sandbox.write("there", "");
    let output = run(&sandbox, &["recipe", "run", "--resume", "latest", "-f", "json"]);
    output.assert_code(0);
    assert_eq!(steps(&output.json(), "failed"), [""; 0]);
    assert_eq!(sandbox.runs().len(), asked, "no agent is asked again");
}

#[test]
fn a_new_recipe_is_valid_runs_and_replaces_nothing() {
    let sandbox = Sandbox::new();
    let output = run(&sandbox, &["recipe", "new", "mine"]);
    output.assert_code(0).assert_stdout(".claude/recipes/mine.yaml\n").assert_stderr_has("recipe run mine");
    let output = run(&sandbox, &["recipe", "validate", "mine"]);
    output.assert_code(0).assert_stderr("").assert_stdout_has("mine: valid");
    let result = result(&sandbox, "mine", &["who=it's me"], 0);
    assert_eq!(result["recipe_name"], "mine");
    let report = &result["step_results"][5]["output"];
    assert!(report.as_str().unwrap().starts_with("hello it's me (13 characters, "), "{report}");
    // The first recipe that anybody runs warns about nothing.
    let quiet = run(&sandbox, &["recipe", "run", "mine", "--progress", "none"]);
    quiet.assert_code(0).assert_stderr("");

    sandbox.write("work/mine.yml", "my work");
    for taken in ["mine", "mine.yml", "./mine.yaml", ".claude/recipes/mine.yml"] {
        run(&sandbox, &["recipe", "new", taken])
            .assert_code(1)
            .assert_stdout("")
            .assert_stderr_has("is there already");
    }
    assert_eq!(std::fs::read_to_string(sandbox.work().join("mine.yml")).unwrap(), "my work");
    for unusable in ["", "a b", "-x.yaml", "dir/name", "a\"b.yaml", ".yaml"] {
        let output = run(&sandbox, &["recipe", "new", "--", unusable]);
        output.assert_code(2).assert_stderr_has("cannot be used as a recipe's name");
    }
    run(&sandbox, &["recipe", "new", "deep/er/r.yml"]).assert_code(0);
    run(&sandbox, &["recipe", "validate", "deep/er/r.yml"]).assert_code(0).assert_stdout_has("r: valid");
}
