//! Where sessions' work trees lie: outside of the state, reached by links, and gone with their sessions.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use amplihack_remote::LocalRunner;
use amplihack_remote::far::FarSide;
use amplihack_remote::protocol::FarState;

use crate::support::{PATIENCE, Place, places};

/// The place with its sessions below `root`, in the environment with `more`.
fn rooted(place: &mut Place, root: PathBuf, more: &[(&str, PathBuf)]) {
    let env = more.iter().fold(place.env.clone(), |env, (name, value)| env.with_variable(name, value));
    place.far = FarSide::new(Arc::new(LocalRunner::new(root, &env)), "here");
}

/// Runs a session that says where it is and leaves work, and returns its directory there.
async fn worked(place: &Place, root: &Path, number: u16) -> (String, PathBuf) {
    place.store().await;
    let spec = place.session(number, "cat ../prompt; echo; pwd -P; echo $PWD; echo work >work");
    assert_eq!(place.done(&spec).await, FarState::Ended(0));
    let log = fs::read_to_string(root.join("sessions").join(&spec.id).join("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[1]), (3, "do it", lines[2]), "{log}");
    (spec.id, PathBuf::from(lines[1]))
}

/// Removes a session, whose runner may take a moment after it has written down the end.
async fn removed(place: &Place, id: &str) {
    let begun = Instant::now();
    while let Err(error) = place.far.remove_session(id).await {
        assert!(error.to_string().contains("runs: end it first") && begun.elapsed() < PATIENCE, "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn work_trees_lie_outside_of_the_state_wherever_that_is() {
    for mut place in places() {
        let base = place.dir.path().canonicalize().unwrap();
        let data = base.join("home/.local/share/amplihack/remote");
        let other = base.join("data");
        for (number, root, variable, expected) in [
            (1, base.join("home/.amplihack/remote"), None, &data),
            (2, base.join("ah/remote"), Some(("AMPLIHACK_HOME", base.join("ah"))), &data),
            (3, base.join("ah"), Some(("AMPLIHACK_HOME", base.join("ah/"))), &data),
            (
                4,
                base.join("home/.amplihack/remote"),
                Some(("XDG_DATA_HOME", other.clone())),
                &other.join("amplihack/remote"),
            ),
            (5, base.join("own"), None, &base.join("own/work")),
        ] {
            let more: Vec<(&str, PathBuf)> = variable.into_iter().collect();
            rooted(&mut place, root.clone(), &more);
            let (id, tree) = worked(&place, &root, number).await;
            assert_eq!(tree, expected.join(&id).join("repo"));
            assert!(place.far.collect_results(&id).await.unwrap().wip.is_some());
            removed(&place, &id).await;
            assert!(!expected.join(&id).exists() && !root.join("sessions").join(&id).exists());
        }
    }
}

#[tokio::test]
async fn sessions_of_earlier_versions_are_collected_and_removed() {
    for place in places() {
        let root = place.path("root");
        let (id, tree) = worked(&place, &root, 1).await;
        let session = root.join("sessions").join(&id);
        fs::remove_file(session.join("repo")).unwrap();
        fs::rename(&tree, session.join("repo")).unwrap();
        fs::remove_dir_all(tree.parent().unwrap()).unwrap();
        let collected = place.far.collect_results(&id).await.unwrap();
        assert!(collected.wip.is_some() && collected.left.is_empty(), "{collected:?}");
        removed(&place, &id).await;
        assert!(!session.exists() && fs::read_dir(root.join("gone")).unwrap().next().is_none());
    }
}

#[tokio::test]
async fn a_link_that_was_changed_takes_nothing_else_away() {
    for place in places() {
        let root = place.path("root");
        let (id, tree) = worked(&place, &root, 1).await;
        let link = root.join("sessions").join(&id).join("repo");
        let victim = place.path("victim/repo");
        fs::create_dir_all(&victim).unwrap();
        fs::write(victim.join("precious"), "p").unwrap();
        fs::remove_file(&link).unwrap();
        symlink(&victim, &link).unwrap();
        removed(&place, &id).await;
        assert!(victim.join("precious").exists());
        assert!(!root.join("sessions").join(&id).exists() && tree.exists());
    }
}
