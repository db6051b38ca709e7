//! How sessions end: by themselves, by their time, by `end`, by force, and with a full disk.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_config::secret::Secret;
use amplihack_remote::RemoteError;
use amplihack_remote::protocol::{Claim, FarState};
use amplihack_testkit::procs;
use tokio::task::JoinSet;

use crate::support::{PATIENCE, Place, id, places};

/// Marks a session's processes for the test.
fn marked(place: &Place, spec: &mut amplihack_remote::protocol::SessionSpec) -> String {
    let marker = format!("far-{}", place.dir.path().file_name().unwrap().to_string_lossy());
    spec.env.push(("FAR_MARKER".to_owned(), Secret::new(marker.clone())));
    format!("FAR_MARKER={marker}")
}

async fn running(place: &Place, id: &str) {
    place.until(id, "running", |state| *state == FarState::Running).await;
}

const STUBBORN: &str = "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >two; sleep 600' & (sleep 600 &) ; echo x >one; \
                        while :; do sleep 1; done";

#[tokio::test]
async fn end_ends_everything_also_what_left_the_group() {
    for place in places() {
        place.store().await;
        let mut spec = place.session(1, STUBBORN);
        let marker = marked(&place, &mut spec);
        place.far.start_session(&spec, None).await.unwrap();
        place.until_file(&place.file(&spec.id, "repo/one")).await;
        place.until_file(&place.file(&spec.id, "repo/two")).await;
        assert!(matches!(place.far.remove_session(&spec.id).await, Err(RemoteError::Execution(_))));
        let mut ends = JoinSet::new();
        for _ in 0..2 {
            let (far, id) = (place.far.clone(), spec.id.clone());
            ends.spawn(async move { far.end_session(&id, Duration::from_secs(1)).await.unwrap() });
        }
        assert_eq!(ends.join_all().await, [0, 0]);
        assert_eq!(place.observe(&spec.id).await.state, FarState::Killed(137), "{}", place.said(&spec.id));
        procs::assert_none_soon(&marker, PATIENCE);
        assert_eq!(place.far.start_session(&spec, None).await.unwrap(), Claim::Already);
        place.far.remove_session(&spec.id).await.unwrap();
        assert_eq!(place.observe(&spec.id).await.state, FarState::Absent);
    }
}

#[tokio::test]
async fn what_is_ended_before_it_arrived_never_runs() {
    for place in places() {
        place.store().await;
        let mut spec = place.session(1, "echo ran");
        spec.key_name = Some("THE_KEY".to_owned());
        assert_eq!(place.far.end_session(&spec.id, Duration::ZERO).await.unwrap(), 0);
        assert_eq!(
            place.far.start_session(&spec, Some(&Secret::new("sk-of-the-late"))).await.unwrap(),
            Claim::Already
        );
        assert_eq!(place.observe(&spec.id).await.state, FarState::Killed(143), "{}", place.said(&spec.id));
        assert!(!place.file(&spec.id, "started").exists());
        for at in [place.dir.path(), Path::new("/dev/shm")] {
            assert_eq!(crate::support::files_with(at, b"sk-of-the-late"), Vec::<PathBuf>::new());
        }
        // Both at once: whoever is first, it ran or it did not, and that is what is told.
        for number in 2..8 {
            let spec = place.session(number, "echo ran >ran; sleep 600");
            let (started, ended) = tokio::join!(
                place.far.start_session(&spec, None),
                place.far.end_session(&spec.id, Duration::ZERO)
            );
            assert_eq!((started.is_ok(), ended.unwrap()), (true, 0));
            let state = place.observe(&spec.id).await.state;
            assert!(matches!(state, FarState::Killed(_)), "{state:?}");
        }
    }
}

#[tokio::test]
async fn nothing_is_left_in_the_background_after_a_natural_end() {
    for place in places() {
        place.store().await;
        let mut spec = place.session(1, "setsid sleep 600 & sleep 600 & exit 9");
        let marker = marked(&place, &mut spec);
        assert_eq!(place.done(&spec).await, FarState::Ended(9));
        procs::assert_none(&marker);
        // An end that comes too late changes nothing.
        assert_eq!(place.far.end_session(&spec.id, Duration::from_secs(1)).await.unwrap(), 0);
        assert_eq!(place.observe(&spec.id).await.state, FarState::Ended(9));
    }
}

