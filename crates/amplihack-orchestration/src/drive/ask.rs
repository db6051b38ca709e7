//! The launch request of a turn.

use std::path::Path;

use amplihack_agent::{AgentBinary, AgentCapability, AgentRunOptions, RunMode, agent_profile};
use amplihack_config::prompt_delivery::{DeliveryMode, PromptDelivery};
use amplihack_launcher::prompt_delivery::requested_delivery;
use amplihack_launcher::{LaunchRequest, LaunchTask};

use super::AutoRunContext;
use crate::spec::AutoRunSpec;

/// Reports whether an agent takes prompts by a channel that holds more than an argument.
pub(super) fn is_wide(agent: AgentBinary) -> bool {
    [DeliveryMode::Stdin, DeliveryMode::Tempfile]
        .into_iter()
        .any(|mode| has_capability(agent, AgentCapability::Prompt(mode)))
}

pub(super) fn has_capability(agent: AgentBinary, cap: AgentCapability) -> bool {
    agent_profile(agent).find_row(cap, RunMode::Headless).is_some()
}

/// Parts of a launch request that differ from turn to turn.
pub(super) struct TurnRequest<'a> {
    pub(super) agent: AgentBinary,
    pub(super) prompt: String,
    pub(super) resume: Option<&'a str>,
    /// Dollars that are left of the budget; `None` without one.
    pub(super) dollars: Option<f64>,
    /// The file of a claim's schema.
    pub(super) schema: Option<&'a Path>,
}

pub(super) fn launch_request(
    place: &AutoRunContext<'_>,
    spec: &AutoRunSpec,
    cwd: &Path,
    prompted: TurnRequest<'_>,
) -> LaunchRequest {
    let TurnRequest { agent, prompt, resume, dollars, schema } = prompted;
    let keeps = has_capability(agent, AgentCapability::BudgetUsd);
    LaunchRequest {
        agent,
        installed: None,
        mode: RunMode::Headless,
        task: LaunchTask::Prompt {
            prompt: Some(prompt),
            requested: if amplihack_sys::sabotage::is_active("delivery-auto-mode") {
                PromptDelivery::Argv
            } else {
                requested_delivery(place.config)
            },
            options: AgentRunOptions {
                literal: true,
                off_command_line: true,
                model: spec.model.as_ref().map(Into::into),
                resume: resume.map(Into::into),
                permissions: spec.permissions,
                stream: true,
                answer_schema: schema
                    .filter(|_| has_capability(agent, AgentCapability::AnswerSchema))
                    .map(Into::into),
                live_usage: true,
                budget_usd: dollars.filter(|_| keeps).map(|dollars| format!("{dollars:.6}")),
                ..AgentRunOptions::default()
            },
            before_verb: Vec::new(),
            extra: Vec::new(),
        },
        guard: place.guard.clone().filter(|_| spec.guarded),
        cwd: cwd.to_owned(),
    }
}
