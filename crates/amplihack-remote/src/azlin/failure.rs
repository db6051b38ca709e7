//! Kinds of azlin failures: the message and hint for the user, and whether to try again.

use crate::azlin::summarize_complaint;
use crate::error::ErrorContext;
use crate::runner::CommandOutput;

/// The kinds that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AzlinFailure {
    /// The subscription may not have so much.
    Quota,
    /// Azure has no such machine left there.
    Capacity,
    /// Nobody is logged in, or may not do this.
    Auth,
    /// azlin does not know the command line.
    Usage,
    /// A passing failure, such as a timeout or throttling.
    Transient,
    /// None of these.
    Other,
}

/// Texts of Azure and azlin, in the order of looking: a text about a quota also says that something timed out meanwhile.
const SIGNS: &[(AzlinFailure, &[&str])] = &[
    (AzlinFailure::Quota, &["quotaexceeded", "exceeding approved", "quota"]),
    (
        AzlinFailure::Capacity,
        &["skunotavailable", "allocationfailed", "overconstrained", "not available in location", "capacity"],
    ),
    (
        AzlinFailure::Auth,
        &[
            "az login",
            "aadsts",
            "authenticationfailed",
            "authorizationfailed",
            "invalidauthenticationtoken",
            "does not have authorization",
            "not logged in",
        ],
    ),
    (
        AzlinFailure::Transient,
        &[
            "toomanyrequests",
            "429",
            "throttl",
            "timed out",
            "timeout",
            "connection reset",
            "connection refused",
            "connection aborted",
            "temporarily",
            "serviceunavailable",
            "service unavailable",
            "internalservererror",
            "bad gateway",
            "gateway time",
            "name resolution",
        ],
    ),
];

impl AzlinFailure {
    /// The kind of a failure that `answer` tells.
    pub fn from_output(answer: &CommandOutput) -> Self {
        // The parser's own code: the same words would fail again.
        if answer.status == 2 {
            return Self::Usage;
        }
        let text = format!("{}\n{}", answer.stderr, answer.stdout).to_ascii_lowercase();
        let sign = SIGNS.iter().find(|(_, signs)| signs.iter().any(|sign| text.contains(sign)));
        sign.map_or(Self::Other, |(failure, _)| *failure)
    }

    /// Reports whether trying again may help.
    pub fn is_transient(self) -> bool {
        self == Self::Transient
    }

    /// The name of the failure kind, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Capacity => "capacity",
            Self::Auth => "auth",
            Self::Usage => "usage",
            Self::Transient => "transient",
            Self::Other => "other",
        }
    }

    fn hint(self) -> Option<&'static str> {
        match self {
            Self::Quota => Some("ask for more quota, or take a smaller --size or another --region"),
            Self::Capacity => Some("take another --region or --size, or try again later"),
            Self::Auth => Some("log in: az login"),
            Self::Usage => Some("azlin 2.7 or later is needed: see 'azlin --version'"),
            Self::Transient => {
                Some("try again; AMPLIHACK_REMOTE_RETRY_BUDGET_SECS lengthens the time that is tried")
            }
            Self::Other => None,
        }
    }

    /// The error context for the failed command `what` with the output `answer`: complaint, exit code, reason and hint.
    pub(super) fn error_context(self, what: &str, answer: &CommandOutput) -> ErrorContext {
        let context = ErrorContext::new(format!("{what}: {}", summarize_complaint(answer)))
            .with_fact("reason", self.name())
            .with_fact("exit_code", answer.status);
        match self.hint() {
            Some(hint) => context.with_fact("hint", hint),
            None => context,
        }
    }
}
