//! Trust in what a repository starts by itself: given by a person, for files as they are, and asked for again when one of them changes.
//!
//! `$AMPLIHACK_HOME/trusted/<hash of the path>.json` for each repository. Worktrees of one repository share its trust.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_config::env::Env;
use amplihack_config::repository::project_root;
use amplihack_hooks::acting::{ActingFile, acting_files};
use amplihack_sys::fs::{WriteDurability, create_private_dir, read_regular, write_atomic};
use amplihack_sys::hex::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const SCHEMA_VERSION: u32 = 1;

/// Bytes of a record: a hash for each of a few thousand files.
const MAX_BYTES: u64 = 4 << 20;

/// Bytes of the files by which git links a worktree to its repository.
const MAX_LINK: u64 = 16 << 10;

/// Record of what a person trusts of a repository.
#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustRecord {
    schema_version: u32,
    /// The repository; what is not UTF-8 in it is replaced.
    repository: String,
    /// The files by their paths, each with the hash of its content.
    files: BTreeMap<String, String>,
}

/// Files that a repository would start through an agent, and that nobody has trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedRepository {
    /// Root of the repository, or the working directory outside of any.
    pub root: PathBuf,
    /// The files that would start something, as far as they are not trusted.
    pub files: Vec<ActingFile>,
}

/// Finds what `agent`, started in `cwd`, would start that nobody has trusted. `None` where there is nothing of that kind.
pub fn find_untrusted(agent: AgentBinary, env: &Env, cwd: &Path) -> Option<UntrustedRepository> {
    let (cwd, root) = directory_and_root(cwd, env);
    let mut files = acting_files(agent, &root, &cwd, env);
    if files.is_empty() {
        return None;
    }
    let record = record_path(env, &root).and_then(|place| read_record(&place)).unwrap_or_default();
    files.retain(|file| {
        let trusted = record.files.get(&*file.path.to_string_lossy());
        file.hash.is_empty() || trusted != Some(&file.hash)
    });
    (!files.is_empty()).then_some(UntrustedRepository { root, files })
}

/// The root of the repository that `directory` is in; `directory` itself, without links, outside of any.
pub fn trust_root(directory: &Path, env: &Env) -> PathBuf {
    directory_and_root(directory, env).1
}

/// `directory` without links, and its [`trust_root`].
pub(crate) fn directory_and_root(directory: &Path, env: &Env) -> (PathBuf, PathBuf) {
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let root = project_root(&real, env).unwrap_or_else(|| real.clone());
    (real, root)
}

/// Trusts everything that any agent, started in `cwd`, would start, as it is now. Returns what is newly trusted.
///
/// # Errors
/// The record cannot be written.
pub fn trust_repository(env: &Env, cwd: &Path) -> io::Result<Vec<ActingFile>> {
    let mut new: Vec<ActingFile> = Vec::new();
    let mut root = None;
    for agent in AgentBinary::ALL {
        if let Some(found) = find_untrusted(agent, env, cwd) {
            new.extend(found.files.into_iter().filter(|file| !file.hash.is_empty()));
            root = Some(found.root);
        }
    }
    new.sort();
    new.dedup();
    let Some(root) = root.filter(|_| !new.is_empty()) else { return Ok(new) };
    let no_home = || io::Error::other("there is no home; set HOME or AMPLIHACK_HOME");
    let place = record_path(env, &root).ok_or_else(no_home)?;
    let mut record = read_record(&place).unwrap_or_default();
    record.schema_version = SCHEMA_VERSION;
    record.repository = common_directory(&root).to_string_lossy().into_owned();
    let added = new.iter().map(|file| (file.path.to_string_lossy().into_owned(), file.hash.clone()));
    record.files.extend(added);
    if let Some(directory) = place.parent() {
        create_private_dir(directory)?;
    }
    write_atomic(&place, &serde_json::to_vec(&record)?, 0o600, WriteDurability::Machine)?;
    Ok(new)
}

/// Path of the record of trust in the repository with the root `root`.
fn record_path(env: &Env, root: &Path) -> Option<PathBuf> {
    let name = to_hex(Sha256::digest(common_directory(root).as_os_str().as_bytes()));
    Some(env.amplihack_home()?.join("trusted").join(format!("{name}.json")))
}

fn read_record(place: &Path) -> Option<TrustRecord> {
    let record: TrustRecord = serde_json::from_slice(&read_regular(place, MAX_BYTES).ok()?).ok()?;
    (record.schema_version == SCHEMA_VERSION).then_some(record)
}

/// The directory that all worktrees of a repository have in common: git's own, which a worktree's `.git` file leads to. Only a worktree
/// that its repository knows of counts as one.
fn common_directory(root: &Path) -> PathBuf {
    let git = root.join(".git");
    let common = || {
        let text = read_regular(&git, MAX_LINK).ok()?;
        let own = root.join(trimmed_path(text.strip_prefix(b"gitdir: ")?)).canonicalize().ok()?;
        let back = read_regular(&own.join("gitdir"), MAX_LINK).ok()?;
        if own.join(trimmed_path(&back)).canonicalize().ok()? != git.canonicalize().ok()? {
            return None;
        }
        own.join(trimmed_path(&read_regular(&own.join("commondir"), MAX_LINK).ok()?)).canonicalize().ok()
    };
    if fs::symlink_metadata(&git).is_ok_and(|found| found.is_file()) {
        return common().unwrap_or(git);
    }
    git
}

fn trimmed_path(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text.trim_ascii_end()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(directory: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@e.example"]).args(args);
        assert!(command.current_dir(directory).output().unwrap().status.success(), "{args:?}");
    }

    #[test]
    fn trust_is_for_files_as_they_are_and_for_every_worktree() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (home, work, tree) = (base.join("home"), base.join("work"), base.join("tree"));
        let settings = |root: &Path| root.join(".claude/settings.json");
        fs::create_dir_all(settings(&work).parent().unwrap()).unwrap();
        let env = Env::empty().with_variable("HOME", &home);
        let held = |cwd: &Path| find_untrusted(AgentBinary::Claude, &env, cwd).map(|found| found.files.len());
        git(&work, &["init", "-q"]);
        assert_eq!(held(&work), None, "nothing starts anything");
        fs::write(settings(&work), r#"{"hooks": {"SessionStart": []}}"#).unwrap();
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-qm", "x"]);
        assert_eq!(held(&work), Some(1));
        assert_eq!(trust_repository(&env, &work).unwrap().len(), 1);
        assert_eq!(trust_repository(&env, &work).unwrap(), []);
        assert_eq!(held(&work), None);
        git(&work, &["worktree", "add", "-q", tree.to_str().unwrap()]);
        assert_eq!(held(&tree), None, "a worktree of a trusted repository");
        fs::write(settings(&tree), r#"{"hooks": {"SessionStart": [1]}}"#).unwrap();
        assert_eq!(held(&tree), Some(1), "it changed");
        // Another repository that only points there.
        let thief = base.join("thief");
        fs::create_dir_all(settings(&thief).parent().unwrap()).unwrap();
        fs::copy(tree.join(".git"), thief.join(".git")).unwrap();
        fs::copy(settings(&work), settings(&thief)).unwrap();
        assert_eq!(held(&thief), Some(1));
    }
}
