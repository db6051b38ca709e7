//! What is in the user's checkout besides the run's files: sparse checkouts, ignored files, files in the way, files that a setup made.

use std::fs;

use super::{git, ran, repository, sessions, state};

#[test]
fn files_outside_of_a_sparse_checkout_stay_in_the_branch() {
    let sandbox = repository("echo more >> sub/f; mkdir d; echo new > d/n");
    git(
        &sandbox,
        "init -q . && mkdir sub big && echo 1 > sub/f && echo 2 > big/f && git add . && git commit -qm dirs",
    );
    git(&sandbox, "sparse-checkout set sub");
    assert!(!sandbox.work().join("big").exists());
    let id = ran(&sandbox, &[]);
    sessions(&sandbox, &["diff", &id, "--name-only"]).assert_code(0).assert_stdout("d/n\nsub/f\n");
    sessions(&sandbox, &["merge", &id]).assert_code(0).assert_stdout_has("+2 −0");
    assert_eq!(git(&sandbox, "ls-tree -r --name-only HEAD big d sub"), "big/f\nd/n\nsub/f");
}

#[test]
fn what_a_setup_changed_is_not_the_runs_work() {
    let sandbox = repository("echo mine >> a");
    git(&sandbox, "init -q . && echo lock > lock && echo gone > gone && git add . && git commit -qm more");
    let id = ran(&sandbox, &["--setup", "echo s >> lock; rm gone; echo made > made"]);
    sessions(&sandbox, &["diff", &id, "--name-only"]).assert_code(0).assert_stdout("a\n");
    sessions(&sandbox, &["merge", &id]).assert_code(0);
    assert_eq!(git(&sandbox, "diff --name-only HEAD~1 HEAD"), "a");
    assert_eq!(fs::read_to_string(sandbox.work().join("lock")).unwrap(), "lock\n");
}

#[test]
fn ignored_files_and_files_in_the_way_are_not_overwritten() {
    let sandbox =
        repository("sed -i /conf/d .gitignore; mkdir conf d; echo agent > conf/db; echo x > d/x; rm a");
    sandbox.write("work/.gitignore", "conf/\n");
    git(&sandbox, "add . && git commit -qm ignores");
    sandbox.write("work/conf/db", "user\n");
    let id = ran(&sandbox, &[]);
    for verb in ["merge", "apply"] {
        let before = state(&sandbox);
        sessions(&sandbox, &[verb, &id]).assert_code(1).assert_stderr_has("conf/db");
        assert_eq!(
            (state(&sandbox), &*fs::read_to_string(sandbox.root().join("work/conf/db")).unwrap()),
            (before, "user\n")
        );
    }
    // A file of the user's where a directory has to be.
    fs::remove_dir_all(sandbox.work().join("conf")).unwrap();
    sandbox.write("work/d", "user\n");
    for verb in ["merge", "apply"] {
        let before = state(&sandbox);
        sessions(&sandbox, &[verb, &id]).assert_code(1).assert_stderr_has("d/x");
        assert_eq!(
            (state(&sandbox), &*fs::read_to_string(sandbox.root().join("work/d")).unwrap()),
            (before, "user\n")
        );
    }
    // What is ignored and not touched is in nobody's way.
    fs::remove_file(sandbox.work().join("d")).unwrap();
    sandbox.write("work/conf/other", "user\n");
    sessions(&sandbox, &["merge", &id]).assert_code(0);
    assert_eq!(&*fs::read_to_string(sandbox.root().join("work/conf/other")).unwrap(), "user\n");
}
