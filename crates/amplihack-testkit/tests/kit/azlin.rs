//! The stand-in for azlin: the right calls work against real hosts, and what the real one refuses is refused.

use std::process::Command;

use amplihack_testkit::azlin::Fault;
use amplihack_testkit::{Azlin, Network, Output, Run, procs};

/// Runs azlin on the client side, `/dev/null` as its stdin.
fn azlin(network: &Network, azlin: &Azlin, args: &[&str]) -> Output {
    start(network, azlin, args).output()
}

fn start(network: &Network, azlin: &Azlin, args: &[&str]) -> Run {
    let mut command = Command::new(azlin.program());
    command.args(args).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", network.home());
    Run::new(network.wrap(command.current_dir(network.home())))
}

const NEW: &[&str] =
    &["new", "--vm-size", "Standard_E8s_v5", "--region", "eastus", "--yes", "--no-auto-connect", "--name"];

#[test]
fn machines_are_made_listed_reached_and_deleted() {
    let Some(network) = Network::new() else { return };
    let kit = Azlin::start(&network);
    let run = |args: &[&str]| azlin(&network, &kit, args);
    run(&[NEW, &["vm-1"]].concat())
        .assert_code(0)
        .assert_stdout_has("│ vm-1 ┆ Standard_E8s_v5 ┆ eastus ┆ 10.231.0.10 │");

    let list = run(&["-o", "json", "list", "--no-tmux"]).assert_code(0).json();
    let vm = &list["vms"][0];
    assert_eq!(list["filters"]["hidden_not_running"], 0);
    let shown = ["name", "resource_group", "power_state", "ip", "location", "vm_size"]
        .map(|key| vm[key].as_str().unwrap());
    assert_eq!(shown, ["vm-1", "kit-rg", "Running", "10.231.0.10", "eastus", "Standard_E8s_v5"]);
    assert!(vm["public_ip"].is_null() && vm["tmux_sessions"].as_array().is_some_and(Vec::is_empty));
    assert!(vm.get("created_at").is_none() && vm.get("tags").is_none());
    assert!(run(&["list"]).assert_code(0).stdout_text().starts_with('┌'));

    let quiet = ["connect", "vm-1", "--no-tmux", "--no-status", "--no-reconnect", "--yes", "--"];
    run(&[&quiet[..], &["echo $(hostname) 'a  b'; exit 5"]].concat())
        .assert_code(5)
        .assert_stdout("vm-1 a  b\n")
        .assert_stderr("");
    let file = network.home().join("file");
    std::fs::write(&file, "content").unwrap();
    run(&["cp", "file", "vm-1:copied"]).assert_code(0);
    let host = network.find("vm-1").unwrap();
    assert_eq!(std::fs::read_to_string(host.home().join("copied")).unwrap(), "content");

    // One that is off is shown only when asked for.
    run(&["stop", "vm-1"]).assert_code(0);
    assert_eq!(run(&["-o", "json", "list", "--no-tmux"]).json()["filters"]["hidden_not_running"], 1);
    assert_eq!(run(&["-o", "json", "list", "--all"]).json()["vms"][0]["power_state"], "Stopped");
    run(&["start", "vm-1"]).assert_code(0);

    run(&["kill", "vm-1", "--force"]).assert_code(0);
    assert!(network.find("vm-1").is_none() && kit.vms().is_empty());
    run(&["kill", "vm-1", "--force"]).assert_code(0).assert_stdout_has("nothing to delete");
    assert_eq!((kit.count("new"), kit.count("kill"), kit.count("connect")), (1, 2, 1));
    assert_eq!(kit.calls()[0].argv, [NEW, &["vm-1"]].concat());
    assert!(kit.calls()[0].env.contains_key("HOME"));
}

#[test]
fn what_the_real_one_does_not_read_is_a_usage_error() {
    let Some(network) = Network::new() else { return };
    let kit = Azlin::start(&network);
    for (args, says) in [
        (
            &["new", "--size", "Standard_D2s_v3", "--name", "a", "--yes"][..],
            "invalid value 'Standard_D2s_v3' for '--size <SIZE>'\n  [possible values: xs, s, m, l, xl, xxl]",
        ),
        (&["list", "--json"], "unexpected argument '--json' found"),
        (&["connect", "a", "script"], "unexpected argument 'script' found"),
        (&["cp", "--port", "22", "x", "a:x"], "unexpected argument '--port' found"),
        (&["cp", "-r", "x", "a:x"], "unexpected argument '-r' found"),
        (&["ssh", "a", "--", "true"], "unrecognized subcommand 'ssh'"),
        (&["kill"], "required arguments were not provided:\n  <NAME>"),
        (&["new", "--name"], "a value is required for '--name <NAME>' but none was supplied"),
        (&["new", "--name", "a", "--name", "b"], "cannot be used multiple times"),
        (&["new", "--tag", "a=b"], "unexpected argument '--tag' found"),
        (&["-o", "yaml", "list"], "invalid value 'yaml' for '--output <OUTPUT>'"),
        (&[], "requires a subcommand"),
    ] {
        let output = azlin(&network, &kit, args);
        output.assert_code(2).assert_stdout("").assert_stderr_has("error: ").assert_stderr_has(says);
    }
    assert_eq!(kit.calls().len(), 12);
    // What it does not play is the test's mistake, not the caller's.
    azlin(&network, &kit, &["fleet", "run"]).assert_code(97);
}

