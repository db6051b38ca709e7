//! A user with a repository, and machines for sessions of one backend.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use amplihack_testkit::hosts::Spec;
use amplihack_testkit::procs::Sweep;
use amplihack_testkit::{Azlin, Host, Network, Output, Run, Sandbox, Slurm, procs};
use serde_json::Value;

use crate::world::amplihack;

/// The key that users have unless a test says otherwise.
pub(crate) const KEY: &str = "sk-ant-key-of-this-user";
const AGENT: &str = include_str!("agent.sh");
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Local,
    Ssh,
    Azlin,
    Slurm,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Ssh => "ssh",
            Self::Azlin => "azlin",
            Self::Slurm => "slurm",
        }
    }
}

pub(crate) struct World {
    pub(crate) kind: Kind,
    _sweep: Sweep,
    // These end before the network does.
    pub(crate) azlin: Option<Azlin>,
    pub(crate) slurm: Option<Slurm>,
    pub(crate) network: Option<Network>,
    pub(crate) sandbox: Sandbox,
}

impl World {
    /// Runs `test` in a new world; does nothing where there can be none.
    pub(crate) fn with(kind: Kind, test: impl FnOnce(&mut Self)) {
        let Some(mut world) = Self::new(kind) else { return };
        test(&mut world);
    }

    /// A new world; `None`, after a loud line, where there can be none.
    pub(crate) fn new(kind: Kind) -> Option<Self> {
        let mut sandbox = Sandbox::repository();
        sandbox.write("work/file", "one\n");
        sandbox.write("work/.gitignore", "ignored\n");
        let root = sandbox.root().to_owned();
        sandbox
            .set("AMPLIHACK_REMOTE_BACKEND", kind.name())
            .set("ANTHROPIC_API_KEY", KEY)
            .set("USER", "tester");
        sandbox.set("AMPLIHACK_AGENT_BINARY", "claude");
        sandbox.set("XDG_RUNTIME_DIR", root).set("AMPLIHACK_REMOTE_RETRY_BUDGET_SECS", "0");
        let network = if kind == Kind::Local { None } else { Some(Network::in_home(&sandbox.home())?) };
        let sweep = Sweep::new(sandbox.home().display().to_string());
        let mut world = Self { _sweep: sweep, kind, azlin: None, slurm: None, network, sandbox };
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "-m", "one"]);
        world.give("amplihack", amplihack());
        world.give_text("claude", AGENT);
        world.machines()?;
        Some(world)
    }

    /// Makes the machines.
    fn machines(&mut self) -> Option<()> {
        let Some(network) = &self.network else { return Some(()) };
        let hosts = match self.kind {
            Kind::Local => String::new(),
            Kind::Ssh => {
                let each = |name: &str| {
                    network.host_with(name, roomy());
                    format!("[hosts.{name}]\ncapacity = 2\nlabels = ['{name}-label']\n")
                };
                ["a", "b", "c"].map(each).concat()
            }
            Kind::Azlin => {
                let azlin = Azlin::start(network);
                azlin.machines_have(roomy());
                azlin.install(&self.sandbox);
                self.azlin = Some(azlin);
                String::new()
            }
            Kind::Slurm => {
                self.slurm = Some(Slurm::start(&network.host_with("login", roomy()))?);
                "[hosts.login]\nscheduler = 'slurm'\noptions = ['--partition=agents', '--mem=1000', '--cpus-per-task=1']\n".to_owned()
            }
        };
        self.sandbox.write("home/.config/amplihack/hosts.toml", hosts);
        Some(())
    }

    /// Puts a program on all machines of sessions.
    pub(crate) fn give(&self, name: &str, from: &Path) {
        match &self.network {
            Some(network) => _ = network.tool(name, from),
            None => _ = self.sandbox.link(name, from),
        }
    }

    /// Puts a script on all machines of sessions.
    pub(crate) fn give_text(&self, name: &str, text: &str) {
        let place = self.tool(name);
        std::fs::write(&place, text).unwrap();
        std::fs::set_permissions(&place, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Takes a program from all machines of sessions.
    pub(crate) fn take(&self, name: &str) {
        std::fs::remove_file(self.tool(name)).unwrap();
    }

    fn tool(&self, name: &str) -> PathBuf {
        self.network.as_ref().map_or_else(|| self.sandbox.bin(), Network::tools).join(name)
    }

    /// `git` in the user's repository, to success. Returns what it printed.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.sandbox.run("git", args);
        output.assert_code(0);
        output.stdout_text().trim_end().to_owned()
    }

    /// `amplihack remote` with `args` where the user is.
    pub(crate) fn remote<A: AsRef<OsStr>>(&self, args: &[A]) -> Run {
        self.remote_with(&[], args)
    }

    /// The same with more variables.
    pub(crate) fn remote_with<A: AsRef<OsStr>>(&self, env: &[(&str, &str)], args: &[A]) -> Run {
        let mut command = self.sandbox.command(amplihack());
        command.arg("remote").args(args).envs(env.iter().copied());
        self.wrapped(&command).timeout(PATIENCE)
    }

    /// `command` where the user is.
    pub(crate) fn wrapped(&self, command: &Command) -> Run {
        if let Some(network) = &self.network {
            return Run::new(network.wrap(command));
        }
        let mut same = Command::new(command.get_program());
        same.args(command.get_args()).env_clear();
        same.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        same.current_dir(command.get_current_dir().unwrap_or_else(|| Path::new("/")));
        Run::new(same)
    }

    /// The same, run to its end.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.remote(args).output()
    }

    /// The same, to success, with its object.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut args = args.to_vec();
        args.push("--json");
        let output = self.run(&args);
        output.assert_code(0);
        output.json()
    }

    /// Starts a session for each prompt, with agents that play `play`. Returns their ids.
    #[track_caller]
    pub(crate) fn start(&self, play: &str, prompts: &[&str]) -> Vec<String> {
        let play = format!("PLAY={play}");
        let output = self.run(&[&["start", "--json", "--env", &play, "--"], prompts].concat());
        output.assert_code(0);
        ids(&output.json())
    }

    /// Starts one session.
    #[track_caller]
    pub(crate) fn start_one(&self, play: &str) -> String {
        self.start(play, &["do it"]).remove(0)
    }

    /// Waits until all have ended. Returns them.
    #[track_caller]
    pub(crate) fn wait(&self, ids: &[String]) -> Vec<Value> {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let output = self.run(&[&["wait", "--json", "--timeout", "80s"], &ids[..]].concat());
        let all = output.json();
        assert_eq!(all["timed_out"], false, "{output}\n{}", self.said(&ids));
        all["sessions"].as_array().unwrap().clone()
    }

    /// What sessions wrote, for messages.
    pub(crate) fn said(&self, ids: &[&str]) -> String {
        ids.iter().map(|id| self.run(&["output", id]).to_string()).collect()
    }

    /// A session as it stands.
    #[track_caller]
    pub(crate) fn session(&self, id: &str) -> Value {
        let all = self.json(&["list"]);
        let found = all.as_array().unwrap().iter().find(|session| session["session_id"] == id);
        found.unwrap_or_else(|| panic!("{id} is not in {all}")).clone()
    }

    /// The host that a session is on; `None` for this machine.
    pub(crate) fn host(&self, id: &str) -> Option<Host> {
        let network = self.network.as_ref()?;
        network.find(self.session(id)["vm_name"].as_str().unwrap())
    }

    /// The home of a session's machine, seen from here.
    pub(crate) fn home(&self, id: &str) -> PathBuf {
        self.host(id).map_or_else(|| self.sandbox.home(), |host| host.home())
    }

    /// A session's directory on its machine, seen from here.
    pub(crate) fn far(&self, id: &str) -> PathBuf {
        self.home(id).join(".amplihack/remote/sessions").join(id)
    }

    /// A session's work tree on its machine, seen from here.
    pub(crate) fn tree(&self, id: &str) -> PathBuf {
        self.home(id).join(".local/share/amplihack/remote").join(id).join("repo")
    }

    /// What a session's agent wrote down under `name`, once it is there.
    #[track_caller]
    pub(crate) fn seen(&self, id: &str, name: &str) -> Vec<u8> {
        let file = self.home(id).join("seen").join(id).join(name);
        self.until(&format!("{name} of {id}"), || file.exists());
        std::fs::read(file).unwrap()
    }

    /// Waits until `done` holds.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done() {
            assert!(
                Instant::now() < end,
                "timed out waiting for {what}\n{}",
                self.run(&["list", "--refresh"])
            );
            sleep(Duration::from_millis(20));
        }
    }

    /// Everywhere that something of this world may be written to.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let mut places = vec![self.sandbox.root().to_owned(), PathBuf::from("/dev/shm")];
        for host in self.hosts() {
            // What is in memory is not on its disk.
            places.extend(["/dev/shm", "/tmp", "/run"].map(|inside| host.path(inside)));
            places.extend(["home", "workspace", "var", "etc", "root"].map(|inside| host.disk().join(inside)));
        }
        places
    }

    /// All machines of sessions that are hosts.
    pub(crate) fn hosts(&self) -> Vec<Host> {
        let Some(network) = &self.network else { return Vec::new() };
        let rented = self.azlin.iter().flat_map(Azlin::vms).map(|vm| vm.name);
        let names = ["a", "b", "c", "login"].map(str::to_owned).into_iter().chain(rented);
        names.filter_map(|name| network.find(&name)).collect()
    }
}

