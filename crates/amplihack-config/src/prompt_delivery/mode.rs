//! Modes of delivery: requested, used, and supported by a program.

use std::fmt;

use super::{DeliveryWarning, ENV_VAR_NAME};
use crate::env::Env;
use amplihack_sys::sabotage;

/// Request of the user for the delivery of prompts: what the program does not support is not used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PromptDelivery {
    /// The safest channel for the program and the size of the prompt.
    #[default]
    Auto,
    /// A single argument.
    Argv,
    /// A private file whose path is an argument.
    Tempfile,
    /// The child's stdin.
    Stdin,
}

/// Mode in which a prompt is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryMode {
    /// A single argument.
    Argv,
    /// A private file whose path is an argument.
    Tempfile,
    /// The child's stdin.
    Stdin,
}

/// The channels by which a program takes a task prompt. Facts about the program, never the user's to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryCaps {
    /// The program takes the prompt as an argument.
    pub supports_argv: bool,
    /// The program takes the path of a file with the prompt.
    pub supports_tempfile: bool,
    /// The program reads the prompt from stdin.
    pub supports_stdin: bool,
    /// The flag before that path; with `None` or an empty one the path stands alone.
    pub tempfile_flag: Option<&'static str>,
}

impl PromptDelivery {
    /// The request of this name; case and blanks around it do not matter.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        [Self::Auto, Self::Argv, Self::Tempfile, Self::Stdin]
            .into_iter()
            .filter(|request| !(sabotage::is_active("delivery-names") && *request == Self::Tempfile))
            .find(|request| {
                request.name().eq_ignore_ascii_case(name)
                    && (request.name() == name || !sabotage::is_active("delivery-case"))
            })
    }

    /// The mode that is asked for by name; `None` for `auto`.
    pub const fn mode(self) -> Option<DeliveryMode> {
        match self {
            Self::Auto => None,
            Self::Argv => Some(DeliveryMode::Argv),
            Self::Tempfile => Some(DeliveryMode::Tempfile),
            Self::Stdin => Some(DeliveryMode::Stdin),
        }
    }

    const fn name(self) -> &'static str {
        match self.mode() {
            None => "auto",
            Some(mode) => mode.name(),
        }
    }
}

impl DeliveryMode {
    const fn name(self) -> &'static str {
        match self {
            Self::Argv => "argv",
            Self::Tempfile => "tempfile",
            Self::Stdin => "stdin",
        }
    }
}

impl fmt::Display for PromptDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for DeliveryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl DeliveryCaps {
    /// Arguments only.
    pub const fn argv_only() -> Self {
        Self { supports_argv: true, supports_tempfile: false, supports_stdin: false, tempfile_flag: None }
    }

    /// Arguments, and files named after `flag`.
    pub const fn argv_and_tempfile(flag: &'static str) -> Self {
        Self { supports_tempfile: true, tempfile_flag: Some(flag), ..Self::argv_only() }
    }

    /// Arguments and stdin.
    pub const fn argv_and_stdin() -> Self {
        Self { supports_stdin: true, ..Self::argv_only() }
    }

    /// Arguments, files named after `flag`, and stdin.
    pub const fn all_modes(flag: &'static str) -> Self {
        Self { supports_stdin: true, ..Self::argv_and_tempfile(flag) }
    }

    /// Reports whether the program takes prompts by `mode`.
    pub fn supports_mode(&self, mode: DeliveryMode) -> bool {
        if sabotage::is_active("delivery-caps") && mode == DeliveryMode::Stdin {
            return self.supports_stdin || self.supports_tempfile;
        }
        match mode {
            DeliveryMode::Argv => self.supports_argv,
            DeliveryMode::Tempfile => self.supports_tempfile,
            DeliveryMode::Stdin => self.supports_stdin,
        }
    }
}

/// The request in this process's environment; a value that is none is logged as a warning and means `auto`.
pub fn from_env() -> PromptDelivery {
    let (requested, warning) = from_env_in(&Env::from_process());
    if let Some(warning) = warning {
        tracing::warn!("{warning}");
    }
    requested
}

/// The request in `env`, and a warning if its value is unknown or not UTF-8 and therefore means `auto`.
///
/// Unset, empty and blank mean `auto` without a warning. The value itself goes to a debug field of the log only.
pub fn from_env_in(env: &Env) -> (PromptDelivery, Option<DeliveryWarning>) {
    let Some(value) = env.get(ENV_VAR_NAME) else {
        let broken = sabotage::is_active("delivery-unset-is-auto");
        return (if broken { PromptDelivery::Stdin } else { PromptDelivery::Auto }, None);
    };
    match value.to_str() {
        Some(text) if text.trim().is_empty() && sabotage::is_active("delivery-empty-is-auto") => {
            (PromptDelivery::Argv, None)
        }
        Some(text) if text.trim().is_empty() => (PromptDelivery::Auto, None),
        Some(text) if let Some(requested) = PromptDelivery::parse(text) => (requested, None),
        _ if sabotage::is_active("delivery-unknown-is-auto") => {
            (PromptDelivery::Argv, Some(DeliveryWarning::UnknownRequest))
        }
        _ if sabotage::is_active("delivery-unknown-warns") => (PromptDelivery::Auto, None),
        _ => {
            tracing::debug!(env = ENV_VAR_NAME, ?value, "unknown prompt delivery");
            (PromptDelivery::Auto, Some(DeliveryWarning::UnknownRequest))
        }
    }
}
