//! Machines that answer what they like, and clients that are killed: nothing here is filled, painted over or believed.

use std::fs;
use std::path::PathBuf;

use crate::remote::exec::last;
use crate::remote::world::{Kind, World, ids};

/// The scripts that this machine has of the far side.
fn runners(world: &World) -> Vec<PathBuf> {
    let bin = world.sandbox.home().join(".amplihack/remote/bin");
    fs::read_dir(bin).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Makes the far side answer `verb` by this shell text.
fn answers(world: &World, verb: &str, text: &str) {
    for path in runners(world) {
        let before = fs::read_to_string(&path).unwrap();
        let own = format!("case $1 in {verb}) echo 'amplihack-runner 1'; {text}; exit ;; esac\n");
        fs::write(&path, own + &before).unwrap();
    }
}

/// A session of this machine that has ended.
fn ended(world: &World) -> String {
    let id = world.start_one("echo new >new");
    world.wait(std::slice::from_ref(&id));
    id
}

#[test]
fn an_answer_without_an_end_fills_no_disk_here() {
    World::with(Kind::Local, |world| {
        let id = ended(world);
        let tmp = world.sandbox.write("tmp/x", "").parent().unwrap().to_owned();
        let tmp = tmp.to_str().unwrap();
        let endless = "timeout 60 head -c 3000000000 /dev/zero";
        let run = |args: &[&str]| world.remote_with(&[("TMPDIR", tmp)], args).output();
        for (verb, args) in [("read", ["output", &id]), ("setup", ["output", &id]), ("fetch", ["pull", &id])]
        {
            answers(world, verb, endless);
            let args = if verb == "setup" { vec!["output", &id, "--setup"] } else { args.to_vec() };
            let output = run(&args);
            output.assert_code(1).assert_stderr_has("sends more than was asked for, and was not listened to");
        }
        // Nor is it believed how much there is.
        answers(world, "collect", &format!("echo results 9999999999999999 {} -", "0".repeat(64)));
        let refused = run(&["pull", &id]);
        refused.assert_code(1).assert_stderr_has("MB free").assert_stderr_has("set TMPDIR");
        answers(world, "observe", &format!("echo {id} ended 0 5 6 18446744073709551615"));
        answers(world, "read", "head -c 4194304 /dev/zero | tr '\\0' a");
        run(&["output", &id]).assert_code(0);
    });
}

#[test]
fn what_a_machine_says_is_no_command_to_the_terminal() {
    World::with(Kind::Local, |world| {
        let id = ended(world);
        let paint = r"\033]0;title\007\033[2J";
        answers(
            world,
            "probe",
            &format!(r"printf 'protocol 1\nmachine x\nfree_mb 9999\nprogram git {paint}\nmissing {paint}\n'"),
        );
        let doctor = world.run(&["doctor"]);
        doctor.assert_code(1).assert_stdout_has("git: [U+001B]]0;title[U+0007][U+001B][2J\n");
        answers(world, "observe", &format!("printf '{paint}\\n'"));
        answers(world, "end", &format!("printf '{paint}\\n' >&2; exit 74"));
        let live = world.run(&["output", &id]);
        live.assert_code(1).assert_stderr_has("[U+001B]]0;title[U+0007]");
        for output in [doctor, live] {
            assert!(!output.to_string().contains(['\u{1b}', '\u{7}']), "{output}");
        }
    });
}

#[test]
fn logs_and_names_of_agents_are_no_commands_to_the_terminal() {
    World::with(Kind::Local, |world| {
        let play = r#"PLAY=tell "$(printf '\033[31mred\033[0m\033]0;title\007')"
            git checkout -qb 'a;touch${IFS}x'; printf x >"$(printf 'f\033[2J')"; echo two >file; git add -A; git commit -qm w"#;
        let output = world.run(&["exec", "auto", "do it", "--env", play]);
        output.assert_code(0).assert_stdout_has("\u{1b}[31mred\u{1b}[0m[U+001B]]0;title[U+0007]\n");
        let id = world.start_one(&play["PLAY=".len()..]);
        world.wait(std::slice::from_ref(&id));
        let shown = world.run(&["output", &id]);
        shown.assert_stdout_has("\u{1b}[31mred\u{1b}[0m[U+001B]]0;title[U+0007]\n");
        let raw = world.run(&["output", &id, "--follow", "--raw"]);
        raw.assert_code(0).assert_stdout_has("\u{1b}]0;title\u{7}\n");
        // Somebody has a file of that name here, too, and pastes what he is told to run.
        world.sandbox.write("work/f\u{1b}[2J", "y");
        world.git(&["add", "-A"]);
        world.git(&["commit", "-qm", "here"]);
        let pulled = world.run(&["pull", &id]);
        pulled.assert_code(0).assert_stdout_has("  f[U+001B][2J\n");
        pulled.assert_stdout_has(&format!("  git merge 'remote-exec/{id}/a;touch${{IFS}}x'\n"));
        assert!(last(world) == id);
    });
}

#[test]
fn a_repeated_start_does_not_say_that_what_was_cut_off_was_started() {
    World::with(Kind::Local, |world| {
        ended(world);
        let scripts: Vec<(PathBuf, String)> = runners(world)
            .into_iter()
            .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
            .collect();
        let marker = world.sandbox.home().join("waits");
        answers(world, "start", &format!("touch '{}'; sleep 600", marker.display()));
        let args = ["start", "--json", "--idempotency-key", "nightly", "do it"];
        let first = world.remote(&args).spawn();
        world.until("the start", || marker.exists());
        first.signal(rustix::process::Signal::KILL);
        first.wait();
        for (path, text) in scripts {
            fs::write(path, text).unwrap();
        }
        for _ in 0..2 {
            let second = world.run(&args);
            let object = second.assert_code(1).json();
            assert_eq!((&object["started"], &object["failed"]), (&0.into(), &1.into()), "{object}");
            let error = &object["sessions"][0]["error"];
            assert!(error["hint"].as_str().unwrap().contains("another idempotency key"), "{error}");
        }
        let third = world.run(&["start", "--json", "--idempotency-key", "nightly-2", "do it"]);
        third.assert_code(0);
        world.wait(&ids(&third.json()));
    });
}

#[test]
fn a_branch_may_have_any_name_that_git_takes() {
    World::with(Kind::Local, |world| {
        for name in ["a\u{a0}b", "a'b", "a$(x)b", "a;b", "@x", "ü"] {
            world.git(&["checkout", "-q", "-B", name]);
            let output =
                world.run(&["exec", "auto", "do it", "--env", "PLAY=git commit -qm x --allow-empty"]);
            output.assert_code(0);
            let here = format!("refs/remotes/remote-exec/{}/{name}", last(world));
            assert_eq!(world.git(&["log", "-1", "--format=%s", &here]), "x", "{name}");
        }
    });
}
