//! The walk from a directory up to the repository that holds it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::git_directory::{DotGit, find_ceiling};
use crate::sabotage;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, open, openat2, statat};

/// Number of directories that a walk looks at, the one in which it starts included.
pub const MAX_DIRECTORIES: usize = 32;

/// The root of the work tree that holds `directory`, as git finds it, without symbolic links in its path.
///
/// A `.git` that is no repository is passed over, as by git. A file of that name that leads nowhere ends the walk, and so does
/// [`CEILING_VAR`](super::CEILING_VAR) in `ceilings`. At most [`MAX_DIRECTORIES`] are looked at. `None` if there is no repository, or
/// `directory` cannot be opened.
pub fn find_repository_root(directory: &Path, ceilings: Option<&OsStr>) -> Option<PathBuf> {
    let start = RealDirectory::open(directory).ok()?;
    let ceiling = find_ceiling(ceilings, &start.path);
    let mut names = StepNames::new();
    for (level, directory) in levels(&start, ceiling.as_deref(), MAX_DIRECTORIES) {
        if !names.is_present(&start, level, ".git") {
            continue;
        }
        match DotGit::inspect(&directory.join(".git")) {
            DotGit::Repository => return Some(directory.to_path_buf()),
            DotGit::Broken => return None,
            DotGit::Nothing => {}
        }
    }
    None
}

/// The nearest directory, from `directory` up, with a `.git` of any type, whatever git thinks of it; below the ceiling in `env`.
pub fn find_repository_border(directory: &Path, ceilings: Option<&OsStr>) -> Option<PathBuf> {
    let start = RealDirectory::open(directory).ok()?;
    let ceiling = find_ceiling(ceilings, &start.path);
    let mut names = StepNames::new();
    let mut above = levels(&start, ceiling.as_deref(), MAX_DIRECTORIES);
    above.find(|(level, _)| names.is_present(&start, *level, ".git")).map(|(_, path)| path.to_path_buf())
}

/// The root of what an agent may take for the project that holds `directory`: git's root, or the nearest directory with a `.git` of any
/// type, whichever is further out.
///
/// Agents look for that name by themselves, not all of them ask git, and none of them heeds git's ceilings. `None` if there is neither.
pub fn find_project_root(directory: &Path, ceilings: Option<&OsStr>) -> Option<PathBuf> {
    let roots = [find_repository_border(directory, None), find_repository_root(directory, ceilings)];
    // Both hold the directory, so that one of them holds the other.
    roots.into_iter().flatten().min_by_key(|root| root.components().count())
}

/// The directory in which a walk starts and those above it, `most` at most, below `ceiling`, each with its number of steps up.
fn levels<'a>(
    start: &'a RealDirectory,
    ceiling: Option<&'a Path>,
    most: usize,
) -> impl Iterator<Item = (usize, &'a Path)> {
    let above = start.path.ancestors().take(most);
    above.take_while(move |directory| Some(*directory) != ceiling).enumerate()
}

/// Names of files above an open directory, in one buffer.
struct StepNames(String);

impl StepNames {
    fn new() -> Self {
        let mut name = String::with_capacity(256);
        name.push_str(UPS);
        Self(name)
    }

    /// Reports whether `file` is present `level` steps above `start`.
    fn is_present(&mut self, start: &RealDirectory, level: usize, file: &str) -> bool {
        self.0.truncate(UPS.len());
        self.0.push_str(file);
        // The ending of the name with as many steps up as there are levels.
        let path = self.0.get(UPS.len() - level * UP..).unwrap_or_default();
        present_at(start.file.as_fd(), Path::new(path))
    }
}

/// Bytes of one step up.
const UP: usize = "../".len();
/// As many steps up as a walk may take.
const UPS: &str = concat!(
    "../../../../../../../../",
    "../../../../../../../../",
    "../../../../../../../../",
    "../../../../../../../../"
);
const _: () = assert!(UPS.len() == MAX_DIRECTORIES * UP, "a step for each directory");

/// Place where a walk ended.
#[derive(Debug, PartialEq, Eq)]
pub enum WalkStop {
    /// `directory` holds the wanted file, or something in its place that cannot be looked at.
    Found {
        /// The directory, without symbolic links in its path.
        directory: PathBuf,
        /// The file's path, by its name in that directory.
        file: PathBuf,
    },
    /// The wanted file is nowhere up to this directory, which was looked at too and has a `.git` of any type.
    Border(PathBuf),
    /// Neither the file nor a border.
    Exhausted,
}

