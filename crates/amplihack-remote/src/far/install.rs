//! The command lines that this side sends: they name the script by its hash, and bring it where it is missing.

use std::sync::LazyLock;

use amplihack_sys::hex::to_hex;
use sha2::{Digest, Sha256};

use super::SCRIPT;

/// The exit code of a command line whose script is not there.
pub(super) const MISSING: i32 = 93;

/// The SHA-256 of the script.
static HASH: LazyLock<String> = LazyLock::new(|| to_hex(Sha256::digest(SCRIPT)));

/// Directory of sessions and of the script, as a shell expression.
const ROOT: &str = "${AMPLIHACK_REMOTE_ROOT:-$HOME/.amplihack/remote}";

/// The script's file name: another version has another.
fn script_name() -> String {
    format!("runner-{}.sh", HASH.get(..16).unwrap_or_default())
}

/// The command line that runs a verb by the script. The words must be plain: they are names, ids, digests and numbers, never what a user wrote.
///
/// The login shell there may be any; all that it reads is one quoted word for `sh` and plain words.
pub(super) fn verb_command(words: &[&str]) -> String {
    let script = format!(
        "f=\"{ROOT}/bin/{}\"; if [ -f \"$f\" ]; then exec sh \"$f\" \"$@\"; fi; exit {MISSING}",
        script_name()
    );
    format!("sh -c '{script}' sh {}", words.join(" "))
}

/// The command line that stores the script that it gets on stdin, if it is whole.
pub(super) fn install_command() -> String {
    let script = format!(
        "umask 077; d=\"{ROOT}/bin\"; mkdir -p \"$d\" && cat >\"$d/.new.$$\" && h=$(sha256sum <\"$d/.new.$$\") && \
         [ \"${{h%% *}}\" = {} ] && mv -f \"$d/.new.$$\" \"$d/{}\" && exit; c=$?; rm -f \"$d/.new.$$\"; exit $c",
        *HASH,
        script_name()
    );
    format!("sh -c '{script}' sh")
}

/// The command line that makes its stdin the user's program `name`, a plain word.
pub(super) fn program_command(name: &str) -> String {
    let script = "umask 022; d=\"$HOME/.local/bin\"; mkdir -p \"$d\" && cat >\"$d/.new.$$\" && chmod 755 \"$d/.new.$$\" && \
                  mv -f \"$d/.new.$$\" \"$d/$1\" && exit; c=$?; rm -f \"$d/.new.$$\"; exit $c";
    format!("sh -c '{script}' sh {name}")
}

#[cfg(test)]
mod tests {
    use super::{install_command, script_name, verb_command};

    #[test]
    fn a_command_line_is_one_quoted_word_and_plain_ones() {
        for line in [verb_command(&["observe", "sess-20260101-000000-0001"]), install_command()] {
            assert_eq!(line.matches('\'').count(), 2, "{line}");
            assert!(line.contains(&script_name()), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
    }
}