#[test]
fn what_the_real_one_refuses_to_do_is_not_done() {
    let Some(network) = Network::new() else { return };
    let kit = Azlin::start(&network);
    let run = |args: &[&str]| azlin(&network, &kit, args);
    for name in ["amplihack-john_doe-1", "-a", "a.", "ä", &"a".repeat(65)] {
        let name = format!("--name={name}");
        run(&["new", &name, "--yes", "--no-auto-connect"])
            .assert_code(1)
            .assert_stderr_has("invalid VM name");
    }
    run(&[NEW, &["vm"]].concat()).assert_code(0);
    run(&["kill", "vm"]).assert_code(1).assert_stderr_has("use --force");
    assert_eq!(kit.vms().len(), 1);
    run(&[NEW, &["vm"]].concat()).assert_code(1).assert_stderr_has("already exists");
    run(&["cp", "a", "b"]).assert_code(1);
    run(&["cp", "no-such:a", "b"]).assert_code(1).assert_stderr_has("VM 'no-such' not found");
    run(&["cp", "no-such", "vm:b"]).assert_code(1).assert_stderr_has("scp failed.");
    kit.without_resource_group();
    run(&["list"]).assert_code(1).assert_stderr_has("no resource group");
    run(&["list", "--rg", "kit-rg"]).assert_code(0).assert_stdout_has("vm");
    kit.old_list();
    let list = run(&["-o", "json", "list", "--resource-group", "kit-rg", "--no-tmux"]).json();
    assert_eq!(list[0]["name"], "vm");
}

#[test]
fn a_bad_end_counts_as_a_lost_connection() {
    let Some(network) = Network::new() else { return };
    let kit = Azlin::start(&network);
    // Without being told not to, it connects after it has made the machine, and has no terminal for that.
    let output = azlin(&network, &kit, &["new", "--name", "vm", "--yes"]);
    output.assert_code(1).assert_stderr_has("open terminal failed: not a terminal");
    assert_eq!(kit.vms().len(), 1);

    let ran = || std::fs::read_to_string(network.find("vm").unwrap().home().join("ran")).unwrap().len();
    azlin(&network, &kit, &["connect", "vm", "--", "printf x >>ran; exit 3"])
        .assert_code(3)
        .assert_stderr_has("lost");
    assert_eq!(ran(), 4);
    azlin(&network, &kit, &["connect", "vm", "--no-reconnect", "--", "printf x >>ran; exit 3"])
        .assert_code(3);
    assert_eq!(ran(), 5);
}

#[test]
fn faults_fail_as_azure_does() {
    let Some(network) = Network::new() else { return };
    let kit = Azlin::start(&network);
    let new = |name: &str| azlin(&network, &kit, &[NEW, &[name]].concat());
    for (fault, says) in [
        (Fault::Quota, "(QuotaExceeded)"),
        (Fault::Capacity, "(SkuNotAvailable)"),
        (Fault::Allocation, "(AllocationFailed)"),
        (Fault::Auth, "AADSTS70043"),
        (Fault::Throttled, "429"),
    ] {
        kit.fail(fault);
        new("vm").assert_code(1).assert_stdout("").assert_stderr_has(says);
        assert!(kit.vms().is_empty() && kit.faults().is_empty());
    }
    kit.fail(Fault::TimedOut).fail(Fault::NoEgress);
    new("late").assert_code(1).assert_stderr_has("timed out after 120 seconds");
    new("cut").assert_code(1).assert_stderr_has("no outbound internet access");
    assert_eq!(kit.vms().len(), 2);
    kit.fail(Fault::Leftovers);
    azlin(&network, &kit, &["kill", "late", "--force"])
        .assert_code(1)
        .assert_stderr_has("may still be billing");
    assert_eq!(kit.vms().len(), 1);
    assert!(std::fs::read_to_string(kit.state_file()).unwrap().contains("\"cut\""));
}

#[test]
fn a_machine_is_made_though_its_caller_was_killed() {
    let Some(network) = Network::new() else { return };
    let kit = Azlin::start(&network);
    kit.fail(Fault::Slow(300));
    let mut call = start(&network, &kit, &[NEW, &["vm"]].concat()).spawn();
    call.until("the machine has its name", |_| !kit.vms().is_empty());
    assert!(!kit.vms()[0].running);
    // The process that the test started is azlin itself.
    assert!(
        procs::one(call.pid().as_raw_nonzero().get().unsigned_abs()).unwrap().argv[0]
            .lossy()
            .ends_with("fake-azlin")
    );
    call.signal(rustix::process::Signal::KILL);
    call.wait().assert_signal(9);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !kit.vms()[0].running {
        assert!(std::time::Instant::now() < end, "the machine is not made");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    network.ssh(&[], "vm", "true").output().assert_code(0);
}