/// Walks up from `start` to the first directory with `wanted` or a `.git` of any type in it, below the ceiling in `ceilings`.
///
/// A `.git` that is no repository is a border too: what it is cannot always be seen, and nothing of another repository may count.
/// Costs one stat for each of the two in each directory. They are asked relative to the open directory, which spares the kernel
/// the way down from the root and pays for opening it.
pub fn walk_up(start: &RealDirectory, wanted: &str, ceilings: Option<&OsStr>) -> WalkStop {
    let ceiling = find_ceiling(ceilings, &start.path);
    let mut names = StepNames::new();
    let mut here = |level: usize, file: &str| names.is_present(start, level, file);
    let most = MAX_DIRECTORIES + usize::from(sabotage::is_active("routing-32-ancestors"));
    for (level, directory) in levels(start, ceiling.as_deref(), most) {
        if here(level, wanted)
            && !(sabotage::is_active("routing-walk-up") && level > 0)
            && !(sabotage::is_active("routing-nearest-file")
                && directory.parent().is_some_and(|above| above.join(wanted).exists()))
        {
            return WalkStop::Found { directory: directory.to_path_buf(), file: directory.join(wanted) };
        }
        if sabotage::is_active("routing-git-boundary") && directory.join(".git").is_dir()
            || sabotage::is_active("routing-git-file-boundary") && directory.join(".git").is_file()
        {
            continue;
        }
        if here(level, ".git") {
            return WalkStop::Border(directory.to_path_buf());
        }
    }
    WalkStop::Exhausted
}

/// Reports whether something stands at `path`, be it a dangling link. What cannot be looked at counts: passing it by would
/// let a walk cross a border that it could not see.
pub fn is_present(path: &Path) -> bool {
    present_at(CWD, path)
}

fn present_at(directory: BorrowedFd<'_>, path: &Path) -> bool {
    match statat(directory, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => true,
        Err(error) => !matches!(error, rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR),
    }
}

/// An open directory and its path without symbolic links, `.` and `..`.
#[derive(Debug)]
pub struct RealDirectory {
    file: OwnedFd,
    /// The directory's path.
    pub path: PathBuf,
}

impl RealDirectory {
    /// Opens the directory `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Most paths are real ones already, and the kernel can tell in the same call. Where it is too old or a filter
        // forbids the call, the other way stays.
        let absolute = if is_plain(path) {
            path.to_path_buf()
        } else {
            std::path::absolute(path)?.components().as_path().to_path_buf()
        };
        if is_plain(&absolute)
            && let Ok(file) = openat2(CWD, &absolute, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        {
            return Ok(Self { file, path: absolute });
        }
        let file = open(path, flags, Mode::empty())?;
        let path = match opened_path(&file) {
            // A removed directory is reported with this ending; one that really has that name goes the slow way.
            Some(real) if !real.as_os_str().as_encoded_bytes().ends_with(b" (deleted)") => real,
            _ => std::fs::canonicalize(path)?,
        };
        Ok(Self { file, path })
    }
}

/// Reports whether `path` is absolute and has no `.`, no `..` and no slash too many in it.
fn is_plain(path: &Path) -> bool {
    match path.as_os_str().as_encoded_bytes() {
        b"/" => true,
        [b'/', rest @ ..] => rest.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b"..")),
        _ => false,
    }
}

/// The path of a directory without symbolic links, `.` and `..`.
pub fn real_directory(path: &Path) -> io::Result<PathBuf> {
    RealDirectory::open(path).map(|directory| directory.path)
}

