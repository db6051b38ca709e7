//! Sockets of shared connections, in a short, private place.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_sys::hex::to_hex;
use sha2::{Digest, Sha256};

/// The longest name of a socket, without its end.
const LONGEST: usize = 107;
/// Length of the suffix that ssh appends to the name while it makes the socket.
const SUFFIX: usize = 17;
/// The length of a socket's own name.
const NAME: usize = 24;

/// The directory for sockets: below the user's runtime directory, else in `/tmp` by the user's number. `None` if there is no
/// private one, so that connections are not shared.
pub(super) fn socket_directory(env: &Env) -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let runtime = env.path("XDG_RUNTIME_DIR").filter(|path| path.is_absolute());
    let places = [
        runtime.map(|path| path.join("amplihack-ssh")),
        Some(PathBuf::from(format!("/tmp/amplihack-ssh-{user}"))),
    ];
    places.into_iter().flatten().find(|place| is_short(place) && is_private(place, user))
}

fn is_short(place: &Path) -> bool {
    place.as_os_str().as_bytes().len() + 1 + NAME + SUFFIX <= LONGEST
}

/// Reports whether `place`, made if missing, is a directory of this user that nobody else may enter. Links are not followed.
fn is_private(place: &Path, user: u32) -> bool {
    // Somebody may have made it; what it is then is looked at.
    let _ = std::fs::DirBuilder::new().mode(0o700).create(place);
    std::fs::symlink_metadata(place)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o777 == 0o700)
}

/// A socket's name for a machine: by all that makes the connection, so that two machines behind one address, or one address that
/// became another machine's, never share one.
pub(super) fn socket_name(parts: &[String]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    to_hex(&hash.finalize()[..NAME / 2])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn sockets_lie_in_a_short_place_of_the_users_own() {
        let dir = tempfile::tempdir().unwrap();
        let env = |path: &Path| Env::empty().with_variable("XDG_RUNTIME_DIR", path);
        assert_eq!(socket_directory(&env(dir.path())), Some(dir.path().join("amplihack-ssh")));
        let long = dir.path().join("x".repeat(90));
        std::fs::create_dir(&long).unwrap();
        assert!(socket_directory(&env(&long)).unwrap().to_string_lossy().starts_with("/tmp/amplihack-ssh-"));
        assert!(!long.join("amplihack-ssh").exists());

        let user = rustix::process::geteuid().as_raw();
        let open = dir.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o770)).unwrap();
        assert!(!is_private(&open, user));
        std::os::unix::fs::symlink(dir.path().join("amplihack-ssh"), dir.path().join("link")).unwrap();
        assert!(!is_private(&dir.path().join("link"), user));
        assert!(!is_private(dir.path(), user + 1));
    }

    #[test]
    fn names_differ_by_every_part() {
        let parts = |a: &str, b: &str| socket_name(&[a.to_owned(), b.to_owned()]);
        assert_eq!(parts("a", "b").len(), NAME);
        assert_ne!(parts("a", "b"), parts("ab", ""));
        assert_ne!(parts("vm1", "127.0.0.1"), parts("vm2", "127.0.0.1"));
    }
}
