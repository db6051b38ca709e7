//! A user with a repository, machines of one backend, and what must hold after whatever happened to them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use amplihack_remote::state::{ClientProcess, RemoteState};
use amplihack_remote::{SessionStatus, state_lock};
use amplihack_testkit::hosts::Spec;
use amplihack_testkit::procs::Sweep;
use amplihack_testkit::{Azlin, Host, Network, Output, Run, Running, Sandbox, Slurm};
use serde_json::Value;

use crate::world::amplihack;

/// Machines with room for sessions.
pub(super) fn roomy() -> Spec {
    Spec::default().disk_mib(1024)
}

/// Longer than anything here takes on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Local,
    Ssh,
    Azlin,
    Slurm,
}

pub(super) struct Scene {
    _sweep: Sweep,
    // These end before the network does.
    pub(super) azlin: Option<Azlin>,
    pub(super) slurm: Option<Slurm>,
    pub(super) network: Option<Network>,
    pub(super) sandbox: Sandbox,
    /// The key of this scene's user, which no other has.
    pub(super) key: String,
}

impl Scene {
    /// A new scene; `None`, after a loud line, where there can be none. Machines of ssh: `a` with `spec`.
    pub(super) fn new(kind: Kind, spec: Spec) -> Option<Self> {
        let mut sandbox = Sandbox::repository();
        let name = match kind {
            Kind::Local => "local",
            Kind::Ssh => "ssh",
            Kind::Azlin => "azlin",
            Kind::Slurm => "slurm",
        };
        let (root, key) = (sandbox.root().to_owned(), format!("sk-ant-{}", sandbox.marker("key")));
        sandbox
            .set("AMPLIHACK_REMOTE_BACKEND", name)
            .set("ANTHROPIC_API_KEY", &key)
            .set("USER", "tester")
            .set("AMPLIHACK_AGENT_BINARY", "claude");
        sandbox.set("XDG_RUNTIME_DIR", root).set("AMPLIHACK_REMOTE_RETRY_BUDGET_SECS", "0");
        let network = if kind == Kind::Local { None } else { Some(Network::in_home(&sandbox.home())?) };
        let sweep = Sweep::new(sandbox.home().display().to_string());
        let mut scene = Self { _sweep: sweep, azlin: None, slurm: None, network, sandbox, key };
        scene.give();
        scene.machines(kind, spec)?;
        Some(scene)
    }

    fn machines(&mut self, kind: Kind, spec: Spec) -> Option<()> {
        let Some(network) = &self.network else { return Some(()) };
        let hosts = match kind {
            Kind::Azlin => {
                let azlin = Azlin::start(network);
                azlin.machines_have(spec);
                azlin.install(&self.sandbox);
                self.azlin = Some(azlin);
                ""
            }
            Kind::Slurm => {
                self.slurm = Some(Slurm::start(&network.host_with("login", spec))?);
                "[hosts.login]\nscheduler = 'slurm'\noptions = ['--partition=agents']\n"
            }
            _ => {
                network.host_with("a", spec);
                "[hosts.a]\ncapacity = 4\n"
            }
        };
        self.sandbox.write("home/.config/amplihack/hosts.toml", hosts);
        Some(())
    }

    /// Puts the programs of sessions on all machines.
    fn give(&self) {
        let bin = if let Some(network) = &self.network {
            network.tool("amplihack", amplihack());
            network.tools()
        } else {
            self.sandbox.link("amplihack", amplihack());
            self.sandbox.bin()
        };
        let agent = bin.join("claude");
        std::fs::write(&agent, include_str!("agent.sh")).unwrap();
        std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// `amplihack remote` with `args` where the user is.
    pub(super) fn remote(&self, args: &[&str]) -> Run {
        let mut command = self.sandbox.command(amplihack());
        command.arg("remote").args(args);
        Run::new(match &self.network {
            Some(network) => network.wrap(&command),
            None => command,
        })
        .timeout(PATIENCE)
    }

    /// The same, run to its end.
    #[track_caller]
    pub(super) fn run(&self, args: &[&str]) -> Output {
        self.remote(args).output()
    }

    /// The same, to success, with its object.
    #[track_caller]
    pub(super) fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        output.assert_code(0);
        output.json()
    }

