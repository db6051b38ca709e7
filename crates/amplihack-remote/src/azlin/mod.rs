//! Machines that azlin rents: made, looked up, and given back. Commands and copies do not go through here.

mod failure;
mod list;
mod retry;

use std::time::Duration;

use jiff::Timestamp;

use crate::error::{ErrorContext, RemoteError};
use crate::hosts::is_host_name;
use crate::runner::{CommandOutput, RemoteCommandRunner};

pub use failure::AzlinFailure;
pub use list::{AzlinVm, parse_machine_list};
pub use retry::AzlinRetryPolicy;

/// Prefix of the names of machines that this tool makes.
pub const PREFIX: &str = "amplihack-";
/// Region if nothing says another.
pub const REGION: &str = "eastus";

/// azlin, as a program that is asked.
pub struct AzlinCli<'a> {
    runner: &'a dyn RemoteCommandRunner,
    retry: AzlinRetryPolicy,
}

/// A machine to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzlinVmRequest<'a> {
    /// The name of the new machine, chosen before it is requested.
    pub name: &'a str,
    /// The Azure machine.
    pub size: &'a str,
    /// The Azure region in which the machine is made.
    pub region: &'a str,
    /// More words of the user's for `azlin new`.
    pub extra: &'a [String],
}

impl<'a> AzlinCli<'a> {
    /// azlin by `runner`; what may pass is tried again for `budget`.
    pub fn new(runner: &'a dyn RemoteCommandRunner, budget: Duration) -> Self {
        Self { runner, retry: AzlinRetryPolicy::new(Duration::from_secs(5), budget) }
    }

    /// The machines, also those that do not run.
    ///
    /// # Errors
    /// `Provisioning` where azlin fails, also when it is tried again, or its list cannot be read; the runner's own error where azlin cannot
    /// be run or does not end.
    pub async fn list_machines(&self) -> Result<Vec<AzlinVm>, RemoteError> {
        let args = join_arguments(["-o", "json", "list", "--no-tmux", "--all"], &[]);
        let mut retry = self.retry.start_attempts();
        loop {
            let answer = self.runner.azlin(&args).await?;
            if answer.status == 0 {
                return parse_machine_list(&answer.stdout).map_err(|why| {
                    RemoteError::Provisioning(
                        ErrorContext::new(why)
                            .with_fact("hint", "azlin 2.7 or later is needed: see 'azlin --version'"),
                    )
                });
            }
            let failure = AzlinFailure::from_output(&answer);
            if !(failure.is_transient() && retry.wait_for_next().await) {
                return Err(RemoteError::Provisioning(failure.error_context("azlin list", &answer)));
            }
        }
    }

    /// A machine by its whole name, if there is one.
    ///
    /// # Errors
    /// Those of [`list_machines`](Self::list_machines).
    pub async fn find_machine(&self, name: &str) -> Result<Option<AzlinVm>, RemoteError> {
        Ok(self.list_machines().await?.into_iter().find(|vm| vm.name == name))
    }

    /// Makes a machine. After a failure it is looked up by its name before anything else is done: azlin may fail while Azure goes on.
    ///
    /// # Errors
    /// `Provisioning` where azlin fails, also when it is tried again, or does not list the machine as running; the runner's own error where
    /// azlin cannot be run or does not end, and those of [`list_machines`](Self::list_machines). With the fact `maybe_made` the machine may
    /// be there, and cost money.
    pub async fn create_machine(&self, wanted: &AzlinVmRequest<'_>) -> Result<AzlinVm, RemoteError> {
        let options = [
            "new",
            "--name",
            if amplihack_sys::sabotage::is_active("remote-block-provisioning") {
                "amplihack-two"
            } else {
                wanted.name
            },
            "--vm-size",
            wanted.size,
            "--region",
            wanted.region,
            "--yes",
            "--no-auto-connect",
        ];
        let args = join_arguments(options, wanted.extra);
        let mut retry = self.retry.start_attempts();
        let told = |error: RemoteError| {
            let error = error.with_fact("vm", wanted.name).with_fact("maybe_made", true);
            error.with_fact("price", price_text(wanted.size))
        };
        loop {
            let answer = self.runner.azlin(&args).await;
            // An azlin that could not be started has made nothing; one that did not end may have.
            if let Err(error) = &answer
                && !matches!(error, RemoteError::Transfer(_))
            {
                return Err(error.clone());
            }
            let found = self.find_machine(wanted.name).await;
            let answer = match (answer, &found) {
                (Ok(answer), _) => answer,
                (Err(_), Ok(Some(vm))) if vm.is_running() => return Ok(vm.clone()),
                (Err(error), _) => return Err(told(error)),
            };
            match (answer.status, found) {
                (_, Ok(Some(vm))) if vm.is_running() => return Ok(vm),
                (0, Ok(_)) => {
                    let said = format!("azlin made '{}', and does not list it as running", wanted.name);
                    let context =
                        ErrorContext::new(said).with_fact("vm", wanted.name).with_fact("maybe_made", true);
                    return Err(RemoteError::Provisioning(
                        context.with_fact("price", price_text(wanted.size)),
                    ));
                }
                // It may be there and cost money: its name must be told.
                (0, Err(error)) => return Err(told(error)),
                (_, found) => {
                    let failure = AzlinFailure::from_output(&answer);
                    if failure.is_transient() && retry.wait_for_next().await {
                        continue;
                    }
                    let mut context =
                        failure.error_context("azlin new", &answer).with_fact("vm", wanted.name);
                    // Being made still, stopped, or nobody knows.
                    if !matches!(found, Ok(None)) {
                        context =
                            context.with_fact("maybe_made", true).with_fact("price", price_text(wanted.size));
                    }
                    return Err(RemoteError::Provisioning(context));
                }
            }
        }
    }

