//! A real Slurm whose parts die: no session is lost, none runs twice, and one look tells the truth.

use amplihack_remote::SessionStatus;
use amplihack_testkit::Slurm;
use amplihack_testkit::hosts::Spec;

use super::scene::{Kind, Scene};

/// Looks until all of `ids` are at this status.
fn until(scene: &Scene, ids: &[String], status: SessionStatus) {
    scene.until(&format!("{status}"), |scene| {
        scene.refresh();
        ids.iter().all(|id| scene.status(id) == status)
    });
}

/// The number of the job of a session's task, `JOB_INDEX`, as the user sees it.
fn task(slurm: &Slurm, scene: &Scene, id: &str) -> String {
    let job = scene.state().sessions[id].job.clone().unwrap();
    let text = slurm
        .ask(&format!("cat .amplihack/remote/jobs/{job}/job; cat .amplihack/remote/jobs/{job}/ids"))
        .stdout_text();
    let mut lines = text.lines();
    let number = lines.next().unwrap().split(' ').next().unwrap().to_owned();
    let index = lines.position(|line| line == id).unwrap();
    format!("{number}_{index}")
}

#[test]
fn a_controller_that_dies_loses_nothing_and_runs_nothing_twice() {
    let Some(scene) = Scene::new(Kind::Slurm, Spec::default()) else { return };
    let slurm = scene.slurm.as_ref().unwrap();
    let all = scene.start(&["hold 1", "quick 2", "hold 3", "quick 4"]);
    slurm.kill_controller();
    // Without a controller nothing is guessed.
    scene.refresh();
    for (id, record) in scene.state().sessions {
        assert_ne!(record.session.status, SessionStatus::Failed, "{id}: {record:#?}");
    }
    slurm.start_controller();
    let held = [all[0].clone(), all[2].clone()];
    until(&scene, &[all[1].clone(), all[3].clone()], SessionStatus::Completed);
    until(&scene, &held, SessionStatus::Running);
    // Who looks once more, or starts once more, runs nothing again.
    scene.refresh();
    scene.go();
    until(&scene, &all, SessionStatus::Completed);
    assert!(all.iter().all(|id| scene.ran()[id] == 1), "{:?}", scene.ran());
    assert!(scene.state().vm_pool.values().all(|machine| machine.active_sessions.is_empty()));
}

#[test]
fn what_others_do_to_jobs_is_seen_at_the_next_look() {
    let Some(scene) = Scene::new(Kind::Slurm, Spec::default()) else { return };
    let slurm = scene.slurm.as_ref().unwrap();
    let all = scene.start(&["hold 1", "hold 2", "hold 3"]);
    scene.until("the agents", |scene| scene.ran().len() == 3);
    until(&scene, &all, SessionStatus::Running);

    // Ended by hand.
    slurm.ask(&format!("scancel {}", task(slurm, &scene, &all[0]))).assert_code(0);
    let exit = slurm.host().home().join(format!(".amplihack/remote/sessions/{}/exit", all[0]));
    scene.until("its end there", |_| exit.exists());
    let seen = scene.refreshed(&all[0]);
    assert!(seen["status"] == "failed" || seen["status"] == "killed", "{seen}");
    assert!(seen["exit_code"].is_i64(), "{seen}");

    // Put back into the queue: it is refused, or the fence holds.
    slurm.ask(&format!("scontrol requeue {}", task(slurm, &scene, &all[1])));
    scene.refresh();
    assert_eq!(scene.ran()[&all[1]], 1);

    // Its node dies with everything on it.
    for node in 1..=3 {
        slurm.kill_node(node);
    }
    scene.refresh();
    for id in &all[1..] {
        let record = scene.state().sessions[id].clone();
        assert_eq!(record.session.status, SessionStatus::Failed, "{record:#?}");
    }
    for node in 1..=3 {
        slurm.start_node(node);
    }
    scene.refresh();
    assert!(scene.ran().values().all(|times| *times == 1), "{:?}", scene.ran());
    assert!(scene.state().vm_pool.values().all(|machine| machine.active_sessions.is_empty()));
    assert_eq!(scene.state().disagreements(), [""; 0]);
}
