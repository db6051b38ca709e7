//! New bounds of a run that continues after its end.

use std::time::Duration;

use amplihack_agent::PermissionLevel;
use serde::{Deserialize, Serialize};

use crate::spec::AutoRunSpec;

/// New bounds of a run that continues, counted from there. What is `None` holds as it is, and begins anew.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunExtension {
    /// So many more turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// So many more tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// So many more dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// So much time from there on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// The commands that show that it is done, instead of those before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Vec<String>>,
    /// The most that one of them may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_timeout: Option<Duration>,
    /// Permissions of the agent: what it may do without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionLevel>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Longest time that an agent may be silent while no tool of it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<Duration>,
    /// Calls of tools after which a turn is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
}

impl RunExtension {
    /// The bounds with which a run of `spec` begins.
    pub fn from_spec(spec: &AutoRunSpec) -> Self {
        Self {
            max_turns: Some(spec.max_turns),
            tokens: spec.budget.tokens,
            usd: spec.budget.usd,
            deadline: spec.deadline,
            ..Self::default()
        }
    }

    /// Reports whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the bounds, completed by those of `before` where nothing is set.
    #[must_use]
    pub fn filled_from(self, before: &Self) -> Self {
        Self {
            max_turns: self.max_turns.or(before.max_turns),
            tokens: self.tokens.or(before.tokens),
            usd: self.usd.or(before.usd),
            deadline: self.deadline.or(before.deadline),
            ..self
        }
    }

    /// Makes these the bounds of `spec`, of which `tokens` and `usd` are used up. The bound of its turns is the machine's to count.
    pub fn apply_to(&self, spec: &mut AutoRunSpec, tokens: u64, usd: f64) {
        spec.budget.tokens = self.tokens.map(|more| tokens.saturating_add(more));
        spec.budget.usd = self.usd.map(|more| usd + more);
        spec.deadline = self.deadline;
        spec.verify = self.verify.clone().unwrap_or_else(|| std::mem::take(&mut spec.verify));
        spec.verify_timeout = self.verify_timeout.unwrap_or(spec.verify_timeout);
        spec.permissions = self.permissions.or(spec.permissions);
        spec.model = self.model.clone().or_else(|| spec.model.take());
        spec.silence = self.silence.unwrap_or(spec.silence);
        spec.max_calls = self.max_calls.unwrap_or(spec.max_calls);
    }
}
