//! The bundle with the history: HEAD and its branch, and nothing else that the repository has.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use amplihack_sys::hex::to_hex;
use sha2::{Digest, Sha256};

use super::digest::PackageArtifact;
use super::repository::PackageRepository;
use crate::error::ErrorContext;
use crate::git::{is_object_id, join_lines};

/// Artefacts that nobody used for so long are removed.
const KEPT: Duration = Duration::from_hours(7 * 24);

/// Of the commits that the far side has, those that are known here. An error if one is no commit's id.
pub(super) async fn known_commits(
    repository: &PackageRepository,
    have: &[String],
) -> Result<Vec<String>, ErrorContext> {
    if let Some(wrong) = have.iter().find(|commit| !is_object_id(commit)) {
        return Err(ErrorContext::new(format!("'{}' is no commit's id", wrong.escape_default())));
    }
    if have.is_empty() {
        return Ok(Vec::new());
    }
    let arguments = ["cat-file", "--batch-check=%(objecttype) %(objectname)"];
    let what = "list the commits that the machine has";
    let said = repository.git.run_with_stdin(what, arguments, join_lines(have), 1024 * 1024).await?;
    let said = String::from_utf8_lossy(&said);
    let mut known: Vec<String> =
        said.lines().filter_map(|line| line.strip_prefix("commit ")).map(str::to_owned).collect();
    known.sort();
    known.dedup();
    Ok(known)
}

/// The bundle of HEAD without what `have` holds, out of `directory` if it was made before. `None`: there is nothing that is missing there.
pub(super) async fn make_bundle(
    repository: &PackageRepository,
    have: &[String],
    directory: &Path,
) -> Result<Option<PackageArtifact>, ErrorContext> {
    let git = &repository.git;
    let refs = bundle_refs(repository);
    let without: Vec<String> = have.iter().map(|commit| format!("^{commit}")).collect();
    if !without.is_empty() {
        let count = ["rev-list", "--count", &repository.head].into_iter();
        let count = git.run_checked("count commits", count.chain(without.iter().map(String::as_str))).await?;
        if count.trim_ascii() == b"0" {
            return Ok(None);
        }
    }
    let path = directory.join(bundle_name(repository, have));
    let failed =
        |error: io::Error| ErrorContext::new(format!("{} could not be written: {error}", path.display()));
    if path.exists() && is_whole(repository, &path).await.is_ok() {
        // What is used stays.
        let now =
            File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        now.map_err(failed)?;
        return PackageArtifact::from_file(&path).map(Some).map_err(failed);
    }
    let new =
        tempfile::Builder::new().prefix(".new-").suffix(".bundle").tempfile_in(directory).map_err(failed)?;
    let words = refs.iter().chain(&without).map(OsStr::new);
    let arguments =
        [OsStr::new("bundle"), OsStr::new("create"), OsStr::new("--quiet"), new.path().as_os_str()];
    let arguments: Vec<&OsStr> = arguments.into_iter().chain(words).collect();
    git.run_checked("make the bundle", arguments).await?;
    is_whole(repository, new.path()).await?;
    std::fs::set_permissions(new.path(), Permissions::from_mode(0o600)).map_err(failed)?;
    new.persist(&path).map_err(|error| failed(error.error))?;
    PackageArtifact::from_file(&path).map(Some).map_err(failed)
}

fn bundle_refs(repository: &PackageRepository) -> Vec<String> {
    let branch = repository.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    ["HEAD".to_owned()].into_iter().chain(branch).collect()
}

/// The file name of the bundle for a commit, a branch and the commits that the far side has.
fn bundle_name(repository: &PackageRepository, have: &[String]) -> String {
    let mut hash = Sha256::new();
    hash.update(repository.branch.as_deref().unwrap_or_default());
    for commit in have {
        hash.update("\n");
        hash.update(commit);
    }
    format!("{}-{}.bundle", repository.head, to_hex(&hash.finalize()[..8]))
}

/// The bundle can be read, and holds HEAD and its branch at the commit that was looked at.
async fn is_whole(repository: &PackageRepository, path: &Path) -> Result<(), ErrorContext> {
    let git = &repository.git;
    let bundle = |verb: &'static str| ["bundle".as_ref(), verb.as_ref(), path.as_os_str()];
    git.run_checked("verify the bundle", bundle("verify")).await?;
    let heads = git.run_checked("read the bundle", bundle("list-heads")).await?;
    let mut found: Vec<&str> = std::str::from_utf8(&heads).unwrap_or_default().lines().collect();
    let mut wanted: Vec<String> =
        bundle_refs(repository).iter().map(|name| format!("{} {name}", repository.head)).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    if found == wanted {
        return Ok(());
    }
    let message = "the branch moved while it was packaged";
    Err(ErrorContext::new(message).with_fact("reason", "moved").with_fact("hint", "try again"))
}

/// Removes artefacts that nobody used for a week, and what a killed process left.
pub(super) fn forget_unused(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = name.starts_with(".new-") || name.ends_with(".bundle") || name.ends_with(".tar.gz");
        let age =
            entry.metadata().and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
        if ours && age.is_some_and(|age| age > KEPT) {
            // What stays costs room and nothing else.
            let _ = std::fs::remove_file(entry.path()).or_else(|_| std::fs::remove_dir_all(entry.path()));
        }
    }
}