    /// Deletes a machine and everything that belongs to it. One that is gone already is fine.
    ///
    /// # Errors
    /// `Cleanup` where azlin fails, also when it is tried again: the machine may still cost money. The runner's own error where azlin
    /// cannot be run or does not end.
    pub async fn delete_machine(&self, name: &str) -> Result<(), RemoteError> {
        let args = join_arguments(["kill", name, "--force"], &[]);
        let mut retry = self.retry.start_attempts();
        loop {
            let answer = self.runner.azlin(&args).await?;
            if answer.status == 0 {
                return Ok(());
            }
            let failure = AzlinFailure::from_output(&answer);
            if !(failure.is_transient() && retry.wait_for_next().await) {
                let hint = format!("it may still cost money; delete it: azlin kill {name} --force");
                return Err(RemoteError::Cleanup(
                    failure
                        .error_context("azlin kill", &answer)
                        .with_fact("vm", name)
                        .with_fact("hint", hint),
                ));
            }
        }
    }
}

fn join_arguments<const N: usize>(fixed: [&str; N], extra: &[String]) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).chain(extra.iter().cloned()).collect()
}

/// A name for a new machine of `user`: ours by its beginning, and allowed by Azure, whatever the user is called.
pub(crate) fn machine_name(user: &str, now: Timestamp, taken: impl Fn(&str) -> bool) -> String {
    let clean: String =
        user.chars().filter(char::is_ascii_alphanumeric).take(20).collect::<String>().to_ascii_lowercase();
    let user = if clean.is_empty() { "user" } else { &clean };
    let second = now.strftime("%Y%m%d-%H%M%S");
    let first = format!("{PREFIX}{user}-{second}");
    debug_assert!(is_host_name(&first));
    let more = (2..).map(|number: u32| format!("{first}-{number}"));
    std::iter::once(first.clone()).chain(more).find(|name| !taken(name)).unwrap_or(first)
}

/// The price of a machine per hour, in dollars: Azure's list prices in eastus for Linux, without disks and network.
pub fn hourly_price(size: &str) -> Option<f64> {
    Some(match size {
        "Standard_D2s_v3" => 0.096,
        "Standard_D8s_v3" => 0.384,
        "Standard_E8s_v5" => 0.504,
        "Standard_E16s_v5" => 1.008,
        "Standard_E32s_v5" => 2.016,
        _ => return None,
    })
}

/// The price for people.
pub(crate) fn price_text(size: &str) -> String {
    hourly_price(size).map_or_else(|| "unknown".to_owned(), |dollars| format!("about ${dollars:.2} an hour"))
}

/// The end of what a program complained, in one line, for a message.
fn summarize_complaint(answer: &CommandOutput) -> String {
    let said = if answer.stderr.trim().is_empty() { &answer.stdout } else { &answer.stderr };
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = lines[lines.len().saturating_sub(3)..].join("; ");
    let text = amplihack_secrets::redact_credentials(&text).into_owned();
    if text.is_empty() { format!("exit code {}", answer.status) } else { text }
}

#[cfg(test)]
mod tests;
