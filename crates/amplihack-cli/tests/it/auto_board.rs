//! What a person at the terminal sees of unattended runs, and a program likewise.

use std::fs;
use std::time::{Duration, Instant};

use amplihack_testkit::{Output, Sandbox, Tmux};
use serde_json::Value;

use crate::auto::claude;
use crate::world::{amplihack, prepare};

/// `amplihack parallel` of the fake Claude with `tasks` in a file, and `args`.
fn parallel(sandbox: &Sandbox, tasks: &str, args: &[&str]) -> Output {
    sandbox.write("tasks", tasks);
    let file = sandbox.root().join("tasks");
    let all = ["parallel", "--agents", "claude", "--task-file", file.to_str().unwrap()];
    prepare(sandbox, &[&all[..], args].concat()).output()
}

#[test]
fn plain_lines_name_tasks_and_why_a_check_failed() {
    let sandbox = claude("echo x >> f; result done");
    let check = "test $(wc -l < f) -ge 2 || { echo '1 passed'; echo '2 failed'; exit 1; }";
    let output = parallel(&sandbox, "fix the parser\nfix the lexer\n", &["--verify", check]);
    output.assert_code(0);
    for line in [
        "task 1: fix the parser (claude)\n",
        "task 2: fix the lexer (claude)\n",
        "task 2 (fix the lexer): turn 1 of 10: claude, execute\n",
        "task 1 (fix the parser): turn 1: reports done\n",
        &format!("task 1 (fix the parser): turn 1: checking: `{check}` (at most 10:00)\n"),
        &format!("task 2 (fix the lexer): turn 1: check failed: `{check}`: 2 failed\n"),
        "task 2 (fix the lexer): turn 2: check passed\n",
        "task 1 (fix the parser): verified (red → green): the check passed (turns: 2)\n",
    ] {
        output.assert_stderr_has(line);
    }
    let lines = output.stderr_text();
    assert_eq!(lines.matches("): verified (").count(), 2, "{output}");
    let unchanged = claude("result done ',\\\"changes\\\":true'");
    let output = parallel(&unchanged, "one\n", &["--verify", "true"]);
    output.assert_code(1).assert_stderr_has("task 1 (one): turn 1: no file changed\n");
}

#[test]
fn a_program_gets_the_tasks_with_their_numbers() {
    let sandbox = claude("echo x > f; result done");
    let output =
        parallel(&sandbox, "\u{feff}fix the parser\nfix the lexer\n", &["--verify", "test -e f", "--json"]);
    output.assert_code(0);
    let events: Vec<Value> =
        output.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["type"], "tasks");
    assert_eq!(
        events[0]["tasks"][0],
        serde_json::json!({ "task": 1, "agent": "claude", "title": "fix the parser" })
    );
    let ended: Vec<&Value> = events.iter().filter(|event| event["type"] == "ended").collect();
    assert_eq!(ended.len(), 2);
    for event in ended {
        let title = ["fix the parser", "fix the lexer"][usize::from(event["task"] == 2)];
        assert_eq!((&event["title"], &event["baseline"]), (&title.into(), &"red".into()));
    }
    let prompts: Vec<String> = sandbox
        .runs()
        .iter()
        .map(|run| format!("{:?}", run.stdin) + &run.args().last().unwrap().lossy())
        .collect();
    assert!(prompts.iter().all(|prompt| !prompt.contains('\u{feff}')), "{prompts:?}");
}

#[test]
fn a_file_that_looks_like_markdown_is_not_cut_unseen() {
    let sandbox = claude("echo x > f; result done");
    let text = "# Fix the parser\n\nIt fails on:\n- tabs\n- quotes\n";
    let output = parallel(&sandbox, text, &["--verify", "test -e f"]);
    output
        .assert_code(2)
        .assert_stderr_has("would be 4 tasks")
        .assert_stderr_has("task 1: Fix the parser")
        .assert_stderr_has("task 4: quotes")
        .assert_stderr_has("---")
        .assert_stderr_has("--one-per-line");
    assert_eq!(sandbox.starts(), []);
    let output = parallel(&sandbox, text, &["--verify", "test -e f", "--one-per-line"]);
    output.assert_code(0).assert_stderr_has("task 4: quotes (claude)");
    assert_eq!(sandbox.runs().len(), 4);
    let output = parallel(&sandbox, &format!("{text}---\nfix the lexer"), &["--verify", "test -e f"]);
    output.assert_code(0).assert_stderr_has("task 2: fix the lexer");
}

