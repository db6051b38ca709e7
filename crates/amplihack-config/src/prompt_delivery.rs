//! Delivery of a prompt to a child process: as one argument, in a private file, or on its stdin; chosen here and nowhere else.
//!
//! [`select_delivery`] is the one selector. [`deliver`] is the plain case: it selects and appends to a command. A builder that
//! must put the prompt elsewhere (`--flag=PROMPT`, after `--`) selects, writes its argument and takes the handle from
//! [`DeliveryHandle`]'s constructors. No agent is known here: what a program supports comes in as [`DeliveryCaps`].
//!
//! ```
//! use std::process::Command;
//! use amplihack_config::prompt_delivery::{
//!     DeliveryCaps, DeliveryHandle, DeliveryMode, PromptDelivery, deliver, from_env,
//! };
//! fn build_command(prompt: &str) -> std::io::Result<(Command, DeliveryHandle)> {
//!     let mut cmd = Command::new("claude");
//!     let requested = from_env();
//!     let caps = DeliveryCaps::argv_only();
//!     let handle = deliver(&mut cmd, prompt, requested, &caps)?;
//!     Ok((cmd, handle))
//! }
//! # let (cmd, handle) = build_command("don't expand $HOME")?;
//! # assert_eq!(cmd.get_args().collect::<Vec<_>>(), ["don't expand $HOME"]);
//! # assert_eq!(handle.mode(), DeliveryMode::Argv);
//! # let _: PromptDelivery = from_env();
//! # Ok::<(), std::io::Error>(())
//! ```

mod handle;
mod mode;
mod select;
mod warning;

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

pub use handle::DeliveryHandle;
pub use mode::{DeliveryCaps, DeliveryMode, PromptDelivery, from_env, from_env_in};
pub use select::{DeliverySelection, PromptTooLarge, SelectError, select_delivery, select_mode};
pub use warning::DeliveryWarning;

use amplihack_sys::sabotage;

/// The largest prompt in bytes that `auto` puts on the command line by preference; one byte more is promoted.
pub const AUTO_TEMPFILE_THRESHOLD_BYTES: usize = 4096;

/// The most bytes that one argument can hold on Linux: 32 pages of 4 KiB without the NUL at its end.
///
/// A longer one makes `execve` fail, whatever room the whole command line has. Used on every platform.
pub const MAX_ARG_BYTES: usize = 131_071;

/// The environment variable with the user's request.
pub const ENV_VAR_NAME: &str = "AMPLIHACK_PROMPT_DELIVERY";

/// Selects a mode for `prompt` and applies it to `cmd`.
///
/// NUL bytes, which no argument can hold, are removed first in every mode ([`sanitize_nul`]); the size that counts is
/// the size after that. Then, by mode:
///
/// - argv: the prompt is appended as one argument;
/// - tempfile: `[flag] path` is appended, the flag only if the capabilities name one;
/// - stdin: `cmd` gets a piped stdin. The caller writes the sanitized prompt to it while it reads the child's output,
///   flushes and drops the pipe, then waits.
///
/// In the other two modes the child's stdin is left as it is: whether it is null or inherited is the caller's choice.
/// Keep the handle until the child is reaped: dropping it removes the prompt file.
///
/// Degradations and removed NULs are logged as warnings, without a byte of the prompt. On an error (nothing can take
/// the prompt: a [`SelectError`] as an [`io::Error`], where [`PromptTooLarge`] can be had by downcast; or the file
/// cannot be written) `cmd` is as it was.
pub fn deliver(
    cmd: &mut Command,
    prompt: &str,
    requested: PromptDelivery,
    caps: &DeliveryCaps,
) -> io::Result<DeliveryHandle> {
    deliver_in(cmd, prompt, requested, caps, &handle::temp_dir())
}

/// [`deliver`] with the directory for prompt files as a parameter.
fn deliver_in(
    cmd: &mut Command,
    prompt: &str,
    requested: PromptDelivery,
    caps: &DeliveryCaps,
    temp_dir: &Path,
) -> io::Result<DeliveryHandle> {
    let (mut prompt, count) = sanitize_nul(prompt);
    if sabotage::is_active("delivery-shell-escape") {
        prompt = prompt.replace('\'', r"'\''").into();
    }
    if sabotage::is_active("delivery-prompt-logged") {
        tracing::info!(%prompt, "delivering");
    }
    let size =
        if sabotage::is_active("delivery-size-in-bytes") { prompt.chars().count() } else { prompt.len() };
    if sabotage::is_active("delivery-deliver-or-nothing") {
        cmd.arg(ENV_VAR_NAME);
    }
    // Selected before the command is touched: an error leaves it as it was.
    let selection = select_delivery(requested, size, caps)?;
    if count > 0 {
        tracing::warn!("{}", DeliveryWarning::NulRemoved { count });
    }
    for warning in &selection.warnings {
        if sabotage::is_active("delivery-warning-without-prompt") {
            tracing::warn!("{warning}: {prompt}");
        }
        tracing::warn!("{warning}");
    }
    match selection.mode {
        DeliveryMode::Argv => {
            if sabotage::is_active("delivery-one-argument") {
                cmd.args(prompt.split(' '));
                return Ok(DeliveryHandle::with_argv());
            }
            cmd.arg(&*prompt);
            Ok(DeliveryHandle::with_argv())
        }
        DeliveryMode::Tempfile => {
            let handle = DeliveryHandle::tempfile_in(temp_dir, prompt.as_bytes())?;
            let flag = caps.tempfile_flag.filter(|flag| !flag.is_empty());
            cmd.args(flag.filter(|_| !sabotage::is_active("delivery-tempfile-flag")));
            cmd.args(handle.tempfile_path());
            Ok(handle)
        }
        DeliveryMode::Stdin => {
            if !sabotage::is_active("delivery-stdin-piped") {
                cmd.stdin(Stdio::piped());
            }
            Ok(DeliveryHandle::with_stdin())
        }
    }
}

/// The prompt without its NUL bytes, and how many they were. Nothing is copied when there are none.
pub fn sanitize_nul(prompt: &str) -> (Cow<'_, str>, usize) {
    if !prompt.contains('\0') {
        return (Cow::Borrowed(prompt), 0);
    }
    let clean = prompt.replace('\0', "");
    let count = prompt.len() - clean.len();
    (Cow::Owned(clean), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_used_is_named_and_the_command_untouched() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "").unwrap();
        for (directory, kind) in
            [(temp.path().join("missing"), io::ErrorKind::NotFound), (file, io::ErrorKind::NotADirectory)]
        {
            let mut cmd = Command::new("agent");
            let caps = DeliveryCaps::all_modes("--file");
            let error = deliver_in(&mut cmd, "secret words", PromptDelivery::Tempfile, &caps, &directory)
                .unwrap_err();
            assert_eq!(error.kind(), kind);
            let text = error.to_string();
            assert!(text.starts_with(&format!("no prompt file in {}: ", directory.display())), "{text}");
            assert!(text.ends_with("point TMPDIR at a directory that can be written"), "{text}");
            assert!(!format!("{error:?}{text}").contains("secret"), "{text}");
            assert_eq!(cmd.get_args().count(), 0);
        }
    }
}
