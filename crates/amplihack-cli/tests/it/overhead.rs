//! What a launch costs while its agent works: nothing. It waits by descriptors, and looks at no clock.

use std::thread::sleep;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_testkit::{Run, Running, Sandbox, Script};

use crate::world::amplihack;

/// How often the threads of the launcher went to sleep and came back, so far. That others pushed them aside is the load of the machine.
fn switches(launch: &Running) -> u64 {
    let pid = launch.pid().as_raw_pid();
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads
        .map(|thread| std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap())
        .flat_map(|status| status.lines().filter_map(switches_of).collect::<Vec<_>>())
        .sum()
}

/// Reports whether the launcher has a thread of that name.
fn has_thread(launch: &Running, name: &str) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{}/task", launch.pid().as_raw_pid())).unwrap();
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.into_iter().any(|found| found.trim() == name)
}

fn switches_of(line: &str) -> Option<u64> {
    let (name, value) = line.split_once(':')?;
    (name == "voluntary_ctxt_switches").then(|| value.trim().parse().unwrap())
}

/// The launcher's context switches in a second in which its agent only sleeps.
fn switches_in_a_second(args: &[&str], stdin: Option<&str>) -> u64 {
    let mut sandbox = Sandbox::repository();
    let name = AgentBinary::Claude.name();
    sandbox.fake(name);
    sandbox.script(&Script::new().print("at work\n").sleep_ms(60_000));
    let run = Run::new(sandbox.command(amplihack())).arg(name).args(args);
    let mut launch = match stdin {
        Some(text) => run.stdin(text).spawn(),
        None => run.spawn(),
    };
    launch.until_stdout_has("at work");
    // Pinned files are hashed when the agent has started; that is work, and ends.
    sleep(Duration::from_millis(300));
    launch.until("what is pinned is hashed", |launch| !has_thread(launch, "amplihack-pin"));
    sleep(Duration::from_millis(200));
    let before = switches(&launch);
    assert!(before > 0, "a launch that has started has waited for something");
    sleep(Duration::from_secs(1));
    switches(&launch) - before
}

#[test]
fn a_launch_does_not_poll_while_its_agent_works() {
    // Two or three may be the kernel's own doing; a loop with a pause of a tenth of a second would make ten.
    let long = "x".repeat(5000);
    for (args, stdin) in
        [(&["-p", "--prompt", "hi"][..], None), (&["-p", "--prompt", &long], None), (&["-p"], Some("piped"))]
    {
        let switches = switches_in_a_second(args, stdin);
        assert!(switches <= 3, "{switches} context switches in a second of nothing, with {args:.20?}");
    }
}
