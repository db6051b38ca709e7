//! The one builder of agent command lines. Launch, recipes, unattended loops and remote runs have no other.

mod held_repository;
mod passthrough;
pub mod relay;
mod slots;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::{
    DeliveryHandle, DeliveryMode, DeliverySelection, DeliveryWarning, MAX_ARG_BYTES, PromptDelivery,
    sanitize_nul, select_delivery,
};
use amplihack_sys::sabotage;

use serde::{Deserialize, Serialize};

use crate::error::{DeliveryError, Unsupported};
use crate::installed::Installed;
use crate::matrix::{AgentCapability, ArgShape, CapabilityRow, RunMode};
use crate::profile::agent_profile;
pub use held_repository::{HeldRepository, own_trust};
pub use passthrough::{OwnArguments, guarded_passthrough, passthrough_command};
pub use slots::toml_string;
use slots::{CommandLineSlots, join_word};

/// Level of what an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionLevel {
    /// Ask before anything that changes something; headless, where nobody answers, that is refused.
    Ask,
    /// Edit files freely, ask for the rest.
    Edit,
    /// Everything.
    Full,
}

impl fmt::Display for PermissionLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ask => "ask",
            Self::Edit => "edit",
            Self::Full => "full",
        })
    }
}

/// Options that are translated into each agent's own flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRunOptions {
    /// The model.
    pub model: Option<OsString>,
    /// The session to go on with.
    pub resume: Option<OsString>,
    /// Go on with the latest session.
    pub continue_latest: bool,
    /// Further directories.
    pub add_dirs: Vec<PathBuf>,
    /// Files that name MCP servers.
    pub mcp_configs: Vec<PathBuf>,
    /// Text for the end of the system prompt.
    pub append_system_prompt: Option<String>,
    /// The permission level; `None` leaves the agent's own default.
    pub permissions: Option<PermissionLevel>,
    /// Neither the prompt nor a system prompt stands in the command line, where the agent reads them elsewhere: other users see it.
    pub off_command_line: bool,
    /// The prompt is text, even where it begins with a word that the agent takes for a command of its own.
    pub literal: bool,
    /// Print what the agent does as JSON lines, for its [decoder](crate::decode::new_decoder).
    pub stream: bool,
    /// The file of the JSON schema that the answer keeps to.
    pub answer_schema: Option<Box<Path>>,
    /// End when so many dollars were used, in the agent's own notation.
    pub budget_usd: Option<String>,
    /// Tell in the stream what the agent used while it works.
    pub live_usage: bool,
    /// The file to which the agent writes what it used, for [`Counts::usage_file`](crate::profile::UsageReports::usage_file).
    pub usage_file: Option<Box<Path>>,
    /// The repository whose own hooks, variables, MCP servers, skills and commands the agent leaves out.
    pub held_repository: Option<HeldRepository>,
}

/// Description of one agent run; [`AgentCommand::deliver`] makes the command of it.
#[derive(Clone)]
pub struct AgentCommand<'a> {
    /// Program of the agent, in its version.
    pub installed: &'a Installed,
    /// Headless or interactive.
    pub mode: RunMode,
    /// The task prompt. `None` only in an interactive session.
    pub prompt: Option<&'a str>,
    /// Translated options.
    pub options: &'a AgentRunOptions,
    /// Values of the guard's hooks, in the shape that the agent's row for hooks takes; none without a guard.
    pub hooks: &'a [OsString],
    /// The user's own arguments, in front of the agent's verb.
    pub before_verb: &'a [OsString],
    /// The user's own arguments, passed on unchanged.
    pub extra: &'a [OsString],
    /// Working directory of the agent.
    pub cwd: &'a Path,
}

impl<'a> AgentCommand<'a> {
    /// A run without hooks and without arguments of the user's own.
    pub const fn new(
        installed: &'a Installed,
        mode: RunMode,
        prompt: Option<&'a str>,
        options: &'a AgentRunOptions,
        cwd: &'a Path,
    ) -> Self {
        Self { installed, mode, prompt, options, hooks: &[], before_verb: &[], extra: &[], cwd }
    }
}

