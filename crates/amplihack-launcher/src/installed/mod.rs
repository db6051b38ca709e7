//! Hooks that are installed for sessions without amplihack, read and tried, never changed: a launch depends on them, or warns of them.

mod directories;
mod error;
mod files;
mod inspect;
mod trial;

pub use directories::{InstallScope, UserDirectories};
pub use error::RegistrationError;
pub use files::{behind_links, decode_text, io_error, read_file, read_text};
pub(crate) use inspect::broken_registration;
pub use inspect::{AgentRegistration, RegistrationState, TrustState, inspect_hooks, missing_hook};
pub use trial::{RegistrationTrial, try_out};

pub use amplihack_hooks::dialect::trial::TrialAnswer;