    /// The beginning of a session a prompt.
    pub(super) fn starting(&self, prompts: &[&str]) -> Running {
        self.remote(&[&["start", "--json", "--max-turns", "1", "--"], prompts].concat()).spawn()
    }

    /// Starts a session a prompt. Returns their ids.
    #[track_caller]
    pub(super) fn start(&self, prompts: &[&str]) -> Vec<String> {
        let output = self.starting(prompts).wait();
        output.assert_code(0);
        let object = output.json();
        let rows = object["sessions"].as_array().unwrap().iter();
        rows.map(|row| row["session"]["session_id"].as_str().unwrap().to_owned()).collect()
    }

    /// What this side knows.
    pub(super) fn state(&self) -> RemoteState {
        state_lock::read(&self.sandbox.home().join(".amplihack/remote-state.json")).unwrap()
    }

    pub(super) fn status(&self, id: &str) -> SessionStatus {
        self.state().sessions[id].session.status
    }

    /// Asks all machines.
    #[track_caller]
    pub(super) fn refresh(&self) {
        self.run(&["list", "--refresh"]).assert_code(0);
    }

    /// A session as it stands after all machines were asked.
    #[track_caller]
    pub(super) fn refreshed(&self, id: &str) -> Value {
        let all = self.json(&["list", "--refresh"]);
        let found = all.as_array().unwrap().iter().find(|session| session["session_id"] == id);
        found.unwrap_or_else(|| panic!("{id} is not in {all}")).clone()
    }

    /// The homes of all machines of sessions, seen from here.
    fn homes(&self) -> Vec<PathBuf> {
        if self.network.is_none() {
            return vec![self.sandbox.home()];
        }
        self.hosts().iter().map(Host::home).collect()
    }

    /// All machines of sessions that are hosts and on.
    pub(super) fn hosts(&self) -> Vec<Host> {
        let Some(network) = &self.network else { return Vec::new() };
        let rented = self.azlin.iter().flat_map(Azlin::vms).map(|vm| vm.name);
        let names = ["a", "login"].map(str::to_owned).into_iter().chain(rented);
        names.filter_map(|name| network.find(&name)).filter(Host::is_on).collect()
    }

    /// How often each session's agent ran.
    pub(super) fn ran(&self) -> BTreeMap<String, usize> {
        let mut ran = BTreeMap::new();
        for home in self.homes() {
            for id in std::fs::read_to_string(home.join("ran")).unwrap_or_default().lines() {
                *ran.entry(id.to_owned()).or_default() += 1;
            }
        }
        ran
    }

    /// Lets what is held end, of all sessions or of those whose prompt is `hold WORD`.
    pub(super) fn go(&self, word: Option<&str>) {
        let name = word.map_or_else(|| "go".to_owned(), |word| format!("go-{word}"));
        for home in self.homes() {
            std::fs::write(home.join(&name), "").unwrap();
        }
    }

    /// Waits until `done` holds.
    #[track_caller]
    pub(super) fn until(&self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done(self) {
            assert!(
                Instant::now() < end,
                "timed out waiting for {what}: {:#?}\nran: {:?}",
                self.state(),
                self.ran()
            );
            sleep(Duration::from_millis(50));
        }
    }

