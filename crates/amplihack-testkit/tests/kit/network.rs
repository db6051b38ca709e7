//! Hosts of a test's network: each control does what it says, seen through the real ssh.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use amplihack_testkit::hosts::{HostLimits, Spec};
use amplihack_testkit::{Network, Run, Sandbox, procs, programs};

/// Options by which ssh notices within seconds that nobody answers.
const IMPATIENT: &[&str] = &["-oConnectTimeout=1", "-oServerAliveInterval=1", "-oServerAliveCountMax=1"];

#[test]
fn plain_ssh_reaches_hosts_that_are_machines_of_their_own() {
    let Some(network) = Network::new() else { return };
    let (a, b) = (network.host("a"), network.host_with("b", Spec::default().limits(HostLimits::Generous)));
    let look = "whoami; id -u; hostname; echo $PATH $HOME; pwd; ls /; cat /etc/hostname";
    let mut ssh = Command::new("ssh");
    ssh.args(["a", look]).env_clear().env("PATH", "/usr/bin:/bin");
    let output = Run::new(network.wrap(&ssh)).output();
    output.assert_code(0).assert_stdout_has(
        "azureuser\n4242\na\n/opt/tools:/usr/local/bin:/usr/bin:/bin /home/azureuser\n/home/azureuser\n",
    );
    a.exec(&format!("ls {}", env!("CARGO_MANIFEST_DIR"))).assert_code(2).assert_stdout("");

    // Own files, own memory, own temporary directory, own processes.
    for place in ["/home/azureuser/x", "/tmp/x", "/dev/shm/x"] {
        network.ssh(&[], "a", &format!("touch {place}")).output().assert_code(0);
        assert!(a.path(place).exists() && !b.path(place).exists(), "{place}");
    }
    assert!(a.home().join("x").exists());
    a.exec("sleep 71 >/dev/null 2>&1 & ").assert_code(0);
    assert_eq!((a.processes_with("71").len(), b.processes_with("71").len()), (1, 0));
    assert_ne!(a.host_key(), b.host_key());
    // A host reaches another by its name, and the copying of files works.
    network.ssh(&[], "a", "exec 3<>/dev/tcp/b/22 && head -c4 <&3").output().assert_stdout("SSH-");
    let mut copy = Command::new("scp");
    copy.args(["-q", "/etc/passwd", "a:copied"]).env_clear().env("PATH", "/usr/bin:/bin");
    Run::new(network.wrap(&copy)).output().assert_code(0);
    assert!(a.home().join("copied").exists());
    for (host, sessions) in [(&a, "maxsessions 10\n"), (&b, "maxsessions 1000\n")] {
        host.exec_as_superuser("sshd -T").assert_code(0).assert_stdout_has(sessions);
    }
}

#[test]
fn tools_are_first_in_path_and_a_terminal_is_to_be_had() {
    let Some(network) = Network::new() else { return };
    let sandbox = Sandbox::new();
    let program = sandbox.write("hello", "#!/bin/sh\necho \"hello $1\"\n");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    network.tool("hello", &program);
    network.tool("claude", &programs::fake_agent_path());
    let a = network.host_with("a", Spec::default().bind(sandbox.root(), "/opt/shown"));
    network.ssh(&[], "a", "hello you").output().assert_code(0).assert_stdout("hello you\n");
    network.ssh(&[], "a", "touch /opt/tools/x /usr/x").output().assert_code(1);
    network.ssh(&[], "a", "claude --version").output().assert_code(0).assert_stdout_has("(Claude Code)");
    a.exec("/opt/shown/hello me").assert_stdout("hello me\n");
    network.ssh(&["-tt"], "a", "tty").output().assert_code(0).assert_stdout_has("/dev/pts/0");
    network.ssh(&[], "a", "bash -l -c 'hello login'").output().assert_stdout("hello login\n");
}

#[test]
fn a_host_that_is_cut_off_runs_on_and_is_found_again() {
    let Some(network) = Network::new() else { return };
    let a = network.host("a");
    let mut stream = network.ssh(IMPATIENT, "a", "while echo tick; do sleep 0.1; done").spawn();
    stream.until_stdout_has("tick");
    a.exec("sleep 72 >/dev/null 2>&1 &").assert_code(0);
    a.cut();
    let output = network.ssh(IMPATIENT, "a", "true").output();
    output.assert_code(255);
    stream.wait().assert_code(255);
    assert_eq!(a.processes_with("72").len(), 1);
    a.join();
    network.ssh(&[], "a", "true").output().assert_code(0);
}

