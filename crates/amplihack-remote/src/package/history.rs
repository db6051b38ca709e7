//! What the history brings: its blobs and messages, their sizes, and which commit each came with.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::repository::Repository;
use super::scan::Findings;
use crate::error::ErrorContext;
use crate::git::{self, Git};

/// The most that is kept of a list of objects: several million.
const LIST: usize = 512 * 1024 * 1024;
/// How much of the objects is in memory at once; a larger one goes through a file.
const BATCH: u64 = 16 * 1024 * 1024;
/// How many objects are asked for at once.
const BATCH_OBJECTS: usize = 50_000;
/// More than what git writes around one object.
const AROUND: u64 = 160;

/// A blob or a commit of the range that is sent.
pub(super) struct Object {
    pub id: String,
    pub path: PathBuf,
    /// Its length.
    pub size: u64,
    /// What it takes in the repository, compressed.
    pub stored: u64,
    pub commit: bool,
}

/// The objects that are reachable from HEAD and from none of `have`, newest first.
pub(super) async fn objects(repository: &Repository, have: &[String]) -> Result<Vec<Object>, ErrorContext> {
    let git = &repository.git;
    let range = range(&repository.head, have);
    let what = "list what would be sent";
    let commits = git.feed(what, ["rev-list", "--stdin"], range.clone(), LIST).await;
    let commits = commits.map_err(incomplete)?;
    let filtered = ["rev-list", "--objects", "--filter=object:type=blob", "--stdin"];
    let blobs = match git.feed(what, filtered, range.clone(), LIST).await {
        // Before 2.32 git lists trees too, which are passed over below.
        Err(error) if error.message.contains("filter") => {
            git.feed(what, ["rev-list", "--objects", "--stdin"], range, LIST).await
        }
        answer => answer,
    };
    let blobs = blobs.map_err(incomplete)?;

    let mut paths: HashMap<&[u8], PathBuf> = HashMap::new();
    let mut order: Vec<&[u8]> = Vec::new();
    let lines = |list| <[u8]>::split(list, |&byte| byte == b'\n').filter(|line| !line.is_empty());
    for line in lines(&commits).chain(lines(&blobs)) {
        let (id, path) = line.split_at(line.iter().position(|&byte| byte == b' ').unwrap_or(line.len()));
        let path = match path.strip_prefix(b" ") {
            Some(path) => git::path(path),
            None => format!("commit {}", String::from_utf8_lossy(&id[..id.len().min(12)])).into(),
        };
        if paths.insert(id, path).is_none() {
            order.push(id);
        }
    }
    let format = "--batch-check=%(objectname) %(objecttype) %(objectsize) %(objectsize:disk)";
    let asked = order.join(&b'\n');
    let sizes = git.feed(what, ["cat-file", format, "--buffer"], lined(asked), LIST).await?;
    Ok(String::from_utf8_lossy(&sizes).lines().filter_map(|line| object(line, &mut paths)).collect())
}

fn object(line: &str, paths: &mut HashMap<&[u8], PathBuf>) -> Option<Object> {
    let mut words = line.split(' ');
    let (id, kind, size, stored) = (words.next()?, words.next()?, words.next()?, words.next()?);
    if !matches!(kind, "blob" | "commit") {
        return None;
    }
    let path = paths.remove(id.as_bytes())?;
    let (size, stored) = (size.parse().ok()?, stored.parse().ok()?);
    Some(Object { id: id.to_owned(), path, size, stored, commit: kind == "commit" })
}

/// Revisions for `--stdin`.
fn range(head: &str, have: &[String]) -> Vec<u8> {
    let excluded = have.iter().map(|commit| format!("^{commit}"));
    git::lines([head.to_owned()].into_iter().chain(excluded))
}

fn lined(mut list: Vec<u8>) -> Vec<u8> {
    list.push(b'\n');
    list
}

/// A partial clone lacks objects, and nothing is fetched behind the user's back.
fn incomplete(error: ErrorContext) -> ErrorContext {
    let lacks = ["missing", "bad object", "lazy fetch", "promisor", "not allowed"];
    if !lacks.iter().any(|sign| error.message.contains(sign)) {
        return error;
    }
    let hint = "if the repository is a partial clone, run 'git fetch --refetch --no-filter'; else 'git fsck' tells what is missing";
    error.with("reason", "incomplete").with("hint", hint)
}

/// Looks at all of `objects`.
pub(super) async fn scan(
    git: &Git,
    objects: &[Object],
    directory: &Path,
    findings: &mut Findings<'_>,
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
        let ids = git::lines(batch.iter().map(|object| &object.id));
        let most = usize::try_from(BATCH + 2 * AROUND).unwrap_or(usize::MAX);
        let said = git.feed("read what would be sent", ["cat-file", "--batch", "--buffer"], ids, most);
        look(batch, &said.await?, findings).ok_or_else(|| {
            ErrorContext::new("git answered something else than the objects that were asked for")
        })?;
        rest = after;
    }
    Ok(())
}

/// Looks at the objects in an answer of `cat-file --batch`. `None`: the answer is not that.
fn look(batch: &[Object], mut answer: &[u8], findings: &mut Findings<'_>) -> Option<()> {
    for object in batch {
        let head = answer.iter().position(|&byte| byte == b'\n')?;
        let size = usize::try_from(object.size).ok()?;
        if !answer[..head].starts_with(object.id.as_bytes()) {
            return None;
        }
        let bytes = answer.get(head + 1..head + 1 + size)?;
        findings.look(&object.path, bytes, (!object.commit).then_some(&object.id));
        answer = answer.get(head + 1 + size + 1..)?;
    }
    answer.is_empty().then_some(())
}

/// A large object: git writes it into a file of a directory that is made for that.
async fn scan_large(
    git: &Git,
    object: &Object,
    directory: &Path,
    findings: &mut Findings<'_>,
) -> Result<(), ErrorContext> {
    let failed = |error: std::io::Error| {
        ErrorContext::new(format!("{} could not be looked at: {error}", object.path.display()))
    };
    let room = tempfile::Builder::new().prefix(".new-").tempdir_in(directory).map_err(failed)?;
    let git_dir = git::path(&git.run("find its directory", ["rev-parse", "--absolute-git-dir"]).await?);
    let places = [("GIT_DIR", git_dir.as_os_str()), ("GIT_WORK_TREE", room.path().as_os_str())];
    let said = git.at(room.path()).says(["unpack-file", &object.id], &places).await?;
    if said.code != 0 {
        return Err(said.error("read a large file of the history"));
    }
    let file = File::open(room.path().join(git::path(&said.stdout))).map_err(failed)?;
    findings.look_at_file(&object.path, &file, Some(&object.id)).map_err(failed)
}

/// Which commit brought each of `ids` first. What cannot be told is missing.
pub(super) async fn origins(
    repository: &Repository,
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
    let range = range(&repository.head, have);
    let Ok(said) = repository.git.feed("find the commits", arguments, range, LIST).await else {
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
