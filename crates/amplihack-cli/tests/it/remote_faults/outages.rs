//! Machines that are cut off, switched off, restarted, full, crowded or replaced.

use std::time::Duration;

use amplihack_remote::{SessionCondition, SessionStatus};
use amplihack_testkit::hosts::{HostLimits, Spec};
use amplihack_testkit::{Host, Output};
use rustix::process::Signal;
use serde_json::Value;

use super::scene::{Kind, Scene, roomy};

/// One host, and a session on it that goes on.
fn held(spec: Spec) -> Option<(Scene, Host, String)> {
    let scene = Scene::new(Kind::Ssh, spec)?;
    let id = scene.start(&["hold"]).remove(0);
    scene.until("the agent", |scene| scene.ran().contains_key(&id));
    let host = scene.hosts().remove(0);
    Some((scene, host, id))
}

fn facts(session: &Value) -> (&str, Option<&str>, Option<i64>) {
    (session["status"].as_str().unwrap(), session["condition"].as_str(), session["exit_code"].as_i64())
}

fn slots(scene: &Scene) -> usize {
    scene.state().vm_pool.values().map(|machine| machine.active_sessions.len()).sum()
}

#[test]
fn a_machine_out_of_reach_is_no_end_and_one_without_power_is() {
    let Some((scene, host, id)) = held(roomy()) else { return };
    let more = scene.start(&["quick", "hold short", "hold forced"]);
    let [quick, short, forced] = [&more[0], &more[1], &more[2]];
    scene.until("the agents", |scene| scene.ran().len() == 4);
    scene.until("the quick one", |scene| scene.refreshed(quick)["status"] == "completed");
    let there = |name: &str| host.home().join(format!(".amplihack/remote/sessions/{name}/exit"));

    host.cut();
    scene.go(Some("short"));
    scene.until("an end there", |_| there(short).exists());
    let unreachable = ("running", Some("unreachable"), None);
    assert_eq!(facts(&scene.refreshed(&id)), unreachable);
    assert_eq!(slots(&scene), 3, "a slot was given away on a guess");
    // A kill without force is an error and changes nothing.
    let before = scene.state();
    let refused = scene.run(&["kill", forced]);
    assert_ne!(refused.code, Some(0), "{refused}");
    refused.assert_stderr_has("--force");
    assert_eq!(scene.state(), before);
    // One with force gives the slot back, and says that nothing is known.
    let killed = scene.json(&["kill", forced, "--force"]);
    assert_eq!(killed["session"]["status"], "killed");
    let did = ["remote_kill_attempted", "remote_kill_succeeded", "capacity_released"]
        .map(|name| killed[name] == true);
    assert_eq!(did, [true, false, true], "{killed}");
    assert_eq!(slots(&scene), 2);
    assert!(!there(forced).exists(), "it runs there yet");
    scene.run(&["list"]).assert_code(0).assert_stderr_has("its machine did not confirm its end");

    host.join();
    assert_eq!(facts(&scene.refreshed(&id)), ("running", None, None));
    // What ended meanwhile has its true end, and what was killed is ended there.
    let state = scene.state();
    let short = &state.sessions[short];
    assert_eq!((short.session.status, short.session.exit_code), (SessionStatus::Completed, Some(0)));
    assert!(there(forced).exists() && !state.sessions[forced].end_unconfirmed);
    assert_eq!(scene.status(forced), SessionStatus::Killed);
    scene.run(&["list"]).assert_code(0).assert_stderr("");

    host.power_off();
    assert_eq!(facts(&scene.refreshed(&id)), unreachable);
    host.boot();
    let lost = ("failed", Some("lost"), None);
    assert_eq!(facts(&scene.refreshed(&id)), lost);
    assert_eq!(facts(&scene.refreshed(&id)), lost, "a second look says something else");
    assert_eq!(slots(&scene), 0);
    // What had ended before keeps its end, and what the lost one said is there.
    assert_eq!(facts(&scene.refreshed(quick)), ("completed", None, Some(0)));
    scene.run(&["output", &id]).assert_code(0).assert_stdout_has("turn 1 of 1");
    assert!(scene.ran().values().all(|times| *times == 1), "{:?}", scene.ran());
}

