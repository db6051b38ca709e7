//! Environment, configuration and routing: what a command is told, by whom, and which agent is in charge of it.
//!
//! Nothing here knows an agent's flags. [`env`](mod@env) is the environment as data, [`LayeredConfig`] the files of settings with
//! their origins; [`agent_binary`] and [`launcher_context`] answer which agent is in charge, [`prompt_delivery`] which channel a
//! prompt takes. [`git`] and [`secret`] are about what an environment may hold: another repository, and a key; [`repository`] is about where a directory stands.

pub mod agent_binary;
#[cfg(feature = "files")]
pub mod edited_toml;
pub mod env;
pub mod git;
pub mod launcher_context;
#[cfg(feature = "files")]
mod layered;
pub mod prompt_delivery;
pub mod repository;
pub mod secret;

#[cfg(feature = "files")]
pub use layered::{
    ConfigEntry, ConfigError, ConfigKey, ConfigLayer, ConfigOrigin, ConfigOverride, ConfigSetting,
    ConfigValue, ConfigValueKind, ConfigWarning, IgnoredSetting, KEYS, LayeredConfig, REPOSITORY_FILE,
    RepositoryReach, SYSTEM_FILE, TrustChange, record_trust, user_file,
};
