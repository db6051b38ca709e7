//! `doctor --prove`: drives an installed agent through every prompt channel that the matrix claims and compares bytes, then
//! with the guard, alone and beside the user's own hooks.

use amplihack_agent::installed::LocalProofs;
use amplihack_agent::lookup::LookupError;
use amplihack_agent::{AgentBinary, Capability, Installed, RunMode};
use amplihack_hooks::registration::{Facts, Program, hooks};
use amplihack_launcher::discover::{Versions, discover};
use amplihack_launcher::own_program;
use amplihack_launcher::proofs::{self, ChannelProof, Proof};
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::error::{ExitKind, Explain};
use amplihack_utils::prompt_delivery::{DeliveryMode, PromptDelivery};
use tokio::runtime::Runtime;

use crate::drive::{Bench, DriveError, Driven, Job, hostile_prompt};
use crate::guarding::prove_guard;
use crate::loopback::LoopbackError;
use crate::model::{Delivery, ModelServer, Scenario};

/// Bytes of the prompt that is sent through each channel.
pub const PROMPT_BYTES: usize = 65_536;

/// Why nothing could be proved of an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProveError {
    /// It is not installed.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// It does not tell its version, so there is nothing to keep a proof under.
    #[error("{agent} does not tell its version; run `{agent} --version` to see why")]
    NoVersion {
        /// The agent.
        agent: AgentBinary,
    },
    /// It could not be driven.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The proof could not be kept.
    #[error("the proof could not be kept: {0}; check the permissions of amplihack's home")]
    Store(std::io::Error),
}

impl Explain for ProveError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Lookup(error) => error.kind(),
            Self::NoVersion { .. } => "version_unknown",
            Self::Drive(error) => error.kind(),
            Self::Store(_) => "proof_not_kept",
        }
    }

    fn exit(&self) -> ExitKind {
        match self {
            Self::Lookup(error) => error.exit(),
            Self::Drive(error) => error.exit(),
            _ => ExitKind::Failed,
        }
    }
}

impl ProveError {
    /// Whether this is no fault of the machine: the agent is not installed, or speaks to no scripted model.
    pub const fn is_expected(&self) -> bool {
        matches!(
            self,
            Self::Lookup(LookupError::NotFound { .. })
                | Self::Drive(DriveError::Loopback(LoopbackError::NoProtocol { .. }))
        )
    }
}

/// Drives `agent`, keeps what was seen under its version, and returns it.
///
/// The agent runs in throw-away homes with dummy keys against a server on the loopback interface; nothing leaves the
/// machine. Of the user's files only the agent's settings on hooks are read, and their commands are never run. Only the proof
/// is written, below amplihack's home.
pub fn prove(agent: AgentBinary, env: &Env, config: &Config, runtime: &Runtime) -> Result<Proof, ProveError> {
    let mut installed = discover(agent, env, config, Versions::Apart)?;
    // What an earlier probe refuted is tried again.
    installed.proofs = LocalProofs::default();
    let version = installed.version.clone().ok_or(ProveError::NoVersion { agent })?;
    let server = runtime
        .block_on(ModelServer::start())
        .map_err(DriveError::io("the loopback model server could not be started"))?;
    let mut bench = Bench::new(env.get("PATH"))?;
    let mut delivery = Vec::new();
    for channel in [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin] {
        if installed.can(Capability::Prompt(channel), RunMode::Headless).is_ok() {
            delivery.push(try_channel(&mut bench, runtime, &server, &installed, channel)?);
        }
    }
    let mut proof = Proof {
        agent: agent.to_string(),
        version: version.to_string(),
        at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        delivery,
        guard: Vec::new(),
    };
    // The calls come from the model, so any prompt will do; without one nothing can be seen.
    installed.proofs = proof.facts();
    if !installed.proofs.proved.is_empty() {
        let program = own_program().map_err(DriveError::io("this program does not know where it is"))?;
        proof.guard = prove_guard(&mut bench, (runtime, &server), &installed, &program, env);
    }
    proofs::store(env, &installed, &proof).map_err(ProveError::Store)?;
    Ok(proof)
}

fn try_channel(
    bench: &mut Bench,
    runtime: &Runtime,
    server: &ModelServer,
    installed: &Installed,
    channel: DeliveryMode,
) -> Result<ChannelProof, DriveError> {
    let prompt = hostile_prompt(PROMPT_BYTES);
    let requested = match channel {
        DeliveryMode::Argv => PromptDelivery::Argv,
        DeliveryMode::Tempfile => PromptDelivery::Tempfile,
        DeliveryMode::Stdin => PromptDelivery::Stdin,
    };
    let run = format!("prove-{}-{channel}", installed.agent);
    let job = Job {
        installed,
        scenario: Scenario::Text,
        run: &run,
        prompt: &prompt,
        requested,
        guard: None,
        own: None,
    };
    let driven = bench.drive(runtime, server, job)?;
    let (arrived, detail) = verdict(&driven);
    Ok(ChannelProof { channel: channel.to_string(), bytes: prompt.len(), arrived, detail })
}

/// Whether the prompt arrived, and what was seen.
pub fn verdict(driven: &Driven) -> (bool, String) {
    let code = i32::from(driven.end.code());
    match &driven.delivery {
        _ if code != 0 => {
            let stderr = String::from_utf8_lossy(&driven.end.stderr.bytes);
            (false, format!("the agent ended with {code}: {}", stderr.lines().last().unwrap_or_default()))
        }
        Delivery::Exact => (true, "arrived byte for byte".to_owned()),
        Delivery::Contained { role, before, after } if role == "user" => (
            true,
            format!(
                "arrived byte for byte; the agent put {} bytes before and {} behind it",
                before.len(),
                after.len()
            ),
        ),
        Delivery::Contained { role, .. } => (false, format!("arrived in the role {role}")),
        Delivery::TrimmedEnd { .. } => (false, "arrived without the blanks at its end".to_owned()),
        Delivery::Missing => (false, "did not arrive".to_owned()),
    }
}

/// Lines for a person on what `prove` found: one on prompts, one for each leg of the guard.
pub fn lines(agent: AgentBinary, result: &Result<Proof, ProveError>) -> Vec<String> {
    let mut lines = vec![line(agent, result)];
    match result {
        Ok(proof) if proof.guard.is_empty() => {
            lines.push(format!("{agent} {}: the guard was not tried, for no prompt arrives", proof.version));
        }
        Ok(proof) => lines.extend(proof.guard.iter().map(|leg| format!("{agent} {}: {leg}", proof.version))),
        Err(_) => lines.extend(without_hooks(agent)),
    }
    lines
}

/// What is said of an agent that has no hooks.
fn without_hooks(agent: AgentBinary) -> Option<String> {
    let why = hooks(agent, &Program::binary("/"), Facts::default()).err()?;
    Some(format!("{agent}: there is no guard to prove: {why}"))
}

fn line(agent: AgentBinary, result: &Result<Proof, ProveError>) -> String {
    match result {
        Ok(proof) => {
            let channels: Vec<String> = proof
                .delivery
                .iter()
                .map(|channel| {
                    let verdict = if channel.arrived { "proved" } else { "refuted" };
                    format!("{} {verdict} ({})", channel.channel, channel.detail)
                })
                .collect();
            format!("{agent} {}: {} bytes: {}", proof.version, PROMPT_BYTES, channels.join("; "))
        }
        Err(error) => format!("{agent}: nothing proved: {error}"),
    }
}
