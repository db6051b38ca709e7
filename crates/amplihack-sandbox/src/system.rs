//! The system's own files: programs, libraries, settings. Nothing of them may change.

use std::fs;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_sys::confine::PathAccess;

use crate::compile::{SandboxEntry, SandboxRule};

/// Directories of the root that hold programs and their settings, on all distributions.
const SYSTEM: &[&str] =
    &["bin", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "sbin", "snap", "usr"];

/// Files that programs ask for the size of the machine.
const MACHINE: &[&str] = &["/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup"];

/// Directories that every program has to itself.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp", "/run/user"];

/// Keys of the system. Whoever is its administrator outside could read them inside.
const KEYS: &[&str] = &[
    "/etc/security/opasswd",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/letsencrypt",
    "/etc/pki/tls/private",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
];

/// Parts of an installation beside its `bin`.
const INSTALLATION: &[&str] = &["lib", "lib64", "libexec", "share", "include"];

/// Variables that name installations.
const INSTALLED_BY: &[&str] = &[
    "RUSTUP_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "GOROOT",
    "JAVA_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "VOLTA_HOME",
    "FNM_DIR",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "SDKMAN_DIR",
    "RBENV_ROOT",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The system's entries, for a sandbox around `workspace`.
pub(crate) fn system_entries(env: &Env, workspace: &Path) -> Vec<SandboxEntry> {
    let mut entries = Vec::new();
    for name in SYSTEM {
        let path = Path::new("/").join(name);
        match fs::read_link(&path) {
            Ok(target) => {
                entries.push(SandboxEntry::new(path, PathAccess::Link(target), SandboxRule::System));
            }
            Err(_) => entries.extend(existing(path, PathAccess::Read, SandboxRule::System)),
        }
    }
    let read = |path: PathBuf| existing(path, PathAccess::Read, SandboxRule::System);
    entries.extend(MACHINE.iter().filter_map(|path| read(PathBuf::from(path))));
    entries.extend(read_through_links("/etc/resolv.conf"));
    let temporary = env.temporary_dir();
    let temporary = (temporary.is_dir() && !is_shared(&temporary)).then_some(temporary);
    for path in SCRATCH.iter().map(PathBuf::from).chain(temporary) {
        entries.push(SandboxEntry::new(path, PathAccess::Scratch, SandboxRule::Scratch));
    }
    let keys = KEYS.iter().map(PathBuf::from).chain(host_keys());
    entries.extend(keys.filter_map(|path| existing(path, PathAccess::Hidden, SandboxRule::Keys)));
    for path in program_directories(env, workspace) {
        entries.push(SandboxEntry::new(path, PathAccess::Read, SandboxRule::Programs));
    }
    entries
}

/// The files of `program` that are outside of the system's directories: its package, where it is one of npm's, or the file alone.
pub(crate) fn package_of(program: &Path) -> Option<PathBuf> {
    let real = program.canonicalize().ok()?;
    let packages = real.ancestors().filter(|path| path.ends_with("node_modules")).last();
    Some(packages.map_or_else(|| real.clone(), Path::to_owned))
}

/// The installations that the search path and variables name, outside of the system's directories and of the workspace. None of them holds the
/// workspace, the home or a directory that every program has to itself: a variable is no wish to open those.
fn program_directories(env: &Env, workspace: &Path) -> Vec<PathBuf> {
    let home = env.home().and_then(|home| home.canonicalize().ok());
    let mut found = Vec::new();
    let path = env.get("PATH").unwrap_or_default();
    for directory in std::env::split_paths(path).filter(|path| path.is_absolute()) {
        let Ok(real) = directory.canonicalize() else { continue };
        for place in [directory, real] {
            let beside = place.parent().filter(|_| place.ends_with("bin"));
            // What programs share in a home is not theirs alone: keyrings are there.
            let is_home = home.as_ref().is_some_and(|home| place.starts_with(home));
            let parts = INSTALLATION.iter().filter(|part| !is_home || **part != "share");
            found.extend(beside.into_iter().flat_map(|root| parts.clone().map(|part| root.join(part))));
            found.push(place);
        }
    }
    found.extend(INSTALLED_BY.iter().filter_map(|name| env.path(name)));
    let kept = [Some(workspace), home.as_deref()].into_iter().flatten().map(Path::to_owned);
    let kept: Vec<PathBuf> = kept.chain(SCRATCH.iter().map(PathBuf::from)).collect();
    found.retain(|path| {
        let real = path.canonicalize().unwrap_or_default();
        let holds = kept.iter().any(|kept| kept.starts_with(&real) || kept.starts_with(path));
        path.exists() && !is_system(path) && !holds && !real.starts_with(workspace)
    });
    found.sort();
    found.dedup();
    found
}

/// Reports whether the system's entries hold `path`.
fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|name| path.starts_with(Path::new("/").join(name)))
}

/// Reports whether `path` is the system's, or everybody's: no workspace of one task.
pub(crate) fn is_shared(path: &Path) -> bool {
    let is_scratch =
        SCRATCH.iter().chain(&["/", "/run", "/dev/shm", "/home"]).any(|one| path == Path::new(one));
    is_scratch || is_system(path) || ["/proc", "/sys", "/dev"].iter().any(|one| path.starts_with(one))
}

/// The private keys of this machine's ssh server.
fn host_keys() -> Vec<PathBuf> {
    let found = fs::read_dir("/etc/ssh").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_key = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ssh_host_") && name.ends_with("_key")
    };
    found.filter(is_key).collect()
}

/// The file behind a link of the system's settings that leads elsewhere, such as to `/run`.
fn read_through_links(path: &str) -> Option<SandboxEntry> {
    let real = Path::new(path).canonicalize().ok().filter(|real| !is_system(real))?;
    Some(SandboxEntry::new(real, PathAccess::Read, SandboxRule::System))
}

/// An entry for what is there.
pub(crate) fn existing(path: PathBuf, access: PathAccess, rule: SandboxRule) -> Option<SandboxEntry> {
    path.exists().then(|| SandboxEntry::new(path, access, rule))
}
