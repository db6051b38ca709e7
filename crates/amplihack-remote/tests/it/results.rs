//! What comes home, and that nothing else is changed by it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;

use amplihack_remote::RemoteError;
use amplihack_remote::package::SessionPackage;
use amplihack_remote::results::{ResultsOptions, SessionResults, integrate_results, remove_results};

use crate::far::Here;

const ONE: &str = "sess-20260502-030405-0001";
const TWO: &str = "sess-20260502-030405-0002";

/// A repository whose session works in `far`.
struct Pair {
    here: Here,
    far: std::path::PathBuf,
    base: String,
}

impl Pair {
    async fn new() -> Self {
        let here = Here::new();
        here.write("a", "1\n2\n3\n");
        here.write("b", "b\n");
        let base = here.commit("start");
        let package = SessionPackage::build(here.options()).await.unwrap();
        let far = here.arrive(&package, "far");
        Self { here, far, base }
    }

    /// Commits in the far work tree.
    fn work(&self, path: &str, text: &str) {
        std::fs::write(self.far.join(path), text).unwrap();
        self.here.git_in(&self.far, ["add", "--all"]);
        self.here.git_in(&self.far, ["commit", "--quiet", "-m", "far"]);
    }

    async fn pull(&self, session: &str, wip: Option<&str>) -> SessionResults {
        let bundle = self.here.collect(&self.far, &self.base, wip);
        self.bring(&bundle, session, wip).await.unwrap()
    }

    async fn bring(
        &self,
        bundle: &Path,
        session: &str,
        wip: Option<&str>,
    ) -> Result<SessionResults, RemoteError> {
        let (repo, env) = (self.here.work(), self.here.sandbox.env());
        integrate_results(ResultsOptions { repo, env, bundle, session_id: session, base: &self.base, wip })
            .await
    }

    fn refs(&self) -> String {
        self.here.git(["for-each-ref", "--format=%(refname) %(objectname:short=4)", "refs/remotes"])
    }
}

#[tokio::test]
async fn a_round_trip_brings_commits_and_what_was_not_committed() {
    let pair = Pair::new().await;
    pair.work("a", "1\n2\nthree\n");
    pair.work("new", "n\n");
    pair.here.git_in(&pair.far, ["checkout", "--quiet", "-b", "feature/x", &pair.base]);
    pair.work("b", "other\n");
    std::fs::write(pair.far.join("left"), "not committed\n").unwrap();
    let far_status = pair.here.git_in(&pair.far, ["status", "--porcelain"]);
    let before = pair.here.state();

    let results = pair.pull(ONE, Some("amplihack-wip")).await;
    assert_eq!(pair.here.state(), before, "work tree, index and other refs are as they were");
    assert_eq!(pair.here.git_in(&pair.far, ["status", "--porcelain"]), far_status);
    insta::assert_debug_snapshot!(results);
    assert_eq!(pair.here.git(["show", &format!("remote-exec/{ONE}/amplihack-wip:left")]), "not committed");
    pair.here.git(["merge", "--quiet", &format!("remote-exec/{ONE}/main")]);
    assert_eq!(std::fs::read(pair.here.work().join("new")).unwrap(), b"n\n");
}

#[tokio::test]
async fn conflicts_are_told_and_nothing_is_merged() {
    let pair = Pair::new().await;
    pair.work("a", "1\n2\nfar\n");
    pair.work("b", "fine\n");
    pair.here.write("a", "1\n2\nnear\n");
    pair.here.commit("near");
    let before = pair.here.state();
    let results = pair.pull(ONE, None).await;
    assert_eq!(results.summary.conflicts, ["a"]);
    assert_eq!((results.summary.commits, results.summary.files_changed), (2, 2), "counted against the base");
    assert_eq!(pair.here.state(), before);
    assert!(!pair.here.work().join(".git/MERGE_HEAD").exists());
}

