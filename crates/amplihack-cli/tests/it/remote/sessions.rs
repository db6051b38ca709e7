//! Sessions are started, listed, waited for, read, ended.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;

use crate::remote::world::{Kind, World, ids, running};

/// What agents do by their prompts.
const BY_PROMPT: &str = r#"
echo "$(cat "$prompt")" >words; i=0
case $(cat "$prompt") in
good) while [ $i -lt 150 ]; do i=$((i + 1)); tell "line $i"; done ;;
bad) tell trouble; code=9 ;;
slow) sh -c 'sleep 600; :' "$WORD" ;;
esac
"#;

/// `text` with the names of this run's sessions and machines replaced.
fn masked(world: &World, text: &str, ids: &[String]) -> String {
    let mut text = text.to_owned();
    for (number, id) in (1..).zip(ids) {
        let vm = world.session(id)["vm_name"].as_str().unwrap().to_owned();
        // Columns keep their widths.
        text = text.replace(id, &format!("{:<25}", format!("SESSION-{number}")));
        if world.azlin.is_some() {
            text = text.replace(&vm, &format!("{:<width$}", "VM", width = vm.len()));
        }
    }
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn shape(value: &Value) -> String {
    let mut text = String::new();
    for (name, value) in value.as_object().unwrap() {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "text",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let _ = write!(text, "{name}:{kind} ");
    }
    text
}

everywhere! {
    fn each_prompt_is_a_session_of_its_own_with_its_true_end(world) {
        let word = world.sandbox.marker("slow");
        let started = world.run(&[
            "start", "--env", &format!("PLAY={BY_PROMPT}"), "--env", &format!("WORD={word}"), "good", "bad", "slow", "--json",
            "--max-turns", "1", "--permissions", "full",
        ]);
        started.assert_code(0).assert_stderr("");
        let object = started.json();
        assert_eq!((&object["started"], &object["failed"]), (&3.into(), &0.into()), "{started}");
        let all = ids(&object);
        let before = Timestamp::now();
        let ended = world.wait(&all[..2]);
        let facts = |session: &Value| (session["status"].clone(), session["exit_code"].clone());
        assert_eq!(facts(&ended[0]), ("completed".into(), 0.into()), "{ended:?}");
        assert_eq!(ended[1]["status"], "failed", "{ended:?}");
        // The code of `auto` for an agent that fails.
        assert_eq!(ended[1]["exit_code"], 1, "{ended:?}");
        for session in &ended {
            let time = |name: &str| session[name].as_str().unwrap().parse::<Timestamp>().unwrap();
            assert!(time("started_at") <= time("completed_at"), "{session}");
            assert!(before.duration_since(time("started_at")).as_secs().abs() < 120, "{session}");
        }

        // Each has a work tree and a log of its own.
        for (id, prompt) in all.iter().zip(["good", "bad", "slow"]) {
            world.seen(id, "argv.1");
            let words = world.tree(id).join("words");
            world.until("the agent's file", || words.exists());
            world.until("what the agent wrote", || std::fs::read_to_string(&words).is_ok_and(|text| text == format!("{prompt}\n")));
            assert_eq!(std::fs::read_to_string(world.tree(id).join("file")).unwrap(), "one\n");
        }
        world.until("the slow one", || !running(&word).is_empty());
        world.until("the slow one is seen", || {
            world.run(&["list", "--refresh"]).assert_code(0);
            world.session(&all[2])["status"] == "running"
        });

        let list = world.run(&["list"]);
        list.assert_code(0).assert_stderr("");
        let status = world.run(&["status"]);
        status.assert_code(0).assert_stderr("");
        let pool = world.run(&["pool", "list"]);
        let list_json = world.json(&["list"]);
        let status_json = world.json(&["status"]);
        let shapes = format!(
            "{}\n{}\n{}\n{}",
            shape(&list_json[0]), shape(&status_json), shape(&status_json["pool"]), shape(&status_json["pool"]["vms"][0])
        );
        let text = format!("{list}---\n{status}---\n{pool}---\n{shapes}", list = list.stdout_text(), status = status.stdout_text(),
            pool = pool.stdout_text());
        insta::assert_snapshot!(format!("remote_sessions_{}", world.kind.name()), masked(world, &text, &all));
        assert_eq!(world.json(&["list", "--status", "failed"]).as_array().unwrap().len(), 1);

        // Logs are read after the end, and followed to the byte.
        let log = std::fs::read_to_string(world.far(&all[0]).join("log")).unwrap();
        assert!(log.contains("line 150"), "{log}");
        let lines: Vec<&str> = log.lines().collect();
        let shown = world.run(&["output", &all[0], "--lines", "7"]);
        shown.assert_code(0).assert_stdout_has("Status: completed");
        assert!(shown.stdout_text().ends_with(&(lines[lines.len() - 7..].join("\n") + "\n")), "{shown}");
        let object = world.json(&["output", &all[0], "--lines", "1"]);
        assert_eq!(object["output"].as_str().unwrap().trim_end(), *lines.last().unwrap());
        world.run(&["output", &all[0], "--follow", "--raw"]).assert_code(0).assert_stdout(&log);
        let from = (log.len() / 2).to_string();
        world.run(&["output", &all[0], "--follow", "--raw", "--from", &from]).assert_stdout(&log[log.len() / 2..]);
        world.run(&["output", &all[1], "--follow"]).assert_code(1).assert_stdout_has("trouble");

        // One that runs is ended, whole, and its slot is free.
        let taken = |world: &World| world.json(&["status"])["pool"]["active_sessions"].as_u64().unwrap();
        assert_eq!(taken(world), 1);
        let killed = world.json(&["kill", &all[2]]);
        assert_eq!(running(&word), [], "{killed}");
        assert_eq!(killed["session"]["status"], "killed");
        let did = ["remote_kill_attempted", "remote_kill_succeeded", "capacity_released"].map(|name| killed[name] == true);
        assert_eq!(did, [true; 3], "{killed}");
        assert_eq!(taken(world), 0);
        let code = world.session(&all[2])["exit_code"].as_i64().and_then(|code| code.try_into().ok());
        world.run(&["output", &all[2], "--follow"]).assert_code(code.unwrap_or(1));

        // A second time, one that had ended, and one that nobody knows.
        for id in [&all[2], &all[0]] {
            let again = world.json(&["kill", id]);
            assert_eq!((&again["remote_kill_attempted"], &again["capacity_released"]), (&false.into(), &false.into()));
        }
        assert_eq!(world.session(&all[0])["status"], "completed");
        for command in ["kill", "output", "wait", "pull"] {
            let missing = world.run(&[command, "sess-20260101-000000-0000"]);
            missing.assert_code(3).assert_stderr_has("session 'sess-20260101-000000-0000' not found");
            missing.assert_stderr_has("amplihack remote list");
        }
    }
}

#[test]
fn a_forced_kill_of_a_session_whose_machine_nobody_knows_claims_no_attempt() {
    World::with(Kind::Local, |world| {
        let ids = ids(&world.run(&["start", "--json", "hold", "hold"]).assert_code(0).json());
        let file = world.sandbox.home().join(".amplihack/remote-state.json");
        let mut state: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        state["vm_pool"] = serde_json::json!({});
        std::fs::write(&file, state.to_string()).unwrap();
        world
            .run(&["kill", &ids[0]])
            .assert_code(1)
            .assert_stderr_has("machine 'local' is not known any more");
        let killed = world.json(&["kill", &ids[0], "--force"]);
        let did =
            ["remote_kill_attempted", "remote_kill_succeeded", "capacity_released"].map(|name| &killed[name]);
        assert_eq!(did, [false; 3].map(|_| &Value::Bool(false)), "{killed}");
        let text = world.run(&["kill", &ids[1], "--force"]);
        text.assert_code(0);
        text.assert_stdout(format!("Session '{}' is recorded as killed; local was not asked.\n", ids[1]));
        world.run(&["list"]).assert_stderr_has("its machine did not confirm its end");
    });
}
