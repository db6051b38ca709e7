//! Network namespaces, process watches, tmux and the real agents' places.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::Duration;

use amplihack_testkit::{NetNs, Run, Sandbox, Script, Tmux, procs, real};

#[test]
fn an_isolated_program_sees_loopback_only_and_the_same_call() {
    let mut sandbox = Sandbox::new();
    let net = NetNs::new();
    if !net.is_isolated() {
        return;
    }
    sandbox.fake("claude");
    sandbox.set("KEPT", "it's kept").script(&Script::new().shell("cat /proc/net/dev").exit(7));
    let mut command = sandbox.command("claude");
    command.arg("-p").arg("--net");
    let output = Run::new(net.wrap(&command)).stdin("prompt").output();
    output.assert_code(7);
    let devices: Vec<String> =
        output.stdout_text().lines().skip(2).map(|line| line.trim().to_owned()).collect();
    assert!(devices.len() == 1 && devices[0].starts_with("lo:"), "{devices:?}");
    let record = sandbox.only_run();
    assert_eq!(record.args(), ["-p", "--net"].map(amplihack_testkit::Bytes::from));
    assert_eq!(record.env.len(), sandbox.env().iter().count());
}

/// As on a CI machine that starts its jobs in a container: group and session began outside, so their ids are 0.
#[test]
fn a_fake_agent_works_below_a_session_of_another_pid_namespace() {
    let mut sandbox = Sandbox::new();
    let inside = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--"];
    if !Command::new("/usr/bin/unshare").args(inside).arg("true").status().unwrap().success() {
        return;
    }
    sandbox.fake("claude");
    sandbox.script(&Script::new().exit(7));
    let claude = sandbox.command("claude");
    let mut command = Command::new("/usr/bin/unshare");
    command.args(inside).arg(claude.get_program()).arg("-p").env_clear();
    command.envs(claude.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Run::new(command).output().assert_code(7);
    assert_eq!(sandbox.only_run().sid, 0);
}

#[test]
fn a_server_on_a_thread_inside_is_reached_from_inside_only() {
    let sandbox = Sandbox::new();
    let net = NetNs::new();
    let Some(listener) = net.on_thread(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()) else {
        return;
    };
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"hello from inside\n").unwrap();
        stream.flush().unwrap();
        let _ = stream.read(&mut [0; 1]);
    });
    let mut command = sandbox.command("bash");
    command.arg("-c").arg(format!("exec 3<>/dev/tcp/127.0.0.1/{port} && head -1 <&3"));
    if net.is_isolated() {
        assert_ne!(Run::new(sandbox.command("bash")).args(command.get_args()).output().code, Some(0));
    }
    Run::new(net.wrap(&command)).output().assert_code(0).assert_stdout("hello from inside\n");
    server.join().unwrap();
}

#[test]
fn a_watch_sees_a_word_in_argv_and_only_there() {
    let sandbox = Sandbox::new();
    let word = sandbox.marker("word");
    let watch = procs::ArgvWatch::start(&word);
    Run::new(sandbox.command("sh")).args(["-c", "cat >/dev/null; sleep 0.2; :"]).stdin(word.clone()).output();
    watch.finish().assert_unseen_while_running("sh");

    let watch = procs::ArgvWatch::start(&word);
    sandbox.run("sh", ["-c", "sleep 0.2; :", &word]).assert_code(0);
    assert!(!watch.finish().hits.is_empty());
}

#[test]
fn tmux_shows_what_is_typed_and_goes_away() {
    let sandbox = Sandbox::new();
    if !Tmux::is_installed() {
        return;
    }
    let tmux = Tmux::new(&sandbox);
    tmux.new_session("main", "sh", ["-c", "echo 'two  words'; read line; echo \"got $line\"; read end"]);
    tmux.wait_for("main", "two  words", Duration::from_secs(10));
    tmux.type_text("main", "Enter");
    tmux.send_keys("main", &["Enter"]);
    tmux.wait_for("main", "got Enter", Duration::from_secs(10));
    assert!(tmux.has_session("main"));
    let pid = tmux.tell(["display-message", "-p", "#{pid}"]).stdout_text();
    drop(tmux);
    let server = std::path::PathBuf::from(format!("/proc/{}", pid.trim()));
    let end = std::time::Instant::now() + Duration::from_secs(5);
    while server.exists() && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!server.exists(), "the tmux server is left");
}

#[test]
fn installed_real_agents_start() {
    let sandbox = Sandbox::new();
    for (agent, line) in [("claude", "(Claude Code)"), ("codex", "codex-cli "), ("gemini", "0.61.0")] {
        if let Some(program) = real::real_agent(agent) {
            let net = NetNs::new();
            let mut command = sandbox.command(&program);
            command.arg("--version");
            Run::new(net.wrap(&command)).output().assert_code(0).assert_stdout_has(line);
        }
    }
}