#[tokio::test]
async fn pulling_again_works_after_a_rebase_and_sessions_do_not_meet() {
    let pair = Pair::new().await;
    pair.work("new", "first\n");
    pair.pull(ONE, None).await;
    pair.pull(TWO, None).await;
    let first = pair.here.git(["rev-parse", &format!("remote-exec/{TWO}/main")]);
    pair.here.git_in(&pair.far, ["reset", "--quiet", "--hard", &pair.base]);
    pair.work("new", "rewritten\n");
    let results = pair.pull(ONE, None).await;
    assert_eq!((results.summary.commits, results.summary.branches.len()), (1, 1));
    assert_ne!(pair.here.git(["rev-parse", &format!("remote-exec/{ONE}/main")]), first);
    assert_eq!(pair.here.git(["rev-parse", &format!("remote-exec/{TWO}/main")]), first);

    let (env, repo) = (pair.here.sandbox.env(), pair.here.work());
    assert_eq!(remove_results(env, repo, ONE).await.unwrap(), 1);
    assert_eq!(remove_results(env, repo, ONE).await.unwrap(), 0);
    assert!(pair.refs().contains(TWO) && !pair.refs().contains(ONE));
    assert!(matches!(remove_results(env, repo, "../..").await.unwrap_err(), RemoteError::Cleanup(_)));
}

#[tokio::test]
async fn damaged_and_foreign_bundles_change_nothing() {
    let pair = Pair::new().await;
    pair.work("new", &"line\n".repeat(500));
    let bundle = pair.here.collect(&pair.far, &pair.base, None);
    let whole = std::fs::read(&bundle).unwrap();
    let before = pair.here.state();
    let bad = pair.here.sandbox.root().join("bad.bundle");
    let mut flipped = whole.clone();
    let middle = whole.len() - 60;
    flipped[middle] ^= 0xff;
    for bytes in [&whole[..whole.len() / 2], &whole[..whole.len() - 10], &whole[..10], b"", &flipped[..]] {
        std::fs::write(&bad, bytes).unwrap();
        let error = pair.bring(&bad, ONE, None).await.unwrap_err();
        assert!(matches!(error, RemoteError::Integration(_)), "{error:?}");
        assert!(error.get_fact("hint").is_some(), "{error:?}");
        assert_eq!((pair.refs(), pair.here.state()), (String::new(), before.clone()), "{error}");
    }
    let stranger = Here::new();
    let (repo, env) = (stranger.work(), stranger.sandbox.env());
    let foreign = ResultsOptions { repo, env, bundle: &bundle, session_id: ONE, base: &pair.base, wip: None };
    let error = integrate_results(foreign).await.unwrap_err();
    assert_eq!(error.get_fact("reason"), Some("base"), "{error}");
    pair.bring(&bundle, "../../heads", None).await.unwrap_err();
    pair.bring(&bundle, ONE, None).await.unwrap();
}

#[tokio::test]
async fn evil_names_of_refs_do_no_harm() {
    let pair = Pair::new().await;
    pair.work("new", "n\n");
    let commit = pair.here.git_in(&pair.far, ["rev-parse", "HEAD"]);
    let bundle = pair.here.collect(&pair.far, &pair.base, None);
    let whole = std::fs::read(&bundle).unwrap();
    let end = whole.windows(2).position(|two| two == b"\n\n").unwrap();
    let mut evil = whole[..end].to_vec();
    for name in [
        "refs/heads/../../heads/main",
        "refs/heads/-d",
        "refs/heads/$(touch${IFS}x)",
        "refs/tags/v1",
        "HEAD",
        "refs/heads/x.lock",
        "refs/heads/../../../hooks/post-checkout",
    ] {
        evil.extend_from_slice(format!("\n{commit} {name}").as_bytes());
    }
    evil.extend_from_slice(&whole[end..]);
    let bad = pair.here.sandbox.root().join("bad.bundle");
    std::fs::write(&bad, evil).unwrap();
    let before = pair.here.state();
    let results = pair.bring(&bad, ONE, None).await.unwrap();
    assert_eq!(pair.here.state(), before);
    assert_eq!(results.summary.branches, ["$(touch${IFS}x)", "-d", "main"]);
    assert_eq!(results.notes, ["3 branches have names that git does not take, and were left behind"]);
    assert_eq!(results.advice[0], format!("git merge 'remote-exec/{ONE}/$(touch${{IFS}}x)'"));
    let lines = pair.refs();
    assert!(
        lines.lines().all(|line| line.starts_with(&format!("refs/remotes/remote-exec/{ONE}/"))),
        "{lines}"
    );
}