    /// Claims what must hold after a client was killed anywhere: plain `list` says whether something is to be settled, one look settles
    /// it, another changes nothing, slots are right, and each session ran at most once, or never if it is said to have failed.
    #[track_caller]
    pub(super) fn assert_settles(&self, told: &str) {
        let needs = !self.state().needs_reconciling(ClientProcess::is_alive).is_empty();
        let listed = self.run(&["list"]);
        listed.assert_code(0);
        assert_eq!(
            listed.stderr_text().contains("amplihack remote list --refresh"),
            needs,
            "{told}: {listed}"
        );
        let looked = self.run(&["list", "--refresh"]);
        looked.assert_code(0);
        let first = self.state();
        assert_eq!(first.needs_reconciling(ClientProcess::is_alive), [""; 0], "{told}: {looked}\n{first:#?}");
        assert_eq!(first.find_disagreements(), [""; 0], "{told}");
        let again = self.run(&["list", "--refresh"]);
        again.assert_code(0).assert_stderr("");
        let (one, other) = (lasting(first.clone()), lasting(self.state()));
        let differs = |id: &&String| one.sessions[*id] != other.sessions[*id];
        let changed: Vec<&String> = one.sessions.keys().filter(differs).collect();
        let shown = |state: &RemoteState| -> Vec<_> {
            changed.iter().map(|id| state.sessions[*id].clone()).collect()
        };
        assert_eq!(shown(&one), shown(&other), "{told}: the second look changed something");
        assert_eq!(one, other, "{told}: the second look changed something");
        let mut held = BTreeSet::new();
        for machine in first.vm_pool.values() {
            assert!(machine.active_sessions.len() <= machine.capacity, "{told}: {machine:?}");
            held.extend(machine.active_sessions.iter().cloned());
        }
        let ran = self.ran();
        for (id, record) in &first.sessions {
            let times = ran.get(id).copied().unwrap_or_default();
            assert!(times <= 1, "{told}: {id} ran {times} times");
            let status = record.session.status;
            if status == SessionStatus::Failed {
                assert_eq!(times, 0, "{told}: {id} ran, and is said to have failed: {record:#?}");
            }
            assert_eq!(held.contains(id), !status.is_final(), "{told}: {record:#?}");
            assert_ne!(status, SessionStatus::Pending, "{told}: {record:#?}");
        }
    }

    /// Claims that this scene's key lies in no memory file, and in no file of the machines of sessions or of the user.
    #[track_caller]
    pub(super) fn assert_no_secret_left(&self) {
        let mut places = vec![self.sandbox.home(), self.sandbox.root().join("tmp")];
        places.extend(self.homes().iter().map(|home| home.join(".amplihack")));
        let shared = if self.network.is_none() { vec![PathBuf::from("/dev/shm")] } else { Vec::new() };
        places.extend(shared);
        places.extend(self.hosts().iter().map(|host| host.path("/dev/shm")));
        // What was interrupted may still be about to end on the other side, and takes its secrets along.
        let begun = Instant::now();
        for place in places {
            loop {
                let found = with_text(&place, &self.key);
                if found.is_empty() {
                    break;
                }
                assert!(begun.elapsed() < Duration::from_secs(20), "the key is left in {found:?}");
                sleep(Duration::from_millis(50));
            }
        }
        for host in self.hosts() {
            let left: Vec<PathBuf> = files(&host.path("/dev/shm")).0;
            assert!(left.is_empty(), "{left:?}");
        }
    }
}

/// What stays in a state when nothing happens: all but when machines answered last, and when what had a runner already began.
fn lasting(mut state: RemoteState) -> RemoteState {
    for record in state.sessions.values_mut() {
        record.last_seen = None;
        if record.session.status == SessionStatus::Running {
            record.session.started_at = None;
        }
    }
    state
}

/// All directories below `place` that are amplihack's, and all files.
fn files(place: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut directories, mut files_) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            let (more, inner) = files(&entry.path());
            directories.push(entry.path());
            directories.extend(more);
            files_.extend(inner);
        } else if kind.is_file() {
            files_.push(entry.path());
        }
    }
    directories
        .retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("amplihack-")));
    (directories, files_)
}

fn with_text(place: &Path, text: &str) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        std::fs::read(path).is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
    };
    files(place).1.into_iter().filter(holds).collect()
}
