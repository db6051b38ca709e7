//! The flag matrix under the path that callers know; the rows stand in `amplihack-agent`, a folder an agent.

use amplihack_agent::Installed;
pub use amplihack_agent::matrix::{
    AgentCapability, ArgShape, CapabilityRow, ChannelLimit, RowEvidence, RunMode,
};
pub use amplihack_agent::profile::{AgentProfile, agent_profile};
pub use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::DeliveryCaps;

/// The prompt channels of `agent` in headless runs, at the newest version that was proved.
pub fn prompt_delivery_caps_for(agent: AgentBinary) -> DeliveryCaps {
    Installed::from_agent(agent).delivery_caps(RunMode::Headless)
}
