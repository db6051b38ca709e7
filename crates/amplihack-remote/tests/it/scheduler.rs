//! Sessions that a scheduler runs, by stand-ins for its programs that do as it does with words and variables.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use amplihack_config::secret::Secret;
use amplihack_remote::protocol::{Claim, FarState};

use crate::support::{Place, files_with, id, places};

/// Stand-ins: `sbatch` writes down its words and variables and numbers its jobs, `squeue` says what the file `queue` says,
/// `scancel` writes down its words.
fn stand_ins(place: &Place) {
    let dir = place.dir.path().display();
    let programs = [
        (
            "sbatch",
            format!(
                "for word; do printf '%s\\n' \"$word\"; done >>{dir}/sbatch.words; env >>{dir}/sbatch.env; \
                 echo >>{dir}/jobs; echo $((40 + $(wc -l <{dir}/jobs)))"
            ),
        ),
        (
            "squeue",
            format!(
                "[ ! -e {dir}/down ] || exit 1; echo x >>{dir}/squeue.calls; \
                 case $* in *%F*) cut -d _ -f 1 {dir}/queue;; *) cat {dir}/queue;; esac"
            ),
        ),
        ("scancel", format!("printf '%s\\n' \"$@\" >>{dir}/scancel.words; : >{dir}/queue")),
    ];
    for (name, text) in programs {
        let file = place.path("bin").join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::write(place.path("queue"), "").unwrap();
}

fn queue(place: &Place, text: &str) {
    std::fs::write(place.path("queue"), text).unwrap();
}

fn lines(place: &Place, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(place.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What the scheduler runs for a task: the words after the script, with the task's variables and no other.
fn task(place: &Place, index: usize) -> Command {
    let words = lines(place, "sbatch.words");
    let at = words.iter().rposition(|word| word == "task").unwrap();
    let mut command = Command::new("/bin/sh");
    // The scheduler copies the script to a place of its own.
    let copy = place.path("spooled");
    std::fs::copy(&words[at - 1], &copy).unwrap();
    command.arg(copy).args(&words[at..at + 4]).env_clear().envs(place.env.iter());
    command.env("SLURM_ARRAY_TASK_ID", index.to_string());
    command
}

async fn prepared(place: &Place, count: u16, text: &str) -> Vec<String> {
    stand_ins(place);
    place.store().await;
    let mut ids = Vec::new();
    for number in 0..count {
        let mut spec = place.session(number, text);
        spec.key_name = Some("THE_KEY".to_owned());
        let key = Secret::new(format!("sk-canary-{number}"));
        assert_eq!(place.far.prepare_session(&spec, Some(&key)).await.unwrap(), Claim::Started);
        ids.push(spec.id);
    }
    ids
}

#[tokio::test]
async fn an_array_is_submitted_once_with_nothing_secret() {
    for place in places() {
        let ids = prepared(&place, 3, "echo \"$THE_KEY\" | tr a-z A-Z").await;
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let options = ["--partition=fast".to_owned(), "--mem=100 G".to_owned()];
        let submit = || place.far.submit_job("fleet-1", &ids, &options);
        assert_eq!(submit().await.unwrap(), "41");
        let words = lines(&place, "sbatch.words");
        let root = place.path("root").display().to_string();
        assert_eq!(
            words[..words.len() - 5],
            [
                "--partition=fast",
                "--mem=100 G",
                "--parsable",
                "--export=NONE",
                "--no-requeue",
                "--job-name=fleet-1",
                "--array=0,1,2",
                "--output=/dev/null",
                "--error=/dev/null",
                "--input=/dev/null",
                &format!("--chdir={root}"),
            ]
        );
        assert_eq!(words[words.len() - 4..words.len() - 1], ["task", "fleet-1", &root]);
        for name in ["sbatch.words", "sbatch.env"] {
            assert!(!lines(&place, name).join("\n").contains("sk-canary"), "{name}");
        }
        queue(&place, "41_0 PENDING\n41_1 PENDING\n41_2 PENDING\n");
        assert_eq!(submit().await.unwrap(), "41");
        // The number was not written down any more.
        std::fs::remove_file(place.path("root/jobs/fleet-1/job")).unwrap();
        assert_eq!(submit().await.unwrap(), "41");
        assert_eq!(lines(&place, "jobs").len(), 1, "it was submitted twice");
        // Other sessions under that name, and no answer, submit nothing.
        assert!(place.far.submit_job("fleet-1", &ids[..2], &options).await.is_err());
        std::fs::write(place.path("down"), "").unwrap();
        assert_eq!(submit().await.unwrap_err().get_fact("reason"), Some("busy"));
        std::fs::remove_file(place.path("down")).unwrap();

        std::fs::write(place.path("squeue.calls"), "").unwrap();
        let seen = place.far.observe_sessions(&ids).await.unwrap();
        assert!(seen.iter().all(|one| one.state == FarState::Waiting), "{seen:?}");
        assert_eq!(lines(&place, "squeue.calls").len(), 1);
        // A start does not run what the scheduler has.
        assert_eq!(place.far.start_session(&place.session(0, ":"), None).await.unwrap(), Claim::Already);

        assert!(task(&place, 1).status().unwrap().success());
        assert_eq!(place.observe(ids[1]).await.state, FarState::Ended(0), "{}", place.said(ids[1]));
        assert_eq!(std::fs::read_to_string(place.file(ids[1], "log")).unwrap(), "SK-CANARY-1\n");
        assert_eq!(files_with(place.dir.path(), b"sk-canary-1"), Vec::<std::path::PathBuf>::new());
        // The scheduler forgot the job: only what did not run is submitted again.
        queue(&place, "");
        assert_eq!(submit().await.unwrap(), "42");
        assert!(lines(&place, "sbatch.words").contains(&"--array=0,2".to_owned()));
        assert!(task(&place, 2).status().unwrap().success());
        assert_eq!(place.observe(ids[2]).await.state, FarState::Ended(0));
    }
}

#[tokio::test]
async fn options_that_would_undo_ours_are_refused() {
    for place in places() {
        let ids = prepared(&place, 1, ":").await;
        for option in [
            "--wrap=x",
            "--export=ALL",
            "--array=0-99",
            "--job-name=x",
            "-Jx",
            "--comment=x",
            "script",
            "--a\nb",
        ] {
            let refused = place.far.submit_job("n", &[&ids[0]], &[option.to_owned()]).await;
            assert!(refused.is_err(), "{option}");
        }
        for name in ["", "-x", "a b", "$(x)", "../x"] {
            assert!(place.far.submit_job(name, &[&ids[0]], &[]).await.is_err(), "{name}");
        }
        assert!(place.far.submit_job("n", &[&id(77)], &[]).await.is_err());
        assert!(lines(&place, "sbatch.words").is_empty());
    }
}

#[tokio::test]
async fn a_task_that_is_queued_again_is_not_run_twice() {
    for place in places() {
        let ids = prepared(&place, 3, "echo ran; exit 3").await;
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        place.far.submit_job("fleet", &names, &[]).await.unwrap();
        // It ended: nothing changes.
        assert!(task(&place, 0).status().unwrap().success());
        assert!(task(&place, 0).env("SLURM_RESTART_COUNT", "1").status().unwrap().success());
        assert_eq!(place.observe(&ids[0]).await.state, FarState::Ended(3));
        // It was begun on a machine that is gone.
        std::fs::create_dir(place.file(&ids[1], "claim")).unwrap();
        std::fs::write(place.file(&ids[1], "pid"), "7 7 7 boot node9\n").unwrap();
        std::fs::write(place.file(&ids[1], "started"), "100\n").unwrap();
        assert_eq!(task(&place, 1).status().unwrap().code(), Some(75));
        assert_eq!(place.observe(&ids[1]).await.state, FarState::Ended(75));
        for id in &ids[..2] {
            assert!(std::fs::read_to_string(place.file(id, "log")).unwrap().matches("ran\n").count() < 2);
        }
        // A first end that is written late does not change the one that was told.
        assert!(task(&place, 1).status().unwrap().success());
        assert_eq!(place.observe(&ids[1]).await.state, FarState::Ended(75));
    }
}

#[tokio::test]
async fn a_scheduled_session_is_running_lost_or_ended_by_what_the_scheduler_says() {
    for place in places() {
        let ids = prepared(&place, 2, ":").await;
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        place.far.submit_job("fleet", &names, &[]).await.unwrap();
        // Another machine runs it.
        std::fs::write(place.file(&ids[0], "pid"), "7 7 7 boot node9\n").unwrap();
        std::fs::write(place.file(&ids[0], "started"), "100\n").unwrap();
        queue(&place, "41_0 RUNNING\n41_1 PENDING\n");
        assert_eq!(place.observe(&ids[0]).await.state, FarState::Running);
        assert!(place.far.remove_session(&ids[0]).await.is_err());
        std::fs::write(place.path("down"), "").unwrap();
        assert_eq!(place.observe(&ids[0]).await.state, FarState::Running, "not known is not lost");
        std::fs::remove_file(place.path("down")).unwrap();
        queue(&place, "41_0 NODE_FAIL\n41_1 PENDING\n");
        assert_eq!(place.observe(&ids[0]).await.state, FarState::Lost);
        assert_eq!(place.observe(&ids[1]).await.state, FarState::Waiting);

        queue(&place, "41_1 PENDING\n");
        assert_eq!(place.far.end_session(&ids[1], Duration::from_secs(1)).await.unwrap(), 0);
        assert_eq!(lines(&place, "scancel.words"), ["41_1"]);
        assert_eq!(place.observe(&ids[1]).await.state, FarState::Killed(143));
        assert!(files_with(place.dir.path(), b"sk-canary-1").is_empty());
    }
}

#[tokio::test]
async fn a_scheduler_that_cancels_a_running_task_ends_the_session() {
    for place in places() {
        let ids = prepared(&place, 1, "echo begun; sleep 600").await;
        place.far.submit_job("fleet", &[&ids[0]], &[]).await.unwrap();
        queue(&place, "41_0 RUNNING\n");
        let mut running = task(&place, 0).spawn().unwrap();
        place.until(&ids[0], "running", |state| *state == FarState::Running).await;
        let pid = running.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        assert_eq!(place.until_ended(&ids[0]).await, FarState::Ended(143));
        running.wait().unwrap();
        assert!(place.said(&ids[0]).contains("SIGTERM"), "{}", place.said(&ids[0]));
    }
}
