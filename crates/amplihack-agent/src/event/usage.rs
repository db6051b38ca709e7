//! What a run uses: tokens and money.

use serde::{Deserialize, Serialize};

/// What one message, or the whole run, used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
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
    pub amounts: Totals,
}

/// Amounts that add up. Tokens are counted as each agent counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Tokens read by the model that were not in its cache.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written by the model, its thinking included.
    #[serde(default)]
    pub output_tokens: u64,
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

impl Totals {
    /// Whether any tokens are counted.
    pub const fn has_tokens(&self) -> bool {
        (self.input_tokens | self.output_tokens | self.cache_read_tokens | self.cache_write_tokens) != 0
    }

    /// Adds `other`. Counts stop at the largest number, and do not wrap.
    pub fn add(&mut self, other: &Self) {
        let fields = [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.cache_read_tokens, other.cache_read_tokens),
            (&mut self.cache_write_tokens, other.cache_write_tokens),
        ];
        for (sum, more) in fields {
            *sum = sum.saturating_add(more);
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
