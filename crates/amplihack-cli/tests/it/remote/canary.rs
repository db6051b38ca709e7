//! A session's key is in the environment of the session's own processes, and nowhere else.

use amplihack_testkit::procs::{self, ArgvWatch};

use crate::remote::world::{contains, files_with};

/// An agent that goes on until its home has a file `go`.
const WAITS: &str = "echo x >made; tell begun; printf %s \"$ANTHROPIC_API_KEY\" | sha256sum >\"$seen/key\"; while ! [ -e \"$HOME/go\" ]; do sleep 0.05; done";

everywhere! {
    fn the_key_is_nowhere_but_with_its_session(world) {
        let key = format!("sk-ant-{}", world.sandbox.marker("canary"));
        world.sandbox.set("ANTHROPIC_API_KEY", &key);
        let watch = ArgvWatch::start(&key);
        let mut outputs = vec![world.run(&["doctor"])];
        let play = format!("PLAY={WAITS}");
        let started = world.run(&["start", "--json", "--env", &play, "one", "two"]);
        started.assert_code(0);
        let all = crate::remote::world::ids(&started.json());
        outputs.push(started);
        for id in &all {
            world.seen(id, "key");
        }
        // While they run.
        let holders = procs::with_marker(&key);
        assert!(!holders.is_empty(), "nobody has the key");
        for process in &holders {
            let environment = std::fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
            let own = all.iter().any(|id| contains(&environment, b"AMPLIHACK_REMOTE_SESSION=") && contains(&environment, id.as_bytes()));
            assert!(own || environment.is_empty(), "{process:?} has the key and is of no session");
        }
        nowhere(world, &key);
        for args in [&["list", "--refresh"][..], &["status"], &["output", &all[0]], &["pull", &all[0]], &["list", "--json"]] {
            outputs.push(world.run(args));
        }
        let killed = world.run(&["kill", &all[1]]);
        killed.assert_code(0);
        outputs.push(killed);
        std::fs::write(world.home(&all[0]).join("go"), "").unwrap();
        outputs.push(world.run(&["wait", &all[0]]));
        outputs.push(world.run(&["output", &all[0], "--setup"]));
        outputs.push(world.run(&["output", &all[0], "--follow"]));
        // And one that fails, with everything that is told of it.
        world.take("claude");
        outputs.push(world.run(&["start", "--json", "three"]));
        let failed = world.run(&["exec", "auto", "four"]);
        failed.assert_code(1);
        outputs.push(failed);
        watch.finish().assert_unseen_while_running("amplihack");
        for output in &outputs {
            output.assert_nowhere(&key);
        }
        assert_eq!(world.session(&all[0])["status"], "completed", "{}", world.said(&[&all[0]]));
        nowhere(world, &key);
        if let Some(azlin) = &world.azlin {
            for call in azlin.calls() {
                assert!(call.argv.iter().chain(call.env.values()).all(|text| !text.contains(&key)), "{:?}", call.argv);
            }
        }
        assert_eq!(procs::with_marker(&key), []);
    }
}

/// Claims that no file of this world has the key in it.
#[track_caller]
fn nowhere(world: &crate::remote::world::World, key: &str) {
    let mut places = world.places();
    if let Some(slurm) = &world.slurm {
        places.extend(slurm.traces());
        places.push(slurm.state());
    }
    let found: Vec<_> = places.iter().flat_map(|place| files_with(place, key.as_bytes())).collect();
    assert!(found.is_empty(), "{found:?}");
}
