//! What is packaged, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_remote::RemoteError;
use amplihack_remote::package::{PackageOptions, SessionPackage};
use amplihack_testkit::Run;

use crate::far::{Here, names, token};

/// Reasons by path.
fn left_out(package: &SessionPackage) -> Vec<(String, &'static str)> {
    package.left_out.iter().map(|left| (left.path.display().to_string(), left.why)).collect()
}

async fn refused(options: PackageOptions<'_>, reason: &str) -> RemoteError {
    let error = SessionPackage::build(options).await.unwrap_err();
    assert!(matches!(error, RemoteError::Packaging(_)), "{error:?}");
    assert_eq!(error.get_fact("reason"), Some(reason), "{error}");
    error
}

#[tokio::test]
async fn nothing_ships_but_head_and_its_branch() {
    let here = Here::new();
    here.write("a", "one\n");
    let base = here.commit("one");
    here.git(["checkout", "--quiet", "-b", "other"]);
    here.write("secret-plans", "x\n");
    let other = here.commit("other");
    here.git(["tag", "-a", "v1", "-m", "tag"]);
    here.git(["checkout", "--quiet", "main"]);
    here.write("a", "stashed\n");
    here.git(["stash", "--quiet"]);
    let stash = here.git(["rev-parse", "refs/stash"]);

    let package = SessionPackage::build(here.options()).await.unwrap();
    assert_eq!(
        (package.base.as_str(), package.branch.as_str(), package.on_branch),
        (base.as_str(), "main", true)
    );
    assert_eq!((&package.extra, package.left_out.len(), package.allowed.len()), (&None, 0, 0));
    let bundle = package.bundle.as_ref().unwrap();
    assert_eq!(std::fs::metadata(&bundle.path).unwrap().permissions().mode() & 0o777, 0o600);
    let words = ["bundle", "list-heads"].map(OsStr::new).into_iter();
    let heads = here.git_in(here.work(), words.chain([bundle.path.as_os_str()]));
    assert_eq!(heads, format!("{base} HEAD\n{base} refs/heads/main"));
    let far = here.arrive(&package, "one");
    for absent in [other, stash] {
        let mut command = here.sandbox.command("git");
        command.args(["cat-file", "-e", &absent]).current_dir(&far);
        assert_ne!(Run::new(command).output().code, Some(0), "{absent} was sent");
    }
}

#[tokio::test]
async fn a_bundle_is_made_once_for_a_commit_and_needs_no_network() {
    let here = Here::new();
    let first = SessionPackage::build(here.options()).await.unwrap();
    let again = SessionPackage::build(here.options()).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(std::fs::read_dir(&here.kept).unwrap().count(), 1);
    // A damaged one is made anew.
    let path = &first.bundle.as_ref().unwrap().path;
    std::fs::write(path, "x").unwrap();
    let anew = SessionPackage::build(here.options()).await.unwrap();
    assert_eq!(anew.bundle.unwrap().path, *path);
    here.arrive(&first, "far");
}

#[tokio::test]
async fn only_what_the_far_side_lacks_is_sent() {
    let here = Here::new();
    here.write("a", "one\n");
    let first = here.commit("one");
    let whole = SessionPackage::build(here.options()).await.unwrap();
    let far = here.arrive(&whole, "far");
    here.write("b", "two\n");
    let second = here.commit("two");

    let have = [first.clone(), "0123456789".repeat(4)];
    let more = SessionPackage::build(PackageOptions { have: &have, ..here.options() }).await.unwrap();
    let words = ["fetch", "--quiet"].map(OsStr::new).into_iter();
    let refspec = OsStr::new("refs/heads/main:refs/heads/next");
    let bundle = more.bundle.unwrap();
    here.git_in(&far, words.chain([bundle.path.as_os_str(), refspec]));
    assert_eq!(here.git_in(&far, ["rev-parse", "next"]), second);
    let words = ["bundle", "verify"].map(OsStr::new).into_iter();
    let said = here.git_in(here.work(), words.chain([bundle.path.as_os_str()]));
    assert!(said.contains(&first), "the bundle builds on what is there: {said}");

    let have = [second];
    let nothing = SessionPackage::build(PackageOptions { have: &have, ..here.options() }).await.unwrap();
    assert_eq!(nothing.bundle, None);
    let have = ["--all".to_owned()];
    SessionPackage::build(PackageOptions { have: &have, ..here.options() }).await.unwrap_err();
}