#[test]
fn power_off_takes_processes_and_memory_and_leaves_the_disk() {
    let Some(network) = Network::new() else { return };
    let a = network.host("a");
    let boot_id = || network.ssh(&[], "a", "cat /proc/sys/kernel/random/boot_id").output().stdout_text();
    let before = boot_id();
    a.exec("echo kept >kept; touch /tmp/x /dev/shm/x; sleep 73 >/dev/null 2>&1 &").assert_code(0);
    let pids: Vec<u32> = a.processes().iter().map(|process| process.pid.unsigned_abs()).collect();
    assert!(pids.len() >= 3, "{pids:?}");
    a.power_off();
    assert!(!a.is_on() && pids.iter().all(|pid| procs::one(*pid).is_none()), "{pids:?}");
    assert_eq!(std::fs::read_to_string(a.home().join("kept")).unwrap(), "kept\n");
    network.ssh(IMPATIENT, "a", "true").output().assert_code(255);
    let key = a.host_key();
    a.boot();
    let after = boot_id();
    assert!(before.trim().len() == 36 && after.trim().len() == 36 && before != after, "{before}{after}");
    network.ssh(&[], "a", "cat kept; ls /tmp /dev/shm").output().assert_stdout("kept\n/dev/shm:\n\n/tmp:\n");
    assert!(a.processes_with("73").is_empty() && !a.path("/tmp/x").exists());
    assert_eq!(a.host_key(), key);
}

#[test]
fn a_host_that_was_made_again_has_its_old_address_and_another_key() {
    let Some(network) = Network::new() else { return };
    let a = network.host("a");
    network.ssh(&[], "a", "touch x").output().assert_code(0);
    let (address, key) = (a.address(), a.host_key());
    a.destroy();
    assert!(network.find("a").is_none());
    let a = network.host("a");
    assert_eq!(a.address(), address);
    assert_ne!(a.host_key(), key);
    assert!(!a.home().join("x").exists());
    network.ssh(&[], "a", "true").output().assert_code(255).assert_stderr_has("Host key verification failed");
}

#[test]
fn a_frozen_server_takes_connections_and_says_nothing() {
    let Some(network) = Network::new() else { return };
    let a = network.host("a");
    a.freeze_sshd();
    network.ssh(IMPATIENT, "a", "true").output().assert_code(255).assert_stderr_has("timed out");
    a.thaw_sshd();
    network.ssh(&[], "a", "true").output().assert_code(0);
}

#[test]
fn a_full_disk_takes_nothing_until_it_is_freed() {
    let Some(network) = Network::new() else { return };
    let a = network.host_with("a", Spec::default().disk_mib(16));
    a.fill_disk();
    let write = || network.ssh(&[], "a", "head -c 9000 /dev/zero >x").output();
    write().assert_stderr_has("No space left on device");
    a.free_disk();
    write().assert_code(0).assert_stderr("");
    a.exec("head -c 20M /dev/zero >y").assert_stderr_has("No space left on device");
}

#[test]
fn networks_do_not_see_each_other() {
    let (Some(first), Some(second)) = (Network::new(), Network::new()) else { return };
    let (a, b) = (first.host("a"), second.host("a"));
    assert_eq!(a.address(), b.address());
    first.ssh(&[], "a", "touch first").output().assert_code(0);
    second.ssh(&[], "a", "touch second").output().assert_code(0);
    assert!(a.home().join("first").exists() && !a.home().join("second").exists());
    a.cut();
    second.ssh(&[], "a", "true").output().assert_code(0);
}

#[test]
fn nothing_is_left_of_a_network() {
    let Some(network) = Network::new() else { return };
    let a = network.host("a");
    a.exec("sleep 74 >/dev/null 2>&1 & setsid -f sleep 75 >/dev/null 2>&1").assert_code(0);
    // A connection that stays for the next command, as users of ControlPersist have it.
    let (control, marker) = (network.directory().join("control"), network.marker().to_owned());
    let path = format!("-oControlPath={}", control.display());
    network.ssh(&["-oControlMaster=auto", "-oControlPersist=60", &path], "a", "true").output().assert_code(0);
    assert!(control.exists());
    let left = procs::with_marker(&marker);
    assert!(left.len() >= 5, "{left:#?}");
    drop(network);
    procs::assert_none(&marker);
    assert!(!a.is_on());
}

/// The way a test ends that is killed by its runner.
#[test]
fn nothing_is_left_of_a_network_whose_test_was_killed() {
    if Network::new().is_none() {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let mut test = Command::new(own);
    test.args(["--ignored", "--exact", "network::be_killed", "--nocapture"]).process_group(0);
    let mut test = test.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stdout = std::io::BufReader::new(test.stdout.take().unwrap());
    let marker = std::io::BufRead::lines(stdout)
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("marker ")?.1.to_owned()))
        .expect("the test that is killed says its marker");
    assert!(procs::with_marker(&marker).len() > 3);
    test.kill().unwrap();
    test.wait().unwrap();
    procs::assert_none_soon(&marker, Duration::from_secs(10));
    let directory = std::env::temp_dir().join(marker);
    let end = Instant::now() + Duration::from_secs(10);
    while directory.exists() {
        assert!(Instant::now() < end, "{} is left", directory.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Not a test: what the one above kills.
#[test]
#[ignore = "it waits to be killed"]
fn be_killed() {
    let Some(network) = Network::new() else { return };
    network.host("a").exec("sleep 76 >/dev/null 2>&1 &").assert_code(0);
    println!("marker {}", network.marker());
    std::thread::sleep(Duration::from_mins(1));
}
