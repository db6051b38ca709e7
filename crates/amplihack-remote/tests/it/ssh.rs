//! The same over a real ssh server.

use std::path::PathBuf;
use std::sync::Arc;

use amplihack_config::env::Env;
use amplihack_config::secret::Secret;
use amplihack_remote::far::FarSide;
use amplihack_remote::protocol::{Claim, FarState};
use amplihack_remote::{RemoteCommandRunner, SshDestination, SshRunner};
use amplihack_testkit::sshd::Sshd;
use tokio::task::JoinSet;

use crate::support::{PATIENCE, Place, digest, places};

struct Server {
    sshd: Sshd,
    runtime: tempfile::TempDir,
}

impl Server {
    fn start(place: &Place) -> Option<Self> {
        let root = place.path("root").display().to_string();
        let sshd = Sshd::start(&[("AMPLIHACK_REMOTE_ROOT", &root)])?;
        let runtime = tempfile::Builder::new().prefix("r-").tempdir_in("/tmp").unwrap();
        Some(Self { sshd, runtime })
    }

    fn destination(&self) -> SshDestination {
        SshDestination {
            host: "127.0.0.1".to_owned(),
            port: Some(self.sshd.port()),
            identity: Some(self.sshd.key()),
            options: self.sshd.options(),
            ..SshDestination::default()
        }
    }

    fn runner(&self, destination: SshDestination) -> Arc<SshRunner> {
        let env = Env::empty()
            .with_variable("PATH", "/usr/bin:/bin")
            .with_variable("XDG_RUNTIME_DIR", self.runtime.path());
        let runner = SshRunner::new(&env);
        runner.add_machine("vm", destination);
        Arc::new(runner)
    }

    fn sockets(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.runtime.path().join("amplihack-ssh")).unwrap();
        entries.flatten().map(|entry| entry.path()).collect()
    }
}

impl Drop for Server {
    /// Connections that are kept open end with the test.
    fn drop(&mut self) {
        for socket in self.sockets() {
            let mut exit = std::process::Command::new("ssh");
            exit.args(["-O", "exit", "-o"]).arg(format!("ControlPath={}", socket.display())).arg("x");
            let _ = exit.output();
        }
    }
}

#[tokio::test]
async fn a_session_runs_over_ssh_on_one_connection() {
    for place in places() {
        let Some(server) = Server::start(&place) else { return };
        let far = FarSide::new(server.runner(server.destination()), "vm");
        far.store_file(&place.path("bundle"), &place.bundle).await.unwrap();
        let mut spec = place.session(1, "cat ../prompt; printf %s \"$THE_KEY\" | sha256sum; exit 5");
        spec.prompt = b"$(x) `y` 'z' \"\xff\n\n".to_vec();
        spec.key_name = Some("THE_KEY".to_owned());
        let key = "sk-over-ssh";
        let mut starts = JoinSet::new();
        for _ in 0..10 {
            let (far, spec) = (far.clone(), spec.clone());
            starts.spawn(async move { far.start_session(&spec, Some(&Secret::new(key))).await.unwrap() });
        }
        let claims = starts.join_all().await;
        assert_eq!(claims.iter().filter(|claim| **claim == Claim::Started).count(), 1, "{claims:?}");
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(5));
        let log = far.read_log(&spec.id, 0, PATIENCE).await.unwrap().bytes;
        let expected = [&spec.prompt[..], digest(key.as_bytes()).as_bytes(), b"  -\n"].concat();
        assert!(log == expected, "{}", String::from_utf8_lossy(&log));
        assert_eq!(server.sockets().len(), 1, "{:?}", server.sockets());
    }
}

#[tokio::test]
async fn files_are_carried_to_the_byte_and_exit_codes_are_the_commands() {
    let place = places().remove(0);
    let Some(server) = Server::start(&place) else { return };
    let runner = server.runner(server.destination());
    let bytes: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
    let (source, there) = (place.path("big"), place.path("it's there"));
    std::fs::write(&source, &bytes).unwrap();
    runner.transfer(&source, "vm", &there).await.unwrap();
    assert!(std::fs::read(&there).unwrap() == bytes);
    let back = place.path("back");
    let answer =
        runner.run_piped("vm", "cat; echo oops >&2; exit 7", Some(&source), Some(&back)).await.unwrap();
    assert_eq!((answer.status, answer.stderr.trim()), (7, "oops"));
    assert!(std::fs::read(&back).unwrap() == bytes);
    assert!(runner.transfer(&source, "vm", "/no/such/place".as_ref()).await.is_err());
    assert!(runner.connect("other", "true").await.is_err());
}

#[tokio::test]
async fn faults_have_their_reasons() {
    let place = places().remove(0);
    let Some(server) = Server::start(&place) else { return };
    let good = server.destination();
    let reason = async |destination: SshDestination| {
        let far = FarSide::new(server.runner(destination), "vm");
        let error = far.observe_sessions(&[]).await.unwrap_err();
        assert_eq!(error.get_fact("host"), Some("vm"), "{error:?}");
        error.get_fact("reason").unwrap_or_default().to_owned()
    };
    assert_eq!(reason(SshDestination { port: Some(1), ..good.clone() }).await, "refused");
    let other_key = place.path("other-key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&other_key)
        .status();
    assert!(made.unwrap().success());
    assert_eq!(reason(SshDestination { identity: Some(other_key.clone()), ..good.clone() }).await, "auth");
    assert_eq!(
        reason(SshDestination { host: "no-such-host.invalid".to_owned(), ..good.clone() }).await,
        "unreachable"
    );
    // A machine whose key is not known is not trusted.
    let mut strange = good.clone();
    strange.options.retain(|(name, _)| name != "UserKnownHostsFile");
    strange.options.push(("UserKnownHostsFile".to_owned(), place.path("none").display().to_string()));
    assert_eq!(reason(strange).await, "hostkey");

    // One that we made is trusted once, under its own name, and no other after it.
    let pins = place.path("pins 100%");
    let mut pinned = good.clone();
    pinned.options.retain(|(name, _)| !name.contains("KnownHosts") && !name.contains("StrictHost"));
    pinned.known_hosts = Some(pins.clone());
    let runner = server.runner(pinned.clone());
    FarSide::new(runner, "vm").observe_sessions(&[]).await.unwrap();
    let known = std::fs::read_to_string(&pins).unwrap();
    assert!(known.starts_with("vm ssh-ed25519 "), "{known}");
    let key = std::fs::read_to_string(other_key.with_extension("pub")).unwrap();
    std::fs::write(&pins, format!("vm {key}")).unwrap();
    pinned.port = Some(server.sshd.port());
    pinned.options.push(("Compression".to_owned(), "no".to_owned()));
    assert_eq!(reason(pinned).await, "hostkey");
}

#[tokio::test]
async fn more_commands_than_a_connection_allows_are_all_answered() {
    let place = places().remove(0);
    let Some(server) = Server::start(&place) else { return };
    // Two clients that do not know of each other share the connection.
    let clients = [server.runner(server.destination()), server.runner(server.destination())];
    let mut calls = JoinSet::new();
    for number in 0..40 {
        let client = Arc::clone(&clients[number % 2]);
        calls.spawn(async move { client.connect("vm", &format!("sleep 0.3; echo {number}")).await });
    }
    let answers = calls.join_all().await;
    let mut numbers: Vec<usize> =
        answers.into_iter().map(|answer| answer.unwrap().stdout.trim().parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..40).collect::<Vec<_>>());
}
