//! What a new worktree is given before its run begins, what is said of what it does not have, and where it lies.

use std::fs;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Output, Sandbox};

use crate::auto::{assert_ended, auto, claude, events};
use crate::world::{prepare, run};

/// What each run of these tests does: it writes down what it finds, and says that it is done.
const LOOKS: &str = "pwd > \"$HOME/where\"; ls -A > \"$HOME/found\"; echo n > new; result done";

/// `git` in the sandbox's repository, to success.
#[track_caller]
fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.run("git", args).assert_code(0).stdout_text()
}

/// Commits a file.
fn commit(sandbox: &Sandbox, name: &str, text: &str) {
    sandbox.write(format!("work/{name}"), text);
    git(sandbox, &["add", "--", name]);
    git(sandbox, &["commit", "-q", "-m", name]);
}

/// The notices of a run.
fn notices(output: &Output) -> Vec<String> {
    let notices = events(output).into_iter().filter(|event| event["type"] == "notice");
    notices.map(|event| event["message"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn assert_notice(output: &Output, text: &str) {
    assert!(notices(output).iter().any(|notice| notice == text), "{text:?}: {output}");
}

/// Where the agent stood.
fn place(sandbox: &Sandbox) -> PathBuf {
    PathBuf::from(fs::read_to_string(sandbox.home().join("where")).unwrap().trim_end())
}

/// A refused run leaves nothing, and no agent was started.
#[track_caller]
fn assert_nothing_stays(sandbox: &Sandbox) {
    assert!(!sandbox.home().join("where").exists(), "an agent was started");
    assert_eq!(git(sandbox, &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    assert_eq!(git(sandbox, &["branch", "--list", "amplihack*"]), "");
    let sessions = fs::read_dir(sandbox.home().join(".amplihack/sessions")).into_iter().flatten().flatten();
    let kept: Vec<PathBuf> =
        sessions.map(|entry| entry.path()).filter(|path| path.join("auto.jsonl").exists()).collect();
    assert_eq!(kept, Vec::<PathBuf>::new());
}

#[test]
fn listed_files_that_git_ignores_come_along_and_the_rest_is_said() {
    let sandbox = claude(LOOKS);
    commit(&sandbox, ".gitignore", "node_modules/\n.env*\n/conf/*.key\n");
    commit(&sandbox, ".worktreeinclude", "# ours\n.env*\n!.env.example\nconf/\n");
    for name in [".env", ".env.local", ".env.example", "conf/a.key", "node_modules/x/y.js", "loose"] {
        sandbox.write(format!("work/{name}"), name);
    }
    std::os::unix::fs::symlink("/etc/passwd", sandbox.work().join(".env.out")).unwrap();
    sandbox.write("work/.gitignore", "node_modules/\n.env*\n/conf/*.key\n# more\n");
    let output = auto(&sandbox, &["--worktree", "--verify", "test -e new"]).output();
    assert_ended(&output, "verified", 0);
    let tree = place(&sandbox);
    for name in [".env", ".env.local", "conf/a.key"] {
        assert_eq!(fs::read_to_string(tree.join(name)).unwrap(), name, "{output}");
    }
    for name in [".env.example", ".env.out", "node_modules", "loose"] {
        assert!(tree.join(name).symlink_metadata().is_err(), "{name}: {output}");
    }
    assert_notice(
        &output,
        "3 files that git ignores are copied into the worktree: .env, .env.local, conf/a.key",
    );
    assert_notice(&output, ".env.out is not copied into the worktree: it leads out of the repository");
    assert_notice(&output, "2 files with uncommitted changes are not in the worktree");
    assert_notice(
        &output,
        "3 paths that git ignores are not in the worktree: .env.example, .env.out, node_modules",
    );
}

#[test]
fn a_setup_runs_once_in_the_worktree_before_the_agent_does() {
    let sandbox = claude(&format!("[ -e made ] && echo yes > \"$HOME/ready\"; {LOOKS}"));
    commit(&sandbox, "file", "1");
    let setup = "pwd >> \"$HOME/setup\"; echo m > made";
    let output =
        auto(&sandbox, &["--worktree", "--setup", setup, "--verify", "test -e new", "--max-turns", "3"])
            .output();
    assert_ended(&output, "verified", 0);
    let tree = place(&sandbox);
    assert_eq!(
        fs::read_to_string(sandbox.home().join("setup")).unwrap().trim_end(),
        tree.display().to_string()
    );
    assert!(sandbox.home().join("ready").exists());
    assert_notice(&output, &format!("the setup runs in the worktree: {setup}"));
    assert!(notices(&output).iter().all(|notice| !notice.contains("uncommitted")), "{output}");
    // What the setup made is none of the agent's changes.
    let diff = fs::read_to_string(crate::auto::directory(&sandbox).join("diff.patch")).unwrap();
    assert!(diff.contains("b/new") && !diff.contains("b/made"), "{diff}");
}

#[test]
fn a_setup_that_fails_refuses_the_run_before_an_agent_starts() {
    let sandbox = claude(LOOKS);
    commit(&sandbox, "file", "1");
    let setup = "echo m > made; echo 'no such package: left-pad' >&2; exit 7";
    let output = auto(&sandbox, &["--worktree", "--setup", setup]).output();
    output.assert_code(1).assert_stdout_has("worktree_setup").assert_stdout_has("no such package: left-pad");
    output.assert_stdout_has("ended with exit code 7");
    assert_nothing_stays(&sandbox);
    sandbox.write("home/.config/amplihack/config.toml", "worktrees.setup_seconds = 1\n");
    let output = auto(&sandbox, &["--worktree", "--setup", "echo begun; sleep 60"]).output();
    output.assert_code(1).assert_stdout_has("took longer than 1 s: begun");
    assert_nothing_stays(&sandbox);
    // The others of a `parallel` are not held up.
    sandbox.write("tasks", "one\ntwo\n");
    let tasks = sandbox.root().join("tasks").display().to_string();
    let setup = "mkdir \"$HOME/first\" && exit 3; true";
    let output = run(
        &sandbox,
        &[
            "parallel",
            "--agents",
            "claude",
            "--task-file",
            &tasks,
            "--setup",
            setup,
            "--verify",
            "test -e new",
            "--json",
        ],
    );
    output.assert_code(1).assert_stdout_has("worktree_setup").assert_stdout_has("\"end\":\"verified\"");
}

#[test]
fn a_repositorys_own_setup_counts_only_when_it_is_trusted() {
    let sandbox = claude(LOOKS);
    commit(
        &sandbox,
        ".amplihack/config.toml",
        "[worktrees]\nsetup = 'echo s > from-setup'\ninclude = ['.env']\ndirectory = '../elsewhere'\n",
    );
    commit(&sandbox, ".gitignore", ".env\n");
    sandbox.write("work/.env", "e");
    let output = auto(&sandbox, &["--worktree", "--verify", "test -e new"]).output();
    assert_ended(&output, "verified", 0);
    let tree = place(&sandbox);
    assert!(!tree.join("from-setup").exists() && !tree.join(".env").exists(), "{output}");
    assert!(
        tree.starts_with(
            sandbox.home().canonicalize().unwrap().join(".local/share/amplihack/worktrees/work")
        ),
        "{tree:?}"
    );
    run(&sandbox, &["config", "trust", "."]).assert_code(0);
    let output = auto(&sandbox, &["--worktree", "--verify", "test -e new"]).output();
    assert_ended(&output, "verified", 0);
    let tree = place(&sandbox);
    assert!(tree.join("from-setup").exists() && tree.join(".env").exists(), "{output}");
    assert!(tree.starts_with(sandbox.root().canonicalize().unwrap().join("elsewhere/work")), "{tree:?}");
}

#[test]
fn the_directory_is_the_users_and_a_guarded_one_is_refused() {
    let sandbox = claude(LOOKS);
    commit(&sandbox, "file", "1");
    let output =
        auto(&sandbox, &["--worktree", "--worktree-dir", "../mine", "--verify", "test -e new"]).output();
    assert_ended(&output, "verified", 0);
    assert!(place(&sandbox).starts_with(sandbox.root().canonicalize().unwrap().join("mine/work")));
    fs::remove_file(sandbox.home().join("where")).unwrap();
    let list = git(&sandbox, &["worktree", "list"]);
    for (directory, why) in [
        (sandbox.home().join(".amplihack/trees"), "holds amplihack's own files"),
        (PathBuf::from(".git/trees"), "git keeps its own files there"),
        (sandbox.home().join(".config/amplihack"), "the policy lets no agent write there"),
    ] {
        let output = auto(&sandbox, &["--worktree", "--worktree-dir", directory.to_str().unwrap()]).output();
        output.assert_code(2).assert_stdout_has(why).assert_stdout_has("worktree_place");
        assert!(!sandbox.home().join("where").exists());
        assert_eq!(git(&sandbox, &["worktree", "list"]), list);
    }
    for option in [&["--setup", "true"][..], &["--submodules"], &["--worktree-dir", "x"]] {
        let output = auto(&sandbox, option).output();
        output.assert_code(2).assert_stdout_has(&format!("{} needs --worktree", option[0]));
    }
}

/// A repository with a submodule that holds one of its own, cloned from the sandbox.
fn with_submodules(sandbox: &Sandbox) {
    let base = sandbox.root().canonicalize().unwrap();
    let in_dir = |dir: &Path, args: &[&str]| {
        let dir = dir.display().to_string();
        let file = ["-C", &dir, "-c", "protocol.file.allow=always"];
        git(sandbox, &[&file, args].concat());
    };
    for name in ["inner", "outer"] {
        let dir = base.join(name);
        fs::create_dir(&dir).unwrap();
        in_dir(&dir, &["init", "-q"]);
        fs::write(dir.join("lib"), name).unwrap();
        in_dir(&dir, &["add", "lib"]);
        in_dir(&dir, &["commit", "-q", "-m", "lib"]);
    }
    let url = |name: &str| base.join(name).display().to_string();
    in_dir(&base.join("outer"), &["submodule", "--quiet", "add", &url("inner"), "deep"]);
    in_dir(&base.join("outer"), &["commit", "-q", "-m", "deep"]);
    in_dir(&sandbox.work(), &["submodule", "--quiet", "add", &url("outer"), "libs/outer"]);
    in_dir(&sandbox.work(), &["commit", "-q", "-m", "outer"]);
    in_dir(&sandbox.work(), &["submodule", "--quiet", "update", "--init", "--recursive"]);
}

#[test]
fn submodules_are_said_to_be_missing_or_come_from_the_local_copies() {
    let sandbox = claude(
        "echo $(cat libs/outer/lib libs/outer/deep/lib 2>&1) > \"$HOME/libs\"; echo n > new; result done",
    );
    with_submodules(&sandbox);
    let output = auto(&sandbox, &["--worktree", "--verify", "test -e new"]).output();
    assert_ended(&output, "verified", 0);
    assert_notice(
        &output,
        "1 submodule is not initialized in the worktree: libs/outer; --submodules does that",
    );
    // Nobody can fetch from where they come from any more.
    for name in ["inner", "outer"] {
        fs::rename(sandbox.root().join(name), sandbox.root().join(format!("{name}.gone"))).unwrap();
    }
    let output = auto(&sandbox, &["--worktree", "--submodules", "--verify", "test -e new"]).output();
    assert_ended(&output, "verified", 0);
    assert_eq!(fs::read_to_string(sandbox.home().join("libs")).unwrap(), "outerinner\n");
    assert!(notices(&output).iter().all(|notice| !notice.contains("submodule")), "{output}");
    let began = events(&output).remove(0);
    let tree = began["directory"].as_str().unwrap();
    let url = git(&sandbox, &["-C", &format!("{tree}/libs/outer"), "remote", "get-url", "origin"]);
    assert_eq!(url.trim_end(), sandbox.root().canonicalize().unwrap().join("outer").display().to_string());
    // A copy that is nowhere is an error before the run, in words.
    git(&sandbox, &["submodule", "--quiet", "deinit", "--force", "--", "libs/outer"]);
    fs::remove_dir_all(sandbox.work().join(".git/modules")).unwrap();
    let before = git(&sandbox, &["branch", "--list", "amplihack*"]);
    let output = auto(&sandbox, &["--worktree", "--submodules"]).output();
    output.assert_code(1).assert_stdout_has("git cannot initialize a submodule");
    assert_eq!(git(&sandbox, &["branch", "--list", "amplihack*"]), before);
}

/// An agent of an earlier run may have written the repository's configuration: what that would start is not started.
#[test]
fn what_the_repository_configures_is_not_started_in_a_new_worktree() {
    let sandbox = claude("cat libs/outer/lib ours theirs > \"$HOME/libs\"; echo n > new; result done");
    with_submodules(&sandbox);
    let trap = sandbox.home().join("sprung").display().to_string();
    commit(&sandbox, ".gitattributes", "/ours filter=ours\n/theirs filter=theirs\n");
    commit(&sandbox, "ours", "stored\n");
    commit(&sandbox, "theirs", "stored\n");
    git(&sandbox, &["config", "--global", "filter.ours.smudge", "sed s/stored/smudged/"]);
    git(&sandbox, &["config", "filter.theirs.smudge", &format!("touch '{trap}'; cat")]);
    git(&sandbox, &["config", "filter.theirs.required", "true"]);
    git(&sandbox, &["config", "submodule.libs/outer.update", &format!("!touch '{trap}' #")]);
    git(&sandbox, &["config", "core.sshCommand", &format!("touch '{trap}' #")]);
    git(&sandbox, &["config", "protocol.ext.allow", "always"]);
    let args = ["--worktree", "--submodules", "--verify", "test -e new"];
    let output = auto(&sandbox, &args).output();
    assert_ended(&output, "verified", 0);
    assert_eq!(fs::read_to_string(sandbox.home().join("libs")).unwrap(), "outersmudged\nstored\n");
    assert_notice(&output, "the repository's own filter theirs is not run");
    assert!(notices(&output).iter().all(|notice| !notice.contains("filter ours")), "{output}");
    assert!(!Path::new(&trap).exists(), "{output}");
    git(&sandbox, &["submodule", "--quiet", "deinit", "--force", "--", "libs/outer"]);
    fs::remove_dir_all(sandbox.work().join(".git/modules")).unwrap();
    for url in [format!("ext::touch {trap}"), "ssh://git@127.0.0.1:1/x".to_owned()] {
        git(&sandbox, &["config", "submodule.libs/outer.url", &url]);
        let output = auto(&sandbox, &args).output();
        output.assert_code(1).assert_stdout_has("git cannot initialize a submodule");
        assert!(!Path::new(&trap).exists(), "{url}: {output}");
    }
}

/// A run of an earlier version, whose worktree lies below the state, is moved out of it when it goes on.
#[test]
fn a_worktree_below_the_state_is_moved_before_its_run_goes_on() {
    let sandbox = claude("pwd > \"$HOME/where\"; cat half new 2>/dev/null > \"$HOME/found\"; result done");
    commit(&sandbox, "file", "1");
    let home = sandbox.home().canonicalize().unwrap();
    let repository = sandbox.work().canonicalize().unwrap();
    let id = "0192f0a1-0000-7000-8000-00000000abcd";
    let old = home.join(".amplihack/worktrees").join(id);
    let branch = format!("amplihack/{id}");
    git(&sandbox, &["worktree", "add", "-q", "--lock", "-b", &branch, old.to_str().unwrap()]);
    fs::write(old.join("half"), "half done\n").unwrap();
    let start = git(&sandbox, &["rev-parse", "HEAD"]);
    let tree = serde_json::json!({"repository": repository, "path": old, "workdir": old, "branch": branch, "start": start.trim_end()});
    let mut spec = serde_json::to_value(amplihack_orchestration::AutoRunSpec::new(
        amplihack_agent::AgentBinary::Claude,
        "do it".to_owned(),
        repository,
    ))
    .unwrap();
    spec["worktree"] = true.into();
    spec["verify"] = serde_json::json!(["grep -q half half"]);
    spec.as_object_mut().unwrap().remove("worktree_options");
    let began =
        serde_json::json!({"at": "2026-01-01T00:00:00Z", "entry": "began", "spec": spec, "worktree": tree});
    sandbox.write(format!("home/.amplihack/sessions/{id}/auto.jsonl"), format!("{began}\n"));
    let output = prepare(&sandbox, &["auto", "--resume", id, "--json"]).output();
    assert_ended(&output, "verified", 0);
    let new = home.join(".local/share/amplihack/worktrees/work").join(id);
    assert_eq!(place(&sandbox), new, "{output}");
    assert_eq!(fs::read_to_string(new.join("half")).unwrap(), "half done\n");
    assert!(!old.exists());
    assert_notice(
        &output,
        &format!(
            "the worktree lies in {} now: in {} the guard lets no agent write",
            new.display(),
            home.join(".amplihack").display()
        ),
    );
}