/// A command with its prompt applied. The handle must live until the child is reaped.
pub struct DeliveredCommand {
    /// Structured command; its stdin is `/dev/null`, a pipe for the payload, or the terminal.
    pub command: Command,
    /// Owns the prompt file, if there is one; dropping it unlinks the file.
    pub delivery_handle: DeliveryHandle,
    /// Owns the file of the system prompt, if there is one.
    pub system_prompt_handle: Option<DeliveryHandle>,
    /// Mode that was asked for.
    pub requested_mode: PromptDelivery,
    /// Mode that is used.
    pub selected_mode: DeliveryMode,
    /// Degradations and the NUL count; never a byte of the prompt.
    pub warnings: Vec<DeliveryWarning>,
    /// The bytes to write to stdin, then close it; only when `selected_mode` is stdin.
    pub stdin_payload: Option<Vec<u8>>,
    /// The row that the channel comes from; `None` without a prompt.
    pub channel: Option<&'static CapabilityRow>,
    /// Variables that the command has besides its environment; set in it already, for callers that replace that.
    pub variables: Vec<(&'static str, OsString)>,
    /// Index of the argument that holds the prompt, for reports that must not print it.
    pub prompt_argument: Option<usize>,
}

/// Variables of a command, by name.
pub type CommandVariables = Vec<(&'static str, OsString)>;

/// A selected channel and the prompt for it, NUL bytes removed.
struct PromptChannel<'p> {
    row: &'static CapabilityRow,
    mode: DeliveryMode,
    text: Cow<'p, str>,
    warnings: Vec<DeliveryWarning>,
}

impl fmt::Debug for AgentCommand<'_> {
    /// Never the prompt, nor arguments that may hold one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentCommand")
            .field("installed", &self.installed)
            .field("mode", &self.mode)
            .field("prompt_bytes", &self.prompt.map(str::len))
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for DeliveredCommand {
    /// Never the prompt, nor arguments that may hold one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if sabotage::is_active("delivery-diagnostics") {
            return write!(f, "{:?}", self.command);
        }
        f.debug_struct("DeliveredCommand")
            .field("program", &self.command.get_program())
            .field("delivery_handle", &self.delivery_handle)
            .field("requested_mode", &self.requested_mode)
            .field("selected_mode", &self.selected_mode)
            .field("warnings", &self.warnings)
            .field("stdin_bytes", &self.stdin_payload.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

impl AgentCommand<'_> {
    /// Checks for what no version of the agent takes.
    ///
    /// For callers that have not asked the agent for its version yet; [`AgentCommand::deliver`] checks all of it again.
    ///
    /// # Errors
    /// [`DeliveryError::Rejected`] for a request that the agent refuses, [`DeliveryError::Empty`] for an empty or missing prompt,
    /// [`DeliveryError::TooLarge`] and [`DeliveryError::Refuted`] for a prompt that no channel takes.
    pub fn check_delivery(&self, requested: PromptDelivery) -> Result<(), DeliveryError> {
        match self.select_channel(requested) {
            // An error that names the version, once it is known.
            Ok(_) | Err(DeliveryError::Unsupported(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The channel, and what is said about it; none without a prompt.
    fn select_channel(&self, requested: PromptDelivery) -> Result<Option<PromptChannel<'_>>, DeliveryError> {
        let agent = self.installed.agent;
        if let (Some(reason), PromptDelivery::Tempfile | PromptDelivery::Stdin) =
            (agent_profile(agent).refuses_requests, requested)
            && !(sabotage::is_active("delivery-amplifier-tempfile") && requested == PromptDelivery::Tempfile)
            && !(sabotage::is_active("delivery-amplifier-stdin") && requested == PromptDelivery::Stdin)
        {
            if sabotage::is_active("delivery-amplifier-no-file") {
                std::mem::forget(DeliveryHandle::with_tempfile(self.prompt.unwrap_or_default())?);
            }
            return Err(DeliveryError::Rejected { agent, requested, reason });
        }
        let Some(prompt) = self.prompt else {
            return if self.mode == RunMode::Headless { Err(DeliveryError::Empty) } else { Ok(None) };
        };
        let (mut text, removed) = sanitize_nul(prompt);
        if text.is_empty() {
            return Err(DeliveryError::Empty);
        }
        if self.options.literal
            && let Cow::Owned(literal) = agent_profile(agent).own_commands.to_literal(&text)
        {
            text = Cow::Owned(literal);
        }
        let (row, selection) = self.choose_row(&text, requested)?;
        let mut warnings = Vec::new();
        if removed > 0 {
            warnings.push(DeliveryWarning::NulRemoved { count: removed });
        }
        warnings.extend(selection.warnings);
        Ok(Some(PromptChannel { row, mode: selection.mode, text, warnings }))
    }

    /// Builds the command: translates the options, selects a channel for the prompt and applies it.
    ///
    /// Nothing is started; a prompt file is made only when that channel is selected.
    ///
    /// # Errors
    /// Those of [`AgentCommand::check_delivery`]. [`DeliveryError::Unsupported`] for an option that the agent does not take,
    /// [`DeliveryError::ArgumentTooLong`] for one that is too long, [`DeliveryError::Io`] if a file for a prompt cannot be written.
    pub fn deliver(self, requested: PromptDelivery) -> Result<DeliveredCommand, DeliveryError> {
        let mut channel = self.select_channel(requested)?;
        let warnings =
            channel.as_mut().map(|channel| std::mem::take(&mut channel.warnings)).unwrap_or_default();
        let channel = channel.as_ref().map(|channel| (channel.row, channel.mode, channel.text.as_ref()));
        // Only now is anything written: without a channel for the prompt there is an error, and nothing on the disk.
        let system = self.system_prompt_file()?;
        let (mut line, variables) = self.build_words(channel.map(|(row, ..)| row), system.as_ref())?;
        let (mut selected_mode, mut handle, mut payload) = place_prompt(&mut line, channel)?;
        let prompt_argument = match (selected_mode, channel) {
            (DeliveryMode::Argv, Some(_)) => Some(line.len() - 1),
            _ => None,
        };
        let mut command = Command::new(&self.installed.path);
        let prompt = OsString::from(self.prompt.unwrap_or_default());
        if selected_mode == DeliveryMode::Argv && self.installed.agent == AgentBinary::Amplifier {
            if sabotage::is_active("delivery-amplifier-no-flag") {
                line.insert(line.len().saturating_sub(2), "--prompt".into());
            }
            if sabotage::is_active("delivery-amplifier-one-argument") {
                line.push(prompt.clone());
            }
            if sabotage::is_active("delivery-amplifier-no-stdin") {
                payload = Some(prompt.clone().into_encoded_bytes());
            }
        }
        if sabotage::is_active("delivery-system-prompt-role") && self.installed.agent == AgentBinary::Claude {
            line.extend(["--append-system-prompt".into(), prompt.clone()]);
        }
        if sabotage::is_active("delivery-long-prompt-privacy") && selected_mode == DeliveryMode::Stdin {
            line.push(prompt.clone());
        }
        if sabotage::is_active("delivery-command-payload") {
            payload = payload.map(|payload| payload.trim_ascii_end().to_vec());
        }
        if sabotage::is_active("delivery-command-handle") {
            handle = DeliveryHandle::with_argv();
        }
        if sabotage::is_active("routing-no-shell") {
            command = Command::new("/bin/sh");
            command.args(["-c", &format!("{} \"$@\"", self.installed.path.display()), "sh"]);
        }
        if sabotage::is_active("delivery-no-shell") {
            command = Command::new("/bin/sh");
            command.args(["-c", "exec \"$@\"", "sh"]).arg(&self.installed.path);
        }
        command.args(line).envs(variables.iter().cloned()).current_dir(self.cwd).stdin(
            match (self.mode, &payload) {
                (_, Some(_)) => Stdio::piped(),
                // Never this process's stdin: Codex waits on an inherited pipe that stays open.
                (RunMode::Headless, None) => Stdio::null(),
                (RunMode::Interactive, None) => Stdio::inherit(),
            },
        );
        if sabotage::is_active("delivery-command-selected") {
            selected_mode = DeliveryMode::Argv;
        }
        Ok(DeliveredCommand {
            command,
            delivery_handle: handle,
            system_prompt_handle: system,
            requested_mode: if sabotage::is_active("delivery-command-requested") {
                PromptDelivery::Auto
            } else {
                requested
            },
            selected_mode,
            warnings: if sabotage::is_active("delivery-command-warnings") { Vec::new() } else { warnings },
            stdin_payload: payload,
            channel: channel.map(|(row, ..)| row),
            variables,
            prompt_argument,
        })
    }

    /// The channel for `prompt`: the selector's choice among the agent's rows for this run mode.
    fn choose_row(
        &self,
        prompt: &str,
        requested: PromptDelivery,
    ) -> Result<(&'static CapabilityRow, DeliverySelection), DeliveryError> {
        let mut caps = self.installed.delivery_caps(self.mode);
        // `--prompt=…` shares its argument with the prompt.
        if let Ok(row) = self.installed.can(AgentCapability::Prompt(DeliveryMode::Argv), self.mode) {
            caps.supports_argv = prompt.len() + argument_overhead(row.shape) <= MAX_ARG_BYTES;
        }
        // `codex exec -- -` reads stdin, although `--` ends the options.
        let reserved = agent_profile(self.installed.agent).grammar.stdin_word;
        if self.mode == RunMode::Headless && reserved == Some(prompt) {
            caps.supports_argv = false;
        }
        if let Ok(row) = self.installed.can(AgentCapability::Prompt(DeliveryMode::Stdin), self.mode) {
            caps.supports_stdin &= row.limit.can_hold(prompt);
        }
        let requested = match requested {
            PromptDelivery::Auto if self.options.off_command_line && caps.supports_stdin => {
                PromptDelivery::Stdin
            }
            PromptDelivery::Auto if self.options.off_command_line && caps.supports_tempfile => {
                PromptDelivery::Tempfile
            }
            requested => requested,
        };
        // The selector's error knows no agents; ours names those that could take the prompt.
        let selection =
            select_delivery(requested, prompt.len(), &caps).map_err(|_| self.no_channel(prompt))?;
        let row = self.installed.can(AgentCapability::Prompt(selection.mode), self.mode)?;
        Ok((row, selection))
    }

    /// Returns the reason why no channel takes `prompt`: the agent has none in this mode, or none that is wide enough.
    fn no_channel(&self, prompt: &str) -> DeliveryError {
        let agent = self.installed.agent;
        let widest = [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin]
            .into_iter()
            .filter_map(|mode| self.installed.can(AgentCapability::Prompt(mode), self.mode).ok())
            .map(|row| match row.shape {
                ArgShape::Stdin(_) => row.limit.as_number().unwrap_or(u64::MAX),
                shape => (MAX_ARG_BYTES - argument_overhead(shape)) as u64,
            })
            .max();
        match widest {
            Some(limit) => DeliveryError::TooLarge {
                agent,
                mode: self.mode,
                size: prompt.len() as u64,
                limit,
                could: self.could_take(prompt),
            },
            None if !self.installed.proofs.refuted.is_empty() => DeliveryError::Refuted {
                agent,
                version: self.installed.version.clone(),
                channels: self.installed.proofs.refuted.clone(),
            },
            None => self.unsupported_error(AgentCapability::Prompt(DeliveryMode::Argv)).into(),
        }
    }

    /// Agents and channels that hold `prompt`, without what was refuted here.
    fn could_take(&self, prompt: &str) -> Vec<(AgentBinary, DeliveryMode)> {
        let Installed { agent, proofs, .. } = self.installed;
        let mut could = crate::installed::could_take(prompt);
        could.retain(|(other, mode)| other != agent || !proofs.refuted.contains(mode));
        could
    }

    /// All words but the prompt, in their slots, and the variables beside them.
    fn build_words(
        &self,
        channel: Option<&'static CapabilityRow>,
        system: Option<&DeliveryHandle>,
    ) -> Result<(Vec<OsString>, CommandVariables), DeliveryError> {
        let options = self.options;
        let mut slots = CommandLineSlots::default();
        if let Some(id) = &options.resume {
            self.push_option(&mut slots, AgentCapability::Resume, Some(id.clone()))?;
        }
        if options.continue_latest {
            self.push_option(&mut slots, AgentCapability::Continue, None)?;
        }
        if let Some(row) = agent_profile(self.installed.agent).find_row(AgentCapability::Start, self.mode) {
            slots.push(row.shape, None);
        } else if self.mode == RunMode::Headless {
            return Err(self.unsupported_error(AgentCapability::Start).into());
        }
        let mut appended = options.append_system_prompt.clone();
        if let Some(held) = &options.held_repository {
            let row = self.installed.can(AgentCapability::HoldRepository, self.mode)?;
            slots.push_each(row.shape, &held.row_values(row.shape));
            match self.installed.can(AgentCapability::HeldInstructions, self.mode) {
                Ok(CapabilityRow { shape: shape @ ArgShape::Variable(_), .. }) => {
                    slots.push(*shape, held.instructions_value(*shape));
                }
                // One text for both: the later of two values would be the only one.
                Ok(_) => {
                    let texts = [held.instructions.clone(), appended];
                    let texts: Vec<String> = texts.into_iter().flatten().collect();
                    appended = (!texts.is_empty()).then(|| texts.join("\n\n"));
                }
                Err(_) => {}
            }
        }
        if !self.hooks.is_empty() {
            slots.push_each(self.installed.can(AgentCapability::Hooks, self.mode)?.shape, self.hooks);
        }
        if let Some(model) = &options.model {
            self.push_option(&mut slots, AgentCapability::Model, Some(model.clone()))?;
        }
        for dir in &options.add_dirs {
            self.push_option(&mut slots, AgentCapability::AddDir, Some(dir.clone().into()))?;
        }
        for file in &options.mcp_configs {
            self.push_option(&mut slots, AgentCapability::McpConfig, Some(file.clone().into()))?;
        }
        if let Some(file) = system.and_then(DeliveryHandle::tempfile_path) {
            self.push_option(&mut slots, AgentCapability::AppendSystemPromptFile, Some(file.into()))?;
        } else if let Some(text) = appended {
            self.push_option(&mut slots, AgentCapability::AppendSystemPrompt, Some(text.into()))?;
        }
        if let Some(level) = options.permissions {
            self.push_option(&mut slots, AgentCapability::Permissions(level), None)?;
        }
        if options.stream {
            self.push_option(&mut slots, AgentCapability::Stream, None)?;
        }
        if let Some(file) = &options.answer_schema {
            self.push_option(&mut slots, AgentCapability::AnswerSchema, Some(file.to_path_buf().into()))?;
        }
        if let Some(dollars) = &options.budget_usd {
            self.push_option(&mut slots, AgentCapability::BudgetUsd, Some(dollars.into()))?;
        }
        if options.live_usage {
            self.push_option(&mut slots, AgentCapability::LiveUsage, None)?;
        }
        if let Some(file) = &options.usage_file {
            self.push_option(&mut slots, AgentCapability::UsageFile, Some(file.to_path_buf().into()))?;
        }
        let mut line = self.before_verb.to_vec();
        line.extend(slots.front);
        line.extend(slots.options);
        line.extend_from_slice(self.extra);
        line.extend(slots.tail);
        if let Some(CapabilityRow { shape: ArgShape::Stdin(marker), .. }) = channel {
            line.extend(marker.iter().map(OsString::from));
        }
        Ok((line, slots.variables))
    }

    /// A file with the system prompt, where it is to stand in one and the agent reads it.
    fn system_prompt_file(&self) -> Result<Option<DeliveryHandle>, DeliveryError> {
        let Some(text) = self.options.append_system_prompt.as_deref() else { return Ok(None) };
        let reads = self.installed.can(AgentCapability::AppendSystemPromptFile, self.mode).is_ok();
        Ok((self.options.off_command_line && reads)
            .then(|| DeliveryHandle::with_tempfile(text))
            .transpose()?)
    }

    fn push_option(
        &self,
        slots: &mut CommandLineSlots,
        what: AgentCapability,
        value: Option<OsString>,
    ) -> Result<(), DeliveryError> {
        let row = self.installed.can(what, self.mode)?;
        let longest = slots.push(row.shape, value);
        if longest > MAX_ARG_BYTES {
            return Err(DeliveryError::ArgumentTooLong {
                what,
                size: longest as u64,
                limit: MAX_ARG_BYTES as u64,
            });
        }
        Ok(())
    }

    fn unsupported_error(&self, capability: AgentCapability) -> Unsupported {
        Unsupported {
            agent: self.installed.agent,
            version: self.installed.version.clone(),
            capability,
            mode: self.mode,
        }
    }
}

/// Puts the prompt where its row says.
fn place_prompt(
    line: &mut Vec<OsString>,
    channel: Option<(&'static CapabilityRow, DeliveryMode, &str)>,
) -> Result<(DeliveryMode, DeliveryHandle, Option<Vec<u8>>), DeliveryError> {
    let Some((row, mode, prompt)) = channel else {
        return Ok((DeliveryMode::Argv, DeliveryHandle::with_argv(), None));
    };
    Ok(match mode {
        DeliveryMode::Stdin if sabotage::is_active("delivery-fidelity") => {
            (mode, DeliveryHandle::with_stdin(), Some(prompt.replace('\'', "\u{2019}").into_bytes()))
        }
        DeliveryMode::Stdin => (mode, DeliveryHandle::with_stdin(), Some(prompt.as_bytes().to_vec())),
        DeliveryMode::Argv => {
            push_argument(line, row.shape, prompt.into());
            (mode, DeliveryHandle::with_argv(), None)
        }
        DeliveryMode::Tempfile => {
            let handle = DeliveryHandle::with_tempfile(prompt)?;
            if let Some(path) = handle.tempfile_path() {
                push_argument(line, row.shape, path.into());
            }
            (mode, handle, None)
        }
    })
}

/// The last argument or arguments, holding `value`.
fn push_argument(line: &mut Vec<OsString>, shape: ArgShape, value: OsString) {
    match shape {
        _ if sabotage::is_active("delivery-argv-quoted") => {
            line.extend(["--".into(), join_word(&["'"], join_word(&[""], value)), "'".into()]);
        }
        ArgShape::FlagEq(flag) => line.push(join_word(&[flag, "="], value)),
        _ => line.extend(["--".into(), value]),
    }
}

/// Bytes that the argument of a prompt holds besides the prompt.
fn argument_overhead(shape: ArgShape) -> usize {
    match shape {
        ArgShape::FlagEq(flag) => flag.len() + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
