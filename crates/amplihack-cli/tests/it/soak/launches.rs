//! Many launches of every agent, with every kind of end.

use std::collections::BTreeSet;

use amplihack_agent::AgentBinary;
use amplihack_testkit::{Child, Kind, Sandbox, Script};
use rustix::process::Signal;

use super::{assert_nothing_is_left, names, sized, tell};
use crate::fakes::fakes;
use crate::scene::files;
use crate::world::{prepare, run};

/// Leaves processes everywhere: in its own group, in a session of its own, deaf to signals.
fn leaves(script: Script) -> Script {
    let child = |kind, marker| Child::new(kind, marker).ignoring("TERM").ignoring("HUP");
    script
        .leave(child(Kind::Plain, "plain"))
        .leave(child(Kind::Session, "session"))
        .leave(child(Kind::Daemon, "daemon"))
}

/// One launch, its end the `number`th of all kinds; whether it keeps a journal.
fn launch(sandbox: &mut Sandbox, agent: AgentBinary, number: usize) -> bool {
    let name = agent.name();
    match number % 5 {
        // Text, an exit code that is the agent's own.
        0 => {
            sandbox.script(&Script::new().print("hello\n").exit(3));
            run(sandbox, &[name, "do it"]).assert_code(3);
            false
        }
        // Events, with a journal.
        1 => {
            sandbox.script(&Script::new().print("{}\n{\"type\":\"result\"}\n"));
            run(sandbox, &[name, "--output", "json", "do it"]);
            true
        }
        // What it leaves behind is ended.
        2 => {
            sandbox.script(&leaves(Script::new()));
            run(sandbox, &[name, "do it"]).assert_code(0);
            false
        }
        // Its death.
        3 => {
            sandbox.script(&leaves(Script::new()).die("SEGV"));
            run(sandbox, &[name, "do it"]);
            false
        }
        // The user's end of it.
        _ => {
            sandbox.script(&leaves(Script::new()).shell("touch begun").sleep_ms(60_000));
            let begun = sandbox.work().join("begun");
            let _ = std::fs::remove_file(&begun);
            let mut running = prepare(sandbox, &[name, "do it"]).spawn();
            running.until("the agent", |_| begun.exists());
            running.signal(Signal::TERM);
            running.wait().assert_code(143);
            false
        }
    }
}

#[test]
fn many_launches_leave_nothing() {
    let launches = sized(5 * AgentBinary::ALL.len(), 200);
    let mut sandbox = fakes();
    // Without it Gemini is refused: it would leave the guard out.
    sandbox.set("GEMINI_CLI_TRUST_WORKSPACE", "true");
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    let mut kept = 0;
    let mut after = Vec::new();
    for number in 0..launches {
        // Five kinds of ends for each of the agents, in turn.
        let agent = AgentBinary::ALL[(number / 5) % AgentBinary::ALL.len()];
        kept += usize::from(launch(&mut sandbox, agent, number));
        assert_nothing_is_left(&sandbox);
        let sessions = names(&sandbox.home().join(".amplihack/sessions"));
        assert_eq!(sessions.len(), kept, "after {number}: {sessions:?}");
        after.push(files(&sandbox.home()).len() - 2 * kept);
    }
    // One file for each version, one for the audit: as many in the end as when each agent had run once.
    let round = 5 * AgentBinary::ALL.len();
    let once: BTreeSet<usize> = after.split_off(after.len().min(round) - 1).into_iter().collect();
    assert_eq!(once.len(), 1, "files in the home after each launch: {once:?}");
    tell(&format!("{launches} launches: {kept} journals, {once:?} other files in the home"));
    run(&sandbox, &["sessions", "prune", "--older-than", "0s"]).assert_code(0);
    assert_eq!(names(&sandbox.home().join(".amplihack/sessions")).len(), 0);
}
