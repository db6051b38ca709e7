//! Ways to machines: this one, and others by the system's OpenSSH.

pub(crate) mod call;
mod control;
pub(crate) mod fault;
mod local;
mod ssh;

use std::path::Path;

use crate::error::{ErrorContext, RemoteError};
use crate::runner::RemoteCommandRunner;

pub use local::LocalRunner;
pub use ssh::{SshDestination, SshRunner};

/// `text` as one word of a POSIX shell.
pub(crate) fn quote_shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The command line that stores its stdin as `destination`, whole or not at all. A relative one is below the home.
fn store_command(destination: &Path) -> String {
    let place = quote_shell_word(&destination.display().to_string());
    let script = "umask 077; cd && cat >\"$1.new.$$\" && mv -f \"$1.new.$$\" \"$1\" && exit; c=$?; rm -f \"$1.new.$$\"; exit $c";
    format!("sh -c '{script}' sh {place}")
}

/// Copies a file to a machine by a runner's own pipe.
pub(crate) async fn copy_file(
    runner: &dyn RemoteCommandRunner,
    source: &Path,
    machine: &str,
    destination: &Path,
) -> Result<(), RemoteError> {
    let answer = runner.run_piped(machine, &store_command(destination), Some(source), None).await?;
    if answer.status == 0 {
        return Ok(());
    }
    let why = format!("{}: {}", destination.display(), answer.stderr.trim());
    Err(RemoteError::Transfer(ErrorContext::new(why).with_fact("host", machine)))
}
