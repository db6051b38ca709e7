//! Submodules of a new worktree: found, named where they are missing, and initialized where that is asked for.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use amplihack_utils::git::{path, path_of};

use super::absent::{counted, named};
use crate::error::AutoError;
use crate::process::Processes;

/// How deep submodules of submodules are followed.
const DEEPEST: usize = 16;

/// A submodule, as `.gitmodules` declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Submodule {
    name: String,
    path: PathBuf,
}

/// The submodules that the working tree at `root` declares.
async fn declared(processes: &Processes, root: &Path) -> Result<Vec<Submodule>, AutoError> {
    if !root.join(".gitmodules").is_file() {
        return Ok(Vec::new());
    }
    let args = ["config", "--null", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
    let answer = processes.git_says(root, &[], args).await?;
    Ok(answer.stdout.split(|byte| *byte == 0).filter_map(read).collect())
}

/// One setting of git's: its name, a line break, its value.
fn read(setting: &[u8]) -> Option<Submodule> {
    let at = setting.iter().position(|byte| *byte == b'\n')?;
    let name = std::str::from_utf8(&setting[..at]).ok()?;
    let name = name.strip_prefix("submodule.")?.strip_suffix(".path")?.to_owned();
    let path = path_of(&setting[at + 1..]);
    is_plain(&path).then_some(Submodule { name, path })
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"))
        && path.components().next().is_some()
}

/// The line about submodules of the worktree at `tree` that hold nothing, if there are any.
pub(super) async fn missing(processes: &Processes, tree: &Path) -> Result<Option<String>, AutoError> {
    let all = declared(processes, tree).await?;
    let empty: Vec<PathBuf> = all
        .into_iter()
        .map(|module| module.path)
        .filter(|path| !tree.join(path).join(".git").exists())
        .collect();
    Ok((!empty.is_empty()).then(|| {
        let (modules, are) = counted(empty.len(), "submodule", "submodules");
        format!("{modules} {are} not initialized in the worktree: {}; --submodules does that", named(&empty))
    }))
}

/// Initializes the submodules of the worktree at `tree`, and those in them: from what the repository with the git directory `common`
/// has of them where that is enough, else from where they come from, by the transports that git allows.
pub(super) async fn initialize(processes: &Processes, tree: &Path, common: &Path) -> Result<(), AutoError> {
    let mut open = vec![(tree.to_owned(), common.to_owned(), 0)];
    while let Some((place, common, depth)) = open.pop() {
        for module in declared(processes, &place).await? {
            let local = common.join("modules").join(&module.name);
            let local = is_plain(Path::new(&module.name)).then_some(local).filter(|local| local.is_dir());
            update(processes, &place, &module, local.as_deref()).await?;
            if depth < DEEPEST {
                let inside = local.unwrap_or_else(|| common.join("none"));
                open.push((place.join(&module.path), inside, depth + 1));
            }
        }
    }
    Ok(())
}

/// Initializes one submodule of the working tree at `place`.
async fn update(
    processes: &Processes,
    place: &Path,
    module: &Submodule,
    local: Option<&Path>,
) -> Result<(), AutoError> {
    let mut update = ["submodule", "update", "--quiet", "--init", "--"].map(OsStr::new).to_vec();
    update.push(module.path.as_os_str());
    if let Some(local) = local
        && from_local(processes, place, module, local, &update).await?
    {
        return Ok(());
    }
    processes.git("initialize a submodule", place, &[], update).await.map(drop)
}

/// Tries to clone a submodule from the repository's own copy of it, `local`. Whether that was enough.
async fn from_local(
    processes: &Processes,
    place: &Path,
    module: &Submodule,
    local: &Path,
    update: &[&OsStr],
) -> Result<bool, AutoError> {
    let (Some(local), false) = (local.to_str(), module.name.contains('=')) else { return Ok(false) };
    let key = format!("submodule.{}.url", module.name);
    let init = ["submodule", "init", "--quiet", "--"].map(OsStr::new).into_iter();
    processes.git_says(place, &[], init.chain([module.path.as_os_str()])).await?;
    let origin = processes.git_says(place, &[], ["config", "--get", &key]).await?;
    // By git's default nothing but the user's own commands clones from a local path; this one is the repository's own copy.
    let url = format!("{key}={local}");
    let near: [&OsStr; 4] = ["-c", "protocol.file.allow=always", "-c", &url].map(OsStr::new);
    let near: Vec<&OsStr> = near.into_iter().chain(update.iter().copied()).collect();
    if !origin.exit.success() || !processes.git_says(place, &[], near).await?.exit.success() {
        return Ok(false);
    }
    // From now on it is fetched from where it comes from.
    let origin = path(&origin.stdout);
    let set = ["remote", "set-url", "origin"].map(OsStr::new).into_iter().chain([origin.as_os_str()]);
    processes.git("initialize a submodule", &place.join(&module.path), &[], set).await.map(|_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submodule_is_read_if_its_path_is_one_below() {
        let module = |name: &str, path: &str| Some(Submodule { name: name.to_owned(), path: path.into() });
        for (setting, expected) in [
            ("submodule.a.b.path\nlib/a b", module("a.b", "lib/a b")),
            ("submodule.x.path\n../out", None),
            ("submodule.x.path\n/etc", None),
            ("submodule.x.path\n.git/x", None),
            ("submodule.x.path\n", None),
            ("submodule.x.path", None),
        ] {
            assert_eq!(read(setting.as_bytes()), expected, "{setting:?}");
        }
    }
}
