//! A session's work is gathered without touching it, and brought here.

use std::path::Path;

use amplihack_remote::protocol::{CollectedResults, FarState};

use crate::support::{Place, places};

/// Collects, fetches into the repository, and names what came.
async fn brought(place: &Place, id: &str) -> (CollectedResults, Vec<String>) {
    let collected = place.far.collect_results(id).await.unwrap();
    if collected.bytes == 0 {
        return (collected, Vec::new());
    }
    let file = place.path("results");
    let _ = std::fs::remove_file(&file);
    place.far.fetch_results(id, &collected, &file).await.unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().len(), collected.bytes);
    place.git("src", &["bundle", "verify", "-q", "../results"]);
    place.git(
        "src",
        &["fetch", "-q", "../results", "+refs/heads/*:refs/remotes/far/*", "+refs/tags/*:refs/far-tags/*"],
    );
    let refs =
        place.git("src", &["for-each-ref", "--format=%(refname)", "refs/remotes/far", "refs/far-tags"]);
    (
        collected,
        refs.lines()
            .map(|name| {
                name.trim_start_matches("refs/remotes/far/").trim_start_matches("refs/far-tags/").to_owned()
            })
            .collect(),
    )
}

fn text(place: &Place, what: &str) -> String {
    place.git("src", &["show", what])
}

#[tokio::test]
async fn nothing_done_is_nothing_to_bring() {
    for place in places() {
        place.store().await;
        let spec = place.session(1, "echo x >ignored; git branch other; touch file");
        assert_eq!(place.done(&spec).await, FarState::Ended(0));
        let (collected, _) = brought(&place, &spec.id).await;
        assert_eq!(
            collected,
            CollectedResults { bytes: 0, sha256: String::new(), wip: None, left: Vec::new() }
        );
    }
}

#[tokio::test]
async fn commits_branches_tags_and_what_was_not_committed_come_home() {
    for place in places() {
        place.store().await;
        let spec = place.session(
            1,
            "echo two >>file; git commit -qam two; git tag -m t v1; git checkout -qb side; echo s >s; git add s; \
             git commit -qm side; git checkout -q work; echo three >>file; echo new >\"new file\"; echo i >ignored; \
             echo staged >staged; git add staged; echo later >>staged; rm .gitignore; git checkout -q .gitignore",
        );
        assert_eq!(place.done(&spec).await, FarState::Ended(0), "{}", place.said(&spec.id));
        let state = || {
            let repo = place.file(&spec.id, "repo");
            let repo = repo.strip_prefix(place.dir.path()).unwrap().display().to_string();
            let index = std::fs::read(place.file(&spec.id, "repo/.git/index")).unwrap();
            let refs = place.git(&repo, &["for-each-ref"]);
            let head = std::fs::read_to_string(place.file(&spec.id, "repo/.git/HEAD")).unwrap();
            let objects = count(&place.file(&spec.id, "repo/.git/objects"));
            (index, refs, head, objects)
        };
        let before = state();
        let (collected, refs) = brought(&place, &spec.id).await;
        assert!(state() == before, "the session was changed");
        let wip = format!("wip/{}", spec.id);
        assert_eq!(collected.wip.as_deref(), Some(wip.as_str()));
        assert_eq!(refs, ["v1", "side", &wip, "work"].map(str::to_owned));
        let at = format!("refs/remotes/far/{wip}");
        assert_eq!(text(&place, &format!("{at}:file")), "one\ntwo\nthree");
        assert_eq!(text(&place, &format!("{at}:new file")), "new");
        assert_eq!(text(&place, &format!("{at}:staged")), "staged\nlater");
        assert_eq!(place.git("src", &["ls-tree", "--name-only", &at, "ignored"]), "");
        assert_eq!(
            place.git("src", &["rev-parse", &format!("{at}^")]),
            place.git("src", &["rev-parse", "refs/remotes/far/work"])
        );
        assert_eq!(text(&place, "refs/remotes/far/side:s"), "s");
        assert_eq!(
            place.git("src", &["rev-parse", "refs/far-tags/v1^{commit}"]),
            place.git("src", &["rev-parse", "refs/remotes/far/work"])
        );
        // The user's own identity is not used for what nobody committed.
        assert_eq!(place.git("src", &["log", "-1", "--format=%an", &at]), "amplihack");
    }
}

