//! The one selector: from request, size and capabilities to a mode.

use std::io;

use super::{AUTO_TEMPFILE_THRESHOLD_BYTES, MAX_ARG_BYTES};
use super::{DeliveryCaps, DeliveryMode, DeliveryWarning, PromptDelivery};
use amplihack_sys::error::ErrorExplanation;
use amplihack_sys::sabotage;

/// A mode that is supported and can hold the prompt, and what there is to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliverySelection {
    /// The mode.
    pub mode: DeliveryMode,
    /// The degradation, if an explicit request was not met.
    pub warnings: Vec<DeliveryWarning>,
}

/// Reason why no mode can take a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// Only an argument is left, and the prompt does not fit into one.
    #[error(transparent)]
    TooLarge(#[from] PromptTooLarge),
    /// There are channels, but not for this request: stdin is never degraded to a file.
    #[error("requested {requested} is unsupported and must not degrade further; request auto")]
    Unsupported {
        /// Mode that was asked for.
        requested: PromptDelivery,
    },
    /// The program takes no prompt at all.
    #[error(
        "the program takes a prompt neither as argument, nor in a file, nor on stdin; use another program"
    )]
    NoChannel,
}

/// The prompt does not fit into the only channel that is left for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "prompt of {size} bytes does not fit into one argument, which holds {limit} bytes; \
     shorten it, or use a program that takes prompts in a file or on stdin"
)]
pub struct PromptTooLarge {
    /// Bytes of the prompt.
    pub size: usize,
    /// Bytes that the channel holds.
    pub limit: usize,
}

impl ErrorExplanation for SelectError {
    fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "prompt_too_large",
            Self::Unsupported { .. } => "prompt_mode_unsupported",
            Self::NoChannel => "prompt_channel_missing",
        }
    }
}

impl From<SelectError> for io::Error {
    fn from(error: SelectError) -> Self {
        match error {
            // The inner error, so that a downcast finds it.
            SelectError::TooLarge(error) => Self::new(io::ErrorKind::ArgumentListTooLong, error),
            error => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

/// Selects the mode for a prompt of `prompt_size` bytes (NULs removed): the first of the request's order that is
/// supported and can hold it.
///
/// | requested | order |
/// |---|---|
/// | auto, up to 4096 bytes | argv, tempfile, stdin |
/// | auto, more | tempfile, stdin, argv |
/// | argv | argv, tempfile, stdin |
/// | tempfile | tempfile, stdin, argv |
/// | stdin | stdin, argv |
///
/// Argv holds at most [`MAX_ARG_BYTES`]; for a larger prompt it counts as unsupported. An explicit request that is
/// not met leaves a warning, `auto` never does.
pub fn select_delivery(
    requested: PromptDelivery,
    prompt_size: usize,
    caps: &DeliveryCaps,
) -> Result<DeliverySelection, SelectError> {
    use DeliveryMode::{Argv, Stdin, Tempfile};
    let mut threshold = AUTO_TEMPFILE_THRESHOLD_BYTES;
    if sabotage::is_active("delivery-auto-threshold") {
        threshold += 1;
    }
    let broken: Option<&[DeliveryMode]> = match requested {
        PromptDelivery::Auto
            if prompt_size > threshold && sabotage::is_active("delivery-auto-long-order") =>
        {
            Some(&[Stdin, Tempfile, Argv])
        }
        PromptDelivery::Auto if prompt_size > threshold && sabotage::is_active("delivery-auto-long-argv") => {
            Some(&[Tempfile, Stdin])
        }
        PromptDelivery::Argv if sabotage::is_active("delivery-argv-used") => Some(&[Stdin, Argv, Tempfile]),
        PromptDelivery::Argv if sabotage::is_active("delivery-argv-order") => Some(&[Argv, Stdin, Tempfile]),
        PromptDelivery::Tempfile if sabotage::is_active("delivery-tempfile-used") => {
            Some(&[Stdin, Tempfile, Argv])
        }
        PromptDelivery::Tempfile if sabotage::is_active("delivery-tempfile-order") => {
            Some(&[Tempfile, Argv, Stdin])
        }
        PromptDelivery::Stdin if sabotage::is_active("delivery-stdin-used") => Some(&[Argv, Stdin]),
        PromptDelivery::Stdin if sabotage::is_active("delivery-stdin-degrades") => Some(&[Stdin]),
        PromptDelivery::Stdin if sabotage::is_active("delivery-stdin-never-tempfile") => {
            Some(&[Stdin, Tempfile, Argv])
        }
        _ => None,
    };
    let order: &[DeliveryMode] = match requested {
        _ if broken.is_some() => broken.unwrap_or_default(),
        PromptDelivery::Auto if prompt_size <= threshold => &[Argv, Tempfile, Stdin],
        PromptDelivery::Argv => &[Argv, Tempfile, Stdin],
        PromptDelivery::Auto | PromptDelivery::Tempfile => &[Tempfile, Stdin, Argv],
        // A child that was to read stdin must not get a path instead: the two are different contracts.
        PromptDelivery::Stdin => &[Stdin, Argv],
    };
    let takes = |mode: DeliveryMode| {
        sabotage::is_active("delivery-request-is-no-capability") && requested.mode() == Some(mode)
            || caps.supports_mode(mode)
                && (mode != Argv || prompt_size <= MAX_ARG_BYTES || sabotage::is_active("delivery-too-large"))
    };
    let Some(mode) = order.iter().copied().find(|&mode| takes(mode)) else {
        return Err(if caps.supports_argv {
            PromptTooLarge { size: prompt_size, limit: MAX_ARG_BYTES }.into()
        } else if caps.supports_tempfile || caps.supports_stdin {
            SelectError::Unsupported { requested }
        } else {
            SelectError::NoChannel
        });
    };
    let met = requested.mode().is_none_or(|wanted| wanted == mode);
    let met = met || sabotage::is_active("delivery-degradation-warns");
    let warnings = if met {
        Vec::new()
    } else if requested == PromptDelivery::Argv && caps.supports_argv {
        vec![DeliveryWarning::TooLargeForArgv { size: prompt_size, effective: mode }]
    } else {
        vec![DeliveryWarning::UnsupportedMode { requested, effective: mode }]
    };
    Ok(DeliverySelection { mode, warnings })
}

/// The mode of [`select_delivery`]; argv, the last resort of the documented tables, where nothing can take the prompt.
///
/// For reports. Whoever delivers calls [`select_delivery`] or [`deliver`](super::deliver), which say so.
pub fn select_mode(requested: PromptDelivery, prompt_size: usize, caps: &DeliveryCaps) -> DeliveryMode {
    if sabotage::is_active("delivery-select-mode") {
        return DeliveryMode::Argv;
    }
    select_delivery(requested, prompt_size, caps).map_or(DeliveryMode::Argv, |selection| selection.mode)
}
