//! The real binary in sandboxes: every claim of the README and of the contracts, as a user would meet it.

mod world;
mod real_agents;