#[tokio::test]
async fn a_tree_that_would_write_into_git_is_refused() {
    let pair = Pair::new().await;
    let script = r#"set -e
        blob=$(printf evil | git hash-object -w --stdin)
        sub=$(printf '100644 blob %s\tconfig\n' "$blob" | git mktree)
        tree=$(printf '040000 tree %s\t.git\n' "$sub" | git mktree)
        git update-ref refs/heads/evil "$(git commit-tree -p HEAD -m evil "$tree")""#;
    let mut command = pair.here.sandbox.command("sh");
    command.args(["-c", script]).current_dir(&pair.far);
    amplihack_testkit::Run::new(command).output().assert_code(0);
    let bundle = pair.here.collect(&pair.far, &pair.base, None);
    let error = pair.bring(&bundle, ONE, None).await.unwrap_err();
    assert!(error.to_string().contains(".git"), "{error}");
    assert_eq!(pair.refs(), "");
}

#[tokio::test]
async fn what_a_repository_configures_is_not_started_by_a_pull() {
    let pair = Pair::new().await;
    pair.here.write(".gitattributes", "* merge=evil\n");
    pair.here.write("a", "1\n2\nnear\n");
    pair.here.commit("near");
    pair.work("a", "1\n2\nfar\n");
    let sprung = pair.here.sandbox.root().join("SPRUNG");
    let trap = format!("touch {}; true", sprung.display());
    let hook =
        pair.here.sandbox.write("work/.git/hooks/reference-transaction", format!("#!/bin/sh\n{trap}\n"));
    std::fs::set_permissions(hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for name in ["merge.evil.driver", "core.fsmonitor", "core.alternateRefsCommand", "core.sshCommand"] {
        pair.here.git(["config", name, &trap]);
    }
    // Another repository in place of the bundle, or a program.
    let bundle = pair.here.collect(&pair.far, &pair.base, None);
    let results = pair.bring(&bundle, ONE, None).await.unwrap();
    assert_eq!(results.summary.conflicts, ["a"]);
    pair.here.git(["config", &format!("url.ext::sh -c touch% {}.insteadOf", sprung.display()), "/"]);
    pair.here.git(["config", "protocol.ext.allow", "always"]);
    pair.bring(&bundle, TWO, None).await.unwrap_err();
    pair.here.git(["config", "--remove-section", &format!("url.ext::sh -c touch% {}", sprung.display())]);
    let other = Here::new();
    other.commit("other");
    pair.here.git([
        "config",
        &format!("url.{}/.git.insteadOf", other.work().display()),
        &bundle.to_string_lossy(),
    ]);
    let error = pair.bring(&bundle, TWO, None).await.unwrap_err();
    assert_eq!(error.get_fact("reason"), Some("mismatch"), "{error}");
    assert!(!sprung.exists());
    assert!(!pair.refs().contains(TWO));
}

#[tokio::test]
async fn what_no_git_would_write_is_refused() {
    for (name, mode, text) in [
        (".git", "040000", ""),
        ("..", "040000", ""),
        (".gitmodules", "100644", "[submodule \"-u\"]\n\tpath = s\n\turl = -u./payload\n"),
    ] {
        let pair = Pair::new().await;
        let git = |args: &[&str]| pair.here.git_in(&pair.far, args.iter().copied());
        std::fs::write(pair.far.join("evil"), if text.is_empty() { "evil" } else { text }).unwrap();
        let blob = git(&["hash-object", "-w", "evil"]);
        let tree = |mode: &str, id: &str, name: &str| {
            let kind = if mode == "040000" { "tree" } else { "blob" };
            std::fs::write(pair.far.join("lines"), format!("{mode} {kind} {id}\t{name}\n")).unwrap();
            pair.here.git_in(&pair.far, ["-c", "alias.t=!git mktree --missing <lines", "t"])
        };
        let inner = if mode == "040000" { tree("100755", &blob, "post-checkout") } else { blob };
        let outer = tree(mode, &inner, name);
        let commit = git(&["commit-tree", &outer, "-p", "HEAD", "-m", "evil"]);
        git(&["update-ref", "HEAD", &commit]);
        let bundle = pair.here.collect(&pair.far, &pair.base, None);
        let error = pair.bring(&bundle, ONE, None).await.unwrap_err();
        assert_eq!(error.get_fact("reason"), Some("unsound"), "{name}: {error}");
        assert_eq!(pair.refs(), "", "{name}");
    }
}
