//! `amplihack policy`: check, batch, explain, test, list, export, as people and programs use them.

use std::fmt::Write as _;

use amplihack_testkit::Sandbox;
use serde_json::{Value, json};

use crate::scene::shown;
use crate::world::{prepare, run};

const USER: &str = "home/.config/amplihack/policy.toml";
const REPOSITORY: &str = "work/.amplihack/policy.toml";

/// The lines of a batch's answer.
fn answers(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_check_has_a_verdict_and_its_exit_code() {
    let sandbox = Sandbox::repository();
    for (command, code, verdict, rule) in [
        ("ls -la", 0, "none", json!(null)),
        ("rm -rf /", 4, "deny", json!("guards/cwd-delete")),
        ("git push --no-verify", 4, "deny", json!("guards/no-verify")),
        ("git stash drop", 4, "ask", json!("git_history/uncommitted")),
        ("", 0, "none", json!(null)),
    ] {
        let answer = run(&sandbox, &["policy", "check", command, "--json"]).assert_code(code).json();
        let keys: Vec<_> = answer.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys.len(), 4, "{answer}");
        assert_eq!(
            (&answer["verdict"], answer["reason"].as_str().unwrap().is_empty()),
            (&json!(verdict), code == 0),
            "{answer}"
        );
        assert_eq!(answer["rule"], rule, "{answer}");
    }
    let answer = run(&sandbox, &["policy", "check", "cd x && sudo rm -rf 'a b'", "--json"]).json();
    assert_eq!(answer["commands"], json!([["cd", "x"], ["sudo", "rm", "-rf", "a b"], ["rm", "-rf", "a b"]]));
    run(&sandbox, &["policy", "check", "ls"]).assert_code(0).assert_stdout("none: no rule applies\n");
    run(&sandbox, &["policy", "check", "--", "-x"]).assert_code(0);
}

#[test]
fn branch_and_directory_can_be_given() {
    let sandbox = Sandbox::repository();
    let commit = ["policy", "check", "git commit -m x", "--branch"];
    run(&sandbox, &[&commit[..], &["main"]].concat()).assert_code(4).assert_stdout_has("guards/");
    run(&sandbox, &[&commit[..], &["topic"]].concat()).assert_code(0);
    std::fs::create_dir(sandbox.work().join("sub")).unwrap();
    run(&sandbox, &["policy", "check", "rm -rf ../sub", "--cwd", "sub"]).assert_code(4);
    run(&sandbox, &["policy", "check", "rm -rf sub"]).assert_code(0);
}

#[test]
fn a_command_is_one_argument() {
    let sandbox = Sandbox::new();
    let mut report = String::new();
    for args in [
        &["policy", "check", "--", "rm", "-rf", "x"][..],
        &["policy", "explain", "rm", "x"],
        &["policy", "check", "--json", "rm", "x"],
    ] {
        let output = run(&sandbox, args);
        output.assert_code(2);
        report += &shown(&sandbox, &output);
    }
    insta::assert_snapshot!(report);
    run(&sandbox, &["policy", "check"]).assert_code(2).assert_stdout("");
}

