//! Building blocks that know nothing of any agent's flags: identity, routing, prompt delivery, files, configuration.
//!
//! A closed list. A new module needs a line in `ARCHITECTURE.md` that says why it belongs to every other crate.

pub mod agent_binary;
pub mod config;
pub mod edited_toml;
pub mod env;
pub mod error;
pub mod form;
pub mod fs;
pub mod git;
pub mod hex;
pub mod launcher_context;
pub mod lock;
pub mod log;
pub mod prompt_delivery;
pub mod sabotage;
pub mod secret;
pub mod sys;
