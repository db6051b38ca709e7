//! Protected names that were not there when a sandbox began: no mount can keep a name free, so they are looked for at the end.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A protected name, with what was found on the way to it at the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedName {
    /// The path.
    pub path: PathBuf,
    /// The directory from which the way is gone; nothing above it is the program's to change.
    base: PathBuf,
    before: NameState,
}

/// Thing on the way to a name. No link is followed: behind one may be what is not the program's.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NameState {
    /// The way ends before the name.
    Absent,
    /// A link is the first thing on the way that is no directory.
    Link { at: PathBuf, target: PathBuf },
    /// The name is there: its device, its inode, its size, and the times of its last changes. A file that somebody outside puts in its place
    /// takes the mount away that held it.
    Present([i64; 6]),
}

/// A name that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The name that is free again.
    pub path: PathBuf,
    /// The name under which its content is now.
    pub now: PathBuf,
}

impl NameState {
    fn look(base: &Path, path: &Path) -> Self {
        let (mut at, mut identity) = (base.to_owned(), [0; 6]);
        for part in path.strip_prefix(base).unwrap_or(path).components() {
            at.push(part);
            match fs::symlink_metadata(&at) {
                Ok(found) if found.is_symlink() => {
                    let target = fs::read_link(&at).unwrap_or_default();
                    return Self::Link { at, target };
                }
                Ok(found) => identity = identity_of(&found),
                Err(_) => return Self::Absent,
            }
        }
        Self::Present(identity)
    }
}

fn identity_of(found: &fs::Metadata) -> [i64; 6] {
    // Times of a directory change with what is in it. Numbers beyond the range are alike, which takes no change for none.
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (device, inode, size) = (number(found.dev()), number(found.ino()), number(found.size()));
    [device, inode, size, found.mtime(), found.mtime_nsec(), i64::from(found.mode())]
}

impl WatchedName {
    /// `name` below `base`, as it is now.
    pub(crate) fn look(base: &Path, name: &Path) -> Self {
        let path = base.join(name);
        let before = NameState::look(base, &path);
        Self { path, base: base.to_owned(), before }
    }

    /// The thing that has appeared on the way to the name: the name itself, or a link that leads to one.
    fn find_new(&self) -> Option<PathBuf> {
        let now = NameState::look(&self.base, &self.path);
        match (&self.before, now) {
            (before, now) if *before == now => None,
            // What was there was held by a mount, or else it is one of those that changed.
            (_, NameState::Absent) | (NameState::Present(_), NameState::Present(_)) => None,
            (_, NameState::Link { at, .. }) => Some(at),
            (_, NameState::Present(_)) => Some(self.path.clone()),
        }
    }

    /// Reports whether what was there is another thing now, or gone.
    fn has_changed(&self) -> bool {
        let was_there = matches!(self.before, NameState::Present(_));
        was_there && NameState::look(&self.base, &self.path) != self.before
    }
}

/// The protected names that were there and are others now, or gone. Somebody outside changed them, perhaps with good reason, and with that
/// took away the mount that kept the program from changing them.
pub fn changed_names(watched: &[WatchedName]) -> Vec<&Path> {
    watched.iter().filter(|name| name.has_changed()).map(|name| name.path.as_path()).collect()
}

/// Gives what has appeared under protected names another name, `NAME.set-aside` or that with a number, so that nobody runs or obeys it before
/// a person has looked at it. Nothing is renamed behind a link.
///
/// # Errors
/// A name could not be set aside: nothing of this work tree may be started then. The others are set aside all the same.
pub fn set_aside_new(watched: &[WatchedName]) -> Result<Vec<SetAside>, (PathBuf, io::Error)> {
    let (mut done, mut failed) = (Vec::new(), None);
    for name in watched {
        // A link that leads to several names is set aside with the first of them.
        let Some(path) = name.find_new() else { continue };
        let now = free_name(&path);
        match fs::rename(&path, &now) {
            Ok(()) => done.push(SetAside { path, now }),
            Err(error) => failed = failed.or(Some((path, error))),
        }
    }
    failed.map_or(Ok(done), Err)
}

fn free_name(path: &Path) -> PathBuf {
    let with_suffix = |suffix: &str| {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        path.with_file_name(name)
    };
    let numbered = (2..).map(|number: u32| with_suffix(&format!(".set-aside-{number}")));
    let mut names = std::iter::once(with_suffix(".set-aside")).chain(numbered);
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_else(|| with_suffix(".set-aside"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_appeared_is_set_aside_and_what_was_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("there"), "").unwrap();
        symlink("a", at("link")).unwrap();
        symlink("a", at("kept")).unwrap();
        let watched: Vec<WatchedName> = ["there", "link", "kept", "new", "never"]
            .map(|name| WatchedName::look(dir.path(), Path::new(name)))
            .into();
        assert_eq!(set_aside_new(&watched).unwrap(), []);
        fs::write(at("there"), "changed").unwrap();
        fs::remove_file(at("link")).unwrap();
        symlink("b", at("link")).unwrap();
        fs::create_dir(at("new")).unwrap();
        fs::write(at("new.set-aside"), "").unwrap();
        let done = set_aside_new(&watched).unwrap();
        let expected = [("link", "link.set-aside"), ("new", "new.set-aside-2")];
        assert_eq!(done, expected.map(|(path, now)| SetAside { path: at(path), now: at(now) }));
        assert!(!at("new").exists() && at("new.set-aside-2").is_dir());
        assert_eq!(set_aside_new(&watched).unwrap(), []);
    }

    #[test]
    fn nothing_is_renamed_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for directory in ["work", "elsewhere", "old"] {
            fs::create_dir(at(directory)).unwrap();
        }
        fs::write(at("elsewhere/settings"), "").unwrap();
        symlink(at("old"), at("work/linked")).unwrap();
        let names = [".agent/settings", ".agent/more", "linked/settings"];
        let watched = names.map(|name| WatchedName::look(&at("work"), Path::new(name)));
        symlink(at("elsewhere"), at("work/.agent")).unwrap();
        fs::write(at("old/settings"), "").unwrap();
        let done = set_aside_new(&watched).unwrap();
        assert_eq!(done, [SetAside { path: at("work/.agent"), now: at("work/.agent.set-aside") }]);
        assert!(at("elsewhere/settings").exists() && at("old/settings").exists());
    }
}
