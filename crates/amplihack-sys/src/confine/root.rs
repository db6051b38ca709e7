//! The root of a confinement: the named paths, and nothing else.
#![expect(unsafe_code, reason = "`mount_setattr` has no safe counterpart")]

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change,
    move_mount, open_tree, unmount,
};
use rustix::process::pivot_root;

use super::{ConfineError, Confinement, PathAccess};

/// The name of the old root below the new one, until it is gone.
const OLD: &str = "/old";

/// The place of changes that are gone with the program, until it starts.
const UPPER: &str = "/upper";

/// Parts of `/proc` that set the kernel up. Whoever is the administrator outside owns them inside as well.
const KERNEL: [&str; 11] =
    ["sys", "sysrq-trigger", "irq", "bus", "acpi", "fs", "scsi", "mtrr", "driver", "kcore", "keys"];

/// Devices that do no harm.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Links of `/dev`.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];

/// Makes a new root and enters it, in a mount namespace of its own and as the first process of a PID namespace.
pub(super) fn enter_root(confinement: &Confinement) -> Result<(), ConfineError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(ConfineError::at_step("keep its mounts to itself"))?;
    let base = ["/tmp", "/run", "/var/tmp", "/mnt"].into_iter().map(Path::new).find(|base| base.is_dir());
    let base = base.ok_or_else(|| {
        ConfineError::at_step("find a directory for its root")(io::Error::from(io::ErrorKind::NotFound))
    })?;
    mount_scratch(base, c"mode=0755")?;
    let old = base.join("old");
    fs::create_dir(&old).map_err(ConfineError::at_path("make", &old))?;
    pivot_root(base, &old).map_err(ConfineError::at_path("make the root of", base))?;
    std::env::set_current_dir("/").map_err(ConfineError::at_step("enter its root"))?;
    let upper = Path::new(UPPER);
    make_directory(upper)?;
    mount_scratch(upper, c"mode=0755")?;
    let entries = confinement.ordered_paths();
    for (number, entry) in entries.iter().enumerate() {
        let path = entry.path.as_path();
        match &entry.access {
            PathAccess::Read => attach(path, true)?,
            PathAccess::Write => attach(path, false)?,
            PathAccess::Overlay => overlay(path, &upper.join(number.to_string()))?,
            PathAccess::Scratch => {
                make_directory(path)?;
                mount_scratch(path, c"mode=1777")?;
            }
            PathAccess::Hidden => hide(path)?,
            // Below a mounted directory it is there already.
            PathAccess::Link(_) if path.symlink_metadata().is_ok() => {}
            PathAccess::Link(target) => {
                make_directory(path.parent().unwrap_or(path))?;
                symlink(target, path).map_err(ConfineError::at_path("make the link", path))?;
            }
        }
    }
    // What is named below a hidden directory is there by now.
    for entry in entries.iter().filter(|entry| entry.access == PathAccess::Hidden && entry.path.is_dir()) {
        close(&entry.path)?;
    }
    make_devices()?;
    make_directory(Path::new("/proc"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", c"/proc", c"proc", flags, None).map_err(ConfineError::at_step("mount its /proc"))?;
    for name in KERNEL {
        let path = Path::new("/proc").join(name);
        if path.symlink_metadata().is_ok() {
            hold_as_it_is(&path)?;
        }
    }
    for left in [OLD, UPPER] {
        let path = Path::new(left);
        unmount(path, UnmountFlags::DETACH).map_err(ConfineError::at_path("leave", path))?;
        fs::remove_dir(path).map_err(ConfineError::at_path("remove", path))?;
    }
    close(Path::new("/"))
}

/// Has nothing at the mount `path` change any more.
fn close(path: &Path) -> Result<(), ConfineError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let place = open_tree(CWD, path, flags).map_err(ConfineError::at_path("reach", path))?;
    set_attributes(&place, libc::MOUNT_ATTR_RDONLY, false).map_err(ConfineError::at_path("close", path))
}

fn mount_scratch(path: &Path, data: &CStr) -> Result<(), ConfineError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"tmpfs", path, c"tmpfs", flags, data)
        .map_err(ConfineError::at_path("mount a directory of its own at", path))
}

fn make_directory(path: &Path) -> Result<(), ConfineError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(ConfineError::at_path("make the directory", path))
}

/// The place of `path` in the old root.
fn in_old_root(path: &Path) -> PathBuf {
    Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path))
}

