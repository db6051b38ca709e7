//! A real Slurm on a host of a test: jobs run as the user, and each fault does what it says.

use amplihack_testkit::{Network, Slurm};

const SBATCH: &str = "sbatch --parsable --export=NONE";

/// A network whose host `login` has a Slurm.
fn cluster() -> Option<(Network, Slurm)> {
    let network = Network::new()?;
    let slurm = Slurm::start(&network.host("login"))?;
    Some((network, slurm))
}

#[test]
fn jobs_run_on_nodes_as_the_user_who_comes_by_ssh() {
    let Some((network, slurm)) = cluster() else { return };
    let script = "echo \"$(whoami) $SLURMD_NODENAME $HOME $SECRET\"; exit 7";
    let submit = format!("SECRET=canary {SBATCH} --array=1-3 -o out-%a --wrap='{script}'");
    let submitted = network.ssh(&[], "login", &submit).output();
    let job = submitted.assert_code(0).stdout_text().trim().to_owned();
    slurm.until("the jobs have ended", |slurm| slurm.job_state(&job).lines().all(|state| state == "FAILED"));
    for task in 1..=3 {
        let text = std::fs::read_to_string(slurm.host().home().join(format!("out-{task}"))).unwrap();
        assert!(text.starts_with("azureuser node") && text.ends_with(" /home/azureuser \n"), "{text}");
    }
    let shown = slurm.ask(&format!("scontrol -o show job {job}"));
    shown.assert_stdout_has("ExitCode=7:0").assert_stdout_has("UserId=azureuser(4242)");
    let found = |place: &std::path::Path, word: &str| {
        let mut grep = std::process::Command::new("grep");
        grep.args(["-rl", word]).arg(place);
        !amplihack_testkit::Run::new(grep).output().stdout.is_empty()
    };
    assert!(!found(&slurm.state(), "canary") && slurm.traces().iter().all(|place| !found(place, "canary")));
    // Without the option the state has the submitter's environment: the search finds what is there.
    slurm.ask("SECRET=canary sbatch --parsable --hold -o /dev/null --wrap='true'").assert_code(0);
    slurm.until("the state is written", |slurm| found(&slurm.state(), "canary"));
}

#[test]
fn the_controller_is_killed_and_comes_back_with_its_jobs() {
    let Some((_network, slurm)) = cluster() else { return };
    let job = slurm
        .ask(&format!("{SBATCH} -o /dev/null --wrap='exec sleep 81081'"))
        .stdout_text()
        .trim()
        .to_owned();
    slurm.until("the job runs", |slurm| !slurm.host().processes_with("81081").is_empty());
    // The state is saved by a thread of its own, some time after a change.
    slurm.until("the job's state is saved", |slurm| {
        let before = modified(slurm);
        std::thread::sleep(std::time::Duration::from_millis(300));
        modified(slurm) == before
    });
    slurm.kill_controller();
    assert_ne!(slurm.ask("timeout 1 squeue").code, Some(0));
    assert_eq!(slurm.host().processes_with("81081").len(), 1);
    slurm.start_controller();
    slurm.until("the job is known again", |slurm| slurm.job_state(&job) == "RUNNING");
    slurm.ask(&format!("scancel {job}")).assert_code(0);
    slurm.until("the job is cancelled", |slurm| slurm.host().processes_with("81081").is_empty());
}

fn modified(slurm: &Slurm) -> Option<std::time::SystemTime> {
    std::fs::metadata(slurm.state().join("job_state")).and_then(|found| found.modified()).ok()
}

#[test]
fn a_requeued_job_whose_watcher_was_killed_runs_twice() {
    let Some((_network, slurm)) = cluster() else { return };
    let submit = format!("{SBATCH} --requeue -o /dev/null -w node2 --wrap='sleep 82082; :'");
    let job = slurm.ask(&submit).stdout_text().trim().to_owned();
    let copies = |slurm: &Slurm| slurm.host().processes_with("82082").len();
    slurm.until("the job runs", |slurm| copies(slurm) == 1);
    slurm.kill_stepds(1);
    assert_eq!(slurm.job_state(&job), "RUNNING");
    slurm.kill_stepds(2);
    slurm.requeue(&job);
    slurm.until("two copies run", |slurm| copies(slurm) == 2);
}

#[test]
fn a_node_dies_with_its_jobs_and_comes_back_without_them() {
    let Some((_network, slurm)) = cluster() else { return };
    let submit = format!("{SBATCH} -o /dev/null -w node3 --wrap='sleep 83083; :'");
    let job = slurm.ask(&submit).stdout_text().trim().to_owned();
    slurm.until("the job runs", |slurm| !slurm.host().processes_with("83083").is_empty());
    slurm.kill_node(3);
    assert!(slurm.host().processes_with("83083").is_empty());
    slurm.start_node(3);
    assert_eq!(slurm.job_state(&job), "RUNNING");
    slurm.ask(&format!("scancel {job}")).assert_code(0);
    slurm.until("the lost job has ended", |slurm| slurm.job_state(&job) == "CANCELLED");
    slurm.ask(&format!("{SBATCH} -o back -w node3 --wrap='echo $SLURMD_NODENAME'")).assert_code(0);
    let back = slurm.host().home().join("back");
    slurm.until("the node works", |_| std::fs::read_to_string(&back).is_ok_and(|text| text == "node3\n"));
}

#[test]
fn a_host_that_was_off_starts_the_same_slurm_again() {
    let Some((_network, slurm)) = cluster() else { return };
    let held = slurm.ask("sbatch --parsable --hold -o /dev/null --wrap=true").stdout_text().trim().to_owned();
    slurm.until("the state is saved", |slurm| slurm.state().join("job_state").exists());
    slurm.host().power_off();
    slurm.host().boot();
    let slurm = Slurm::start(slurm.host()).unwrap();
    assert_eq!(slurm.job_state(&held), "PENDING");
}