#[tokio::test]
async fn work_that_is_not_committed_arrives_as_it_is() {
    let here = Here::new();
    for (path, text) in [
        ("changed", "old\n"),
        ("gone", "x\n"),
        ("old-name", "y\n"),
        ("script", "z\n"),
        ("dir/file", "d\n"),
        ("becomes-link", "l\n"),
        ("cached", "c\n"),
    ] {
        here.write(path, text);
    }
    here.write(".gitignore", "ignored\n");
    symlink("changed", here.work().join("was-link")).unwrap();
    here.commit("start");

    here.write("changed", "new\n");
    std::fs::remove_file(here.work().join("gone")).unwrap();
    here.git(["mv", "old-name", "new-name"]);
    std::fs::set_permissions(here.work().join("script"), PermissionsExt::from_mode(0o755)).unwrap();
    // A directory that becomes a file, a file that becomes a link, and a link that becomes a file.
    std::fs::remove_dir_all(here.work().join("dir")).unwrap();
    here.write("dir", "a file now\n");
    std::fs::remove_file(here.work().join("becomes-link")).unwrap();
    symlink("/etc/hostname", here.work().join("becomes-link")).unwrap();
    std::fs::remove_file(here.work().join("was-link")).unwrap();
    here.write("was-link", "no link\n");
    here.git(["rm", "--quiet", "--cached", "cached"]);
    here.write("ignored", "stays\n");
    here.write("staged", "s\n");
    here.git(["add", "staged"]);
    here.write("new/deep/file", "n\n");
    let before = here.state();

    let package = here.dirty().await;
    assert_eq!(here.state(), before);
    let far = here.arrive(&package, "far");
    let mut expected = names(here.work());
    expected.retain(|name| name != b"ignored");
    assert_eq!(names(&far), expected);
    for name in names(&far) {
        let name = OsStr::from_bytes(&name);
        let (near, far) = (here.work().join(name), far.join(name));
        let kind = std::fs::symlink_metadata(&far).unwrap();
        assert_eq!(kind.is_symlink(), near.is_symlink(), "{}", near.display());
        if kind.is_symlink() {
            assert_eq!(std::fs::read_link(&far).unwrap(), std::fs::read_link(&near).unwrap());
        } else {
            assert_eq!(std::fs::read(&far).unwrap(), std::fs::read(&near).unwrap());
            let execute = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o100;
            assert_eq!(execute(&far), execute(&near), "{}", near.display());
        }
    }
    // Without being asked for, none of it is sent.
    let clean = SessionPackage::build(here.options()).await.unwrap();
    assert_eq!(clean.extra, None);
}

#[tokio::test]
async fn a_directory_that_became_a_link_is_not_followed() {
    let here = Here::new();
    here.write("d/x", "tracked\n");
    here.commit("start");
    let outside = here.sandbox.write("outside/x", "private\n");
    std::fs::remove_dir_all(here.work().join("d")).unwrap();
    symlink(outside.parent().unwrap(), here.work().join("d")).unwrap();
    let far = here.arrive(&here.dirty().await, "far");
    assert_eq!(names(&far), [b"d".to_vec()]);
    assert_eq!(std::fs::read_link(far.join("d")).unwrap(), outside.parent().unwrap());
}

