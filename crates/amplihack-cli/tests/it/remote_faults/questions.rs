//! How machines are asked, and commands that are interrupted.

use amplihack_remote::SessionStatus;
use amplihack_testkit::Running;
use amplihack_testkit::hosts::Spec;
use rustix::process::Signal;

use super::scene::{Kind, Scene};

/// A session that goes on, on a host whose calls of the far side's program are written down.
#[test]
fn a_look_asks_each_machine_once() {
    let Some(scene) = Scene::new(Kind::Ssh, Spec::default()) else { return };
    scene.network.as_ref().unwrap().host("b");
    scene
        .sandbox
        .write("home/.config/amplihack/hosts.toml", "[hosts.a]\ncapacity = 3\n[hosts.b]\ncapacity = 3\n");
    let all = scene.start(&["hold 1", "hold 2", "hold 3", "hold 4", "hold 5", "hold 6"]);
    // Each call of the program, and each connection, leaves a line.
    let network = scene.network.as_ref().unwrap();
    let hosts = ["a", "b"].map(|name| network.find(name).unwrap());
    for host in &hosts {
        let note = "cd .amplihack/remote/bin; for f in runner-*.sh; do sed -i '1a echo \"$1\" >>\"$HOME/calls\"' $f; done";
        host.exec(note).assert_code(0);
    }
    let counted = |args: &[&str]| {
        for host in &hosts {
            host.exec("rm -f calls").assert_code(0);
        }
        scene.run(args).assert_code(0);
        hosts.each_ref().map(|host| host.exec("cat calls 2>/dev/null || :").stdout_text())
    };
    assert_eq!(counted(&["list", "--refresh"]), ["observe\n", "observe\n"]);
    assert_eq!(counted(&["status", "--refresh"]), ["observe\n", "observe\n"]);
    // And nobody without that.
    assert_eq!(counted(&["list"]), ["", ""]);
    assert_eq!(counted(&["status"]), ["", ""]);
    assert_eq!(scene.state().sessions.len(), all.len());
    scene.go();
}

/// Interrupts a command as a terminal does.
fn interrupt(running: Running) {
    running.signal_group(Signal::INT);
    running.wait().assert_code(130);
}

#[test]
fn an_interrupt_ends_a_command_with_130_and_no_session() {
    let Some(scene) = Scene::new(Kind::Local, Spec::default()) else { return };
    let mut exec = scene.remote(&["exec", "auto", "hold", "--max-turns", "1"]).spawn();
    exec.until_stdout_has("tick 2");
    interrupt(exec);
    let id = scene.state().sessions.keys().next().unwrap().clone();
    assert_eq!(scene.status(&id), SessionStatus::Running);

    let mut follow = scene.remote(&["output", &id, "--follow", "--raw"]).spawn();
    follow.until_stdout_has("tick 2");
    interrupt(follow);
    let waiting = scene.remote(&["wait", &id]).spawn();
    std::thread::sleep(std::time::Duration::from_millis(500));
    interrupt(waiting);
    assert_eq!(scene.refreshed(&id)["status"], "running");
    assert_eq!(scene.refreshed(&id)["exit_code"], serde_json::Value::Null);

    // A start that is interrupted is settled as one that was killed.
    for step in 1..6 {
        let starting = scene.starting(&["hold 2"]);
        std::thread::sleep(std::time::Duration::from_millis(step * 80));
        starting.signal_group(Signal::INT);
        let output = starting.wait();
        assert!(output.code == Some(130) || output.code == Some(0), "{output}");
        scene.assert_settles(&format!("interrupt {step}"));
        for (other, record) in scene.state().sessions {
            if other != id && record.session.status == SessionStatus::Running {
                scene.run(&["kill", &other]).assert_code(0);
            }
        }
    }
    // The first goes on, and ends as if nothing had been.
    scene.go();
    scene.run(&["wait", &id]).assert_code(0);
    assert_eq!(scene.ran()[&id], 1);
    scene.assert_no_secret_left();
}

#[test]
fn ends_of_commands_have_their_codes() {
    let Some(scene) = Scene::new(Kind::Local, Spec::default()) else { return };
    let id = scene.start(&["quick"]).remove(0);
    scene.run(&["wait", &id]).assert_code(0);
    scene.run(&["output", &id, "--follow"]).assert_code(0);
    scene.run(&["start", "quick", "--agent", "codex"]).assert_code(1);
    scene.run(&["start"]).assert_code(2);
    scene.run(&["exec", "auto", "x", "--timeout", "4"]).assert_code(2);
    scene.run(&["wait", "sess-20260101-000000-0000"]).assert_code(3);
    scene.run(&["kill", "sess-20260101-000000-0000"]).assert_code(3);
}
