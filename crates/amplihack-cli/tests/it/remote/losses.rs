//! Work that is in no commit of the session's repository: it comes home, or the session stays.

use crate::remote::exec::last;
use crate::remote::world::{Kind, World};

/// Leaves a repository inside, two stashes, and another work tree with changes.
const WORKS: &str = r"
if ! [ -e new ]; then
echo s1 >>file && git stash -q && echo s2 >>file && git stash -q && echo new >new
git init -q inner && echo precious >inner/work && git -C inner add . && git -C inner -c user.name=a -c user.email=a@a commit -qm inner
git worktree add -q ../side -b side && echo more >../side/uncommitted
fi
";

everywhere! {
    fn a_session_with_work_that_cannot_be_brought_home_stays(world) {
        let play = format!("PLAY={WORKS}");
        let output = world.run(&["exec", "auto", "do it", "--env", &play]);
        let id = last(world);
        output.assert_code(1);
        output.assert_stderr_has(&format!("error: failed to clean up: {id} stays on "));
        output.assert_stderr_has("inner is a repository of its own, and its work stays in it; the work tree ");
        output.assert_stderr_has("/side has changes that are not committed");
        output.assert_stderr_has(&format!("give it up: amplihack remote pull {id} --remove --discard-results"));
        assert_eq!(std::fs::read_to_string(world.tree(&id).join("inner/work")).unwrap(), "precious\n");
        // What could be brought is here: all stashes, too.
        let here = format!("refs/remotes/remote-exec/{id}");
        assert_eq!(world.git(&["show", &format!("{here}/wip/{id}:new")]), "new");
        assert_eq!(world.git(&["show", &format!("{here}/stash-{id}:file")]), "one\ns2");
        assert_eq!(world.git(&["show", &format!("{here}/stash-{id}-1:file")]), "one\ns1");
        // Nobody else removes it by the way.
        world.run(&["pull", &id]).assert_code(0);
        world.run(&["pull", &id, "--remove"]).assert_code(1).assert_stderr_has("stays on");
        if let Some(azlin) = &world.azlin {
            world.run(&["pool", "gc", "--idle", "0s"]).assert_code(0).assert_stdout_has(" is kept: ");
            assert_eq!(azlin.vms().len(), 1);
        }
        assert!(world.tree(&id).join("inner/work").exists());
        world.run(&["pull", &id, "--remove", "--discard-results"]).assert_code(0);
        assert!(!world.far(&id).exists());
        // It is known what became of it.
        for args in [&["pull", &id][..], &["output", &id], &["output", &id, "--setup"], &["output", &id, "--follow"]] {
            let output = world.run(args);
            output.assert_code(1).assert_stderr_has(": its work was brought home before\n");
            output.assert_stderr_has(&format!("git for-each-ref {here}/\n"));
        }
    }
}

#[test]
fn files_that_git_was_told_not_to_look_at_come_home() {
    World::with(Kind::Local, |world| {
        world.sandbox.write("work/other", "one\n");
        world.git(&["add", "other"]);
        world.git(&["commit", "-qm", "other"]);
        let play = "PLAY=git update-index --assume-unchanged file; git update-index --skip-worktree other; \
                    echo number two >file; echo number two >other";
        world.run(&["exec", "auto", "do it", "--env", play]).assert_code(0);
        let id = last(world);
        for name in ["file", "other"] {
            let here = format!("refs/remotes/remote-exec/{id}/wip/{id}:{name}");
            assert_eq!(world.git(&["show", &here]), "number two", "{name}");
        }
    });
}

#[test]
fn a_file_that_was_written_twice_in_one_tick_comes_home_as_it_is() {
    World::with(Kind::Local, |world| {
        // The clock of files has some hundred ticks a second; here they are set by hand.
        let play = "PLAY=git config core.trustctime false; now='touch -d @1700000000'; echo aaa >f; $now f; git add f; \
                    echo bbb >f; $now f; $now .git/index";
        world.run(&["exec", "auto", "do it", "--env", play]).assert_code(0);
        let id = last(world);
        let here = format!("refs/remotes/remote-exec/{id}/wip/{id}:f");
        assert_eq!(world.git(&["show", &here]), "bbb");
    });
}

#[test]
fn a_history_that_was_made_anew_comes_home_without_its_base() {
    World::with(Kind::Local, |world| {
        let play = "PLAY=git checkout -q --orphan new && echo new >new && git add -A && git commit -qm anew && \
                    git branch -q -D main && git update-ref -d refs/remotes/origin/main && git reflog expire --all --expire=now && \
                    git gc -q --prune=now";
        world.run(&["exec", "auto", "do it", "--env", play]).assert_code(0);
        let here = format!("refs/remotes/remote-exec/{}/new:new", last(world));
        assert_eq!(world.git(&["show", &here]), "new");
    });
}

#[test]
fn a_work_tree_that_could_not_be_made_has_no_results() {
    World::with(Kind::Local, |world| {
        world.sandbox.write("work/.gitattributes", "*.bin filter=bad\n");
        world.sandbox.write("work/a.bin", "a\n");
        world.git(&["add", "."]);
        world.git(&["commit", "-qm", "bin"]);
        world.git(&["config", "--global", "filter.bad.smudge", "false"]);
        world.git(&["config", "--global", "filter.bad.required", "true"]);
        let id = world.start_one(":");
        let ended = world.wait(std::slice::from_ref(&id));
        assert_eq!(ended[0]["exit_code"], 125, "{}", world.said(&[&id]));
        // A half of it would look as if the rest had been deleted.
        world.run(&["pull", &id]).assert_code(0).assert_stdout("Nothing was changed in this session.\n");
        assert_eq!(world.git(&["for-each-ref", "refs/remotes"]), "");
    });
}

#[test]
fn pointers_of_git_lfs_arrive_as_they_were_sent() {
    World::with(Kind::Local, |world| {
        world.sandbox.write("work/.gitattributes", "*.bin filter=lfs\n");
        world.sandbox.write("work/a.bin", "version https://git-lfs.github.com/spec/v1\n");
        world.git(&["add", "."]);
        world.git(&["commit", "-qm", "bin"]);
        // As git-lfs does where the repository that it would ask is not there.
        world.git(&["config", "--global", "filter.lfs.smudge", "test -n \"$GIT_LFS_SKIP_SMUDGE\" && cat"]);
        world.git(&["config", "--global", "filter.lfs.clean", "cat"]);
        world.git(&["config", "--global", "filter.lfs.required", "true"]);
        world.run(&["exec", "auto", "do it", "--env", "PLAY=cat a.bin >b"]).assert_code(0);
        let id = last(world);
        let here = format!("refs/remotes/remote-exec/{id}/wip/{id}:b");
        assert_eq!(world.git(&["show", &here]), "version https://git-lfs.github.com/spec/v1");
    });
}
