//! Files that a launch stands on while its agent runs: policy files, the program that answers hooks, the files that name it.
//!
//! Files are held open and compared by what the kernel says of them; their content is hashed only when that differs. A changed
//! policy file weakens nothing, since the policy is pinned; a changed program or registration may have answered in the guard's place.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use amplihack_config::env::Env;
use amplihack_hooks::guard::{AuditLedger, PolicySnapshot};
use amplihack_hooks::injection::Injection;
use sha2::{Digest as _, Sha256};

/// The files of one launch's guard, as they were at its start.
#[derive(Debug)]
pub(crate) struct PinnedGuardFiles {
    held: Vec<HeldFile>,
    snapshot: PolicySnapshot,
    env: Env,
    cwd: PathBuf,
    /// Policy files that are other ones by now.
    changed_policy: Vec<PathBuf>,
}

/// A file that is held open, so that its inode is no other file's.
#[derive(Debug)]
struct HeldFile {
    path: PathBuf,
    /// Hash of its content at the start; not there before somebody has read it.
    hash: Arc<OnceLock<ContentHash>>,
    seen: FileIdentity,
    open: File,
    /// True once a change was told.
    is_told: bool,
}

type ContentHash = [u8; 32];

/// Properties of a file that the kernel tells, which change with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl PinnedGuardFiles {
    /// The files of the launch from `env` in `cwd` that `injection` describes and wrote.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub(crate) fn hold_files(injection: &Injection, env: &Env, cwd: &Path) -> io::Result<Self> {
        let files = std::iter::once(injection.program.clone()).chain(injection.file_paths());
        let held = files.map(HeldFile::open).collect::<io::Result<Vec<_>>>()?;
        Ok(Self {
            held,
            snapshot: injection.snapshot.clone(),
            env: env.clone(),
            cwd: cwd.to_owned(),
            changed_policy: Vec::new(),
        })
    }

    /// Hashes the files on a thread of its own. Until then every change of one counts, also to the same content.
    ///
    /// # Errors
    /// There is no room for the thread, or for descriptors.
    pub(crate) fn start_hashing(&self) -> io::Result<()> {
        let held = self.held.iter();
        let hashed = held
            .map(|file| Ok((file.open.try_clone()?, file.seen, Arc::clone(&file.hash))))
            .collect::<io::Result<Vec<_>>>()?;
        std::thread::Builder::new().name("amplihack-pin".to_owned()).spawn(move || {
            for (file, seen, place) in hashed {
                if let Ok(hash) = hash_unchanged(&file, seen) {
                    // Nobody else sets it.
                    let _ = place.set(hash);
                }
            }
        })?;
        Ok(())
    }

    /// The hash of the launch's policy.
    pub(crate) fn policy_pin(&self) -> String {
        self.snapshot.pin_hash()
    }

    /// The program and the files of the registration that changed since the last call. Changed policy files are noted as well.
    pub(crate) fn find_changes(&mut self) -> Vec<PathBuf> {
        let changed = |file: &mut HeldFile| file.is_changed_now().then(|| file.path.clone());
        let found: Vec<PathBuf> = self.held.iter_mut().filter_map(changed).collect();
        let mut policy = self.snapshot.changed_files(&self.env, &self.cwd);
        policy.retain(|file| !self.changed_policy.contains(file));
        let ledger = AuditLedger::new(&self.env);
        for file in found.iter().chain(&policy) {
            if let Err(error) = ledger.record_changed_file(file) {
                tracing::debug!(%error, "a change is not in the audit");
            }
        }
        self.changed_policy.extend(policy);
        found
    }

    /// Policy files that changed so far.
    pub(crate) fn changed_policy(&self) -> &[PathBuf] {
        &self.changed_policy
    }
}

#[cfg(test)]
impl PinnedGuardFiles {
    /// The files of a guard that stands on nothing.
    pub(crate) fn of_nothing() -> Self {
        let env = Env::empty();
        let cwd = PathBuf::from("/nowhere");
        let snapshot = PolicySnapshot::capture(&env, &cwd, "standard", None).unwrap();
        Self { held: Vec::new(), snapshot, env, cwd, changed_policy: Vec::new() }
    }
}

impl HeldFile {
    fn open(path: PathBuf) -> io::Result<Self> {
        let open = File::open(&path)?;
        let seen = FileIdentity::from_metadata(&open.metadata()?);
        Ok(Self { path, hash: Arc::default(), seen, open, is_told: false })
    }

    /// Reports whether it has changed and nobody was told yet.
    fn is_changed_now(&mut self) -> bool {
        let is_new = !self.is_told && self.is_changed();
        self.is_told |= is_new;
        is_new
    }

