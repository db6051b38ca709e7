//! A machine for sessions: a root directory, a shell to run the far side by, and a repository to send.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use amplihack_config::env::Env;
use amplihack_remote::far::FarSide;
use amplihack_remote::protocol::{FarState, Observed, SessionSpec};
use amplihack_remote::{LocalRunner, RemoteCommandRunner};
use amplihack_sys::hex::to_hex;
use amplihack_testkit::procs::Sweep;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Place {
    _sweep: Sweep,
    pub(crate) dir: TempDir,
    pub(crate) env: Env,
    pub(crate) far: FarSide,
    /// The bundle and the commit that sessions begin at.
    pub(crate) bundle: String,
    pub(crate) base: String,
}

/// One machine for each shell that is installed here.
pub(crate) fn places() -> Vec<Place> {
    let shells = ["/usr/bin/dash", "/usr/bin/bash", "/usr/bin/busybox"];
    let found: Vec<Place> =
        shells.into_iter().map(Path::new).filter(|shell| shell.exists()).map(Place::new).collect();
    assert!(!found.is_empty(), "none of these is installed: {shells:?}");
    found
}

impl Place {
    pub(crate) fn new(shell: &Path) -> Self {
        let dir = tempfile::Builder::new().prefix("far-").tempdir().unwrap();
        for name in ["home", "bin", "src"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink(shell, dir.path().join("bin/sh")).unwrap();
        let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", dir.path().display());
        let env = Env::empty().with_variable("HOME", dir.path().join("home")).with_variable("PATH", path);
        let runner = LocalRunner::new(dir.path().join("root"), &env);
        let far = FarSide::new(Arc::new(runner), "here");
        let sweep = Sweep::new(format!("{}/", dir.path().display()));
        let mut place = Self { _sweep: sweep, dir, env, far, bundle: String::new(), base: String::new() };
        place.git("src", &["init", "-q", "-b", "main"]);
        place.git("src", &["config", "user.name", "t"]);
        place.git("src", &["config", "user.email", "t@example.com"]);
        std::fs::write(place.path("src/file"), "one\n").unwrap();
        std::fs::write(place.path("src/.gitignore"), "ignored\n").unwrap();
        place.git("src", &["add", "."]);
        place.git("src", &["commit", "-qm", "one"]);
        place.base = place.git("src", &["rev-parse", "HEAD"]);
        place.git("src", &["bundle", "create", "-q", "../bundle", "--all"]);
        place.bundle = digest(&std::fs::read(place.path("bundle")).unwrap());
        place
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file of a session.
    pub(crate) fn file(&self, id: &str, name: &str) -> PathBuf {
        self.path("root/sessions").join(id).join(name)
    }

    pub(crate) fn git(&self, directory: &str, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .args(args)
            .current_dir(self.path(directory))
            .env_clear()
            .envs(self.env.iter())
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Runs the script with these words.
    pub(crate) fn runner(&self, words: &[&str]) -> Command {
        let script = self.path("runner.sh");
        // A session that runs still reads it.
        if !script.exists() {
            std::fs::write(&script, amplihack_remote::far::SCRIPT).unwrap();
        }
        let mut command = Command::new(self.path("bin/sh"));
        command.arg(script);
        command.args(words).env_clear().envs(self.env.iter()).stdin(Stdio::null());
        command.env("AMPLIHACK_REMOTE_ROOT", self.path("root"));
        command
    }

    pub(crate) async fn store(&self) {
        self.far.store_file(&self.path("bundle"), &self.bundle).await.unwrap();
    }

    /// A session that runs this shell text.
    pub(crate) fn session(&self, number: u16, text: &str) -> SessionSpec {
        SessionSpec {
            id: id(number),
            argv: ["/bin/sh", "-c", text, "program"].map(str::to_owned).to_vec(),
            env: Vec::new(),
            key_name: None,
            bundle: self.bundle.clone(),
            bases: Vec::new(),
            extra: None,
            base: self.base.clone(),
            branch: "work".to_owned(),
            prompt: b"do it".to_vec(),
            timeout_seconds: None,
        }
    }

    pub(crate) async fn observe(&self, id: &str) -> Observed {
        let found = self.far.observe_sessions(&[id]).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        found.into_iter().next().unwrap()
    }

    pub(crate) async fn until(&self, id: &str, what: &str, done: impl Fn(&FarState) -> bool) -> Observed {
        let begun = Instant::now();
        loop {
            let seen = self.observe(id).await;
            if done(&seen.state) {
                return seen;
            }
            assert!(begun.elapsed() < PATIENCE, "never {what}: {seen:?}\n{}", self.said(id));
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    pub(crate) async fn until_ended(&self, id: &str) -> FarState {
        let ended =
            |state: &FarState| matches!(state, FarState::Ended(_) | FarState::Killed(_) | FarState::Lost);
        self.until(id, "ended", ended).await.state
    }

    pub(crate) async fn until_file(&self, path: &Path) {
        let begun = Instant::now();
        while !path.exists() {
            assert!(begun.elapsed() < PATIENCE, "{} is never there", path.display());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Runs a session to its end.
    pub(crate) async fn done(&self, spec: &SessionSpec) -> FarState {
        self.far.start_session(spec, None).await.unwrap();
        self.until_ended(&spec.id).await
    }

    /// What a session said, for a message.
    pub(crate) fn said(&self, id: &str) -> String {
        ["setup.log", "log", "runner.log"]
            .map(|name| std::fs::read(self.file(id, name)).unwrap_or_default())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .join("\n")
    }

    pub(crate) fn word(&self, id: &str, name: &str, at: usize) -> String {
        let text = std::fs::read_to_string(self.file(id, name)).unwrap();
        text.split_whitespace().nth(at).unwrap().to_owned()
    }
}

pub(crate) fn id(number: u16) -> String {
    format!("sess-20260102-030405-{number:04x}")
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    to_hex(Sha256::digest(bytes))
}

/// Every file below `path` that has `part` in it.
pub(crate) fn files_with(path: &Path, part: &[u8]) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            found.extend(files_with(&path, part));
        } else if kind.is_file()
            && std::fs::read(&path).is_ok_and(|bytes| bytes.windows(part.len()).any(|window| window == part))
        {
            found.push(path);
        }
    }
    found
}

/// A way to `inner` that counts and lets things happen: what a login says is put before every answer.
pub(crate) struct Chatty(pub(crate) Arc<dyn RemoteCommandRunner>, pub(crate) &'static str);

#[async_trait::async_trait]
impl RemoteCommandRunner for Chatty {
    async fn azlin(
        &self,
        args: &[String],
    ) -> Result<amplihack_remote::CommandOutput, amplihack_remote::RemoteError> {
        self.0.azlin(args).await
    }

    async fn connect(
        &self,
        vm_name: &str,
        command: &str,
    ) -> Result<amplihack_remote::CommandOutput, amplihack_remote::RemoteError> {
        self.0.connect(vm_name, &format!("echo '{}'; {command}", self.1)).await
    }

    async fn transfer(
        &self,
        source: &Path,
        vm_name: &str,
        destination: &Path,
    ) -> Result<(), amplihack_remote::RemoteError> {
        self.0.transfer(source, vm_name, destination).await
    }
}
