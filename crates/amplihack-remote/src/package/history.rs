//! Objects of the history that is sent: blobs and messages, their sizes, and the commit that each came with.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::repository::PackageRepository;
use super::scan::PackageSecrets;
use crate::error::ErrorContext;
use crate::git::{self, RemoteGit};

/// The most that is kept of a list of objects: several million.
const LIST: usize = 512 * 1024 * 1024;
/// Number of bytes of objects that are in memory at once; a larger object goes through a file.
const BATCH: u64 = 16 * 1024 * 1024;
/// Number of objects that are asked for at once.
const BATCH_OBJECTS: usize = 50_000;
/// More than what git writes around one object.
const AROUND: u64 = 160;

/// A blob or a commit of the range that is sent.
pub(super) struct HistoryObject {
    pub id: String,
    pub path: PathBuf,
    /// Length of the object in bytes.
    pub size: u64,
    /// Compressed size in the repository, in bytes.
    pub stored: u64,
    pub commit: bool,
}

/// The objects that are reachable from HEAD and from none of `have`, newest first.
pub(super) async fn list_objects(
    repository: &PackageRepository,
    have: &[String],
) -> Result<Vec<HistoryObject>, ErrorContext> {
    let git = &repository.git;
    let range = revision_range(&repository.head, have);
    let what = "list what would be sent";
    let commits = git.run_with_stdin(what, ["rev-list", "--stdin"], range.clone(), LIST).await;
    let commits = commits.map_err(incomplete_error)?;
    let filtered = ["rev-list", "--objects", "--filter=object:type=blob", "--stdin"];
    let blobs = match git.run_with_stdin(what, filtered, range.clone(), LIST).await {
        // Before 2.32 git lists trees too, which are passed over below.
        Err(error) if error.message.contains("filter") => {
            git.run_with_stdin(what, ["rev-list", "--objects", "--stdin"], range, LIST).await
        }
        answer => answer,
    };
    let blobs = blobs.map_err(incomplete_error)?;

    let mut paths: HashMap<&[u8], PathBuf> = HashMap::new();
    let mut order: Vec<&[u8]> = Vec::new();
    let lines = |list| <[u8]>::split(list, |&byte| byte == b'\n').filter(|line| !line.is_empty());
    for line in lines(&commits).chain(lines(&blobs)) {
        let (id, path) = line.split_at(line.iter().position(|&byte| byte == b' ').unwrap_or(line.len()));
        let path = match path.strip_prefix(b" ") {
            Some(path) => git::answer_path(path),
            None => format!("commit {}", String::from_utf8_lossy(&id[..id.len().min(12)])).into(),
        };
        if paths.insert(id, path).is_none() {
            order.push(id);
        }
    }
    let format = "--batch-check=%(objectname) %(objecttype) %(objectsize) %(objectsize:disk)";
    let asked = order.join(&b'\n');
    let sizes = git.run_with_stdin(what, ["cat-file", format, "--buffer"], end_line(asked), LIST).await?;
    Ok(String::from_utf8_lossy(&sizes).lines().filter_map(|line| parse_object(line, &mut paths)).collect())
}

fn parse_object(line: &str, paths: &mut HashMap<&[u8], PathBuf>) -> Option<HistoryObject> {
    let mut words = line.split(' ');
    let (id, kind, size, stored) = (words.next()?, words.next()?, words.next()?, words.next()?);
    if !matches!(kind, "blob" | "commit") {
        return None;
    }
    let path = paths.remove(id.as_bytes())?;
    let (size, stored) = (size.parse().ok()?, stored.parse().ok()?);
    Some(HistoryObject { id: id.to_owned(), path, size, stored, commit: kind == "commit" })
}

/// Revisions for `--stdin`.
fn revision_range(head: &str, have: &[String]) -> Vec<u8> {
    let excluded = have.iter().map(|commit| format!("^{commit}"));
    git::join_lines([head.to_owned()].into_iter().chain(excluded))
}

fn end_line(mut list: Vec<u8>) -> Vec<u8> {
    list.push(b'\n');
    list
}

/// A partial clone lacks objects, and nothing is fetched behind the user's back.
fn incomplete_error(error: ErrorContext) -> ErrorContext {
    let lacks = ["missing", "bad object", "lazy fetch", "promisor", "not allowed"];
    if !lacks.iter().any(|sign| error.message.contains(sign)) {
        return error;
    }
    let hint = "if the repository is a partial clone, run 'git fetch --refetch --no-filter'; else 'git fsck' tells what is missing";
    error.with_fact("reason", "incomplete").with_fact("hint", hint)
}

