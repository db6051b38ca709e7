//! Machines that are rented: asked for in azlin's words, never left without a word, never deleted too early.

use amplihack_testkit::azlin::Fault;
use amplihack_testkit::{Azlin, Output, Run};

use crate::remote::exec::last;
use crate::remote::world::{Kind, World};

fn azlin(world: &World) -> &Azlin {
    world.azlin.as_ref().unwrap()
}

/// The different calls, a line each in the order of their first, with names replaced and of the script's lines only the verb.
fn calls(world: &World) -> Vec<String> {
    let masked = |word: String| {
        if word.starts_with("amplihack-tester-") {
            return "VM".to_owned();
        }
        let Some((_, words)) = word.rsplit_once("' sh").filter(|_| word.starts_with("sh -c ")) else {
            return word;
        };
        format!("SCRIPT {}", words.split_whitespace().next().unwrap_or("is brought"))
    };
    let mut lines: Vec<String> = Vec::new();
    for call in azlin(world).calls() {
        let line = call.argv.into_iter().map(masked).collect::<Vec<_>>().join(" ");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

const EXEC: &[&str] = &["exec", "auto", "do it"];

fn exec(world: &World, args: &[&str]) -> Output {
    world.run(&[EXEC, args].concat())
}

#[test]
fn calls_are_in_the_grammar_of_todays_azlin() {
    World::with(Kind::Azlin, |world| {
        exec(world, &["--region", "westus2", "--vm-size", "Standard_D8s_v3", "--", "--tmp-disk-size", "64"]);
        insta::assert_snapshot!(calls(world).join("\n"));
    });
}

#[test]
fn each_failure_has_its_reason_and_leaves_no_machine_without_a_word() {
    World::with(Kind::Azlin, |world| {
        // What fails, the reason, a word of the hint, how often a machine is asked for, and whether one is there afterwards.
        for (fault, reason, hint, asked) in [
            (Fault::Quota, "quota", "quota", 1),
            (Fault::Capacity, "capacity", "--region", 1),
            (Fault::Allocation, "capacity", "--region", 1),
        ] {
            let before = azlin(world).count("new");
            azlin(world).fail(fault);
            let output = exec(world, &["--json"]);
            output.assert_code(1);
            let error = &output.json()["error"];
            assert_eq!(
                (&error["kind"], &error["context"]["reason"]),
                (&"provisioning".into(), &reason.into()),
                "{output}"
            );
            assert!(error["hint"].as_str().unwrap().contains(hint), "{output}");
            assert_eq!(azlin(world).count("new") - before, asked, "{fault:?}");
            assert_eq!(azlin(world).vms(), [], "{fault:?}");
            assert_eq!(world.json(&["status"])["pool"]["active_sessions"], 0);
        }
        // Nobody is logged in: nothing is tried again, and nothing was made.
        azlin(world).fail(Fault::Auth);
        let output = exec(world, &["--json"]);
        output.assert_code(1);
        assert_eq!(output.json()["error"]["context"]["reason"], "auth", "{output}");
        assert!(output.json()["error"]["hint"].as_str().unwrap().contains("az login"), "{output}");
        assert_eq!(azlin(world).vms(), []);
        // Azure goes on where azlin gave up: the machine is found by its name, used, and deleted.
        for fault in [Fault::TimedOut, Fault::NoEgress] {
            azlin(world).fail(fault);
            exec(world, &[]).assert_code(0);
            assert_eq!(azlin(world).vms(), [], "{fault:?}");
        }
        assert_eq!(azlin(world).faults(), []);
    });
}

#[test]
fn what_may_pass_is_tried_again_within_the_budget_and_nothing_else_is() {
    World::with(Kind::Azlin, |world| {
        // Without a budget it is told at once.
        azlin(world).fail(Fault::Throttled);
        let output = exec(world, &["--json"]);
        output.assert_code(1);
        assert_eq!(output.json()["error"]["context"]["reason"], "transient", "{output}");
        assert_eq!((azlin(world).count("new"), azlin(world).vms().len()), (1, 0));
        azlin(world).fail(Fault::Throttled);
        let output = world.remote_with(&[("AMPLIHACK_REMOTE_RETRY_BUDGET_SECS", "60")], EXEC).output();
        output.assert_code(0);
        assert_eq!((azlin(world).count("new"), azlin(world).vms().len()), (3, 0));
    });
}

#[test]
fn machines_are_deleted_when_nothing_keeps_them_and_only_then() {
    World::with(Kind::Azlin, |world| {
        // One that was to stay.
        exec(world, &["--keep-vm"]).assert_code(0).assert_stderr_has("VM: amplihack-tester-");
        let kept = azlin(world).vms().remove(0).name;
        // It is used again, and named by the user, and stays then, too.
        exec(world, &["--vm-name", &kept]).assert_code(0).assert_stderr_has(&format!("VM: {kept}\n"));
        assert_eq!((azlin(world).count("new"), azlin(world).vms().len()), (1, 1));
        let missing = exec(world, &["--vm-name", "nobody"]);
        missing.assert_code(1).assert_stderr_has("azlin lists no running machine 'nobody'");
        assert_eq!(azlin(world).vms().len(), 1);

        // One whose deletion is not complete is told, with its name and what to do.
        azlin(world).fail(Fault::Leftovers);
        let output = exec(world, &["--no-reuse"]);
        output
            .assert_code(1)
            .assert_stderr_has("may still")
            .assert_stderr_has("azlin kill amplihack-tester-");
        assert!(azlin(world).vms().iter().all(|vm| vm.name == kept));
        exec(world, &["--no-reuse"]).assert_code(0);
        assert_eq!(azlin(world).vms().len(), 1);
    });
}

#[test]
fn a_pool_is_swept_and_what_nobody_knows_is_named() {
    World::with(Kind::Azlin, |world| {
        let id = world.start_one("echo x >made");
        world.wait(&[id.clone()]);
        let vm = world.session(&id)["vm_name"].as_str().unwrap().to_owned();
        let kept = world.run(&["pool", "gc", "--idle", "0s"]);
        kept.assert_code(0).assert_stdout_has(&format!("{vm} is kept: "));
        world.run(&["pull", &id]).assert_code(0).assert_stdout_has("Files changed: 1");
        world.run(&["pool", "gc"]).assert_code(0).assert_stdout("No machine is idle.\n");
        let would = world.run(&["pool", "gc", "--idle", "0s", "--dry-run"]);
        would.assert_code(0).assert_stdout(format!("{vm} would be given back.\n"));
        assert_eq!(azlin(world).vms().len(), 1);
        // A machine of ours that this state does not know.
        let mut new = world.sandbox.command("azlin");
        new.args([
            "new",
            "--name",
            "amplihack-other-1",
            "--vm-size",
            "Standard_D2s_v3",
            "--region",
            "eastus",
            "--yes",
        ]);
        world.wrapped(new.arg("--no-auto-connect")).output().assert_code(0);
        let swept = world.run(&["pool", "gc", "--idle", "0s"]);
        swept.assert_code(0).assert_stdout_has(&format!("{vm} was given back.\n"));
        swept
            .assert_stdout_has("amplihack-other-1 is kept: ")
            .assert_stdout_has("azlin kill amplihack-other-1 --force");
        assert_eq!(
            azlin(world).vms().iter().map(|vm| vm.name.as_str()).collect::<Vec<_>>(),
            ["amplihack-other-1"]
        );
    });
}

#[test]
fn more_machines_than_allowed_are_not_rented() {
    World::with(Kind::Azlin, |world| {
        let args =
            ["start", "--json", "--size", "s", "--max-vms", "1", "--env", "PLAY=sleep 600", "one", "two"];
        let output = world.run(&args);
        output.assert_code(1);
        let object = output.json();
        assert_eq!((&object["started"], &object["failed"]), (&1.into(), &1.into()), "{output}");
        assert_eq!((azlin(world).count("new"), azlin(world).vms().len()), (1, 1));
    });
}

#[test]
fn old_lists_are_read_and_machines_without_an_address_for_everybody_are_reached() {
    World::with(Kind::Azlin, |world| {
        azlin(world).old_list();
        exec(world, &["--env", "PLAY=echo x >made"]).assert_code(0).assert_stderr_has("Files changed: 1");
        // Only azlin reaches it; one with a public address is reached by ssh.
        let through = azlin(world).count("connect");
        assert!(through > 3, "{:?}", calls(world));
        let output = exec(world, &["--env", "PLAY=echo x >made", "--", "--public"]);
        output.assert_code(0).assert_stderr_has("Files changed: 1");
        assert_eq!((azlin(world).count("connect"), azlin(world).vms().len()), (through, 0));
    });
}

#[test]
fn a_tunnel_is_used_where_one_is_named() {
    World::with(Kind::Azlin, |world| {
        exec(world, &["--keep-vm"]).assert_code(0);
        let vm = azlin(world).vms().remove(0);
        let mut ssh = world.sandbox.command("/usr/bin/ssh");
        ssh.args([
            "-oBatchMode=yes",
            "-oExitOnForwardFailure=yes",
            "-N",
            "-L",
            &format!("127.0.0.1:20022:{}:22", vm.ip),
            &vm.name,
        ]);
        let tunnel = world.wrapped(&ssh).spawn();
        let through = |world: &World| {
            world.network.as_ref().unwrap().wrap(world.sandbox.command("/usr/bin/ssh-keyscan").args([
                "-p",
                "20022",
                "127.0.0.1",
            ]))
        };
        world.until("the tunnel", || Run::new(through(world)).output().stdout_text().contains("ssh-"));
        // Another client, whose state does not know the machine.
        let state = world.sandbox.root().join("other-state.json").display().to_string();
        let output = exec(
            world,
            &["--vm-name", &vm.name, "--port", "20022", "--state-file", &state, "--env", "PLAY=echo x >made"],
        );
        output.assert_code(0).assert_stderr_has("Files changed: 1");
        assert!(std::fs::read_to_string(&state).unwrap().contains("20022"));
        drop(tunnel);
        assert_eq!(last(world).len(), 25);
    });
}