#[tokio::test]
async fn hostile_names_arrive_to_the_byte() {
    let here = Here::new();
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    let mut all: Vec<Vec<u8>> = vec![
        b"-rf".to_vec(),
        b"a\nb".to_vec(),
        b"\xff\xfe".to_vec(),
        b" lead".to_vec(),
        b"$(touch PWNED)".to_vec(),
        long.into_bytes(),
    ];
    for name in &all {
        here.write("seed", "");
        let path = here.work().join(OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "1").unwrap();
    }
    symlink("t".repeat(150), here.work().join("long-link")).unwrap();
    all.extend([b"seed".to_vec(), b"long-link".to_vec()]);
    all.sort();
    assert_eq!(names(&here.arrive(&here.dirty().await, "new")), all);

    here.commit("start");
    for name in &all {
        std::fs::remove_file(here.work().join(OsStr::from_bytes(name))).unwrap();
    }
    here.write("last", "");
    assert_eq!(names(&here.arrive(&here.dirty().await, "gone")), [b"last".to_vec()]);
}

#[tokio::test]
async fn the_same_content_has_the_same_digest() {
    let (one, two) = (Here::new(), Here::new());
    for (here, order) in [(&one, ["a", "b/c", ".claude/x"]), (&two, [".claude/x", "b/c", "a"])] {
        for path in order {
            here.write(path, path);
        }
    }
    let digest = |package: SessionPackage| package.extra.unwrap().sha256;
    let (first, second) = (digest(one.dirty().await), digest(two.dirty().await));
    assert_eq!(first, second);
    one.write("a", "other");
    assert_ne!(digest(one.dirty().await), first);
}

