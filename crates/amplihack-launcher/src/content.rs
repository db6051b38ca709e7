//! The content of an agent's program, which a proof belongs to: another program with the same version has another one.
//!
//! A digest is computed once for each state of the files: a program may have hundreds of megabytes.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use amplihack_config::env::Env;
use amplihack_sys::fs::{WriteDurability, create_private_dir, read_limited, write_atomic};
use amplihack_sys::hex::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Digests by program path.
const FILE: &str = "programs.json";
const MAX_BYTES: u64 = 256 * 1024;
/// The most files of a package that belong to its program.
const MAX_FILES: usize = 4000;
/// Depth below its program to which a package's files are looked for.
const MAX_DEPTH: usize = 4;

/// The digest of a program at a state of its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KnownContent {
    state: String,
    digest: String,
}

/// The SHA-256 of the program at `path`, links followed; of a script in a package that of its directory's files. `None` if it cannot
/// be read.
pub(crate) fn program_digest(env: &Env, path: &Path) -> Option<String> {
    static WRITING: Mutex<()> = Mutex::new(());
    let files = program_files(&path.canonicalize().ok()?)?;
    let state = files_state(&files);
    let file = env.amplihack_home().map(|home| home.join(FILE));
    let read = || -> BTreeMap<String, KnownContent> {
        let bytes = file.as_ref().and_then(|file| read_limited(file, MAX_BYTES).ok());
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    };
    let key = path.to_string_lossy().into_owned();
    if let Some(found) = read().remove(&key).filter(|found| found.state == state) {
        return Some(found.digest);
    }
    let digest = hash_files(&files)?;
    // Several agents are proved at once.
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut known = read();
    known.insert(key, KnownContent { state, digest: digest.clone() });
    if let Some(file) = &file
        && let Err(error) = store_digests(file, &known)
    {
        tracing::debug!(%error, "the digest of a program cannot be kept");
    }
    Some(digest)
}

fn store_digests(file: &Path, known: &BTreeMap<String, KnownContent>) -> std::io::Result<()> {
    create_private_dir(file.parent().unwrap_or(Path::new("/")))?;
    write_atomic(file, &serde_json::to_vec(known)?, 0o600, WriteDurability::Process)
}

/// The files that a program is made of, in order, with what the file system says of them.
fn program_files(program: &Path) -> Option<Vec<(PathBuf, Metadata)>> {
    let mut start = [0; 2];
    let is_script =
        File::open(program).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!";
    let directory = program.parent()?;
    let is_packaged = directory.ancestors().take(3).any(|above| above.join("package.json").is_file());
    let mut found = vec![(program.to_owned(), program.metadata().ok()?)];
    if is_script && is_packaged {
        collect_files(directory, 0, &mut found);
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found.dedup_by(|one, other| one.0 == other.0);
    Some(found)
}

fn collect_files(directory: &Path, depth: usize, found: &mut Vec<(PathBuf, Metadata)>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() && depth < MAX_DEPTH {
            collect_files(&entry.path(), depth + 1, found);
        } else if meta.is_file() && found.len() < MAX_FILES {
            found.push((entry.path(), meta));
        }
    }
}

/// State of these files, which changes with each of their changes: a file's time of change is the kernel's own.
fn files_state(files: &[(PathBuf, Metadata)]) -> String {
    let mut hash = Sha256::new();
    for (path, meta) in files {
        hash.update(path.as_os_str().as_bytes());
        hash.update([0]);
        for number in [
            i128::from(meta.dev()),
            i128::from(meta.ino()),
            i128::from(meta.size()),
            i128::from(meta.mtime()),
            i128::from(meta.mtime_nsec()),
            i128::from(meta.ctime()),
            i128::from(meta.ctime_nsec()),
        ] {
            hash.update(number.to_le_bytes());
        }
    }
    to_hex(hash.finalize())
}

/// The digest of the names and contents of these files; of one file that of its content alone.
fn hash_files(files: &[(PathBuf, Metadata)]) -> Option<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    for (path, _) in files {
        if files.len() > 1 {
            hash.update(path.file_name()?.as_bytes());
            hash.update([0]);
        }
        let mut file = File::open(path).ok()?;
        loop {
            let count = file.read(&mut buffer).ok()?;
            if count == 0 {
                break;
            }
            hash.update(&buffer[..count]);
        }
    }
    Some(to_hex(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_the_content_and_is_kept_until_the_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", dir.path().join("home"));
        let program = dir.path().join("claude");
        std::fs::write(&program, "one").unwrap();
        let one = program_digest(&env, &program).unwrap();
        // What is remembered counts while the file is what it was.
        let file = dir.path().join("home").join(FILE);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace(&one, "remembered")).unwrap();
        assert_eq!(program_digest(&env, &program).unwrap(), "remembered");
        std::fs::write(&program, "two").unwrap();
        let two = program_digest(&env, &program).unwrap();
        assert!(two != one && two != "remembered");
        // The same content in another file, reached by a link, is the same program.
        std::fs::write(dir.path().join("other"), "one").unwrap();
        std::os::unix::fs::symlink("other", dir.path().join("link")).unwrap();
        assert_eq!(program_digest(&env, &dir.path().join("link")).unwrap(), one);
        assert_eq!(program_digest(&env, &dir.path().join("missing")), None);
    }

    #[test]
    fn a_script_is_its_package() {
        let dir = tempfile::tempdir().unwrap();
        let bundle = dir.path().join("bundle");
        std::fs::create_dir(&bundle).unwrap();
        std::fs::write(dir.path().join("package.json"), "{}").unwrap();
        let program = bundle.join("agent.js");
        std::fs::write(&program, "#!/usr/bin/env node\n").unwrap();
        std::fs::write(bundle.join("chunk.js"), "1").unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", dir.path().join("home"));
        let before = program_digest(&env, &program).unwrap();
        std::fs::write(bundle.join("chunk.js"), "2").unwrap();
        assert_ne!(program_digest(&env, &program).unwrap(), before);
    }
}
