//! The confinement as data.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Border around one program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The paths that are there, absolute and without links. A path without an entry of its own has the access of the nearest one above.
    pub paths: Vec<ConfinedPath>,
    /// Directory in which the program starts.
    pub directory: PathBuf,
    /// The network.
    pub network: ConfinedNetwork,
    /// The layers that keep the border.
    pub layers: ConfinementLayers,
}

/// A path with what the program may do there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConfinedPath {
    /// The path, absolute.
    pub path: PathBuf,
    /// Access below it.
    pub access: PathAccess,
}

impl ConfinedPath {
    /// `path` with `access`.
    pub fn new(path: impl Into<PathBuf>, access: PathAccess) -> Self {
        Self { path: path.into(), access }
    }
}

/// Access to a path and to all below it, but for what has an entry of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathAccess {
    /// The system's files may be read and run.
    Read,
    /// The system's files may be read, run and changed.
    Write,
    /// The system's files may be read, run and, for the program alone, changed: changes are in memory, and gone with the program.
    Overlay,
    /// An empty directory of the program's own, in memory. It is gone with the program.
    Scratch,
    /// Nothing is there: an empty directory that cannot be entered, or an empty file.
    Hidden,
    /// A symbolic link with this target.
    Link(PathBuf),
}

/// Network of a confined program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfinedNetwork {
    /// The system's network.
    Open,
    /// A loopback device of its own, which leads nowhere.
    #[default]
    None,
}

/// The layers of a confinement. Each of them holds something that the others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinementLayers {
    /// Namespaces and mounts: what is not named is not there, processes outside are not seen, none is left at the end.
    pub namespaces: bool,
    /// Landlock: rights to files, abstract sockets, signals.
    pub landlock: bool,
    /// Seccomp: system calls that reach around the others.
    pub seccomp: bool,
}

impl Default for ConfinementLayers {
    /// All.
    fn default() -> Self {
        Self { namespaces: true, landlock: true, seccomp: true }
    }
}

impl Confinement {
    /// The paths, those above before those below.
    pub(super) fn ordered_paths(&self) -> Vec<&ConfinedPath> {
        let mut paths: Vec<&ConfinedPath> = self.paths.iter().collect();
        paths.sort_by_key(|entry| entry.path.components().count());
        paths
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn paths_above_come_first() {
        let paths = ["/w/.git/hooks", "/w", "/w/.git"];
        let accesses = [PathAccess::Read, PathAccess::Write, PathAccess::Hidden];
        let paths = paths.into_iter().zip(accesses).map(|(path, access)| ConfinedPath::new(path, access));
        let confinement = Confinement { paths: paths.collect(), ..Confinement::default() };
        let ordered: Vec<&Path> = confinement.ordered_paths().iter().map(|one| one.path.as_path()).collect();
        assert_eq!(ordered, [Path::new("/w"), Path::new("/w/.git"), Path::new("/w/.git/hooks")]);
    }
}
