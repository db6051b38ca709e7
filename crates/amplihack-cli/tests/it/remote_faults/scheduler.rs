//! A real Slurm whose parts die: no session is lost, none runs twice, and one look tells the truth.

use amplihack_remote::SessionStatus;
use amplihack_testkit::Slurm;

use super::scene::{Kind, Scene, roomy};

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
    let Some(scene) = Scene::new(Kind::Slurm, roomy()) else { return };
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
    scene.go(None);
    until(&scene, &all, SessionStatus::Completed);
    assert!(all.iter().all(|id| scene.ran()[id] == 1), "{:?}", scene.ran());

    // A start without a controller fails, leaves no key there, and does not come later.
    slurm.kill_controller();
    scene.run(&["start", "late"]).assert_code(1).assert_stderr_has("scheduler");
    scene.assert_no_secret_left();
    slurm.start_controller();
    scene.refresh();
    scene.run(&["list"]).assert_code(0).assert_stderr("").assert_stdout_has("failed");
    assert_eq!(scene.ran().len(), all.len(), "{:?}", scene.ran());
    assert!(scene.state().vm_pool.values().all(|machine| machine.active_sessions.is_empty()));
}

#[test]
fn a_job_that_is_cancelled_before_it_began_never_runs() {
    let Some(scene) = Scene::new(Kind::Slurm, roomy()) else { return };
    let slurm = scene.slurm.as_ref().unwrap();
    slurm.ask("sbatch --exclusive --nodes=3 --wrap='sleep 600'").assert_code(0);
    slurm.until("the nodes are taken", |slurm| {
        slurm.ask("squeue -h -t RUNNING").stdout_text().lines().count() == 1
    });
    let all = scene.start(&["quick 1", "quick 2"]);
    // What waits in a queue is settled.
    scene.refresh();
    scene.run(&["list"]).assert_code(0).assert_stderr("").assert_stdout_has("pending");
    slurm.ask(&format!("scancel {}", task(slurm, &scene, &all[0]))).assert_code(0);
    let seen = scene.refreshed(&all[0]);
    assert_eq!((&seen["status"], &seen["condition"]), (&"failed".into(), &"lost".into()), "{seen}");
    assert_eq!(scene.status(&all[1]), SessionStatus::Pending);
    slurm.ask("scancel --name=wrap").assert_code(0);
    until(&scene, &all[1..], SessionStatus::Completed);
    assert_eq!(scene.ran().len(), 1, "{:?}", scene.ran());
    assert_eq!(scene.state().find_disagreements(), [""; 0]);
}

#[test]
fn what_others_do_to_jobs_is_seen_at_the_next_look() {
    let Some(scene) = Scene::new(Kind::Slurm, roomy()) else { return };
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

    // Their nodes die with everything on them. As soon as the scheduler knows, so does who looks.
    for node in 1..=3 {
        slurm.kill_node(node);
    }
    let left = &all[1..];
    let tasks: Vec<String> = left.iter().map(|id| task(slurm, &scene, id)).collect();
    slurm.until("the nodes are missed", |slurm| tasks.iter().all(|task| slurm.job_state(task) != "RUNNING"));
    scene.refresh();
    for id in left {
        let record = scene.state().sessions[id].clone();
        assert_eq!(record.session.status, SessionStatus::Failed, "{record:#?}");
    }
    assert!(scene.ran().values().all(|times| *times == 1), "{:?}", scene.ran());
    assert!(scene.state().vm_pool.values().all(|machine| machine.active_sessions.is_empty()));
    assert_eq!(scene.state().find_disagreements(), [""; 0]);
}
