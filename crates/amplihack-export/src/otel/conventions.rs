//! Names of the GenAI semantic conventions (in development there; these are of semantic conventions 1.41), and our own.

use amplihack_agent::event::UsageTotals;

use super::wire::{OtelAttribute, otel_attribute};

/// The version that these names are of.
pub(super) const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const AGENT_VERSION: &str = "gen_ai.agent.version";
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const EXIT_CODE: &str = "process.exit.code";

pub(super) const SESSION: &str = "amplihack.session.id";
pub(super) const COST: &str = "amplihack.usage.cost_usd";
pub(super) const PREMIUM_REQUESTS: &str = "amplihack.usage.premium_requests";
pub(super) const DECISION: &str = "amplihack.policy.decision";
pub(super) const RULE: &str = "amplihack.policy.rule";
pub(super) const WARNING: &str = "amplihack.warning";
pub(super) const WARNING_KIND: &str = "amplihack.warning.kind";
pub(super) const WARNING_MESSAGE: &str = "amplihack.warning.message";
pub(super) const PLAN: &str = "amplihack.plan";
pub(super) const TURNS: &str = "amplihack.turns";
pub(super) const TURN: &str = "amplihack.turn";

/// Attributes for usage. The conventions count tokens of the cache as input too.
pub(super) fn usage_attributes(used: &UsageTotals) -> Vec<OtelAttribute> {
    let mut attributes = Vec::new();
    if used.has_tokens() {
        let input =
            used.input_tokens.saturating_add(used.cache_read_tokens).saturating_add(used.cache_write_tokens);
        attributes.extend([
            otel_attribute("gen_ai.usage.input_tokens", input),
            otel_attribute("gen_ai.usage.output_tokens", used.output_tokens),
            otel_attribute("gen_ai.usage.cache_read.input_tokens", used.cache_read_tokens),
            otel_attribute("gen_ai.usage.cache_creation.input_tokens", used.cache_write_tokens),
        ]);
    }
    let reasoning = used.reasoning_tokens;
    attributes.extend(reasoning.map(|count| otel_attribute("gen_ai.usage.reasoning.output_tokens", count)));
    attributes.extend(used.cost_usd.map(|cost| otel_attribute(COST, cost)));
    attributes.extend(used.premium_requests.map(|count| otel_attribute(PREMIUM_REQUESTS, count)));
    attributes
}
