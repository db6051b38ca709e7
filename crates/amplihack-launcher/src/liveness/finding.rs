//! Findings against a launch's guard.

use std::fmt;
use std::path::PathBuf;

/// An observation that the guard was not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GuardFinding {
    /// No hook reported anything in a run that came to its end.
    Silent,
    /// A call of a tool had a result and no verdict.
    NoVerdict {
        /// The tool.
        tool: String,
    },
    /// A call was denied and ran.
    RanAlthoughDenied {
        /// The tool.
        tool: String,
    },
    /// The registration stopped a call, because the guard did not answer.
    DidNotRun,
    /// A hook process did not answer for so long.
    Hung {
        /// Seconds.
        seconds: u64,
    },
    /// The socket that hooks report to was removed or replaced.
    Unreachable,
    /// The program that answers hooks, or a file that the launch wrote for them, is another one now, or gone.
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for GuardFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent => f.write_str("the agent called none of the launch's hooks"),
            Self::NoVerdict { tool } => write!(f, "a call of {tool:?} had a result and no verdict"),
            Self::RanAlthoughDenied { tool } => write!(f, "a call of {tool:?} was denied and ran"),
            Self::DidNotRun => f.write_str("the guard did not answer a call, which was stopped"),
            Self::Hung { seconds } => write!(f, "a hook has not answered for {seconds} s"),
            Self::Changed { path } => {
                write!(f, "{} was changed or removed while the session ran", path.display())
            }
            Self::Unreachable => {
                f.write_str("the directory of the launch, or the socket in it which hooks report to, was removed or replaced")
            }
        }
    }
}
