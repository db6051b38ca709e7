//! Work that is not committed, in both directions, and results of sessions that go on.

use crate::remote::world::{World, ids};

everywhere! {
    fn what_is_not_committed_goes_there_and_comes_back(world) {
        world.sandbox.write("work/kept", "kept\n");
        world.git(&["add", "kept"]);
        world.git(&["commit", "-qm", "two"]);
        world.sandbox.write("work/file", "one\nnot committed\n");
        world.sandbox.write("work/un tracked/ü", "untracked\n");
        world.sandbox.write("work/staged", "staged\n");
        world.sandbox.write("work/ignored", "ignored\n");
        world.git(&["add", "staged"]);
        std::fs::remove_file(world.sandbox.work().join("kept")).unwrap();
        let before = world.git(&["status", "--porcelain"]);
        let play = r#"if ! [ -e "$seen/files" ]; then find . -type f -not -path './.git/*' -not -path './.claude/runtime/*' | sort >"$seen/files.new"; cat file >"$seen/file"
            mv "$seen/files.new" "$seen/files"; echo more >>file; echo x >made; fi
            while ! [ -e "$HOME/go" ]; do sleep 0.05; done"#;
        let play = format!("PLAY={play}");
        let started = world.run(&["start", "--json", "--include-dirty", "--env", &play, "do it"]);
        started.assert_code(0);
        let id = ids(&started.json()).remove(0);
        let text = |name: &str| String::from_utf8(world.seen(&id, name)).unwrap();
        assert_eq!(text("files"), "./.gitignore\n./file\n./staged\n./un tracked/ü\n");
        assert_eq!(text("file"), "one\nnot committed\n");
        assert_eq!(world.git(&["status", "--porcelain"]), before);

        // It is brought home while the session goes on, whose tree stays as it is.
        let made = world.tree(&id).join("made");
        world.until("the agent's work", || made.exists());
        let tree = |world: &World| {
            let repo = world.tree(&id);
            let index = std::fs::read(repo.join(".git/index")).unwrap();
            let head = std::fs::read_to_string(repo.join(".git/HEAD")).unwrap();
            (index, head, std::fs::read_to_string(repo.join("file")).unwrap(), repo.join("kept").exists())
        };
        let there = tree(world);
        let pulled = world.run(&["pull", &id, "--json"]);
        pulled.assert_code(0);
        let branches = pulled.json()["summary"]["branches"].clone();
        assert_eq!(branches, serde_json::json!([format!("wip/{id}")]), "{pulled}");
        assert!(tree(world) == there, "the session's tree was changed");
        let wip = format!("refs/remotes/remote-exec/{id}/wip/{id}");
        assert_eq!(world.git(&["show", &format!("{wip}:file")]), "one\nnot committed\nmore");
        let refused = world.run(&["pull", &id, "--remove"]);
        refused.assert_code(1).assert_stderr_has("has not ended, and stays on its machine");

        // Meanwhile somebody changes the same lines here.
        world.git(&["commit", "-qm", "other", "--", "staged"]);
        world.sandbox.write("work/file", "another\n");
        world.git(&["commit", "-qm", "here", "--", "file"]);
        std::fs::write(world.home(&id).join("go"), "").unwrap();
        world.wait(std::slice::from_ref(&id));
        let pulled = world.json(&["pull", &id]);
        assert_eq!(pulled["summary"]["conflicts"], serde_json::json!(["file"]), "{pulled}");
        assert_eq!(std::fs::read_to_string(world.sandbox.work().join("file")).unwrap(), "another\n");
    }
}