#[test]
fn a_full_disk_is_said_and_leaves_nothing() {
    let Some((scene, host, id)) = held(roomy()) else { return };
    host.fill_disk();
    let full = scene.run(&["start", "quick"]);
    full.assert_code(1).assert_stderr_has("its disk has ");
    let state = scene.state();
    assert_eq!(state.find_disagreements(), [""; 0]);
    assert_eq!(slots(&scene), 1, "{state:#?}");
    assert!(state.sessions.values().all(|record| record.session.status != SessionStatus::Pending));
    let there = std::fs::read_dir(host.home().join(".amplihack/remote/sessions")).unwrap().count();
    assert_eq!(there, 1, "a claim was left");
    scene.assert_no_secret_left();

    // What ends now is written down when there is room.
    scene.go(None);
    scene.until("the agent's end", |_| host.processes_with("claude").is_empty());
    let open = facts(&scene.refreshed(&id)).0.to_owned();
    assert!(open == "running" || open == "completed" || open == "failed", "{open}");
    host.free_disk();
    scene.until("its end", |scene| scene.refreshed(&id)["exit_code"].is_i64());
    assert_eq!(slots(&scene), 0);
}

#[test]
fn a_server_without_room_for_connections_is_waited_for_or_named() {
    let Some((scene, host, id)) = held(roomy().limits(HostLimits::Stock)) else { return };
    let network = scene.network.as_ref().unwrap();
    // Thirty others have connections, each of its own.
    let words = ["-oControlMaster=no", "-oControlPath=none"];
    let others: Vec<_> = (0..30)
        .map(|number| {
            if number % 8 == 7 {
                // Not more at once than the server lets in that are not known yet.
                scene.until("others", |_| host.processes_with("sleep").len() >= number - 7);
            }
            network.ssh(&words, "a", "sleep 60").timeout(Duration::from_mins(2)).spawn()
        })
        .collect();
    scene.until("connections", |_| host.processes_with("sleep").len() >= 20);
    let all = scene.start(&["quick 1", "quick 2", "quick 3"]);
    scene.until("their ends", |scene| {
        scene.refresh();
        all.iter().all(|id| scene.status(id) == SessionStatus::Completed)
    });
    drop(others);

    // One that accepts and says nothing is out of reach, and no end.
    host.freeze_sshd();
    let seen = scene.refreshed(&id);
    assert_eq!(facts(&seen), ("running", Some("unreachable"), None));
    host.thaw_sshd();
    scene.until("an answer", |scene| facts(&scene.refreshed(&id)) == ("running", None, None));
    assert_eq!(scene.state().sessions[&id].condition, None::<SessionCondition>);
}

#[test]
fn another_machine_in_the_place_of_one_is_not_trusted() {
    let Some((scene, host, id)) = held(roomy()) else { return };
    host.destroy();
    scene.network.as_ref().unwrap().host("a");
    refused(&scene, &id, &scene.run(&["output", &id]));
    let start = scene.run(&["start", "quick"]);
    start.assert_code(1).assert_stderr_has("Host key verification failed");
    assert_eq!(scene.ran(), [].into(), "something was sent to it");
    assert_eq!(slots(&scene), 1);
}

#[test]
fn another_machine_in_the_place_of_a_rented_one_is_not_trusted() {
    let Some(scene) = Scene::new(Kind::Azlin, roomy()) else { return };
    // One that everybody reaches: what is reached through azlin is trusted by azlin.
    let exec = scene.remote(&["exec", "auto", "hold", "--max-turns", "1", "--", "--no-bastion"]).spawn();
    scene.until("the agent", |scene| !scene.ran().is_empty());
    exec.signal(Signal::INT);
    exec.wait().assert_code(130);
    let id = scene.ran().into_keys().next().unwrap();
    let name = scene.state().sessions[&id].session.vm_name.clone();
    let network = scene.network.as_ref().unwrap();
    network.find(&name).unwrap().destroy();
    network.host(&name);
    let output = scene.run(&["output", &id]);
    refused(&scene, &id, &output);
    output.assert_stderr_has("known_hosts.d");
    assert_eq!(scene.ran(), [].into(), "something was sent to it");
}

/// Claims that a machine's key was refused, and that nothing was concluded from that.
fn refused(scene: &Scene, id: &str, output: &Output) {
    assert_ne!(output.code, Some(0), "{output}");
    output.assert_stderr_has("Host key verification failed").assert_stderr_has("made anew on purpose");
    assert_eq!(facts(&scene.refreshed(id)), ("running", Some("unreachable"), None));
}