/// The path under which the kernel knows an open file, if it has one. It has no symbolic links in it.
pub fn opened_path(file: impl AsFd) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
        .ok()
        .filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;
    use amplihack_testkit::create_repository;
    use std::fs;

    // The temporary directory may lie in a repository.
    fn root_of(directory: &Path) -> Option<PathBuf> {
        find_repository_root(directory, Some(std::env::temp_dir().as_os_str()))
    }

    fn project_of(directory: &Path) -> Option<PathBuf> {
        find_project_root(directory, Some(std::env::temp_dir().as_os_str()))
    }

    #[test]
    fn the_nearest_repository_counts_through_symbolic_links() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        create_repository(&base.join("outer"));
        create_repository(&base.join("outer/inner"));
        fs::create_dir_all(base.join("outer/inner/src")).unwrap();
        std::os::unix::fs::symlink(base.join("outer/inner/src"), base.join("shortcut")).unwrap();
        assert_eq!(root_of(&base.join("shortcut")), Some(base.join("outer/inner")));
        assert_eq!(root_of(&base.join("outer/inner/..")), Some(base.join("outer")));
    }

    #[test]
    fn a_project_is_what_git_or_an_agent_may_take_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(base.join("marked/.git")).unwrap();
        fs::create_dir_all(base.join("marked/a")).unwrap();
        assert_eq!(root_of(&base.join("marked/a")), None);
        assert_eq!(project_of(&base.join("marked/a")), Some(base.join("marked")));
        create_repository(&base.join("outer"));
        fs::create_dir_all(base.join("outer/inner/.git")).unwrap();
        assert_eq!(root_of(&base.join("outer/inner")), Some(base.join("outer")));
        assert_eq!(project_of(&base.join("outer/inner")), Some(base.join("outer")));
    }

    #[test]
    fn the_walk_looks_at_32_directories_and_not_at_33() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        create_repository(&base);
        let below = |levels: usize| {
            let path = (0..levels).fold(base.clone(), |path, _| path.join("d"));
            fs::create_dir_all(&path).unwrap();
            path
        };
        assert_eq!(root_of(&below(31)), Some(base.clone()), "the root is directory 32");
        assert_eq!(root_of(&below(32)), None, "the root is directory 33");
    }

    #[test]
    fn a_link_in_the_path_does_not_mislead_the_steps_up() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(base.join("a/b/c")).unwrap();
        fs::create_dir_all(base.join("x/.git")).unwrap();
        fs::write(base.join("a/wanted"), "").unwrap();
        std::os::unix::fs::symlink("../a/b/c", base.join("x/link")).unwrap();
        let found = WalkStop::Found { directory: base.join("a"), file: base.join("a/wanted") };
        assert_eq!(walk_up(&RealDirectory::open(&base.join("x/link")).unwrap(), "wanted", None), found);
        assert_eq!(walk_up(&RealDirectory::open(&base.join("a/b/c/")).unwrap(), "wanted", None), found);
    }

    #[test]
    fn a_plain_path_is_absolute_and_says_nothing_twice() {
        for (path, plain) in [
            ("/", true),
            ("/a", true),
            ("/a/..b/.c", true),
            ("", false),
            ("a", false),
            ("//", false),
            ("/a/", false),
            ("/a//b", false),
            ("/a/./b", false),
            ("/a/..", false),
        ] {
            assert_eq!(is_plain(Path::new(path)), plain, "{path:?}");
        }
    }

    #[test]
    fn an_open_file_is_known_by_its_path_and_a_pipe_by_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = fs::canonicalize(dir.path()).unwrap().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(opened_path(fs::File::open(&file).unwrap()), Some(file));
        assert_eq!(opened_path(io::pipe().unwrap().0), None);
    }

    #[test]
    fn only_a_directory_that_is_there_has_a_real_path() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let kind = |path: &Path| real_directory(path).unwrap_err().kind();
        assert_eq!(kind(&dir.path().join("file")), io::ErrorKind::NotADirectory);
        fs::create_dir(dir.path().join("gone")).unwrap();
        let open = fs::File::open(dir.path().join("gone")).unwrap();
        fs::remove_dir(dir.path().join("gone")).unwrap();
        let way = format!("/proc/self/fd/{}", open.as_raw_fd());
        assert_eq!(kind(Path::new(&way)), io::ErrorKind::NotFound, "the kernel still knows it by a name");
    }

    #[test]
    fn a_real_path_equals_the_canonical_one() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join("x (deleted)");
        fs::create_dir(&odd).unwrap();
        std::os::unix::fs::symlink(&odd, dir.path().join("link")).unwrap();
        let base = dir.path();
        let ways = [
            base,
            &odd,
            &base.join("link"),
            &base.join("link/.."),
            &base.join("./"),
            Path::new("."),
            Path::new("/"),
        ];
        for path in ways {
            // Compared as text: paths are equal with and without a `/` at the end.
            assert_eq!(
                real_directory(path).unwrap().as_os_str(),
                fs::canonicalize(path).unwrap().as_os_str()
            );
        }
        assert_eq!(real_directory(&dir.path().join("no")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