#[tokio::test]
async fn ends_that_race_the_natural_end_agree() {
    for place in places() {
        place.store().await;
        for number in 1..=4 {
            let spec = place.session(number, "sleep 0.1; exit 2");
            place.far.start_session(&spec, None).await.unwrap();
            tokio::time::sleep(Duration::from_millis(60 * u64::from(number))).await;
            assert_eq!(place.far.end_session(&spec.id, Duration::from_secs(2)).await.unwrap(), 0);
            let state = place.observe(&spec.id).await.state;
            assert!(matches!(state, FarState::Ended(2) | FarState::Killed(2 | 143)), "{state:?}");
        }
    }
}

#[tokio::test]
async fn a_session_that_waits_is_ended_without_ever_running() {
    for place in places() {
        place.store().await;
        let spec = place.session(1, "echo ran");
        place.far.prepare_session(&spec, None).await.unwrap();
        assert_eq!(place.far.end_session(&spec.id, Duration::from_secs(1)).await.unwrap(), 0);
        assert_eq!(place.observe(&spec.id).await.state, FarState::Killed(143));
        assert_eq!(place.far.start_session(&spec, None).await.unwrap(), Claim::Already);
        assert_eq!(place.observe(&spec.id).await.log_bytes, 0);
    }
}

#[tokio::test]
async fn the_longest_time_is_kept() {
    for place in places() {
        place.store().await;
        let mut spec = place.session(1, "echo begun; sleep 600 & wait");
        spec.timeout_seconds = Some(1);
        let marker = marked(&place, &mut spec);
        assert_eq!(place.done(&spec).await, FarState::Ended(124));
        procs::assert_none(&marker);
        assert!(place.said(&spec.id).contains("took its 1 seconds"), "{}", place.said(&spec.id));
        // A timer of a session that ended before ends with it.
        let mut spec = place.session(2, "exit 0");
        spec.timeout_seconds = Some(73_201);
        assert_eq!(place.done(&spec).await, FarState::Ended(0));
        let timers = procs::all().into_iter().filter(|process| {
            let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            line.starts_with(b"sleep\x0073201")
        });
        assert_eq!(timers.count(), 0);
    }
}

#[tokio::test]
async fn a_runner_that_was_killed_leaves_a_lost_session_that_can_be_ended() {
    for place in places() {
        place.store().await;
        let mut spec = place.session(1, "sleep 600");
        spec.timeout_seconds = Some(600);
        let marker = marked(&place, &mut spec);
        place.far.start_session(&spec, None).await.unwrap();
        running(&place, &spec.id).await;
        kill(&place.word(&spec.id, "pid", 0));
        place.until(&spec.id, "lost", |state| *state == FarState::Lost).await;
        assert_eq!(
            place.far.start_session(&spec, None).await.unwrap(),
            Claim::Already,
            "it is not run twice"
        );
        assert_eq!(place.far.end_session(&spec.id, Duration::from_secs(5)).await.unwrap(), 0);
        assert_eq!(place.observe(&spec.id).await.state, FarState::Killed(137));
        procs::assert_none_soon(&marker, PATIENCE);
    }
}

fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-s", "KILL", pid]).status().unwrap().success());
}