#[test]
fn a_batch_is_answered_line_by_line() {
    let sandbox = Sandbox::repository();
    let rows = concat!(
        r#"{"command":"ls","id":7}"#,
        "\n\n",
        r#"{"command":"rm -rf /","cwd":"/"}"#,
        "\n",
        r#"{"command":"git commit -m x","branch":"main"}"#,
    );
    let output = prepare(&sandbox, &["policy", "check", "--batch", "-"]).stdin(rows).output();
    let verdicts: Vec<Value> = answers(&output.assert_code(4).stdout_text())
        .iter()
        .map(|answer| answer["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["none", "deny", "deny"]);
    let file = sandbox.write("work/rows", "{\"command\":\"ls\"}\n{\"command\":\"pwd\"}\n");
    run(&sandbox, &["policy", "check", "--batch", file.to_str().unwrap()]).assert_code(0);
    let bad = "{\"command\":\"ls\"}\nnonsense\n{\"cmd\":\"ls\"}\n{\"command\":\"pwd\"}\n";
    let output = prepare(&sandbox, &["policy", "check", "--batch", "-"]).stdin(bad).output();
    insta::assert_snapshot!(shown(&sandbox, &output));
    run(&sandbox, &["policy", "check", "--batch", "missing"]).assert_code(1).assert_stderr_has("missing: ");
}

#[test]
fn a_batch_does_not_wait_for_its_end() {
    let sandbox = Sandbox::new();
    let file = sandbox.work().join("pipe");
    let line = format!(
        "mkfifo '{0}'; '{1}' policy check --batch '{0}' & exec 9>'{0}'; echo '{{\"command\":\"ls\"}}' >&9; \
         sleep 60 & wait",
        file.display(),
        crate::world::amplihack().display()
    );
    let mut running = amplihack_testkit::Run::new(sandbox.command("sh")).args(["-c", &line]).spawn();
    running.until_stdout_has("\"verdict\":\"none\"");
    running.signal_group(rustix::process::Signal::KILL);
    running.wait();
}

#[test]
fn an_explanation_underlines_what_it_is_about() {
    let sandbox = Sandbox::repository();
    let mut report = String::new();
    for command in [
        "echo hi && sudo rm -rf /etc # gone",
        "ls",
        "cd /tmp\ngit push --force origin main\nbash -c 'cat ~/.ssh/id_rsa'",
        "$X y",
        "",
    ] {
        let output = run(&sandbox, &["policy", "explain", command]);
        output.assert_code(0).assert_stderr("");
        writeln!(report, "$ amplihack policy explain {command:?}\n{}", shown(&sandbox, &output)).unwrap();
    }
    insta::assert_snapshot!(report);
    let answer = run(&sandbox, &["policy", "explain", "sudo reboot", "--json"]).assert_code(0).json();
    assert_eq!(answer["commands"][1]["via"], json!(["sudo"]));
    assert_eq!(answer["hits"][0]["rule"], answer["rule"]);
}

#[test]
fn a_corpus_is_held_against_the_policy() {
    let sandbox = Sandbox::repository();
    let good = concat!(
        r#"{"command":"ls","expected":"none"}"#,
        "\n",
        r#"{"command":"pwd","verdict":"allow"}"#,
        "\n",
        r#"{"command":"rm -rf /","expected":"deny"}"#,
        "\n",
        r#"{"command":"git commit -m x","branch":"main","expected":"ask|deny"}"#,
        "\n",
    );
    let file = sandbox.write("work/good", good);
    let good = file.to_str().unwrap();
    insta::assert_snapshot!("good", shown(&sandbox, run(&sandbox, &["policy", "test", good]).assert_code(0)));
    let bad = concat!(
        r#"{"command":"rm -rf /","expected":"allow"}"#,
        "\n",
        r#"{"command":"ls","expected":"deny"}"#,
        "\n",
        r#"{"command":"rm -rf /","expected":"deny:guards/other"}"#,
        "\n",
        r#"{"command":"git stash drop","expected":"deny"}"#,
        "\n",
        r#"{"command":"ls","expected":"none"}"#,
        "\n",
    );
    let file = sandbox.write("work/bad", bad);
    let bad = file.to_str().unwrap();
    insta::assert_snapshot!("bad", shown(&sandbox, run(&sandbox, &["policy", "test", bad]).assert_code(1)));
    let answer = run(&sandbox, &["policy", "test", bad, "--json"]).assert_code(1).json();
    assert_eq!((&answer["rows"], &answer["harmful"], &answer["stopped"]), (&json!(5), &json!(3), &json!(2)));
    assert_eq!((&answer["harmless"], &answer["false_positives"]), (&json!(2), &json!(1)));
    assert_eq!(answer["misses"].as_array().unwrap().len(), 4);
    let mut report = String::new();
    for text in ["{}\n", "{\"command\":\"ls\"}\n", "{\"command\":\"ls\",\"expected\":\"maybe\"}\n", "\n"] {
        sandbox.write("work/rows", text);
        report += &shown(&sandbox, run(&sandbox, &["policy", "test", "rows"]).assert_code(1));
    }
    insta::assert_snapshot!("unreadable", report);
}

#[test]
fn the_list_shows_rules_and_what_files_ask_for() {
    let sandbox = Sandbox::repository();
    sandbox.write(USER, "disable = ['guards/no-verify']\n[[rule]]\nname = 'deploy'\nprogram = 'deploy'\ndecision = 'ask'\nreason = 'a person deploys'\n");
    sandbox
        .write(REPOSITORY, "disable = ['guards/cwd-delete']\n[[rule]]\nprogram = 'x'\ndecision = 'allow'\n");
    let text = run(&sandbox, &["policy", "list"]).assert_code(0).stdout_text();
    for line in [
        "mode: standard",
        "\nguards\n",
        "(switched off by the user)",
        "  ask   user/deploy: a person deploys",
        "ignored: disable of guards/cwd-delete in ",
        "ignored: allow of user/1 in ",
    ] {
        assert!(text.contains(line), "{line:?} in\n{text}");
    }
    let list = run(&sandbox, &["policy", "list", "--json"]).assert_code(0).json();
    assert_eq!(list["disabled"], json!(["guards/no-verify"]));
    assert_eq!(
        (list["ignored"].as_array().unwrap().len(), &list["user_rules"][0]["id"]),
        (2, &json!("user/deploy"))
    );
    assert!(list["rules"].as_array().unwrap().iter().all(|rule| !rule["harm"].as_str().unwrap().is_empty()));
    // What is listed is what judges.
    run(&sandbox, &["policy", "check", "git commit --no-verify -m x", "--branch", "topic"]).assert_code(0);
    run(&sandbox, &["policy", "check", "deploy now"])
        .assert_code(4)
        .assert_stdout("ask by user/deploy: a person deploys\n");
    run(&sandbox, &["policy", "check", "rm -rf ."]).assert_code(4);
}

#[test]
fn a_policy_that_cannot_be_read_judges_nothing() {
    let sandbox = Sandbox::repository();
    sandbox.write(USER, "[[rule]]\nprogram = 'x'\n");
    let mut report = String::new();
    for args in [
        &["policy", "check", "ls"][..],
        &["policy", "check", "ls", "--json"],
        &["policy", "list"],
        &["policy", "export", "--for", "amp"],
    ] {
        report += &shown(&sandbox, run(&sandbox, args).assert_code(1));
    }
    insta::assert_snapshot!(report);
}

#[test]
fn an_export_is_for_its_agent_and_tells_its_gaps() {
    let sandbox = Sandbox::repository();
    for (agent, part) in [
        ("claude", "\"Bash(rm -rf /:*)\""),
        ("codex", "prefix_rule(pattern = [\"rm\",\"-rf\",\"/\"]"),
        ("copilot", "--deny-tool=shell(insmod:*)"),
        ("amp", "\"amp.permissions\""),
    ] {
        let output = run(&sandbox, &["policy", "export", "--for", agent]);
        output
            .assert_code(0)
            .assert_stdout_has(part)
            .assert_stderr_has("place: ")
            .assert_stderr_has("gaps: ");
        let export = run(&sandbox, &["policy", "export", "--for", agent, "--json"]).assert_code(0).json();
        assert_eq!(export["text"], output.stdout_text());
        assert!(export["gaps"]["percent"].as_u64().unwrap() < 100, "{agent}");
    }
    run(&sandbox, &["policy", "export", "--for", "amplifier"])
        .assert_code(1)
        .assert_stderr_has("no permission rules");
    run(&sandbox, &["policy", "export", "--for", "emacs"]).assert_code(2);
}

/// A command can take the variable away by itself; so it is judged by the repository that is there.
#[test]
fn ceilings_of_git_hide_no_repository_from_the_policy() {
    let mut sandbox = Sandbox::repository();
    let work = sandbox.work();
    std::fs::create_dir(work.join("sub")).unwrap();
    sandbox.run("git", ["checkout", "--quiet", "-B", "main"]).assert_code(0);
    sandbox.set("GIT_CEILING_DIRECTORIES", &work);
    for command in [
        "git commit -m x",
        "GIT_CEILING_DIRECTORIES= git commit -m x",
        "unset GIT_CEILING_DIRECTORIES; git commit -m x",
    ] {
        run(&sandbox, &["policy", "check", command, "--cwd", "sub"])
            .assert_code(4)
            .assert_stdout_has("guards/protected-branch");
    }
}