/// A host whose disk holds what sessions ask for.
fn roomy() -> Spec {
    Spec::default().disk_mib(2048)
}

/// Every file below `path` that has `part` in it; links are not followed.
pub(crate) fn files_with(path: &Path, part: &[u8]) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
            found.extend(files_with(&path, part));
        } else if kind.is_ok_and(|kind| kind.is_file())
            && std::fs::read(&path).is_ok_and(|bytes| contains(&bytes, part))
        {
            found.push(path);
        }
    }
    found
}

/// Every file and directory below `path` whose name begins with `name`.
pub(crate) fn files_named(path: &Path, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(name) {
            found.push(entry.path());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_named(&entry.path(), name));
        }
    }
    found
}

/// Whether `part` is in `bytes`.
pub(crate) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    let Some(first) = part.first() else { return true };
    let starts = bytes.iter().enumerate().filter(|(_, byte)| *byte == first);
    starts.into_iter().any(|(at, _)| bytes[at..].starts_with(part))
}

/// The ids of what `start --json` printed.
#[track_caller]
pub(crate) fn ids(started: &Value) -> Vec<String> {
    let rows = started["sessions"].as_array().unwrap();
    let id = |row: &Value| {
        row["session"]["session_id"].as_str().unwrap_or_else(|| panic!("not started: {row}")).to_owned()
    };
    rows.iter().map(id).collect()
}

/// Living processes with `word` in an argument, on whatever machine.
pub(crate) fn running(word: &str) -> Vec<procs::Process> {
    let holds = |process: &procs::Process| process.argv.iter().any(|arg| arg.lossy().contains(word));
    procs::all().into_iter().filter(|process| process.state != 'Z' && holds(process)).collect()
}
