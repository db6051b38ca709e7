//! Ways to machines: this one, and others by the system's OpenSSH.

pub(crate) mod call;
mod control;
pub(crate) mod fault;
mod local;
mod ssh;

pub use local::LocalRunner;
pub use ssh::{Destination, SshRunner};

/// `text` as one word of a POSIX shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The command line that stores its stdin as `destination`, whole or not at all. A relative one is below the home.
pub(crate) fn store(destination: &std::path::Path) -> String {
    let place = quoted(&destination.display().to_string());
    let script = "umask 077; cd && cat >\"$1.new.$$\" && mv -f \"$1.new.$$\" \"$1\" && exit; c=$?; rm -f \"$1.new.$$\"; exit $c";
    format!("sh -c '{script}' sh {place}")
}
