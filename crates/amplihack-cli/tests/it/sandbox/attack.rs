//! Every attempt of the attack program is refused, but for writing the workspace.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::process::Command;

use amplihack_testkit::{Output, Run, Sandbox, procs};

use super::{as_user, give_away, repository_of, sandboxed, users};

/// A repository, a home with keys, a directory beside, listeners and a process: everything that the attack program looks for.
struct Target {
    sandbox: Sandbox,
    program: PathBuf,
    outside: amplihack_testkit::Running,
    tcp: TcpListener,
    _sockets: Vec<UnixListener>,
    temporary: PathBuf,
    name: String,
}

impl Target {
    fn for_user(user: Option<u32>) -> Self {
        let sandbox = repository_of(user);
        for (file, text) in [
            ("victim/secret", "SECRET"),
            ("victim/id_rsa", "KEY"),
            ("home/.ssh/id_rsa", "KEY"),
            ("home/.aws/credentials", "KEY"),
            ("home/.git-credentials", "KEY"),
            ("home/.bash_history", "KEY"),
            ("home/.amplihack/record", "KEY"),
            ("home/.local/bin/none", ""),
            ("work/.github/workflows/there.yml", "on: push\n"),
            ("work/.claude/settings.json", "{}"),
            ("work/.git/hooks/there", ""),
            ("work/.git/info/there", ""),
            ("work/attack-set", ""),
        ] {
            sandbox.write(file, text);
        }
        for directory in [
            "home/.claude",
            "home/.codex",
            "home/.gemini",
            "home/.config/amplihack",
            "home/.amplihack/sessions",
        ] {
            std::fs::create_dir_all(sandbox.root().join(directory)).unwrap();
        }
        let program = sandbox.work().join("attack");
        let mut compiler = Command::new("cc");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/sandbox/attack.c");
        compiler.args(["-O1", "-o"]).arg(&program).arg(source);
        Run::new(compiler).output().assert_code(0);
        let name = sandbox.marker("attack");
        let temporary = std::env::temp_dir().join(format!("{name}.socket"));
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let sockets = vec![
            UnixListener::bind(sandbox.root().join("victim/socket")).unwrap(),
            UnixListener::bind(&temporary).unwrap(),
            UnixListener::bind(sandbox.home().join("agent.sock")).unwrap(),
            UnixListener::bind_addr(&abstract_name).unwrap(),
        ];
        give_away(&sandbox, user);
        let mut sleeper = sandbox.command("/bin/sleep");
        sleeper.arg("120").env("OUTSIDE", "OUTSIDE-SECRET");
        let outside = Run::new(as_user(&sleeper, user)).timeout(std::time::Duration::from_mins(3)).spawn();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { sandbox, program, outside, tcp, _sockets: sockets, temporary, name }
    }

    /// The attack program's command line.
    fn words(&self) -> Vec<String> {
        vec![
            self.program.display().to_string(),
            self.sandbox.root().join("victim").display().to_string(),
            self.outside.pid().as_raw_nonzero().to_string(),
            self.tcp.local_addr().unwrap().port().to_string(),
            self.temporary.display().to_string(),
            self.name.clone(),
        ]
    }

    fn attack(&self, user: Option<u32>, options: &[&str]) -> Output {
        let words = self.words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        sandboxed(&self.sandbox, user, options, &words)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It is not there where a test failed before it was made.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// The attempts that succeeded.
fn reached(output: &Output) -> Vec<String> {
    let text = output.stdout_text();
    // What is written to a directory of the program's own is gone: whether that is so is looked at outside.
    let got = text.lines().filter_map(|line| line.strip_prefix("got "));
    let lines = got.filter(|name| !name.starts_with("scratch: ")).map(str::to_owned).collect();
    assert!(text.lines().filter(|line| line.starts_with("no ")).count() > 20, "{output}");
    lines
}

#[test]
fn nothing_but_the_workspace_is_reached() {
    for user in users() {
        let target = Target::for_user(user);
        for options in [&["--network", "none"][..], &["--mode", "strict"]] {
            let output = target.attack(user, options);
            assert_eq!(output.code, Some(0), "{user:?}: {output}");
            let mut reached = reached(&output);
            // A home of the program's own, which is gone with it.
            reached.retain(|name| {
                name != "files: write start-up file of the shell" || options != ["--mode", "strict"]
            });
            assert_eq!(reached, ["workspace: write"], "{user:?}, {options:?}: {output}");
        }
        // What it left behind is gone with it, and so is what it wrote into directories of its own.
        for file in ["written", "home/.bashrc", "home/.local/bin/git", "home/.claude/settings.json"] {
            assert!(!target.sandbox.root().join(file).exists(), "{file}");
        }
        procs::assert_none(&target.name);
    }
}

/// With the network open, only the network's own attempts may succeed.
#[test]
fn an_open_network_opens_nothing_else() {
    for user in users() {
        let target = Target::for_user(user);
        let output = target.attack(user, &[]);
        let more: Vec<String> = reached(&output)
            .into_iter()
            .filter(|name| !name.starts_with("network: ") && name != "workspace: write")
            .collect();
        assert_eq!(more, [""; 0], "{user:?}: {output}");
        assert!(reached(&output).contains(&"network: loopback outside".to_owned()), "{output}");
    }
}

/// The attempts are real: without a sandbox most of them succeed.
#[test]
fn without_a_sandbox_most_is_reached() {
    // Never as the administrator: what it would write to the system would stay.
    let user = users().pop().unwrap();
    let target = Target::for_user(user);
    let words = target.words();
    let mut command = target.sandbox.command(&words[0]);
    command.args(&words[1..]);
    let output = Run::new(as_user(&command, user)).output();
    let got = reached(&output);
    for name in [
        "files: read beside the workspace",
        "keys: ssh",
        "git: write hook",
        "sockets: by path",
        "processes: environment",
    ] {
        assert!(got.iter().any(|one| one == name), "{name}: {output}");
    }
    assert!(got.len() > 25, "{got:?}");
    // It left a process, as it would inside.
    let left = procs::with_marker(&target.name);
    assert_eq!(left.len(), 1, "{left:?}");
    for process in left {
        let pid = rustix::process::Pid::from_raw(process.pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}
