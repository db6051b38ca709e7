//! `kill -9` of the client at every step of `start`.

use std::thread::sleep;
use std::time::{Duration, Instant};

use amplihack_remote::SessionStatus;
use amplihack_testkit::azlin::Fault;
use amplihack_testkit::long;
use rustix::process::Signal;

use super::scene::{Kind, Scene, roomy};

/// Kills starts of two sessions after delays that go over all of a start's time, settles after each, and ends what runs.
fn walk(scene: &Scene, kills: u32) {
    // The first brings the program there.
    scene.start(&["quick"]);
    let began = Instant::now();
    let whole = scene.start(&["hold 1", "hold 2"]);
    let takes = began.elapsed();
    end_all(scene);
    let (mut cut, mut through) = (0, 0);
    for step in 0..kills {
        let starting = scene.starting(&["hold 1", "hold 2"]);
        sleep(takes * (step + 1) / (kills + 1));
        starting.signal(Signal::KILL);
        starting.wait();
        let told = format!("kill {step} of {kills}, {takes:?}");
        scene.assert_settles(&told);
        let state = scene.state();
        let running =
            state.sessions.values().filter(|record| record.session.status == SessionStatus::Running);
        match running.count() {
            0 => cut += 1,
            _ => through += 1,
        }
        end_all(scene);
    }
    assert!(cut + through == kills && cut > 0, "the kills were all too late: {cut} {through}");
    // What is said to have failed did not run later, and nothing is left of what was begun.
    let (ran, state) = (scene.ran(), scene.state());
    for (id, record) in &state.sessions {
        let most = usize::from(record.session.status != SessionStatus::Failed);
        let times = ran.get(id).copied().unwrap_or_default();
        assert!(times <= most, "{id} ran {times} times: {record:#?}");
    }
    assert!(whole.iter().all(|id| ran[id] == 1), "{ran:?}");
    scene.assert_no_secret_left();
}

/// Ends what runs, and claims that all slots are free.
fn end_all(scene: &Scene) {
    // An agent that was just started is let come to its first line.
    for (id, record) in scene.state().sessions {
        if record.session.status == SessionStatus::Running {
            scene.until("the agent", |scene| scene.ran().contains_key(&id) || scene.status(&id).is_final());
            scene.run(&["kill", &id]).assert_code(0);
        }
    }
    assert!(
        scene.state().vm_pool.values().all(|machine| machine.active_sessions.is_empty()),
        "{:#?}",
        scene.state()
    );
}

#[test]
fn a_client_of_this_machine_may_die_anywhere() {
    let Some(scene) = Scene::new(Kind::Local, roomy()) else { return };
    walk(&scene, if long() { 100 } else { 12 });
}

#[test]
fn a_client_of_a_host_may_die_anywhere() {
    let Some(scene) = Scene::new(Kind::Ssh, roomy()) else { return };
    walk(&scene, if long() { 30 } else { 5 });
}

#[test]
fn a_client_of_a_scheduler_may_die_anywhere() {
    let Some(scene) = Scene::new(Kind::Slurm, roomy()) else { return };
    scene.start(&["quick"]);
    let began = Instant::now();
    scene.start(&["quick 1", "quick 2"]);
    let takes = began.elapsed();
    // Most of it is around the submission, at its end.
    for step in if long() { 0..30 } else { 26..30 } {
        let starting = scene.starting(&["quick 1", "quick 2"]);
        sleep(takes * (step + 2) / 32);
        starting.signal(Signal::KILL);
        starting.wait();
        scene.until("the end of all sessions", |scene| {
            scene.refresh();
            scene.state().sessions.values().all(|record| record.session.status.is_final())
        });
        assert_eq!(scene.state().find_disagreements(), [""; 0]);
    }
    for (id, record) in scene.state().sessions {
        let times = scene.ran().get(&id).copied().unwrap_or_default();
        let completed = record.session.status == SessionStatus::Completed;
        assert_eq!(times, usize::from(completed), "{record:#?}");
    }
    scene.assert_no_secret_left();
}

/// During `new`, right after it, and later: the machine is known or found again, and nothing costs anything in the end.
#[test]
fn a_client_that_dies_while_it_rents_leaves_no_machine_that_nobody_knows() {
    let Some(scene) = Scene::new(Kind::Azlin, roomy()) else { return };
    let azlin = scene.azlin.as_ref().unwrap();
    for (step, delay) in [0, 400, 900, 1500, 2500].into_iter().enumerate() {
        azlin.fail(Fault::Slow(600));
        let before = azlin.count("new");
        let starting = scene.starting(&["hold"]);
        scene.until("azlin new", |_| azlin.count("new") > before);
        sleep(Duration::from_millis(delay));
        starting.signal(Signal::KILL);
        starting.wait();
        // Whether the machine is still made though nobody waits for it is azlin's affair; either way it must be known in the end.
        for _ in 0..20 {
            if azlin.vms().iter().any(|vm| vm.running) {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        scene.assert_settles(&format!("kill {step}"));
        let known: Vec<String> = scene.state().vm_pool.into_keys().collect();
        let there: Vec<String> = azlin.vms().into_iter().map(|vm| vm.name).collect();
        assert_eq!(known, there, "kill {step}");
        end_all(&scene);
        scene.assert_no_secret_left();
        scene.run(&["pool", "gc", "--idle", "0s", "--discard-results"]).assert_code(0);
        assert_eq!(azlin.vms(), [], "kill {step}");
        assert!(scene.state().vm_pool.is_empty());
    }
}
