//! From a workspace, a home and a system to the data of one confinement.

use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_sys::confine::{ConfinedNetwork, ConfinedPath, Confinement, ConfinementLayers, PathAccess};

use crate::error::SandboxError;
use crate::home::home_entries;
use crate::mode::SandboxMode;
use crate::protected::WatchedName;
use crate::sockets::sockets_below;
use crate::system::{package_of, system_entries};
use crate::workspace::find_workspace;

/// A sandbox, asked for.
#[derive(Debug, Clone)]
pub struct SandboxRequest<'a> {
    /// Mode of the sandbox.
    pub mode: SandboxMode,
    /// Directory in which the program starts; the workspace is the work tree around it.
    pub directory: &'a Path,
    /// The program, where its own files are outside of the system's directories.
    pub program: Option<&'a Path>,
    /// Further paths that may change.
    pub writable: &'a [PathBuf],
    /// Further paths that may be read.
    pub readable: &'a [PathBuf],
    /// The network; `None` for the mode's own.
    pub network: Option<ConfinedNetwork>,
}

/// A sandbox as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledSandbox {
    /// The entries, each with its rule, sorted by path.
    pub entries: Vec<SandboxEntry>,
    /// Protected names of the workspace.
    pub watched: Vec<WatchedName>,
    /// The network.
    pub network: ConfinedNetwork,
    directory: PathBuf,
}

/// A path with its access, and the rule behind it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SandboxEntry {
    /// The path, without links.
    pub path: PathBuf,
    /// Access below it.
    pub access: PathAccess,
    /// The rule.
    pub rule: SandboxRule,
}

/// Rule behind an entry. Of two entries for one path, that of the later rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SandboxRule {
    /// The system's programs, libraries and settings.
    System,
    /// Programs on the search path.
    Programs,
    /// A directory of the program's own.
    Scratch,
    /// The home.
    Home,
    /// Packages that were fetched.
    Cache,
    /// The workspace.
    Workspace,
    /// The repository of the workspace.
    Git,
    /// Run or obeyed by whoever opens the work tree next.
    Protected,
    /// Keys and tokens.
    Keys,
    /// Histories and a person's pages.
    Private,
    /// Records of other sessions.
    Records,
    /// Sockets of other programs.
    Sockets,
    /// Opened for reading by the user.
    OpenedToRead,
    /// Opened for writing by the user.
    OpenedToWrite,
}

impl SandboxEntry {
    pub(crate) const fn new(path: PathBuf, access: PathAccess, rule: SandboxRule) -> Self {
        Self { path, access, rule }
    }
}

/// The entry that counts for `path`: the nearest one above it.
pub(crate) fn nearest_entry<'a>(entries: &'a [SandboxEntry], path: &Path) -> Option<&'a SandboxEntry> {
    let above = entries.iter().filter(|entry| path.starts_with(&entry.path));
    above.max_by_key(|entry| entry.path.components().count())
}

/// Compiles the sandbox that `request` asks for, in the environment `env`.
///
/// # Errors
/// The workspace cannot be used, or a path that was to be opened is not there.
pub fn compile_sandbox(request: &SandboxRequest<'_>, env: &Env) -> Result<CompiledSandbox, SandboxError> {
    let workspace = find_workspace(request.directory, env)?;
    let failed = |source| SandboxError::Directory { path: request.directory.to_owned(), source };
    let directory = request.directory.canonicalize().map_err(failed)?;
    let mut entries = system_entries(env, &workspace.root);
    entries.extend(home_entries(env, request.mode, &workspace.root));
    let package = request.program.and_then(package_of);
    entries.extend(package.map(|path| SandboxEntry::new(path, PathAccess::Read, SandboxRule::Programs)));
    entries.extend(workspace.entries);
    let opened = [
        (request.readable, PathAccess::Read, SandboxRule::OpenedToRead),
        (request.writable, PathAccess::Write, SandboxRule::OpenedToWrite),
    ];
    // A link that leads to a place is part of the way to it, and names are looked up inside.
    let places = [env.home(), Some(request.directory.to_owned()), request.program.map(Path::to_owned)];
    entries.extend(places.into_iter().flatten().flat_map(|path| links_on_the_way(&path)));
    let mut opened_paths = Vec::new();
    for (paths, access, rule) in opened {
        for path in paths {
            let whole = request.directory.join(path);
            let real = whole.canonicalize().map_err(|_| SandboxError::NoSuchPath { path: whole.clone() })?;
            if real.parent().is_none() {
                return Err(SandboxError::SharedDirectory { path: real });
            }
            if access == PathAccess::Write {
                opened_paths.push(real.clone());
            }
            entries.push(SandboxEntry::new(real, access.clone(), rule));
        }
    }
    let mut entries = settle_entries(entries);
    let sockets = sockets_below(&entries);
    entries.extend(sockets);
    let entries = settle_entries(entries);
    let mut watched = workspace.watched;
    watched.retain(|name| !opened_paths.iter().any(|path| name.path.starts_with(path)));
    Ok(CompiledSandbox {
        entries,
        watched,
        network: request.network.unwrap_or_else(|| request.mode.network()),
        directory,
    })
}

