//! Protected names that were not there when a sandbox began: no mount can keep a name free, so they are looked for at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A protected name, with what it was at the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedName {
    /// The path.
    pub path: PathBuf,
    before: NameState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum NameState {
    Absent,
    Link(PathBuf),
    Present,
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
    fn look(path: &Path) -> Self {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => Self::Link(fs::read_link(path).unwrap_or_default()),
            Ok(_) => Self::Present,
            Err(_) => Self::Absent,
        }
    }
}

impl WatchedName {
    /// `path`, as it is now.
    pub(crate) fn look(path: PathBuf) -> Self {
        let before = NameState::look(&path);
        Self { path, before }
    }

    /// Reports whether something is under the name that was not there, or another link.
    fn has_appeared(&self) -> bool {
        let now = NameState::look(&self.path);
        // What was there was held by a mount.
        self.before != NameState::Present && now != NameState::Absent && now != self.before
    }
}

/// Gives what has appeared under protected names another name, `NAME.set-aside` or that with a number, so that nobody runs or obeys it before
/// a person has looked at it.
///
/// # Errors
/// A name could not be set aside: nothing of this work tree may be started then. The others are set aside all the same.
pub fn set_aside_new(watched: &[WatchedName]) -> Result<Vec<SetAside>, (PathBuf, io::Error)> {
    let (mut done, mut failed) = (Vec::new(), None);
    for name in watched.iter().filter(|name| name.has_appeared()) {
        let now = free_name(&name.path);
        match fs::rename(&name.path, &now) {
            Ok(()) => done.push(SetAside { path: name.path.clone(), now }),
            Err(error) => failed = failed.or(Some((name.path.clone(), error))),
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
    use super::*;

    #[test]
    fn what_appeared_is_set_aside_and_what_was_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("there"), "").unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        std::os::unix::fs::symlink("a", at("kept")).unwrap();
        let watched: Vec<WatchedName> =
            ["there", "link", "kept", "new", "never"].map(|name| WatchedName::look(at(name))).into();
        assert_eq!(set_aside_new(&watched).unwrap(), []);
        fs::write(at("there"), "changed").unwrap();
        fs::remove_file(at("link")).unwrap();
        std::os::unix::fs::symlink("b", at("link")).unwrap();
        fs::create_dir(at("new")).unwrap();
        fs::write(at("new.set-aside"), "").unwrap();
        let done = set_aside_new(&watched).unwrap();
        let expected = [("link", "link.set-aside"), ("new", "new.set-aside-2")];
        assert_eq!(done, expected.map(|(path, now)| SetAside { path: at(path), now: at(now) }));
        assert!(!at("new").exists() && at("new.set-aside-2").is_dir());
        assert_eq!(set_aside_new(&watched).unwrap(), []);
    }
}
