//! The words for how a run ends: one table of names, exit codes and meanings.

use amplihack_sys::error::ExitKind;
use serde::{Deserialize, Serialize};

/// Row of the table: the word in JSON, the exit code, the meaning.
struct RunOutcomeRow {
    name: &'static str,
    /// `None`: a success, which is 0.
    exit: Option<ExitKind>,
    meaning: &'static str,
}

/// Declares the outcomes with their lines, so that none can be without one.
macro_rules! outcomes {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal, $exit:expr;)+) => {
        /// End of a run, in one word. `end` in JSON, in snake case.
        ///
        /// Launches, turns, unattended runs, recipe steps and remote sessions use the same words. Their exit codes and their
        /// meanings have no other table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum RunOutcome {
            $($(#[doc = $doc])+ $variant,)+
            /// An outcome that this version does not know. None of ours ends so.
            #[serde(other)]
            Unknown,
        }

        impl RunOutcome {
            /// Every outcome, successes first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            const fn table_row(self) -> RunOutcomeRow {
                match self {
                    $(Self::$variant => RunOutcomeRow { name: $name, exit: $exit, meaning: concat!($($doc),+) },)+
                    Self::Unknown => RunOutcomeRow {
                        name: "unknown",
                        exit: Some(ExitKind::Failed),
                        meaning: "An outcome of a newer version.",
                    },
                }
            }
        }
    };
}

outcomes! {
    /// The agent reported success and exited with code 0.
    Success => "success", None;
    /// A verification command showed that the task is done.
    Verified => "verified", None;
    /// The agent claims to be done, nothing speaks against it, and no command was there to show it.
    Claimed => "claimed", None;
    /// A remote session waits for a slot.
    Queued => "queued", None;
    /// The agent, or something that the run needs, failed.
    Failed => "failed", Some(ExitKind::Failed);
    /// The agent did not read the whole prompt.
    PromptUnread => "prompt_unread", Some(ExitKind::Failed);
    /// No model was asked, or no result came.
    NoResult => "no_result", Some(ExitKind::Failed);
    /// The agent claims to be done, a change was asked for, and nothing changed.
    NothingDone => "nothing_done", Some(ExitKind::Failed);
    /// The turns were used up.
    MaxTurns => "max_turns", Some(ExitKind::Failed);
    /// The agent did nothing for too long.
    Stalled => "stalled", Some(ExitKind::Failed);
    /// A required layer of the sandbox is not there, and nothing was started.
    SandboxMissing => "sandbox_missing", Some(ExitKind::Failed);
    /// The policy, or the agent's own permissions, denied what the run needed.
    Denied => "denied", Some(ExitKind::Denied);
    /// A tool call had no verdict, or the guard was replaced, stopped or silent.
    Unguarded => "unguarded", Some(ExitKind::Denied);
    /// A question for approval had no answer in time.
    ApprovalExpired => "approval_expired", Some(ExitKind::Denied);
    /// A question for approval had nobody to go to.
    ApprovalUnasked => "approval_unasked", Some(ExitKind::Denied);
    /// A budget was used up: turns of the agent, tokens, money or time.
    Budget => "budget", Some(ExitKind::Budget);
    /// The deadline of the run passed.
    Deadline => "deadline", Some(ExitKind::Budget);
    /// The gateway refused further requests, because the lease of the run was revoked.
    LeaseRevoked => "lease_revoked", Some(ExitKind::Budget);
    /// A signal or another run ended it.
    Interrupted => "interrupted", Some(ExitKind::Failed);
}

impl RunOutcome {
    /// The word in JSON.
    pub const fn name(self) -> &'static str {
        self.table_row().name
    }

    /// The exit code, where neither the agent's own code nor a signal says more.
    pub const fn code(self) -> u8 {
        match self.table_row().exit {
            Some(kind) => kind.code(),
            None => 0,
        }
    }

    /// The meaning for people; the reference page is made of it.
    pub fn meaning(self) -> &'static str {
        self.table_row().meaning.trim()
    }

    /// Reports whether the run did what it was asked for, as far as that can be known.
    pub const fn is_success(self) -> bool {
        self.table_row().exit.is_none()
    }

    /// The outcome that an exit code of one of our programs stands for, where nothing but the code is known.
    ///
    /// Codes above 128 are signals. A code that the table does not have is a failure.
    pub const fn of_code(code: i32) -> Self {
        match code {
            0 => Self::Success,
            4 => Self::Denied,
            5 => Self::Budget,
            129..=192 => Self::Interrupted,
            _ => Self::Failed,
        }
    }
}

impl std::fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::RunOutcome;

    #[test]
    fn the_table_is_the_documented_one() {
        let table: Vec<_> =
            RunOutcome::ALL.iter().map(|one| (one.name(), one.code(), one.is_success())).collect();
        insta::assert_debug_snapshot!(table);
        for one in RunOutcome::ALL {
            assert_eq!(serde_json::to_value(one).unwrap(), one.name(), "the word in JSON is the name");
            assert!(one.meaning().ends_with('.'), "{one}");
        }
    }

    #[test]
    fn a_code_alone_says_as_much_as_the_table_knows() {
        let codes = [
            (0, "success"),
            (1, "failed"),
            (4, "denied"),
            (5, "budget"),
            (130, "interrupted"),
            (255, "failed"),
        ];
        for (code, name) in codes {
            assert_eq!(RunOutcome::of_code(code).name(), name, "{code}");
        }
    }
}