/// Entries sorted by path, of those for one path the one of the later rule, without those that only repeat a directory above.
fn settle_entries(mut entries: Vec<SandboxEntry>) -> Vec<SandboxEntry> {
    entries.sort_by(|one, other| (&one.path, one.rule).cmp(&(&other.path, other.rule)));
    let mut settled: Vec<SandboxEntry> = Vec::new();
    for entry in entries {
        if settled.last().is_some_and(|last| last.path == entry.path) {
            settled.pop();
        }
        let above = settled.iter().rev().find(|above| entry.path.starts_with(&above.path));
        let is_said =
            above.is_some_and(|above| above.access == PathAccess::Read && entry.access == PathAccess::Read);
        if !is_said {
            settled.push(entry);
        }
    }
    settled
}

/// The links on the way to `path`, which programs are given by that name.
fn links_on_the_way(path: &Path) -> Vec<SandboxEntry> {
    let above: Vec<&Path> = path.ancestors().collect();
    let links = above.into_iter().rev().filter_map(|at| Some((at.to_owned(), std::fs::read_link(at).ok()?)));
    links.map(|(at, target)| SandboxEntry::new(at, PathAccess::Link(target), SandboxRule::System)).collect()
}

impl CompiledSandbox {
    /// The confinement, to be entered.
    pub fn confinement(&self) -> Confinement {
        let paths =
            self.entries.iter().map(|entry| ConfinedPath::new(entry.path.clone(), entry.access.clone()));
        Confinement {
            paths: paths.collect(),
            directory: self.directory.clone(),
            network: self.network,
            layers: ConfinementLayers::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, access: PathAccess, rule: SandboxRule) -> SandboxEntry {
        SandboxEntry::new(path.into(), access, rule)
    }

    #[test]
    fn the_nearest_entry_counts() {
        let entries = [
            entry("/w/.git/hooks", PathAccess::Read, SandboxRule::Protected),
            entry("/w", PathAccess::Write, SandboxRule::Workspace),
            entry("/w/.git", PathAccess::Hidden, SandboxRule::Git),
        ];
        let access = |path: &str| nearest_entry(&entries, Path::new(path)).map(|entry| entry.access.clone());
        assert_eq!(access("/w/a/b"), Some(PathAccess::Write));
        assert_eq!(access("/w/.git/hooks/x"), Some(PathAccess::Read));
        assert_eq!(access("/w/.git"), Some(PathAccess::Hidden));
        assert_eq!(access("/w2"), None);
    }

    #[test]
    fn the_later_rule_counts_and_what_is_said_above_is_left_out() {
        let entries = vec![
            entry("/h", PathAccess::Read, SandboxRule::Home),
            entry("/h/.ssh", PathAccess::Hidden, SandboxRule::Keys),
            entry("/h/.ssh", PathAccess::Read, SandboxRule::OpenedToRead),
            entry("/h/bin", PathAccess::Read, SandboxRule::Programs),
            entry("/h/w", PathAccess::Write, SandboxRule::Workspace),
            entry("/h/w/.vscode", PathAccess::Read, SandboxRule::Protected),
            entry("/h2", PathAccess::Read, SandboxRule::Programs),
        ];
        let settled = settle_entries(entries);
        let shown: Vec<(&str, SandboxRule)> =
            settled.iter().map(|entry| (entry.path.to_str().unwrap(), entry.rule)).collect();
        assert_eq!(
            shown,
            [
                ("/h", SandboxRule::Home),
                ("/h/w", SandboxRule::Workspace),
                ("/h/w/.vscode", SandboxRule::Protected),
                ("/h2", SandboxRule::Programs),
            ]
        );
    }
}