    /// Reports whether another content stands under its name now.
    fn is_changed(&mut self) -> bool {
        let Ok(now) = std::fs::metadata(&self.path).map(|found| FileIdentity::from_metadata(&found)) else {
            return true;
        };
        if now == self.seen {
            return false;
        }
        let found = File::open(&self.path).and_then(|file| hash_content(&file)).ok();
        // A content that nobody has read in time is not known to be this one.
        let is_alike = found.is_some() && found.as_ref() == self.hash.get();
        if is_alike {
            self.seen = now;
        }
        !is_alike
    }
}

impl FileIdentity {
    fn from_metadata(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// The hash of `file`'s content while the kernel said `seen` of it.
///
/// # Errors
/// The file cannot be read, or was written meanwhile: its content is not the one that the launch began with.
fn hash_unchanged(file: &File, seen: FileIdentity) -> io::Result<ContentHash> {
    let hash = hash_content(file)?;
    // Links to it that are made meanwhile, as installers do, change no content.
    let now = FileIdentity { changed: seen.changed, ..FileIdentity::from_metadata(&file.metadata()?) };
    if now == seen { Ok(hash) } else { Err(io::Error::other("it was written before it was read")) }
}

/// The hash of a file's content, wherever the descriptor stands in it.
fn hash_content(file: &File) -> io::Result<ContentHash> {
    let mut hash = Sha256::new();
    let (mut buffer, mut at) = (vec![0; 64 << 10], 0);
    loop {
        let count = file.read_at(&mut buffer, at)?;
        if count == 0 {
            return Ok(hash.finalize().into());
        }
        hash.update(buffer.get(..count).unwrap_or_default());
        at += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use amplihack_agent::AgentBinary;
    use amplihack_hooks::injection::{StartContext, build_injection};
    use amplihack_hooks::registration::{HookProgram, RegistrationFacts};

    use super::*;

    #[test]
    fn what_changes_before_it_is_read_has_no_hash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        fs::write(&path, "program").unwrap();
        let file = HeldFile::open(path.clone()).unwrap();
        assert_eq!(hash_unchanged(&file.open, file.seen).unwrap(), hash_content(&file.open).unwrap());
        fs::hard_link(&path, dir.path().join("link")).unwrap();
        hash_unchanged(&file.open, file.seen).unwrap();
        fs::write(&path, "something else").unwrap();
        hash_unchanged(&file.open, file.seen).unwrap_err();
    }

    #[test]
    fn what_changes_is_told_once_and_what_is_written_again_alike_is_no_change() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        let program = dir.path().join("program");
        fs::write(&program, "program").unwrap();
        let snapshot = PolicySnapshot::capture(&env, dir.path(), "standard", None).unwrap();
        let (answers, launch) = (HookProgram::from_binary(&program), dir.path().join("launch"));
        let started = StartContext { env: &env, cwd: dir.path(), theirs: None, is_held: false, words: &[] };
        let injection = build_injection(
            AgentBinary::Claude,
            &answers,
            &launch,
            RegistrationFacts::default(),
            &snapshot,
            started,
        )
        .unwrap();
        let written = injection.write().unwrap();
        let mut files = PinnedGuardFiles::hold_files(&injection, &env, dir.path()).unwrap();
        files.start_hashing().unwrap();
        while files.held.iter().any(|file| file.hash.get().is_none()) {
            std::thread::yield_now();
        }
        assert_eq!(files.find_changes(), Vec::<PathBuf>::new());
        fs::remove_file(&program).unwrap();
        fs::write(&program, "program").unwrap();
        assert_eq!(files.find_changes(), Vec::<PathBuf>::new(), "another file with the same content");
        let policy = dir.path().join(".config/amplihack/policy.toml");
        fs::create_dir_all(policy.parent().unwrap()).unwrap();
        fs::write(&policy, "disable = [\"guards/no-verify\"]\n").unwrap();
        fs::write(&program, "another").unwrap();
        assert_eq!(files.find_changes(), [program]);
        assert_eq!(files.changed_policy(), [policy]);
        assert_eq!(files.find_changes(), Vec::<PathBuf>::new(), "once");
        let registered = injection.file_paths().next().unwrap();
        fs::remove_file(&registered).unwrap();
        assert_eq!(files.find_changes(), [registered]);
        assert_eq!(files.changed_policy().len(), 1);
        let audit = fs::read_dir(dir.path().join(".claude/logs/xpia")).unwrap();
        let lines: String = audit.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        assert_eq!(lines.matches("launch/changed-file").count(), 3, "{lines}");
        drop(written);
    }
}
