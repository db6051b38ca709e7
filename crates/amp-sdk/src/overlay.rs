//! Private files of one run, gone with it; those of dead processes are swept at the next start.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_sys as sys;
use tempfile::TempDir;

use crate::error::{Error, Result};

/// Prefix of the directories' names. Then come a namespace, a process, its start time, and a suffix that makes them unique.
const PREFIX: &str = "amp-sdk-";

/// The private files of one run. Dropping it removes them.
#[derive(Default)]
pub(crate) struct OverlayFiles {
    directory: Option<TempDir>,
}

impl OverlayFiles {
    /// Writes `contents` to the private file `name`: mode 0600 from its first moment, in a directory of mode 0700.
    pub(crate) fn write(&mut self, env: &Env, name: &str, contents: &[u8]) -> Result<PathBuf> {
        let place = env.temporary_dir();
        let failed = |source: std::io::Error| Error::InvalidConfiguration {
            field: name.to_owned(),
            message: format!(
                "its private file cannot be written: {source}; make room in TMPDIR or correct it"
            ),
            path: Some(place.clone()),
        };
        if self.directory.is_none() {
            remove_leftovers(&place);
            let mut builder = tempfile::Builder::new();
            let made = builder
                .permissions(Permissions::from_mode(0o700))
                .prefix(&OverlayOwner::current_process().directory_prefix())
                .tempdir_in(&place);
            let mut made = made.map_err(failed)?;
            made.disable_cleanup(amplihack_sys::sabotage::is_active("amp-rules-gone"));
            self.directory = Some(made);
        }
        let path = self.directory.as_ref().map_or(place.as_path(), TempDir::path).join(name);
        let mode = if amplihack_sys::sabotage::is_active("amp-rules-private") { 0o644 } else { 0o600 };
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(mode).open(&path).map_err(failed)?;
        file.write_all(contents).map_err(failed)?;
        Ok(path)
    }
}

/// A process as the name of a directory tells it.
#[derive(Debug, PartialEq, Eq)]
struct OverlayOwner {
    /// PID namespace that the process id belongs to: the inode of the namespace.
    namespace: u64,
    pid: u32,
    start_time: u64,
}

impl OverlayOwner {
    fn current_process() -> Self {
        let pid = std::process::id();
        Self { namespace: pid_namespace(), pid, start_time: sys::start_time(pid).unwrap_or_default() }
    }

    fn directory_prefix(&self) -> String {
        format!("{PREFIX}{}-{}-{}-", self.namespace, self.pid, self.start_time)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.splitn(4, '-');
        let owner = Self {
            namespace: parts.next()?.parse().ok()?,
            pid: parts.next()?.parse().ok()?,
            start_time: parts.next()?.parse().ok()?,
        };
        parts.next().map(|_| owner)
    }

    /// Reports whether the process is known to have ended. Of processes elsewhere nothing is known.
    fn has_ended(&self) -> bool {
        self.namespace != 0
            && self.namespace == pid_namespace()
            && self.start_time != 0
            && !sys::process_alive(self.pid, self.start_time)
    }
}

/// The inode of this process's PID namespace; 0 if it cannot be told.
fn pid_namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map(|meta| meta.ino()).unwrap_or_default()
}

/// Removes what this user's processes left behind that were killed.
fn remove_leftovers(place: &Path) {
    let Ok(entries) = std::fs::read_dir(place) else { return };
    let user = rustix::process::geteuid().as_raw();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(OverlayOwner::parse) else { continue };
        // `metadata` of an entry does not follow links.
        let ours = entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == user);
        if ours
            && owner.has_ended()
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::warn!(path = %entry.path().display(), %error, "a dead process's private files stay");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_private_new_and_gone_with_their_owner() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("TMPDIR", dir.path());
        let mut overlay = OverlayFiles::default();
        let path = overlay.write(&env, "settings.json", b"{}").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert!(overlay.write(&env, "settings.json", b"{}").is_err(), "a file that exists was taken");
        assert_eq!(overlay.write(&env, "mcp.json", b"{}").unwrap().parent(), path.parent());
        drop(overlay);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_files_of_the_dead_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: String| std::fs::create_dir(dir.path().join(name)).unwrap();
        let this = OverlayOwner::current_process();
        make(format!("{}live", this.directory_prefix()));
        make(format!(
            "{}reused",
            OverlayOwner { start_time: this.start_time + 1, ..OverlayOwner::current_process() }
                .directory_prefix()
        ));
        make(format!(
            "{}elsewhere",
            OverlayOwner { namespace: this.namespace + 1, pid: u32::MAX, start_time: 1 }.directory_prefix()
        ));
        make(format!(
            "{}dead",
            OverlayOwner { pid: u32::MAX, ..OverlayOwner::current_process() }.directory_prefix()
        ));
        make(format!("{PREFIX}of-somebody-else-"));
        remove_leftovers(dir.path());
        let mut left: Vec<String> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().rsplit('-').next().unwrap().to_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["", "elsewhere", "live"]);
    }
}