/// Lines of the screen that begin with `start`.
fn lines<'a>(screen: &'a str, start: &str) -> Vec<&'a str> {
    screen.lines().filter(|line| line.starts_with(start)).collect()
}

#[test]
fn a_terminal_of_80_columns_shows_tasks_checks_and_ends() {
    if !Tmux::is_installed() {
        return;
    }
    // The first task passes at once; the second fails its check, then waits.
    let sandbox = claude(
        r#"case $(cat "$HOME/first" 2>/dev/null) in '') echo $PWD > "$HOME/first" ;; esac
echo x >> f; say a
if [ "$(cat "$HOME/first")" != "$PWD" ]; then [ "$(wc -l < f)" -ge 2 ] && while [ ! -e "$HOME/go" ]; do sleep 0.02; done
else echo x >> f; fi
result done"#,
    );
    sandbox.write("tasks", "fix the parser, which fails on every tab there is\nfix the lexer\n");
    let tmux = Tmux::new(&sandbox);
    let check = "test $(wc -l < f) -ge 2 || { echo 2 failed; false; }";
    let script = format!(
        "NO_COLOR=1 '{}' parallel --max 1 --agents claude --task-file '{}' --verify '{check}'; echo \"exit=$?\"; exec cat",
        amplihack().display(),
        sandbox.root().join("tasks").display()
    );
    tmux.new_session("a", "sh", ["-c", &script]);
    let screen = tmux.wait_for("a", "2/10 writing", Duration::from_mins(1));
    assert!(screen.contains("task 2: fix the lexer (claude)"), "{screen}");
    assert_eq!(lines(&screen, "1 fix the parser").len(), 1, "{screen}");
    assert_eq!(lines(&screen, "2 fix the lexer").len(), 1, "{screen}");
    assert!(screen.contains("    check failed: `test"), "{screen}");
    let row = lines(&screen, "1 fix the parser")[0];
    assert!(row.contains("… verified (red") && row.len() >= 60, "{screen}");
    // The clock of what has ended stands still, the other's does not.
    let clock = |screen: &str, start: &str| -> String {
        lines(screen, start)
            .first()
            .and_then(|line| line.rsplit("· ").next())
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let (ended, begun) = (clock(&screen, "1 fix"), clock(&screen, "2 fix"));
    let deadline = Instant::now() + Duration::from_secs(30);
    let later = loop {
        let screen = tmux.capture("a");
        if clock(&screen, "2 fix") > begun {
            break screen;
        }
        assert!(Instant::now() < deadline, "{screen}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(clock(&later, "1 fix"), ended, "{later}");
    fs::write(sandbox.home().join("go"), "").unwrap();
    let screen = tmux.wait_for("a", "exit=0", Duration::from_secs(30));
    let row = lines(&screen, "2 fix the lexer");
    assert!(row.len() == 1 && row[0].contains("verified (red → green)"), "{screen}");
}

#[test]
fn a_single_run_is_one_line_and_its_task_is_not_shown() {
    if !Tmux::is_installed() {
        return;
    }
    let sandbox = claude("say a; while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done; result done");
    let tmux = Tmux::new(&sandbox);
    let script = format!(
        "'{}' auto --agent claude --task secret-task --verify 'test -e \"$HOME/go\" && sleep 1'; echo \"exit=$?\"; exec cat",
        amplihack().display()
    );
    tmux.new_session("a", "sh", ["-c", &script]);
    let screen = tmux.wait_for("a", "claude 1/10 writing · 19 tokens", Duration::from_mins(1));
    assert_eq!(screen.matches("claude 1/10").count(), 1, "{screen}");
    fs::write(sandbox.home().join("go"), "").unwrap();
    tmux.wait_for("a", "checking: test -e", Duration::from_secs(30));
    let screen = tmux.wait_for("a", "exit=0", Duration::from_secs(30));
    assert!(screen.contains("verified (red → green): the check passed"), "{screen}");
    assert!(!screen.contains("secret-task"), "{screen}");
}