fn count(directory: &Path) -> usize {
    std::fs::read_dir(directory)
        .unwrap()
        .flatten()
        .map(|entry| if entry.file_type().unwrap().is_dir() { count(&entry.path()) } else { 1 })
        .sum()
}

#[tokio::test]
async fn a_running_session_is_collected_as_it_stands() {
    for place in places() {
        place.store().await;
        let spec = place.session(1, "echo half >half; touch ready; while ! [ -e go ]; do sleep 0.05; done; git add half; git commit -qm whole");
        place.far.start_session(&spec, None).await.unwrap();
        place.until_file(&place.file(&spec.id, "repo/ready")).await;
        // The agent holds git's lock just now.
        let lock = place.file(&spec.id, "repo/.git/index.lock");
        std::fs::write(&lock, "").unwrap();
        let (collected, refs) = brought(&place, &spec.id).await;
        std::fs::remove_file(&lock).unwrap();
        assert!(collected.wip.is_some() && refs == [format!("wip/{}", spec.id)], "{refs:?}");
        assert_eq!(text(&place, &format!("refs/remotes/far/wip/{}:half", spec.id)), "half");
        std::fs::write(place.file(&spec.id, "repo/go"), "").unwrap();
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(0), "{}", place.said(&spec.id));
        let (_, refs) = brought(&place, &spec.id).await;
        assert!(refs.contains(&"work".to_owned()), "{refs:?}");
    }
}

#[tokio::test]
async fn work_on_no_branch_is_not_lost() {
    for (number, (text_of, expected)) in (1..).zip([
        // A detached head, with commits and nothing else.
        ("git checkout -q --detach; echo d >d; git add d; git commit -qm d", ("d", "d")),
        // A branch where ours would be.
        ("git branch wip; echo d >d", ("d", "d")),
        // A branch without a commit.
        ("git checkout -q --orphan new; git rm -qrf .; echo d >d", ("d", "d")),
        // A subdirectory's own file with a hostile name.
        ("mkdir -p a; printf q >'a/$(x) \"q\"'", ("a/$(x) \"q\"", "q")),
    ]) {
        for place in places() {
            place.store().await;
            let spec = place.session(number, text_of);
            assert_eq!(place.done(&spec).await, FarState::Ended(0), "{}", place.said(&spec.id));
            let (collected, _) = brought(&place, &spec.id).await;
            let wip = collected.wip.unwrap();
            assert_eq!(
                text(&place, &format!("refs/remotes/far/{wip}:{}", expected.0)),
                expected.1,
                "{text_of}"
            );
        }
    }
    for place in places() {
        place.store().await;
        let spec = place.session(1, "echo stashed >>file; git stash -q");
        place.done(&spec).await;
        let (_, refs) = brought(&place, &spec.id).await;
        assert_eq!(refs, [format!("stash-{}", spec.id)]);
    }
}

#[tokio::test]
async fn a_fetch_goes_on_where_it_was_cut_and_bad_bytes_are_refused() {
    for place in places() {
        place.store().await;
        let spec = place.session(1, "head -c 300000 /dev/urandom >big");
        place.done(&spec).await;
        let collected = place.far.collect_results(&spec.id).await.unwrap();
        let file = place.path("part");
        let whole = std::fs::read(place.file(&spec.id, "results.bundle")).unwrap();
        std::fs::write(&file, &whole[..100_000]).unwrap();
        place.far.fetch_results(&spec.id, &collected, &file).await.unwrap();
        assert!(std::fs::read(&file).unwrap() == whole);
        let mut bad = whole[..100_000].to_vec();
        bad[50_000] ^= 1;
        std::fs::write(&file, bad).unwrap();
        place.far.fetch_results(&spec.id, &collected, &file).await.unwrap();
        assert!(std::fs::read(&file).unwrap() == whole, "what began otherwise is brought anew");
        let other = CollectedResults { sha256: "0".repeat(64), ..collected };
        let error = place.far.fetch_results(&spec.id, &other, &file).await.unwrap_err();
        assert_eq!(error.get_fact("reason"), Some("digest"), "{error:?}");
        assert!(!file.exists());
    }
}
