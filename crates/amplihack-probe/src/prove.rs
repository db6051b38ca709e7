//! `doctor --prove`: drives an installed agent through every prompt channel that the matrix claims and compares bytes, then
//! with the guard, alone and beside the user's own hooks.

use amplihack_agent::AgentBinary;
use amplihack_agent::installed::LocalProofs;
use amplihack_agent::lookup::LookupError;
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_hooks::registration::{HookProgram, RegistrationFacts, build_hooks};
use amplihack_launcher::discover::{VersionSource, discover_agent};
use amplihack_launcher::own_program;
use amplihack_launcher::proofs::{self, AgentProof};
use amplihack_session::EndEvidence;
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use tokio::runtime::Runtime;

use crate::bench::ProbeBench;
use crate::drive::{DriveError, DrivenRun};
use crate::loopback::LoopbackError;
use crate::model::ObservedDelivery;
use crate::own_hooks::OwnHooks;
use crate::proof_legs::{LegsSeen, ProofLegs};

/// Bytes of the prompt that is sent through each channel.
pub const PROMPT_BYTES: usize = 65_536;

/// The reason why nothing could be proved of an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProveError {
    /// The agent is not installed.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The agent does not tell its version, so there is nothing to keep a proof under.
    #[error("{agent} does not tell its version; run `{agent} --version` to see why")]
    NoVersion {
        /// The agent.
        agent: AgentBinary,
    },
    /// The agent could not be driven.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The proof could not be kept.
    #[error("the proof could not be kept: {0}; check the permissions of amplihack's home")]
    Store(std::io::Error),
}

impl ErrorExplanation for ProveError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Lookup(error) => error.kind(),
            Self::NoVersion { .. } => "version_unknown",
            Self::Drive(error) => error.kind(),
            Self::Store(_) => "proof_not_kept",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::Lookup(error) => error.exit_kind(),
            Self::Drive(error) => error.exit_kind(),
            _ => ExitKind::Failed,
        }
    }
}

impl ProveError {
    /// Reports whether the fault is none of the machine: the agent is not installed, or speaks to no scripted model.
    pub const fn is_expected(&self) -> bool {
        matches!(
            self,
            Self::Lookup(LookupError::NotFound { .. })
                | Self::Drive(DriveError::Loopback(LoopbackError::NoProtocol { .. }))
        )
    }
}

/// Drives `agent` on `bench`, keeps what was seen under its version, and returns it.
///
/// The agent runs in throw-away homes with dummy keys against a server on the loopback interface; nothing leaves the
/// machine. Of the user's files only the agent's settings on hooks are read, and their commands are never run. Only the proof
/// is written, below amplihack's home.
pub fn prove_agent(
    agent: AgentBinary,
    env: &Env,
    config: &LayeredConfig,
    (bench, runtime): (&ProbeBench, &Runtime),
) -> Result<AgentProof, ProveError> {
    let mut installed = discover_agent(agent, env, config, VersionSource::Apart)?;
    // What an earlier probe refuted is tried again.
    installed.proofs = LocalProofs::default();
    let version = installed.version.clone().ok_or(ProveError::NoVersion { agent })?;
    let program = own_program().map_err(DriveError::io_error("this program does not know where it is"))?;
    let own = OwnHooks::read_settings(agent, env);
    let legs = ProofLegs { bench, runtime, installed: &installed, program: &program };
    let LegsSeen { delivery, guard } = legs.prove_agent(&own)?;
    let proof = AgentProof {
        agent: agent.to_string(),
        version: version.to_string(),
        // Filled in where it is stored.
        program: String::new(),
        at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        delivery,
        guard,
    };
    proofs::store_proof(env, &installed, &proof).map_err(ProveError::Store)?;
    Ok(proof)
}

/// Reports whether the prompt arrived, and the detail; `None` where the clock ended the agent before it did.
pub fn prompt_verdict(driven: &DrivenRun) -> (Option<bool>, String) {
    let (arrived, detail) = match &driven.delivery {
        ObservedDelivery::Exact => (true, "arrived byte for byte".to_owned()),
        ObservedDelivery::Contained { role, before, after } if role == "user" => (
            true,
            format!(
                "arrived byte for byte; the agent put {} bytes before and {} behind it",
                before.len(),
                after.len()
            ),
        ),
        ObservedDelivery::Contained { role, .. } => (false, format!("arrived in the role {role}")),
        ObservedDelivery::TrimmedEnd { .. } => (false, "arrived without the blanks at its end".to_owned()),
        ObservedDelivery::Missing => (false, "did not arrive".to_owned()),
    };
    let code = i32::from(driven.end.code());
    if driven.end.evidence == EndEvidence::Clock {
        let seen = (arrived || driven.delivery != ObservedDelivery::Missing).then_some(arrived);
        return (seen, if seen.is_some() { detail } else { "did not arrive in time".to_owned() });
    }
    if code != 0 {
        let stderr = String::from_utf8_lossy(&driven.end.stderr.bytes);
        return (
            Some(false),
            format!("the agent ended with {code}: {}", stderr.lines().last().unwrap_or_default()),
        );
    }
    (Some(arrived), detail)
}

/// Lines for a person on what `prove` found: one on prompts, one for each leg of the guard.
pub fn report_lines(agent: AgentBinary, result: &Result<AgentProof, ProveError>) -> Vec<String> {
    let mut lines = vec![channels_line(agent, result)];
    match result {
        Ok(proof) if proof.guard.is_empty() => {
            lines.push(format!("{agent} {}: the guard was not tried, for no prompt arrives", proof.version));
        }
        Ok(proof) => lines.extend(proof.guard.iter().map(|leg| format!("{agent} {}: {leg}", proof.version))),
        Err(_) => lines.extend(no_hooks_line(agent)),
    }
    lines
}

/// Lines on what a proof could not tell because the machine was too slow.
pub fn unknown_lines(agent: AgentBinary, proof: &AgentProof) -> Vec<String> {
    let again = format!("run `amplihack doctor --prove {agent}` again when this machine is quieter");
    let channels = proof.delivery.iter().filter(|channel| channel.arrived.is_none());
    let channels =
        channels.map(|channel| format!("a prompt by {} is unknown: {}", channel.channel, channel.detail));
    let legs = proof.guard.iter().filter(|leg| leg.held.is_none()).map(ToString::to_string);
    channels.chain(legs).map(|line| format!("{agent} {}: {line}; {again}", proof.version)).collect()
}

/// The line on an agent that has no hooks.
fn no_hooks_line(agent: AgentBinary) -> Option<String> {
    let why = build_hooks(agent, &HookProgram::from_binary("/"), RegistrationFacts::default()).err()?;
    Some(format!("{agent}: there is no guard to prove: {why}"))
}

fn channels_line(agent: AgentBinary, result: &Result<AgentProof, ProveError>) -> String {
    match result {
        Ok(proof) => {
            let channels: Vec<String> = proof
                .delivery
                .iter()
                .map(|channel| {
                    let verdict = match channel.arrived {
                        Some(true) => "proved",
                        Some(false) => "refuted",
                        None => "unknown",
                    };
                    format!("{} {verdict} ({})", channel.channel, channel.detail)
                })
                .collect();
            format!("{agent} {}: {} bytes: {}", proof.version, PROMPT_BYTES, channels.join("; "))
        }
        Err(error) => format!("{agent}: nothing proved: {error}"),
    }
}
