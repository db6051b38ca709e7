//! Submodules of a new worktree: found, named where they are missing, and initialized where that is asked for.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use amplihack_config::git::{answer_path, path_of};

use super::uncommitted::{count_phrase, join_paths};
use crate::error::AutoError;
use crate::process::{RunCommandOutput, RunProcesses, require_success};

/// Deepest level at which submodules of submodules are followed.
const DEEPEST: usize = 16;

/// A submodule, as `.gitmodules` declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DeclaredSubmodule {
    name: String,
    path: PathBuf,
}

/// The submodules that the working tree at `root` declares.
async fn declared_submodules(
    processes: &RunProcesses,
    root: &Path,
) -> Result<Vec<DeclaredSubmodule>, AutoError> {
    if !root.join(".gitmodules").is_file() {
        return Ok(Vec::new());
    }
    let args = ["config", "--null", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
    let answer = processes.run_git_unchecked(root, &[], args).await?;
    Ok(answer.stdout.split(|byte| *byte == 0).filter_map(parse_setting).collect())
}

/// Parses a setting of git's: its name, a line break, its value.
fn parse_setting(setting: &[u8]) -> Option<DeclaredSubmodule> {
    let at = setting.iter().position(|byte| *byte == b'\n')?;
    let name = std::str::from_utf8(&setting[..at]).ok()?;
    let name = name.strip_prefix("submodule.")?.strip_suffix(".path")?.to_owned();
    let path = path_of(&setting[at + 1..]);
    is_plain(&path).then_some(DeclaredSubmodule { name, path })
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"))
        && path.components().next().is_some()
}

/// The line about submodules of the worktree at `tree` that hold nothing, if there are any.
pub(super) async fn describe_missing(
    processes: &RunProcesses,
    tree: &Path,
) -> Result<Option<String>, AutoError> {
    let all = declared_submodules(processes, tree).await?;
    let empty: Vec<PathBuf> = all
        .into_iter()
        .map(|module| module.path)
        .filter(|path| !tree.join(path).join(".git").exists())
        .collect();
    Ok((!empty.is_empty()).then(|| {
        let (modules, are) = count_phrase(empty.len(), "submodule", "submodules");
        format!(
            "{modules} {are} not initialized in the worktree: {}; --submodules does that",
            join_paths(&empty)
        )
    }))
}

/// Transports that the user, and not the repository, lets a fetch start.
#[derive(Debug, PartialEq, Eq)]
struct FetchTransports {
    ssh: String,
    allowed: Vec<&'static str>,
}

impl FetchTransports {
    /// Reads the transports of the user's and the machine's configuration.
    async fn from_config(processes: &RunProcesses, place: &Path) -> Result<Self, AutoError> {
        let wanted = r"^(core\.sshcommand|protocol\.(.*\.)?allow)$";
        let args = ["config", "--show-scope", "--null", "--get-regexp", wanted];
        Ok(Self::read(&processes.run_git_unchecked(place, &[], args).await?.stdout))
    }

    fn read(answer: &[u8]) -> Self {
        let fields: Vec<String> = answer
            .split(|byte| *byte == 0)
            .map(|field| String::from_utf8_lossy(field).into_owned())
            .collect();
        let mut set: BTreeMap<&str, &str> = BTreeMap::new();
        for pair in fields.chunks_exact(2) {
            if let [scope, setting] = pair
                && matches!(scope.as_str(), "system" | "global")
                && let Some((name, value)) = setting.split_once('\n')
            {
                set.insert(name, value);
            }
        }
        let policy = |name: &str, by_default: &str| {
            let by_default = set.get("protocol.allow").copied().unwrap_or(by_default);
            set.get(format!("protocol.{name}.allow").as_str()).copied().unwrap_or(by_default).to_owned()
        };
        let mut allowed = vec!["https", "http", "ssh", "git"];
        allowed.retain(|name| policy(name, "always") != "never");
        // A local path is cloned from where the user says "always" only, as in git itself.
        if policy("file", "user") == "always" {
            allowed.push("file");
        }
        Self { ssh: set.get("core.sshcommand").map_or("ssh", |command| *command).to_owned(), allowed }
    }

    /// Returns the transports, and clones from local paths besides.
    fn with_file(&self) -> Self {
        let mut allowed = self.allowed.clone();
        allowed.push("file");
        Self { ssh: self.ssh.clone(), allowed }
    }

    /// Runs git in an environment in which nothing else can be started. What it starts itself takes that, and its settings, over.
    async fn run_git<'a>(
        &self,
        processes: &RunProcesses,
        place: &Path,
        args: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<RunCommandOutput, AutoError> {
        let allowed = self.allowed.join(":");
        let env = [("GIT_SSH_COMMAND", Path::new(&self.ssh)), ("GIT_ALLOW_PROTOCOL", Path::new(&allowed))];
        processes.run_git_unchecked(place, &env, args).await
    }
}

/// Initializes the submodules of the worktree at `tree`, and those in them: from what the repository with the git directory `common`
/// has of them where that is enough, else from where they come from, by the transports that the user's git allows.
pub(super) async fn initialize_submodules(
    processes: &RunProcesses,
    tree: &Path,
    common: &Path,
) -> Result<(), AutoError> {
    let transports = FetchTransports::from_config(processes, tree).await?;
    let mut open = vec![(tree.to_owned(), common.to_owned(), 0)];
    while let Some((place, common, depth)) = open.pop() {
        for module in declared_submodules(processes, &place).await? {
            if is_skipped(processes, &place, &module).await? {
                continue;
            }
            let local = common.join("modules").join(&module.name);
            let local = is_plain(Path::new(&module.name)).then_some(local).filter(|local| local.is_dir());
            update_submodule(processes, &transports, &place, &module, local.as_deref()).await?;
            if depth < DEEPEST {
                let inside = local.unwrap_or_else(|| common.join("none"));
                open.push((place.join(&module.path), inside, depth + 1));
            }
        }
    }
    Ok(())
}

/// Reports whether the repository says that the submodule is not to be checked out.
async fn is_skipped(
    processes: &RunProcesses,
    place: &Path,
    module: &DeclaredSubmodule,
) -> Result<bool, AutoError> {
    let key = format!("submodule.{}.update", module.name);
    for args in [&["config", "--get", &key][..], &["config", "--file", ".gitmodules", "--get", &key]] {
        let said = processes.run_git_unchecked(place, &[], args).await?;
        if said.exit.is_success() {
            return Ok(said.stdout.trim_ascii() == b"none");
        }
    }
    Ok(false)
}

/// Initializes one submodule of the working tree at `place`.
async fn update_submodule(
    processes: &RunProcesses,
    transports: &FetchTransports,
    place: &Path,
    module: &DeclaredSubmodule,
    local: Option<&Path>,
) -> Result<(), AutoError> {
    // Not by a command that the repository's configuration names.
    let mut update =
        ["submodule", "update", "--quiet", "--init", "--checkout", "--"].map(OsStr::new).to_vec();
    update.push(module.path.as_os_str());
    if let Some(local) = local
        && from_local(processes, transports, place, module, local, &update).await?
    {
        return Ok(());
    }
    require_success("initialize a submodule", transports.run_git(processes, place, update).await?).map(drop)
}

/// Tries to clone a submodule from the repository's own copy of it, `local`. Whether that was enough.
async fn from_local(
    processes: &RunProcesses,
    transports: &FetchTransports,
    place: &Path,
    module: &DeclaredSubmodule,
    local: &Path,
    update: &[&OsStr],
) -> Result<bool, AutoError> {
    let (Some(local), false) = (local.to_str(), module.name.contains('=')) else { return Ok(false) };
    let key = format!("submodule.{}.url", module.name);
    let init = ["submodule", "init", "--quiet", "--"].map(OsStr::new).into_iter();
    processes.run_git_unchecked(place, &[], init.chain([module.path.as_os_str()])).await?;
    let origin = processes.run_git_unchecked(place, &[], ["config", "--get", &key]).await?;
    let url = format!("{key}={local}");
    let near = ["-c", &url].map(OsStr::new).into_iter().chain(update.iter().copied());
    // By git's default nothing but the user's own commands clones from a local path; this one is the repository's own copy.
    let transports = transports.with_file();
    if !origin.exit.is_success() || !transports.run_git(processes, place, near).await?.exit.is_success() {
        return Ok(false);
    }
    // From now on it is fetched from where it comes from.
    let origin = answer_path(&origin.stdout);
    let set = ["remote", "set-url", "origin"].map(OsStr::new).into_iter().chain([origin.as_os_str()]);
    processes.run_git("initialize a submodule", &place.join(&module.path), &[], set).await.map(|_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_are_the_users_and_never_the_repositorys() {
        let read = |answer: &[u8]| {
            let FetchTransports { ssh, allowed } = FetchTransports::read(answer);
            format!("{ssh}; {}", allowed.join(":"))
        };
        assert_eq!(read(b""), "ssh; https:http:ssh:git");
        let repository = b"local\0core.sshcommand\nevil\0local\0protocol.ext.allow\nalways\0\
            worktree\0protocol.file.allow\nalways\0";
        assert_eq!(read(repository), "ssh; https:http:ssh:git");
        let user = b"global\0core.sshcommand\nssh -i key\0system\0protocol.allow\nnever\0\
            global\0protocol.ssh.allow\nuser\0global\0protocol.file.allow\nalways\0";
        assert_eq!(read(user), "ssh -i key; ssh:file");
    }

    #[test]
    fn a_submodule_is_read_if_its_path_is_one_below() {
        let module =
            |name: &str, path: &str| Some(DeclaredSubmodule { name: name.to_owned(), path: path.into() });
        for (setting, expected) in [
            ("submodule.a.b.path\nlib/a b", module("a.b", "lib/a b")),
            ("submodule.x.path\n../out", None),
            ("submodule.x.path\n/etc", None),
            ("submodule.x.path\n.git/x", None),
            ("submodule.x.path\n", None),
            ("submodule.x.path", None),
        ] {
            assert_eq!(parse_setting(setting.as_bytes()), expected, "{setting:?}");
        }
    }
}