/// Looks at all of `objects`.
pub(super) async fn scan_objects(
    git: &RemoteGit,
    objects: &[HistoryObject],
    directory: &Path,
    findings: &mut PackageSecrets<'_>,
) -> Result<(), ErrorContext> {
    let mut rest = objects;
    while let Some(first) = rest.first() {
        if first.size > BATCH {
            scan_large(git, first, directory, findings).await?;
            rest = &rest[1..];
            continue;
        }
        let mut bytes = 0;
        let count = rest
            .iter()
            .take(BATCH_OBJECTS)
            .take_while(|object| {
                bytes += object.size + AROUND;
                object.size <= BATCH && bytes <= BATCH + AROUND
            })
            .count();
        let (batch, after) = rest.split_at(count);
        let ids = git::join_lines(batch.iter().map(|object| &object.id));
        let most = usize::try_from(BATCH + 2 * AROUND).unwrap_or(usize::MAX);
        let said =
            git.run_with_stdin("read what would be sent", ["cat-file", "--batch", "--buffer"], ids, most);
        scan_batch(batch, &said.await?, findings).ok_or_else(|| {
            ErrorContext::new("git answered something else than the objects that were asked for")
        })?;
        rest = after;
    }
    Ok(())
}

/// Looks at the objects in an answer of `cat-file --batch`. `None`: the answer is not that.
fn scan_batch(batch: &[HistoryObject], mut answer: &[u8], findings: &mut PackageSecrets<'_>) -> Option<()> {
    for object in batch {
        let head = answer.iter().position(|&byte| byte == b'\n')?;
        let size = usize::try_from(object.size).ok()?;
        if !answer[..head].starts_with(object.id.as_bytes()) {
            return None;
        }
        let bytes = answer.get(head + 1..head + 1 + size)?;
        findings.scan_file(&object.path, bytes, (!object.commit).then_some(&object.id));
        answer = answer.get(head + 1 + size + 1..)?;
    }
    answer.is_empty().then_some(())
}

/// A large object: git writes it into a file of a directory that is made for that.
async fn scan_large(
    git: &RemoteGit,
    object: &HistoryObject,
    directory: &Path,
    findings: &mut PackageSecrets<'_>,
) -> Result<(), ErrorContext> {
    let failed = |error: std::io::Error| {
        ErrorContext::new(format!("{} could not be looked at: {error}", object.path.display()))
    };
    let room = tempfile::Builder::new().prefix(".new-").tempdir_in(directory).map_err(failed)?;
    let git_dir =
        git::answer_path(&git.run_checked("find its directory", ["rev-parse", "--absolute-git-dir"]).await?);
    let places = [("GIT_DIR", git_dir.as_os_str()), ("GIT_WORK_TREE", room.path().as_os_str())];
    let said = git.in_directory(room.path()).run_unchecked(["unpack-file", &object.id], &places).await?;
    if said.code != 0 {
        return Err(said.failure_error("read a large file of the history"));
    }
    let file = File::open(room.path().join(git::answer_path(&said.stdout))).map_err(failed)?;
    findings.scan_large_file(&object.path, &file, Some(&object.id)).map_err(failed)
}

/// Finds the commit that brought each of `ids` first. Ids whose commit is not found are missing.
pub(super) async fn find_origins(
    repository: &PackageRepository,
    have: &[String],
    ids: &[&str],
) -> HashMap<String, String> {
    let mut origins = HashMap::new();
    if ids.is_empty() {
        return origins;
    }
    let wanted = ids.iter().map(|id| format!("--find-object={id}"));
    let arguments =
        ["log", "--format=%x00%H", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "-m", "--root"];
    let arguments = arguments.into_iter().map(str::to_owned).chain(wanted).chain(["--stdin".to_owned()]);
    let range = revision_range(&repository.head, have);
    let Ok(said) = repository.git.run_with_stdin("find the commits", arguments, range, LIST).await else {
        return origins;
    };
    for commit in String::from_utf8_lossy(&said).split('\0') {
        let mut lines = commit.lines();
        let Some(commit) = lines.next() else { continue };
        for line in lines {
            // `:mode mode old new status`; older commits come later, and win.
            if let Some(id) = line.split(' ').nth(3).filter(|id| ids.contains(id)) {
                origins.insert(id.to_owned(), commit.to_owned());
            }
        }
    }
    origins
}
