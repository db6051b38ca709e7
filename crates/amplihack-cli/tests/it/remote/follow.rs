//! Cut connections, and a client that goes away: the session goes on, and its output and work are had later.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::remote::exec::last;
use crate::remote::world::{Kind, World};

/// Ends the processes that serve connections of the session's user.
fn cut_connections(host: &amplihack_testkit::Host) -> usize {
    let serves = |process: &amplihack_testkit::procs::Process| {
        process.argv.first().is_some_and(|word| word.lossy().starts_with("sshd: azureuser"))
    };
    let all: Vec<_> = host.processes().into_iter().filter(serves).collect();
    for process in &all {
        // It may have ended with the one before.
        let _ = kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL);
    }
    all.len()
}

#[test]
fn a_follower_gets_every_byte_once_through_five_cut_connections() {
    World::with(Kind::Ssh, |world| {
        let id = world.start_one(
            r#"i=0; while [ $i -lt 400 ] || ! [ -e "$HOME/go" ]; do i=$((i + 1)); tell "line $i of the work"; sleep 0.02; done; status=blocked"#,
        );
        let host = world.host(&id).unwrap();
        let mut follower = world.remote(&["output", &id, "--follow"]).timeout(Duration::from_mins(2)).spawn();
        for round in 1..=5 {
            let has = follower.stdout_so_far().len();
            follower.until("something new", |follower| follower.stdout_so_far().len() > has + 200);
            if round == 3 {
                // Nobody is told: it is noticed by silence.
                host.cut();
                let mut silent = follower.stdout_so_far().len();
                let mut since = std::time::Instant::now();
                follower.until("silence", |follower| {
                    let now = follower.stdout_so_far().len();
                    if now != silent {
                        (silent, since) = (now, std::time::Instant::now());
                    }
                    since.elapsed() > Duration::from_secs(12)
                });
                host.join();
            } else {
                follower.until("a connection", |_| cut_connections(&host) > 0);
            }
        }
        let has = follower.stdout_so_far().len();
        follower.until("something new", |follower| follower.stdout_so_far().len() > has);
        std::fs::write(host.home().join("go"), "").unwrap();
        let output = follower.wait();
        let log = std::fs::read(world.far(&id).join("log")).unwrap();
        output.assert_stdout(&log);
        let session = world.session(&id);
        assert_ne!(session["exit_code"], 0, "{session}");
        output.assert_code(session["exit_code"].as_i64().unwrap().try_into().unwrap());
    });
}

#[test]
fn an_exec_that_is_interrupted_leaves_a_session_that_is_brought_home_later() {
    World::with(Kind::Ssh, |world| {
        let play =
            "PLAY=echo x >made; tell begun; while ! [ -e \"$HOME/go\" ]; do sleep 0.05; done; tell over";
        let mut exec = world.remote(&["exec", "auto", "do it", "--env", play]).spawn();
        exec.until_stdout_has("begun");
        let id = last(world);
        let host = world.host(&id).unwrap();
        host.cut();
        std::fs::write(host.home().join("go"), "").unwrap();
        let log = world.far(&id).join("log");
        world.until("the end", || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("over")));
        exec.signal(Signal::INT);
        let output = exec.wait();
        output
            .assert_code(130)
            .assert_stderr_has("the session continues")
            .assert_stderr_has("amplihack remote list");
        // Nothing was deleted, and nothing is guessed.
        assert_eq!(world.session(&id)["status"], "running");
        host.join();
        let ended = world.wait(std::slice::from_ref(&id));
        assert_eq!(
            (&ended[0]["status"], &ended[0]["exit_code"]),
            (&"completed".into(), &0.into()),
            "{ended:?}"
        );
        world.run(&["output", &id]).assert_code(0).assert_stdout_has("over\n");
        world.run(&["pull", &id]).assert_code(0).assert_stdout_has("Files changed: 1\n");
    });
}
