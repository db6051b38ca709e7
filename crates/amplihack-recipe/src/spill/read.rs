//! A spilled value back out of its file, and nothing else out of any other.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, open, openat, statat};
use rustix::process::geteuid;

use super::{DIRECTORY_MODE, FILE_MODE, PREFIX, SCHEME};

/// The value that `value` stands for, if it is the URI of a spilled one in `temporary`; `None` if it is plain text.
///
/// It is one only if the file is a regular one of ours with mode 0600 and one name, in a directory of ours with mode 0700 whose name begins with
/// `recipe-context-` and which is directly below `temporary`, and neither is a symbolic link. Whatever else begins with `file://` was somebody's text, and
/// is not opened.
pub fn read_back(value: &str, temporary: &Path) -> Option<String> {
    let path = Path::new(value.strip_prefix(SCHEME)?);
    let (directory, name) = split_spill_path(path, temporary)?;
    match read_spill_file(&temporary.join(directory), name) {
        Ok(text) => text,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a value that looks like a spilled one cannot be read, and stays as it is");
            None
        }
    }
}

/// The names of the directory and the file, if `path` is `temporary/recipe-context-…/name` and written just so.
fn split_spill_path<'a>(path: &'a Path, temporary: &Path) -> Option<(&'a OsStr, &'a OsStr)> {
    let mut parts = path.strip_prefix(temporary).ok()?.components();
    let (Some(Component::Normal(directory)), Some(Component::Normal(name)), None) =
        (parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let ours = directory.as_encoded_bytes().starts_with(PREFIX.as_bytes());
    // Dots and doubled or trailing slashes are not of our writing.
    let exact = temporary.join(directory).join(name).as_os_str() == path.as_os_str();
    (ours && exact).then_some((directory, name))
}

fn read_spill_file(directory: &Path, name: &OsStr) -> io::Result<Option<String>> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let directory: OwnedFd = open(directory, flags | OFlags::DIRECTORY, Mode::empty())?;
    if !is_private(&rustix::fs::fstat(&directory)?, FileType::Directory, DIRECTORY_MODE) {
        return Ok(None);
    }
    // Looked at before it is opened, since the opening of a device may do something; and again after that.
    if !is_value(&statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?) {
        return Ok(None);
    }
    let file = openat(&directory, name, flags | OFlags::NONBLOCK, Mode::empty())?;
    if !is_value(&rustix::fs::fstat(&file)?) {
        return Ok(None);
    }
    let mut text = String::new();
    File::from(file).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn is_value(found: &Stat) -> bool {
    is_private(found, FileType::RegularFile, FILE_MODE) && found.st_nlink == 1
}

/// Reports whether a file is of this type, this user's, and of exactly this mode.
fn is_private(found: &Stat, kind: FileType, mode: u32) -> bool {
    FileType::from_raw_mode(found.st_mode) == kind
        && found.st_uid == geteuid().as_raw()
        && found.st_mode & 0o7777 == mode
}
