//! The engine that answers hooks: there is a single one, and asking for another is an error.

use amplihack_config::env::Env;

/// The variable that selects the engine.
pub const ENGINE_VAR: &str = "AMPLIHACK_HOOK_ENGINE";

/// A word that names no engine that there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownEngine {
    /// The predecessor's.
    #[error("{ENGINE_VAR}=python names an engine that does not exist; unset it or set it to rust")]
    Python,
    /// Anything else.
    #[error("{ENGINE_VAR}={0:?} is not an engine; unset it or set it to rust or auto")]
    Unknown(String),
}

/// Checks that the environment asks for this engine: `rust`, `auto`, or nothing.
pub fn check_engine(env: &Env) -> Result<(), UnknownEngine> {
    let Some(value) = env.get(ENGINE_VAR) else { return Ok(()) };
    match value.to_str().map(|value| value.trim().to_ascii_lowercase()).as_deref() {
        Some("rust" | "auto") if !amplihack_sys::sabotage::is_active("copilot-hook-engine") => Ok(()),
        Some("python") => Err(UnknownEngine::Python),
        _ => Err(UnknownEngine::Unknown(value.to_string_lossy().into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_engine() {
        let ask = |value: &str| check_engine(&Env::empty().with_variable(ENGINE_VAR, value));
        assert_eq!(check_engine(&Env::empty()), Ok(()));
        assert_eq!((ask("rust"), ask("Auto")), (Ok(()), Ok(())));
        assert_eq!(ask("python"), Err(UnknownEngine::Python));
        for value in ["", "perl"] {
            assert_eq!(ask(value), Err(UnknownEngine::Unknown(value.to_owned())));
        }
        assert!(ask("python").unwrap_err().to_string().contains("set it to rust"));
    }
}
