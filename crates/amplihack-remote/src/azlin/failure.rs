//! Why azlin failed: what to tell the user, and whether to try again.

use crate::azlin::complaint;
use crate::error::ErrorContext;
use crate::runner::CommandOutput;

/// The kinds that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The subscription may not have so much.
    Quota,
    /// Azure has no such machine left there.
    Capacity,
    /// Nobody is logged in, or may not do this.
    Auth,
    /// azlin does not know the command line.
    Usage,
    /// It may pass.
    Transient,
    /// None of these.
    Other,
}

/// Texts of Azure and azlin, in the order of looking: a text about a quota also says that something timed out meanwhile.
const SIGNS: &[(Failure, &[&str])] = &[
    (Failure::Quota, &["quotaexceeded", "exceeding approved", "quota"]),
    (
        Failure::Capacity,
        &["skunotavailable", "allocationfailed", "overconstrained", "not available in location", "capacity"],
    ),
    (
        Failure::Auth,
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
        Failure::Transient,
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

impl Failure {
    /// The kind of a failure that `answer` tells.
    pub fn of(answer: &CommandOutput) -> Self {
        // The parser's own code: the same words would fail again.
        if answer.status == 2 {
            return Self::Usage;
        }
        let text = format!("{}\n{}", answer.stderr, answer.stdout).to_ascii_lowercase();
        let sign = SIGNS.iter().find(|(_, signs)| signs.iter().any(|sign| text.contains(sign)));
        sign.map_or(Self::Other, |(failure, _)| *failure)
    }

    /// Whether trying again may help.
    pub fn passes(self) -> bool {
        self == Self::Transient
    }

    /// Its name for programs.
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

    /// What is told of `answer`, which `what` gave.
    pub(super) fn context(self, what: &str, answer: &CommandOutput) -> ErrorContext {
        let context = ErrorContext::new(format!("{what}: {}", complaint(answer)))
            .with("reason", self.name())
            .with("exit_code", answer.status);
        match self.hint() {
            Some(hint) => context.with("hint", hint),
            None => context,
        }
    }
}
