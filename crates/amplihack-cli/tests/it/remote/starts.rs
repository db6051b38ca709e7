//! Starts that are repeated, and many at once: nothing runs twice, and no machine holds more than it may.

use std::collections::BTreeSet;

use crate::remote::world::{Kind, World, ids, running};

everywhere! {
    fn a_repeated_start_answers_with_the_same_sessions(world) {
        let play = "PLAY=echo x >>\"$HOME/starts\"";
        let args = ["start", "--json", "--idempotency-key", "nightly-7", "--env", play, "one", "two"];
        let first = world.run(&args);
        first.assert_code(0);
        let second = world.run(&args);
        second.assert_code(0);
        let all = ids(&first.json());
        assert_eq!(ids(&second.json()), all);
        world.wait(&all);
        assert_eq!(ids(&world.run(&args).json()), all);
        let homes: BTreeSet<_> = all.iter().map(|id| world.home(id)).collect();
        let starts: usize = homes.iter().map(|home| std::fs::read_to_string(home.join("starts")).unwrap().len() / 2).sum();
        assert_eq!(starts, 2);
        let other = world.run(&["start", "--idempotency-key", "nightly-7", "three"]);
        other.assert_code(1).assert_stderr_has("the idempotency key 'nightly-7' was used for other prompts");
        assert_eq!(world.json(&["list"]).as_array().unwrap().len(), 2);

        // Also of those that are under way at the same time.
        let args = ["start", "--json", "--idempotency-key", "nightly-8", "do it"];
        let starts: Vec<_> = (0..4).map(|_| world.remote(&args).spawn()).collect();
        let answers: BTreeSet<_> = starts.into_iter().map(|start| ids(&start.wait().json())).collect();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(world.json(&["list"]).as_array().unwrap().len(), 3);
    }
}

everywhere! {
    fn ten_starts_at_once_take_no_more_slots_than_there_are(world) {
        let word = world.sandbox.marker("crowd");
        let play = format!("PLAY=sh -c 'sleep 600; :' {word}");
        let room = match world.kind {
            Kind::Local => 4,
            Kind::Ssh => 6,
            // Two machines of four.
            Kind::Azlin => 8,
            Kind::Slurm => 10,
        };
        let args = ["start", "--json", "--env", &play, "--max-vms", "2", "do it"];
        let starts: Vec<_> = (0..10).map(|_| world.remote(&args).spawn()).collect();
        let ends: Vec<_> = starts.into_iter().map(amplihack_testkit::Running::wait).collect();
        let good: Vec<String> = ends.iter().filter(|end| end.code == Some(0)).flat_map(|end| ids(&end.json())).collect();
        let unique: BTreeSet<_> = good.iter().collect();
        assert_eq!((good.len(), unique.len()), (room, room), "{}", ends.iter().map(ToString::to_string).collect::<String>());
        for end in ends.iter().filter(|end| end.code != Some(0)) {
            let error = &end.assert_code(1).json()["sessions"][0]["error"];
            assert_eq!(error["kind"], "provisioning", "{error}");
            assert!(error["message"].as_str().unwrap().contains("has a free slot"), "{error}");
        }
        world.until("all of them", || running(&word).len() == room);
        let status = world.json(&["status"]);
        let sums = ["active_sessions", "available_capacity"].map(|name| status["pool"][name].as_u64().unwrap());
        assert_eq!(sums, [room as u64, if world.kind == Kind::Slurm { 990 } else { 0 }], "{status}");
        for vm in status["pool"]["vms"].as_array().unwrap() {
            assert!(vm["active_sessions"].as_u64() <= vm["capacity"].as_u64(), "{vm}");
        }
        if let Some(azlin) = &world.azlin {
            assert_eq!((azlin.vms().len(), azlin.count("new")), (2, 2));
        }

        // A slot that is given back is taken by the next.
        world.json(&["kill", &good[0]]);
        let next = world.run(&args);
        next.assert_code(0);
        // A machine that is drained takes no more.
        let id = ids(&next.json()).remove(0);
        let vm = world.session(&id)["vm_name"].as_str().unwrap().to_owned();
        world.run(&["pool", "drain", &vm]).assert_code(0).assert_stdout(format!("{vm} takes no more sessions.\n"));
        world.json(&["kill", &id]);
        world.run(&args).assert_code(1);
        world.run(&["pool", "drain", &vm, "--undo"]).assert_code(0);
        world.run(&args).assert_code(0);
        world.run(&["pool", "drain", "nobody"]).assert_code(1);
    }
}

#[test]
fn a_scheduler_is_asked_for_what_a_tier_has_unless_its_host_says_otherwise() {
    World::with(Kind::Slurm, |world| {
        let asked = |args: &[&str]| {
            let output =
                world.run(&[&["start", "--json", "--env", "PLAY=sleep 600"], args, &["do it"]].concat());
            output.assert_code(0);
            let state =
                std::fs::read_to_string(world.sandbox.home().join(".amplihack/remote-state.json")).unwrap();
            let id = ids(&output.json()).remove(0);
            let state: serde_json::Value = serde_json::from_str(&state).unwrap();
            let name = state["sessions"][&id]["job"].as_str().unwrap();
            let job = world.slurm.as_ref().unwrap().ask(&format!("squeue -h -n {name} -o '%C %m'"));
            job.assert_code(0);
            job.stdout_text().trim().to_owned()
        };
        assert_eq!(asked(&["--size", "s"]), "1 1000M");
        world.sandbox.write("home/.config/amplihack/hosts.toml", "[hosts.login]\nscheduler = 'slurm'\n");
        assert_eq!(asked(&["--size", "s"]), "8 32G");
        assert_eq!(asked(&[]), "4 32G");
    });
}