#[tokio::test]
async fn of_dot_claude_goes_what_an_agent_needs() {
    let here = Here::new();
    here.write(".gitignore", ".claude/\n");
    here.commit("start");
    for path in [
        "settings.json",
        "agents/a.md",
        "settings.local.json",
        "runtime/logs/x",
        "logs/y",
        "a/b.log",
        ".credentials.json",
        "worktrees/w/z",
    ] {
        here.write(&format!(".claude/{path}"), "x\n");
    }
    std::fs::create_dir_all(here.work().join(".claude/nested/.git")).unwrap();
    here.write(".claude/nested/f", "x\n");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        here.work().join(".claude/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let package = SessionPackage::build(here.options()).await.unwrap();
    let far = here.arrive(&package, "far");
    assert_eq!(names(&far.join(".claude")), [b"agents/a.md".to_vec(), b"settings.json".to_vec()]);
    insta::assert_debug_snapshot!(left_out(&package));
}

#[tokio::test]
async fn untracked_keys_stay_unless_they_are_asked_for_and_submodules_are_named() {
    let here = Here::new();
    let other = Here::new();
    other.write("f", "x");
    let commit = other.commit("sub");
    here.git(["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
    here.git(["commit", "--quiet", "-m", "sub"]);
    here.write(".env", "A=b\n");
    here.write("server.pem", "x\n");
    here.write("nested/.git/HEAD", "ref: refs/heads/main\n");
    here.git_in(&here.work().join("nested"), ["init", "--quiet"]);
    let package = here.dirty().await;
    insta::assert_debug_snapshot!(left_out(&package));
    assert_eq!(package.extra, None);

    let keys = [PathBuf::from(".env")];
    let package =
        SessionPackage::build(PackageOptions { include_dirty: true, send_keys: &keys, ..here.options() })
            .await
            .unwrap();
    assert_eq!(names(&here.arrive(&package, "far")), [b".env".to_vec()]);
    // It is looked at as everything is.
    here.write(".env", format!("A={}\n", token('a')));
    refused(PackageOptions { include_dirty: true, send_keys: &keys, ..here.options() }, "secrets").await;
}

#[tokio::test]
async fn secrets_are_looked_for_in_all_that_is_sent() {
    let here = Here::new();
    here.write("src/old.rs", format!("a\nlet key = \"{}\";\n", token('h')));
    here.write(".env", format!("TOKEN={}\n", token('e')));
    here.commit("with a secret");
    here.write("src/old.rs", "a\n");
    here.commit("without it");
    here.commit(&format!("a message\n\nwith {}", token('m')));
    here.write(".claude/settings.json", format!("{{\"env\": \"{}\"}}\n", token('c')));
    here.write("new.txt", format!("\n\n{}\n", token('n')));

    let error = refused(PackageOptions { include_dirty: true, ..here.options() }, "secrets").await;
    assert_eq!(error.get_fact("count"), Some("5"), "{error}");
    let text = error.to_string();
    for kind in ['h', 'e', 'm', 'c', 'n'] {
        assert!(!format!("{error:?}").contains(&token(kind)[..8]), "{text}");
    }
    for place in [
        "src/old.rs:2 github-token ghp_… (40 bytes) ",
        ".env:1 ",
        ".claude/settings.json:1 ",
        "new.txt:3 ",
        "commit ",
    ] {
        assert!(text.contains(place), "{place}: {text}");
    }
    let first = here.git(["rev-parse", "--short=12", "HEAD~2"]);
    assert_eq!(text.matches(&format!("(commit {first})")).count(), 2, "{text}");
    assert!(
        !std::fs::read_dir(&here.kept).unwrap().any(|entry| entry
            .unwrap()
            .file_name()
            .as_bytes()
            .ends_with(b".bundle"))
    );

    // Each of them may be allowed, and no other is.
    let mut allow: Vec<String> =
        error.get_fact("fingerprints").unwrap().split(' ').map(str::to_owned).collect();
    let package =
        SessionPackage::build(PackageOptions { include_dirty: true, allow: &allow, ..here.options() })
            .await
            .unwrap();
    assert_eq!(package.allowed.len(), 5);
    allow.pop();
    refused(PackageOptions { include_dirty: true, allow: &allow, ..here.options() }, "secrets").await;
    let unseen = PackageOptions { include_dirty: true, skip_secret_scan: true, ..here.options() };
    SessionPackage::build(unseen).await.unwrap();
}

#[tokio::test]
async fn what_the_far_side_has_is_not_looked_at_again() {
    let here = Here::new();
    here.write("a", token('a'));
    let have = [here.commit("old")];
    here.write("a", "clean");
    here.commit("new");
    refused(here.options(), "secrets").await;
    SessionPackage::build(PackageOptions { have: &have, ..here.options() }).await.unwrap();
}

#[tokio::test]
async fn a_repository_allows_its_secrets_only_if_it_is_trusted() {
    let here = Here::new();
    here.write("fixture", token('f'));
    here.commit("fixture");
    let error = refused(here.options(), "secrets").await;
    let fingerprint = error.get_fact("fingerprints").unwrap();
    here.write(".amplihack/secrets-allow", format!("# made up\n{fingerprint} the fixture\n"));
    let error = refused(here.options(), "secrets").await;
    assert!(error.get_fact("hint").unwrap().contains("does not count until you trust"), "{error:?}");
    SessionPackage::build(PackageOptions { trusted: true, ..here.options() }).await.unwrap();
}

#[tokio::test]
async fn twenty_secrets_are_named_and_the_rest_is_counted() {
    let here = Here::new();
    for number in 0..23 {
        here.write(&format!("f{number:02}"), format!("{number} {}", token('a')));
    }
    here.commit("many");
    let error = refused(here.options(), "secrets").await;
    let text = error.to_string();
    assert!(text.contains("23 secrets would be sent") && text.ends_with("\n  and 3 more"), "{text}");
    assert_eq!(text.lines().count(), 22);
}

#[tokio::test]
async fn large_and_many_objects_are_all_looked_at() {
    let here = Here::new();
    let filler = "x".repeat(99) + "\n";
    here.write("large", format!("{}{}\n", filler.repeat(180_000), token('l')));
    for number in 0..300 {
        here.write(&format!("many/{number}"), format!("{number}{}", filler.repeat(1000)));
    }
    here.write("many/300", token('z'));
    here.commit("large");
    let error = refused(here.options(), "secrets").await;
    let text = error.to_string();
    assert!(text.contains("large:180001 ") && text.contains("many/300:1 "), "{text}");
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty()).unwrap();
    bytes
}

#[tokio::test]
async fn too_much_is_refused_with_the_biggest_files() {
    let here = Here::new();
    for number in 0..12 {
        here.write(&format!("assets/{number}"), noise(40_000 + number * 10_000));
    }
    here.commit("assets");
    std::fs::remove_dir_all(here.work().join("assets")).unwrap();
    let commit = here.commit("taken away, and still in the history");
    here.write("new.bin", noise(300_000));
    let options = || PackageOptions { skip_secret_scan: true, ..here.options() };

    let error = refused(PackageOptions { cap: 900_000, ..options() }, "too_large").await;
    let text = error.to_string();
    assert_eq!(text.lines().count(), 11, "{text}");
    let origin = here.git(["rev-parse", "--short=12", &format!("{commit}~1")]);
    assert!(
        text.lines().nth(1).unwrap().ends_with(&format!("0.1 MiB in assets/11 (commit {origin})")),
        "{text}"
    );
    SessionPackage::build(PackageOptions { cap: 2_000_000, ..options() }).await.unwrap();
    let error = refused(PackageOptions { cap: 200_000, include_dirty: true, ..options() }, "too_large").await;
    assert!(
        error.to_string().lines().nth(1).unwrap().ends_with("0.2 MiB in new.bin (not committed)"),
        "{error}"
    );
    let temporary = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().as_bytes().starts_with(b".new-")
    };
    assert!(!std::fs::read_dir(&here.kept).unwrap().any(temporary), "nothing half made is left");
}

#[tokio::test]
async fn what_cannot_be_packaged_says_why() {
    let here = Here::new();
    let (env, kept) = (here.sandbox.env(), here.kept.as_path());
    let nowhere = here.sandbox.root().join("home");
    let error = SessionPackage::build(PackageOptions::new(&nowhere, env, kept)).await.unwrap_err();
    assert!(matches!(error, RemoteError::Validation(_)), "{error:?}");
    assert_eq!(error.get_fact("reason"), Some("no_repository"));
    assert!(error.get_fact("hint").is_some());
    let empty = here.sandbox.root().join("empty");
    here.git_in(here.sandbox.root(), ["init".as_ref(), "--quiet".as_ref(), empty.as_os_str()]);
    refused(PackageOptions::new(&empty, env, kept), "no_commits").await;
    here.commit("two");
    let shallow = here.sandbox.root().join("shallow");
    let source = format!("file://{}", here.work().display());
    here.git_in(here.sandbox.root(), ["clone", "--quiet", "--depth=1", &source, shallow.to_str().unwrap()]);
    refused(PackageOptions::new(&shallow, env, kept), "shallow").await;
    let missing = here.sandbox.root().join("missing");
    let error = SessionPackage::build(PackageOptions::new(&missing, env, kept)).await.unwrap_err();
    assert!(matches!(error, RemoteError::Validation(_)), "{error:?}");
    assert!(error.to_string().ends_with("missing is not a directory"), "{error}");

    here.git(["config", "core.worktree", here.sandbox.home().to_str().unwrap()]);
    let options = PackageOptions { include_dirty: true, ..here.options() };
    refused(options, "foreign_work_tree").await;
}

#[tokio::test]
async fn a_partial_clone_is_told_to_be_completed() {
    let here = Here::new();
    here.write("a", "one\n");
    here.commit("one");
    here.write("a", "two\n");
    here.commit("two");
    here.git(["config", "uploadpack.allowFilter", "true"]);
    let partial = here.sandbox.root().join("partial");
    let source = format!("file://{}", here.work().display());
    here.git_in(
        here.sandbox.root(),
        ["clone", "--quiet", "--filter=blob:none", &source, partial.to_str().unwrap()],
    );
    // Its source is gone, as behind a network that is not there.
    here.git_in(&partial, ["remote", "set-url", "origin", "https://nowhere.invalid/x"]);
    refused(PackageOptions::new(&partial, here.sandbox.env(), &here.kept), "incomplete").await;
}

#[tokio::test]
async fn bare_detached_linked_and_from_within() {
    let here = Here::new();
    here.write("sub/dir/f", "x\n");
    let commit = here.commit("one");
    let bare = here.sandbox.root().join("bare.git");
    here.git_in(
        here.sandbox.root(),
        ["clone".as_ref(), "--quiet".as_ref(), "--bare".as_ref(), here.work().as_os_str(), bare.as_os_str()],
    );
    let options =
        PackageOptions { include_dirty: true, ..PackageOptions::new(&bare, here.sandbox.env(), &here.kept) };
    assert_eq!(SessionPackage::build(options).await.unwrap().base, commit);

    let tree = here.sandbox.root().join("linked");
    here.git_in(
        here.work(),
        ["worktree".as_ref(), "add".as_ref(), "--quiet".as_ref(), "--detach".as_ref(), tree.as_os_str()],
    );
    std::fs::write(tree.join("sub/new"), "n").unwrap();
    let within = tree.join("sub/dir");
    let options = PackageOptions {
        include_dirty: true,
        ..PackageOptions::new(&within, here.sandbox.env(), &here.kept)
    };
    let package = SessionPackage::build(options).await.unwrap();
    assert_eq!((package.branch.as_str(), package.on_branch), ("detached", false));
    let far = here.arrive(&package, "far");
    assert_eq!(names(&far), [b"sub/dir/f".to_vec(), b"sub/new".to_vec()]);
}

#[tokio::test]
async fn variables_of_another_repository_lead_nowhere() {
    let here = Here::new();
    let other = Here::new();
    other.write("theirs", "x\n");
    other.commit("theirs");
    let base = here.git(["rev-parse", "HEAD"]);
    let git_dir = other.work().join(".git");
    let env: Env = here.sandbox.env().clone();
    let env = env
        .with_variable("GIT_DIR", &git_dir)
        .with_variable("GIT_WORK_TREE", other.work())
        .with_variable("GIT_INDEX_FILE", git_dir.join("index"))
        .with_variable("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
        .with_variable("GIT_CONFIG_COUNT", "1")
        .with_variable("GIT_CONFIG_KEY_0", "core.fsmonitor")
        .with_variable("GIT_CONFIG_VALUE_0", "touch PWNED")
        .with_variable("GIT_EXTERNAL_DIFF", "touch PWNED");
    let options =
        PackageOptions { include_dirty: true, ..PackageOptions::new(here.work(), &env, &here.kept) };
    assert_eq!(SessionPackage::build(options).await.unwrap().base, base);
    assert!(!here.work().join("PWNED").exists());
}

#[tokio::test]
async fn what_a_repository_configures_is_not_started() {
    let here = Here::new();
    here.write(".gitattributes", "*.f filter=evil diff=evil merge=evil\n");
    here.write("a.f", "one\n");
    here.commit("one");
    let trap = here
        .sandbox
        .write("bin/trap", format!("#!/bin/sh\necho x >> {}/SPRUNG\ncat\n", here.sandbox.root().display()));
    std::fs::set_permissions(&trap, PermissionsExt::from_mode(0o755)).unwrap();
    let hooks = here.sandbox.root().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    for hook in ["post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"] {
        symlink(&trap, hooks.join(hook)).unwrap();
    }
    let trap = trap.to_str().unwrap();
    for name in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
        "core.pager",
        "core.sshCommand",
        "credential.helper",
        "core.alternateRefsCommand",
        "gpg.program",
    ] {
        here.git(["config", name, trap]);
    }
    here.git(["config", "filter.evil.required", "true"]);
    here.git(["config", "core.hooksPath", hooks.to_str().unwrap()]);
    here.write("a.f", "two\n");
    here.write("b.f", "three\n");
    let package = here.dirty().await;
    assert!(!here.sandbox.root().join("SPRUNG").exists());
    assert_eq!(std::fs::read(here.arrive(&package, "far").join("a.f")).unwrap(), b"two\n");
}
