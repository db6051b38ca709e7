//! End of a process after a failure: one table from kind to exit code, and the facts that every error has about itself.

/// Ways in which a command of `amplihack` ends, each with one exit code.
///
/// Codes of agents that are passed through may collide with these; the kind that `--json` prints does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ExitKind {
    /// 1: the command failed; the error's kind says how.
    Failed,
    /// 2: the command line cannot be read.
    Usage,
    /// 3: a session, recipe or agent was not found.
    NotFound,
    /// 4: denied by policy.
    Denied,
    /// 5: a budget or deadline was reached.
    Budget,
    /// 70: a bug in amplihack.
    Bug,
    /// 128 + the number: ended by a signal.
    Signal(u8),
}

impl ExitKind {
    /// Every kind with one code, in the order of the codes.
    pub const ALL: [Self; 6] =
        [Self::Failed, Self::Usage, Self::NotFound, Self::Denied, Self::Budget, Self::Bug];

    /// The process exit code of this kind.
    pub const fn code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Denied => 4,
            Self::Budget => 5,
            Self::Bug => 70,
            Self::Signal(number) => number.saturating_add(128),
        }
    }

    /// Returns the meaning of the kind for a person; the reference page is made of it.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Failed => "failed; the error explains how",
            Self::Usage => "the command line cannot be read",
            Self::NotFound => "a session, recipe or agent was not found",
            Self::Denied => "denied by policy",
            Self::Budget => "a budget or deadline was reached",
            Self::Bug => "a bug in amplihack",
            Self::Signal(_) => "ended by a signal",
        }
    }
}

/// Facts of an error for the person and the program that meet it, apart from its text.
pub trait ErrorExplanation: std::error::Error {
    /// Stable `snake_case` name for programs, printed as `error.kind` with `--json`.
    fn kind(&self) -> &'static str;

    /// Returns the kind of exit by which the process ends on this error.
    fn exit_kind(&self) -> ExitKind {
        ExitKind::Failed
    }

    /// The next step for a person, if there is one; printed as `hint: …`.
    fn hint(&self) -> Option<String> {
        None
    }

    /// Facts for programs, by name, printed as `error.context` with `--json`.
    fn facts(&self) -> std::collections::BTreeMap<String, String> {
        std::collections::BTreeMap::new()
    }
}

#[cfg(test)]
mod tests {
    use super::ExitKind;

    #[test]
    fn codes_are_the_documented_table() {
        let table = [
            (ExitKind::Failed, 1),
            (ExitKind::Usage, 2),
            (ExitKind::NotFound, 3),
            (ExitKind::Denied, 4),
            (ExitKind::Budget, 5),
            (ExitKind::Bug, 70),
        ];
        assert_eq!(ExitKind::Signal(15).code(), 143);
        assert_eq!(ExitKind::ALL.map(|kind| (kind, kind.code())), table);
    }
}
