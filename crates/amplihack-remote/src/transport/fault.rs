//! Faults of ssh that kept it from asking a machine, by its standard error.

use crate::error::{ErrorContext, RemoteError};

/// Kinds of faults, each with words that tell it, the next step, and whether the command can be given again at once: it was never begun.
struct SshFault {
    reason: &'static str,
    words: &'static [&'static str],
    hint: &'static str,
    again: bool,
}

const FAULTS: &[SshFault] = &[
    SshFault {
        reason: "hostkey",
        words: &[
            "Host key verification failed",
            "HOST IDENTIFICATION HAS CHANGED",
            "No matching host key",
            "no matching host key",
        ],
        hint: "its key is not the one that is known: if the machine was made anew on purpose, remove the old key with ssh-keygen -R, else connect once by hand",
        again: false,
    },
    SshFault {
        reason: "auth",
        words: &[
            "Permission denied",
            "Too many authentication failures",
            "sign_and_send_pubkey",
            "No supported authentication",
        ],
        hint: "it refuses this user and key: check User and IdentityFile in ~/.ssh/config, and ssh-add -l",
        again: false,
    },
    SshFault {
        reason: "saturated",
        words: &[
            "kex_exchange_identification",
            "banner exchange",
            "Session open refused",
            "session request failed",
            "Exceeded MaxStartups",
        ],
        hint: "its ssh server takes no more connections: try again, or raise MaxStartups and MaxSessions there",
        again: true,
    },
    SshFault {
        reason: "refused",
        words: &["Connection refused"],
        hint: "it answers, and has no ssh server on that port",
        again: false,
    },
];

const UNREACHABLE: &str = "check that the machine runs and that this network reaches it";

/// The error of a command that could not be given or whose answer did not come, by ssh's stderr.
pub(crate) fn ssh_error(stderr: &str) -> RemoteError {
    let found = find_fault(stderr);
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("the connection ended");
    RemoteError::Transfer(
        ErrorContext::new(last.chars().filter(|letter| !letter.is_control()).take(300).collect::<String>())
            .with_fact("reason", found.map_or("unreachable", |fault| fault.reason))
            .with_fact("hint", found.map_or(UNREACHABLE, |fault| fault.hint)),
    )
}

/// Reports whether the server only had no room, so that the command was not begun.
pub(super) fn may_try_again(stderr: &str) -> bool {
    find_fault(stderr).is_some_and(|fault| fault.again)
}

fn find_fault(stderr: &str) -> Option<&'static SshFault> {
    // A timeout while the greeting is waited for is a machine out of reach.
    if stderr.contains("timed out") {
        return None;
    }
    FAULTS.iter().find(|fault| fault.words.iter().any(|word| stderr.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::{may_try_again, ssh_error};

    #[test]
    fn what_ssh_complains_has_a_reason() {
        for (stderr, reason) in [
            ("ssh: connect to host 10.0.0.9 port 22: Connection timed out\r\n", "unreachable"),
            ("ssh: connect to host 10.0.0.9 port 22: No route to host", "unreachable"),
            ("ssh: Could not resolve hostname nope: Name or service not known", "unreachable"),
            ("Timeout, server 10.0.0.9 not responding.", "unreachable"),
            (
                "Connection timed out during banner exchange\nConnection to 1.2.3.4 port 22 timed out",
                "unreachable",
            ),
            ("ssh: connect to host 127.0.0.1 port 1: Connection refused", "refused"),
            ("root@127.0.0.1: Permission denied (publickey).", "auth"),
            ("Host key verification failed.", "hostkey"),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
                "hostkey",
            ),
            (
                "kex_exchange_identification: Connection closed by remote host\nConnection closed by 1.2.3.4 port 22",
                "saturated",
            ),
            ("mux_client_request_session: session request failed: Session open refused by peer", "saturated"),
            ("", "unreachable"),
        ] {
            let error = ssh_error(stderr);
            assert_eq!(error.get_fact("reason"), Some(reason), "{stderr}");
            assert!(error.get_fact("hint").is_some());
            assert_eq!(may_try_again(stderr), reason == "saturated", "{stderr}");
        }
        assert_eq!(ssh_error("").to_string(), "failed to transfer: the connection ended");
    }
}
