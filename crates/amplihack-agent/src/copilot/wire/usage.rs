//! Tokens, requests and quotas, as Copilot counts them.

use jiff::Timestamp;

use crate::decode::wire::{
    WireEntries, WireFlag, WireInt, WireReal, WireText, WireValues, record, whole_input,
};
use crate::event::{AgentRateLimit, UsageTotals};

record! {
    /// The usage of one call of a model.
    pub(in super::super) struct CopilotUsageLine<'a> {
        api_call: WireText<'a> = "apiCallId",
        model: WireText<'a> = "model",
        parent: WireText<'a> = "parentToolCallId",
        input: WireInt = "inputTokens",
        output: WireInt = "outputTokens",
        cache_read: WireInt = "cacheReadTokens",
        cache_write: WireInt = "cacheWriteTokens",
        reasoning: WireInt = "reasoningTokens",
        cost: WireReal = "cost",
        stop_reason: WireText<'a> = "finishReason",
        quotas: WireEntries<CopilotQuotaSnapshot<'a>> = "quotaSnapshots",
    }

    /// State of a quota, behind each call of a model.
    pub(in super::super) struct CopilotQuotaSnapshot<'a> {
        unlimited: WireFlag = "isUnlimitedEntitlement",
        has_quota: WireFlag = "hasQuota",
        remaining: WireReal = "remainingPercentage",
        resets_at: WireText<'a> = "resetDate",
    }

    /// State of a quota, in a line of its own.
    pub(in super::super) struct CopilotQuota<'a> {
        id: WireText<'a> = "quotaId",
        access: WireText<'a> = "accessState",
        capacity: WireText<'a> = "capacityState",
        budget: CopilotBudget = "budgetMetadata",
    }
    pub(in super::super) struct CopilotBudget {
        remaining: WireReal = "remainingPercentage",
        resets_at: WireInt = "resetAtEpochMs",
    }

    /// The accounts of a session: the file of usage, or a part of its last event.
    pub(in super::super) struct CopilotUsageAccounts {
        premium_requests: WireReal = "totalPremiumRequestCost",
        models: Option<WireValues<CopilotModelUsage>> = "modelMetrics",
    }
    pub(in super::super) struct CopilotModelUsage {
        usage: CopilotTokenCounts = "usage",
    }

    /// Tokens; what was read from and written to the cache is part of the input, whatever the model's own API says.
    pub(in super::super) struct CopilotTokenCounts {
        input: WireInt = "inputTokens",
        output: WireInt = "outputTokens",
        cache_read: WireInt = "cacheReadTokens",
        cache_write: WireInt = "cacheWriteTokens",
        reasoning: WireInt = "reasoningTokens",
    }
}

impl CopilotTokenCounts {
    fn to_totals(&self) -> UsageTotals {
        UsageTotals {
            reasoning_tokens: self.reasoning.as_count(),
            ..whole_input(self.input, self.output, self.cache_read, self.cache_write)
        }
    }
}

impl CopilotUsageLine<'_> {
    /// Returns these amounts in the one model of all agents.
    pub(in super::super) fn to_totals(&self) -> UsageTotals {
        UsageTotals {
            premium_requests: self.cost.0,
            reasoning_tokens: self.reasoning.as_count(),
            ..whole_input(self.input, self.output, self.cache_read, self.cache_write)
        }
    }
}

impl CopilotQuotaSnapshot<'_> {
    /// The state of the quota `name`, in the words of Copilot's own lines about quotas.
    pub(in super::super) fn to_limit(&self, name: String) -> AgentRateLimit {
        let status = match (self.unlimited.0, self.has_quota.0, self.remaining.0) {
            (Some(true), ..) => "unlimited",
            (_, Some(false), _) => "exhausted",
            (_, None, Some(remaining)) if remaining <= 0.0 => "exhausted",
            _ => "available",
        };
        AgentRateLimit {
            status: status.to_owned(),
            limit: Some(name),
            resets_at: self.resets_at.text().parse().ok(),
            utilization: self.remaining.0.map(used_part),
        }
    }
}

impl CopilotQuota<'_> {
    /// Returns the state in the one model of all agents.
    pub(in super::super) fn into_limit(self) -> AgentRateLimit {
        let status = [self.capacity, self.access].into_iter().find_map(WireText::into_option);
        AgentRateLimit {
            status: status.unwrap_or_default(),
            limit: self.id.into_option(),
            resets_at: self.budget.resets_at.0.and_then(|at| Timestamp::from_millisecond(at).ok()),
            utilization: self.budget.remaining.0.map(used_part),
        }
    }
}

fn used_part(remaining_percentage: f64) -> f64 {
    (1.0 - remaining_percentage / 100.0).clamp(0.0, 1.0)
}

impl CopilotUsageAccounts {
    /// The sum over all models, if these are accounts at all.
    pub(in super::super) fn sum_totals(&self) -> Option<UsageTotals> {
        let mut sum = UsageTotals { premium_requests: self.premium_requests.0, ..UsageTotals::default() };
        for model in &self.models.as_ref()?.0 {
            sum.add_amounts(&model.usage.to_totals());
        }
        Some(sum)
    }
}