#[tokio::test]
async fn a_number_that_is_somebody_elses_by_now_is_no_runner() {
    for place in places() {
        place.store().await;
        let spec = place.session(1, "sleep 600");
        place.far.start_session(&spec, None).await.unwrap();
        running(&place, &spec.id).await;
        let file = place.file(&spec.id, "pid");
        let real = std::fs::read_to_string(&file).unwrap();
        let words: Vec<&str> = real.split_whitespace().collect();
        for (at, other) in [(2, "5"), (3, "another-boot"), (4, "another-machine")] {
            let mut changed = words.clone();
            changed[at] = other;
            std::fs::write(&file, changed.join(" ") + "\n").unwrap();
            assert_eq!(place.observe(&spec.id).await.state, FarState::Lost, "{changed:?}");
        }
        std::fs::write(&file, &real).unwrap();
        assert_eq!(place.observe(&spec.id).await.state, FarState::Running);

        // Whoever has the numbers of a session before the restart is not ended with it.
        let mut other = Command::new("sleep").arg("600").spawn().unwrap();
        let old = place.session(2, ":");
        place.far.prepare_session(&old, None).await.unwrap();
        std::fs::write(place.file(&old.id, "started"), "100\n").unwrap();
        for name in ["pid", "group"] {
            let line = format!("{0} {0} 5 {1} {2}\n", other.id(), words[3], words[4]);
            std::fs::write(place.file(&old.id, name), line).unwrap();
        }
        assert_eq!(place.observe(&old.id).await.state, FarState::Lost);
        assert_eq!(place.far.end_session(&old.id, Duration::ZERO).await.unwrap(), 0);
        assert!(other.try_wait().unwrap().is_none(), "another's process was ended");
        other.kill().unwrap();
        other.wait().unwrap();
        place.far.end_session(&spec.id, Duration::from_secs(5)).await.unwrap();
    }
}

/// A small disk.
struct Disk(PathBuf);

impl Disk {
    fn new(path: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"]).arg(path);
        match mount.output() {
            Ok(output) if output.status.success() => Some(Self(path.to_owned())),
            _ => {
                amplihack_testkit::skip_test("no file system can be mounted here; run the tests as root");
                None
            }
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_claims_nothing() {
    for place in places() {
        let Some(disk) = Disk::new(&place.path("root"), "1m") else { return };
        place.store().await;
        let filler = disk.0.join("filler");
        let fill = |leave: usize| {
            let _ = std::fs::remove_file(&filler);
            let _ = std::fs::write(&filler, vec![1; 2 << 20]);
            let length = std::fs::metadata(&filler).unwrap().len();
            let file = std::fs::File::options().write(true).open(&filler).unwrap();
            file.set_len(length.saturating_sub(leave as u64)).unwrap();
        };
        let mut spec = place.session(1, "echo ran");
        spec.prompt = vec![b'x'; 100_000];
        // From no room at all to room for some of the files.
        for leave in [0, 8 << 10, 24 << 10, 64 << 10] {
            fill(leave);
            let error = place.far.start_session(&spec, None).await.unwrap_err();
            assert_eq!(error.get_fact("reason"), Some("disk"), "{leave}: {error:?}");
            let error = place.far.store_file(&place.path("bundle"), &place.bundle).await;
            assert!(error.is_ok(), "it is stored already");
            std::fs::remove_file(&filler).unwrap();
            assert_eq!(place.observe(&spec.id).await.state, FarState::Absent, "{leave}");
        }
        assert_eq!(place.done(&spec).await, FarState::Ended(0), "{}", place.said(&spec.id));

        // An end that cannot be written down is written down later.
        let spec = place.session(2, "while ! [ -e go ]; do sleep 0.05; done; exit 6");
        place.far.start_session(&spec, None).await.unwrap();
        running(&place, &spec.id).await;
        let go = place.file(&spec.id, "repo/go");
        std::fs::write(&go, "").unwrap();
        fill(0);
        tokio::time::sleep(Duration::from_millis(1500)).await;
        std::fs::remove_file(&filler).unwrap();
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(6));
    }
}

#[tokio::test]
async fn sessions_with_read_only_directories_are_removed_whole() {
    for place in places() {
        place.store().await;
        let spec = place.session(1, "mkdir -p a/b && echo x >a/b/c && chmod 500 a/b a");
        place.done(&spec).await;
        place.far.remove_session(&spec.id).await.unwrap();
        assert!(place.far.observe_sessions(&[]).await.unwrap().is_empty());
        assert_eq!(std::fs::read_dir(place.path("root/gone")).unwrap().count(), 0);
        assert_eq!(place.observe(&id(1)).await.state, FarState::Absent);
    }
}
