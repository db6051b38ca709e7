//! Machines of a network that fail as machines do, and a real scheduler on one.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_config::secret::Secret;
use amplihack_remote::far::FarSide;
use amplihack_remote::protocol::{Claim, FarState};
use amplihack_remote::{RemoteError, SshDestination, SshRunner};
use amplihack_testkit::Network;
use amplihack_testkit::slurm::Slurm;

use crate::support::{PATIENCE, Place, id, places};

struct Net {
    network: Network,
    place: Place,
}

impl Net {
    fn new() -> Option<Self> {
        let network = Network::new()?;
        let place = places().remove(0);
        // Our ssh is the client side's.
        let ssh = network.wrap(Command::new("/usr/bin/ssh").env_clear());
        let words: Vec<String> = std::iter::once(ssh.get_program())
            .chain(ssh.get_args())
            .map(|word| format!("'{}'", word.to_str().unwrap()))
            .collect();
        let file = place.path("bin/ssh");
        std::fs::write(&file, format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "))).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        Some(Self { network, place })
    }

    fn far(&self, machine: &str, destination: SshDestination) -> FarSide {
        let path = format!("{}:/usr/bin:/bin", self.place.path("bin").display());
        let env = Env::empty().with_variable("PATH", path).with_variable("HOME", self.network.home());
        let runner = SshRunner::new(&env.with_variable("XDG_RUNTIME_DIR", self.place.dir.path()));
        runner.add_machine(machine, SshDestination { host: machine.to_owned(), ..destination });
        FarSide::new(Arc::new(runner), machine)
    }
}

async fn state(far: &FarSide, id: &str) -> FarState {
    far.observe_sessions(&[id]).await.unwrap()[0].state
}

async fn until(far: &FarSide, id: &str, done: impl Fn(&FarState) -> bool) -> FarState {
    let begun = std::time::Instant::now();
    loop {
        let state = state(far, id).await;
        if done(&state) {
            return state;
        }
        assert!(begun.elapsed() < PATIENCE, "{state:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what `until` takes")]
fn is_over(state: &FarState) -> bool {
    !matches!(state, FarState::Waiting | FarState::Running)
}

#[tokio::test]
async fn a_machine_out_of_reach_is_no_lost_session_and_one_without_power_is() {
    let Some(net) = Net::new() else { return };
    let host = net.network.host("a");
    let far = net.far("a", SshDestination::default());
    far.store_file(&net.place.path("bundle"), &net.place.bundle).await.unwrap();
    let spec = net.place.session(1, "i=0; while :; do echo $i; i=$((i+1)); sleep 0.2; done");
    assert_eq!(far.start_session(&spec, None).await.unwrap(), Claim::Started);
    assert!(!far.read_log(&spec.id, 0, PATIENCE).await.unwrap().bytes.is_empty());
    let unreachable = async || {
        let error = far.observe_sessions(&[&spec.id]).await.unwrap_err();
        assert!(matches!(error, RemoteError::Transfer(_)), "{error:?}");
        assert_eq!(
            (error.get_fact("reason"), error.get_fact("host")),
            (Some("unreachable"), Some("a")),
            "{error:?}"
        );
    };
    host.cut();
    // Over the connection that there is, and over none.
    unreachable().await;
    unreachable().await;
    host.join();
    assert_eq!(until(&far, &spec.id, |state| *state == FarState::Running).await, FarState::Running);
    let before = far.read_log(&spec.id, 0, PATIENCE).await.unwrap().bytes;
    assert!(!far.read_log(&spec.id, before.len() as u64, PATIENCE).await.unwrap().bytes.is_empty());

    host.power_off();
    unreachable().await;
    host.boot();
    assert_eq!(until(&far, &spec.id, |state| *state != FarState::Running).await, FarState::Lost);
    // What it said is there yet, and its work.
    assert!(far.read_log(&spec.id, 0, Duration::ZERO).await.unwrap().bytes.starts_with(&before));
    assert_eq!(far.collect_results(&spec.id).await.unwrap().bytes, 0);
    assert_eq!(far.end_session(&spec.id, Duration::ZERO).await.unwrap(), 0);
    assert_eq!(state(&far, &spec.id).await, FarState::Killed(137));
}

#[tokio::test]
async fn another_machine_in_the_place_of_one_that_we_made_is_not_trusted() {
    let Some(net) = Net::new() else { return };
    let pinned = || SshDestination {
        known_hosts: Some(net.place.path("pins")),
        identity: Some(net.network.home().join(".ssh/id_ed25519")),
        ..SshDestination::default()
    };
    let host = net.network.host("b");
    net.far("b", pinned()).probe_machine(&[]).await.unwrap();
    let pins = std::fs::read_to_string(net.place.path("pins")).unwrap();
    assert!(pins.contains(&format!("b {}", host.host_key())), "{pins}");
    host.destroy();
    net.network.host("b");
    let mut other = pinned();
    // Not over the connection to the first, if that is not noticed to be dead yet.
    other.options.push(("Compression".to_owned(), "no".to_owned()));
    let error = net.far("b", other).probe_machine(&[]).await.unwrap_err();
    assert_eq!(error.get_fact("reason"), Some("hostkey"), "{error:?}");
}

#[tokio::test]
async fn a_real_scheduler_runs_prepared_sessions_once() {
    let Some(net) = Net::new() else { return };
    let Some(slurm) = Slurm::start(&net.network.host("login")) else { return };
    let far = net.far("login", SshDestination::default());
    far.store_file(&net.place.path("bundle"), &net.place.bundle).await.unwrap();
    let texts = [
        "printf %s \"$THE_KEY\" | tr a-z A-Z; exit 3",
        "echo begun; echo x >>\"$HOME/ran\"; sleep 600",
        "echo begun; echo x >>\"$HOME/ran-2\"; sleep 600",
    ];
    for (number, text) in (1..).zip(texts) {
        let mut spec = net.place.session(number, text);
        spec.key_name = Some("THE_KEY".to_owned());
        far.prepare_session(&spec, Some(&Secret::new("sk-canary-of-slurm"))).await.unwrap();
    }
    let ids = [id(1), id(2), id(3)];
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let job = far.submit_job("fleet", &ids, &[]).await.unwrap();
    assert_eq!(far.submit_job("fleet", &ids, &[]).await.unwrap(), job);
    assert_eq!(until(&far, ids[0], is_over).await, FarState::Ended(3));
    assert_eq!(far.read_log(ids[0], 0, Duration::ZERO).await.unwrap().bytes, b"SK-CANARY-OF-SLURM");
    for id in &ids[1..] {
        far.read_log(id, 0, PATIENCE).await.unwrap();
        assert_eq!(until(&far, id, |state| *state == FarState::Running).await, FarState::Running);
    }
    for place in slurm.traces().into_iter().chain([slurm.state()]) {
        assert!(crate::support::files_with(&place, b"sk-canary-of-slurm").is_empty());
    }
    assert_eq!(far.end_session(ids[1], Duration::from_secs(5)).await.unwrap(), 0);
    let ended = state(&far, ids[1]).await;
    assert!(matches!(ended, FarState::Killed(143)), "{ended:?}");

    // It cannot be put into the queue again, and whoever submits once more gets the job that there is.
    let requeue = slurm.ask(&format!("scontrol requeue {job}_2"));
    assert_ne!(requeue.code, Some(0), "{requeue:?}");
    assert_eq!(far.submit_job("fleet", &ids, &[]).await.unwrap(), job);
    // What watches over the jobs is gone, and they run on: such a session is not lost, and is ended as any.
    for node in 1..=3 {
        slurm.kill_stepds(node);
    }
    assert_eq!(state(&far, ids[2]).await, FarState::Running);
    assert_eq!(far.submit_job("fleet", &ids, &[]).await.unwrap(), job);
    assert_eq!(slurm.host().exec("wc -l <ran-2").stdout_text().trim(), "1");
    assert_eq!(far.end_session(ids[2], Duration::from_secs(5)).await.unwrap(), 0);
    assert!(matches!(state(&far, ids[2]).await, FarState::Killed(_)));
    let left = slurm.host().processes_with("600");
    assert!(left.is_empty(), "{left:?}");
}
