//! `exec`: a prompt from here to there, and the work back, before anything there is removed.

use crate::remote::world::{Kind, World};

/// Commits a file, changes another, and leaves both kinds of work that is not committed.
const WORKS: &str = r#"
if ! [ -e new ]; then echo new >new && git add new && git commit -qm "work of the agent" && echo two >>file && echo dirty >dirty; fi
echo "about the work" >"$seen/known"; tell "this is said"
"#;

fn refs(world: &World) -> Vec<String> {
    world.git(&["for-each-ref", "--format=%(refname)", "refs/remotes"]).lines().map(str::to_owned).collect()
}

/// The id of the last session.
pub(crate) fn last(world: &World) -> String {
    let list = world.json(&["list"]);
    list.as_array().unwrap().last().unwrap()["session_id"].as_str().unwrap().to_owned()
}

everywhere! {
    fn the_work_comes_home_and_nothing_stays_there(world) {
        let play = format!("PLAY={WORKS}");
        world.sandbox.write("work/here", "not sent\n");
        let before = (world.git(&["status", "--porcelain"]), world.git(&["rev-parse", "HEAD"]));
        let output = world.run(&["exec", "auto", "do it", "--env", &play]);
        output.assert_code(0).assert_stdout_has("this is said\n");
        output.assert_stderr_has("Branches: 2\nCommits: 2\nFiles changed: 3\n");
        let id = last(world);
        let here = format!("refs/remotes/remote-exec/{id}");
        assert_eq!(refs(world), [format!("{here}/main"), format!("{here}/wip/{id}")]);
        assert_eq!(world.git(&["log", "--format=%s", "-1", &format!("{here}/main")]), "work of the agent");
        let wip = format!("{here}/wip/{id}");
        assert_eq!(world.git(&["show", &format!("{wip}:dirty")]), "dirty");
        assert_eq!(world.git(&["show", &format!("{wip}:file")]), "one\ntwo");
        // What is here is as it was.
        assert_eq!((world.git(&["status", "--porcelain"]), world.git(&["rev-parse", "HEAD"])), before);
        match &world.azlin {
            Some(azlin) => {
                assert_eq!(azlin.vms(), []);
                assert_eq!((azlin.count("new"), azlin.count("kill")), (1, 1));
                assert!(!output.stderr_text().contains("VM: "), "{output}");
            }
            None => assert!(!world.far(&id).exists()),
        }
        let session = world.session(&id);
        assert_eq!((&session["status"], &session["exit_code"]), (&"completed".into(), &0.into()));

        // The session's code is the command's, and what it left is brought home all the same.
        let play = format!("PLAY={WORKS} status=working");
        let output = world.run(&["exec", "auto", "do it", "--env", &play, "--max-turns", "1", "--json"]);
        output.assert_code(1);
        let object = output.json();
        assert_eq!(object["exit_code"], 1, "{output}");
        assert_eq!((&object["summary"]["commits"], &object["summary"]["files_changed"]), (&2.into(), &3.into()), "{output}");
        assert_eq!(object["summary"]["conflicts"].as_array().unwrap().len(), 0);
        assert_eq!(object["vm_name"].is_null(), world.kind == Kind::Azlin, "{output}");
        if let Some(azlin) = &world.azlin {
            assert_eq!(azlin.vms(), []);
        }

        // Nothing was changed.
        let output = world.run(&["exec", "auto", "look", "--json"]);
        output.assert_code(0);
        assert!(output.json()["summary"].is_null(), "{output}");
        // What cannot be.
        world.run(&["exec", "auto", " "]).assert_code(1).assert_stderr_has("the prompt is empty");
        world.run(&["exec", "fix", "x"]).assert_code(1).assert_stderr_has("test_command");
    }
}

everywhere! {
    fn what_cannot_be_brought_home_stays_there(world) {
        // The agent leaves a repository that git cannot read.
        let play = format!("PLAY={WORKS} mv .git/HEAD .git/away");
        let output = world.run(&["exec", "auto", "do it", "--env", &play]);
        let id = last(world);
        output.assert_code(1).assert_stdout_has("this is said");
        output.assert_stderr_has(&format!("nothing was deleted; try again: amplihack remote pull {id}"));
        assert_eq!(refs(world), [""; 0]);
        let repo = world.tree(&id);
        assert_eq!(std::fs::read_to_string(repo.join("dirty")).unwrap(), "dirty\n");
        if let Some(azlin) = &world.azlin {
            assert_eq!(azlin.vms().len(), 1);
            // Nor is its machine given back by the way.
            let kept = world.run(&["pool", "gc", "--idle", "0s"]);
            kept.assert_code(0).assert_stdout_has(" is kept: ");
            assert_eq!(azlin.vms().len(), 1);
        }
        std::fs::rename(repo.join(".git/away"), repo.join(".git/HEAD")).unwrap();
        let pulled = world.run(&["pull", &id]);
        pulled.assert_code(0).assert_stdout_has("Commits: 2\n").assert_stdout_has(&format!("git merge remote-exec/{id}/main"));
        world.git(&["merge", "-q", &format!("remote-exec/{id}/main")]);
        assert_eq!(world.git(&["show", "HEAD:new"]), "new");
        world.run(&["pull", &id, "--remove"]).assert_code(0);
        assert!(!world.far(&id).exists());
        if let Some(azlin) = &world.azlin {
            let given = world.run(&["pool", "gc", "--idle", "0s"]);
            given.assert_code(0).assert_stdout_has(" was given back.");
            assert_eq!(azlin.vms(), []);
        }
    }
}
