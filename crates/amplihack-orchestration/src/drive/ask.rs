//! What a launch of a turn is asked for.

use std::path::Path;

use amplihack_agent::{AgentBinary, Capability, Options, RunMode, profile};
use amplihack_launcher::doctor::requested;
use amplihack_launcher::{LaunchRequest, Task};
use amplihack_utils::prompt_delivery::{DeliveryMode, PromptDelivery};

use super::Place;
use crate::spec::Spec;

/// Whether an agent takes prompts by a channel that holds more than an argument.
pub(super) fn is_wide(agent: AgentBinary) -> bool {
    [DeliveryMode::Stdin, DeliveryMode::Tempfile].into_iter().any(|mode| has(agent, Capability::Prompt(mode)))
}

pub(super) fn has(agent: AgentBinary, cap: Capability) -> bool {
    profile(agent).row(cap, RunMode::Headless).is_some()
}

/// What differs from turn to turn.
pub(super) struct Prompted<'a> {
    pub(super) agent: AgentBinary,
    pub(super) prompt: String,
    pub(super) resume: Option<&'a str>,
    /// What is left of a budget in dollars.
    pub(super) dollars: Option<f64>,
    /// The file of a claim's schema.
    pub(super) schema: Option<&'a Path>,
}

pub(super) fn request(place: &Place<'_>, spec: &Spec, cwd: &Path, prompted: Prompted<'_>) -> LaunchRequest {
    let Prompted { agent, prompt, resume, dollars, schema } = prompted;
    let keeps = has(agent, Capability::BudgetUsd);
    LaunchRequest {
        agent,
        installed: None,
        mode: RunMode::Headless,
        task: Task::Prompt {
            prompt: Some(prompt),
            requested: if amplihack_utils::sabotage::active("delivery-auto-mode") {
                PromptDelivery::Argv
            } else {
                requested(place.config)
            },
            options: Options {
                literal: true,
                off_command_line: true,
                model: spec.model.as_ref().map(Into::into),
                resume: resume.map(Into::into),
                permissions: spec.permissions,
                stream: true,
                answer_schema: schema.filter(|_| has(agent, Capability::AnswerSchema)).map(Into::into),
                live_usage: true,
                budget_usd: dollars.filter(|_| keeps).map(|dollars| format!("{dollars:.6}")),
                ..Options::default()
            },
            before_verb: Vec::new(),
            extra: Vec::new(),
        },
        guard: place.guard.clone().filter(|_| spec.guarded),
        cwd: cwd.to_owned(),
    }
}