/// Attaches what is at `path` in the old root, with all that is mounted below it. What is not there stays away.
fn attach(path: &Path, is_read_only: bool) -> Result<(), ConfineError> {
    let source = in_old_root(path);
    let Ok(found) = fs::symlink_metadata(&source) else { return Ok(()) };
    let tree = clone_tree(&source).map_err(ConfineError::at_path("reach", path))?;
    let is_device = found.file_type().is_char_device();
    let mut attributes = libc::MOUNT_ATTR_NOSUID;
    attributes |= if is_device { 0 } else { libc::MOUNT_ATTR_NODEV };
    attributes |= if is_read_only { libc::MOUNT_ATTR_RDONLY } else { 0 };
    set_attributes(&tree, attributes, true).map_err(ConfineError::at_path("restrict", path))?;
    if found.is_dir() {
        make_directory(path)?;
    } else {
        make_file(path)?;
    }
    move_mount(&tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(ConfineError::at_path("mount", path))
}

/// Attaches what is at `path` in the old root, with changes below `upper`. What is no directory, or has a name that no option of a mount can
/// have, cannot be changed.
fn overlay(path: &Path, upper: &Path) -> Result<(), ConfineError> {
    let source = in_old_root(path);
    let name = source.to_string_lossy();
    if !source.is_dir() || name.contains([',', ':', '\\', '\u{fffd}']) {
        return attach(path, true);
    }
    let (changes, work) = (upper.join("changes"), upper.join("work"));
    make_directory(&changes)?;
    make_directory(&work)?;
    let options =
        format!("userxattr,lowerdir={name},upperdir={},workdir={}", changes.display(), work.display());
    let options = CString::new(options).map_err(ConfineError::at_path("mount", path))?;
    make_directory(path)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"overlay", path, c"overlay", flags, options.as_c_str())
        .map_err(ConfineError::at_path("mount changes over", path))
}

/// Makes what is at `path` a mount of its own that cannot be written.
fn hold_as_it_is(path: &Path) -> Result<(), ConfineError> {
    let tree = clone_tree(path).map_err(ConfineError::at_path("reach", path))?;
    set_attributes(&tree, libc::MOUNT_ATTR_RDONLY, true).map_err(ConfineError::at_path("restrict", path))?;
    move_mount(&tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(ConfineError::at_path("mount", path))
}

/// A place for a file to be mounted on.
fn make_file(path: &Path) -> Result<(), ConfineError> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    make_directory(path.parent().unwrap_or(path))?;
    File::create(path).map(drop).map_err(ConfineError::at_path("make the file", path))
}

/// Has nothing be at `path`, if something is there so far.
fn hide(path: &Path) -> Result<(), ConfineError> {
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    if found.is_dir() {
        // It may be passed, to what is named below it.
        return mount_scratch(path, c"mode=0111");
    }
    // An empty file that nobody may read.
    let empty = Path::new("/old-empty");
    File::create(empty)
        .and_then(|file| file.set_permissions(fs::Permissions::from_mode(0o000)))
        .map_err(ConfineError::at_path("make", empty))?;
    let tree = clone_tree(empty).map_err(ConfineError::at_path("hide", path))?;
    set_attributes(&tree, libc::MOUNT_ATTR_RDONLY, false).map_err(ConfineError::at_path("hide", path))?;
    move_mount(&tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(ConfineError::at_path("hide", path))?;
    fs::remove_file(empty).map_err(ConfineError::at_path("remove", empty))
}

fn make_devices() -> Result<(), ConfineError> {
    make_directory(Path::new("/dev"))?;
    mount_scratch(Path::new("/dev"), c"mode=0755")?;
    for name in DEVICES {
        // A device on a closed mount can be written, and not be changed itself.
        attach(&Path::new("/dev").join(name), true)?;
    }
    let pts = Path::new("/dev/pts");
    make_directory(pts)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(c"devpts", pts, c"devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")
        .map_err(ConfineError::at_path("mount terminals of its own at", pts))?;
    let memory = Path::new("/dev/shm");
    make_directory(memory)?;
    mount_scratch(memory, c"mode=1777")?;
    for (link, target) in DEVICE_LINKS {
        symlink(target, link).map_err(ConfineError::at_path("make the link", Path::new(link)))?;
    }
    Ok(())
}

/// A copy of the mount at `path`, and of those below it, that is attached nowhere.
fn clone_tree(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    Ok(open_tree(CWD, path, flags)?)
}

/// Adds `attributes` to the mount of `tree`, and to those below it if `is_recursive`.
fn set_attributes(tree: &impl AsFd, attributes: u64, is_recursive: bool) -> io::Result<()> {
    let flags = libc::AT_EMPTY_PATH | if is_recursive { libc::AT_RECURSIVE } else { 0 };
    let wanted = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let empty: &CStr = c"";
    // SAFETY: the path and the attributes are valid for reads, and the size is theirs.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            empty.as_ptr(),
            flags,
            &raw const wanted,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
