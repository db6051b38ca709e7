//! Usage of a run: tokens and money.

use serde::{Deserialize, Serialize};

/// Usage of one message, or of the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentUsage {
    /// The message; none for the agent's own total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The model, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's own total of the run: it replaces what was added up.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub total: bool,
    /// The amounts.
    #[serde(flatten)]
    pub amounts: UsageTotals,
}

impl AgentUsage {
    /// Usage of the message `message`.
    pub fn of_message(message: impl Into<String>, amounts: UsageTotals) -> Self {
        Self { message: Some(message.into()), amounts, ..Self::default() }
    }

    /// The agent's own total.
    pub fn of_total(amounts: UsageTotals) -> Self {
        Self { total: true, amounts, ..Self::default() }
    }
}

/// Amounts that add up, the same for every agent: a token is counted in one field only.
///
/// | field | Claude Code, Amp | Codex | Copilot | Gemini |
/// |---|---|---|---|---|
/// | `input_tokens` | `input_tokens` | `input_tokens` less the two below | `inputTokens` less the two below | `input_tokens` less the next |
/// | `cache_read_tokens` | `cache_read_input_tokens` | `cached_input_tokens` | `cacheReadTokens` | `cached` |
/// | `cache_write_tokens` | `cache_creation_input_tokens` | `cache_write_input_tokens` | `cacheWriteTokens` | - |
/// | `output_tokens` | `output_tokens` | `output_tokens` | `outputTokens` | `total_tokens` less `input_tokens` |
/// | `reasoning_tokens` | `thinking_tokens` of Claude Code | `reasoning_output_tokens` | `reasoningTokens` | `total_tokens` less `input_tokens` and `output_tokens` |
/// | `cost_usd` | `total_cost_usd` | - | - | - |
/// | `premium_requests` | - | - | `premiumRequests` | - |
///
/// New amounts may come: write `..UsageTotals::default()` behind those that are meant.
///
/// Codex and Copilot state the totals of the *session*: after a resume they hold what earlier runs used too, see
/// [`Counts::session_totals`](crate::profile::UsageReports::session_totals). Claude Code states what its process used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageTotals {
    /// Tokens read by the model that were not in its cache.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written by the model, its thinking included.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens of `output_tokens` in which the model thought, where the agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Tokens read from the model's cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// Tokens written to the model's cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// US dollars, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The agent's own premium requests, where it counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub premium_requests: Option<f64>,
}

impl UsageTotals {
    /// Of an agent whose count of input includes what was `read` from the cache and `written` to it.
    pub(crate) fn of_whole_input(input: u64, output: u64, read: u64, written: u64) -> Self {
        Self {
            input_tokens: input.saturating_sub(read).saturating_sub(written),
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: written,
            ..Self::default()
        }
    }

    /// Reports whether any tokens are counted.
    pub const fn has_tokens(&self) -> bool {
        (self.input_tokens | self.output_tokens | self.cache_read_tokens | self.cache_write_tokens) != 0
    }

    /// Returns what is left of a total after `earlier`, a part of it. Nothing is less than 0.
    #[must_use]
    pub fn subtract_earlier(&self, earlier: &Self) -> Self {
        let some = |whole: Option<f64>, part: Option<f64>| Some((whole? - part.unwrap_or_default()).max(0.0));
        Self {
            input_tokens: self.input_tokens.saturating_sub(earlier.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(earlier.output_tokens),
            reasoning_tokens: self
                .reasoning_tokens
                .map(|whole| whole.saturating_sub(earlier.reasoning_tokens.unwrap_or_default())),
            cache_read_tokens: self.cache_read_tokens.saturating_sub(earlier.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_sub(earlier.cache_write_tokens),
            cost_usd: some(self.cost_usd, earlier.cost_usd),
            premium_requests: some(self.premium_requests, earlier.premium_requests),
        }
    }

    /// Adds `other`. Counts stop at the largest number, and do not wrap.
    pub fn add_amounts(&mut self, other: &Self) {
        let fields = [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.cache_read_tokens, other.cache_read_tokens),
            (&mut self.cache_write_tokens, other.cache_write_tokens),
        ];
        for (sum, more) in fields {
            *sum = sum.saturating_add(more);
        }
        if let Some(more) = other.reasoning_tokens {
            self.reasoning_tokens = Some(self.reasoning_tokens.unwrap_or_default().saturating_add(more));
        }
        add_some(&mut self.cost_usd, other.cost_usd);
        add_some(&mut self.premium_requests, other.premium_requests);
    }
}

fn add_some(sum: &mut Option<f64>, more: Option<f64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or_default() + more);
    }
}
