//! The environment that a run's steps get.

use amplihack_config::agent_binary::ENV_VAR;
use amplihack_config::env::Env;

use crate::journal::RUN_ID;

const DEPTH: &str = "AMPLIHACK_SESSION_DEPTH";
const MAX_DEPTH: &str = "AMPLIHACK_MAX_DEPTH";
const TREE: &str = "AMPLIHACK_TREE_ID";
const MAX_SESSIONS: &str = "AMPLIHACK_MAX_SESSIONS";

/// A run that is not started for where it stands among other runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DepthError {
    /// The variable that counts holds no number.
    #[error("{DEPTH} does not hold a number, so the depth of this run is not known; unset it at the top")]
    Unknown,
    /// A run deeper inside others than it may be.
    #[error(
        "this run would be {depth} deep inside other runs, the limit is {limit}; raise {MAX_DEPTH} if that is meant"
    )]
    TooDeep {
        /// Number of runs above it, and itself.
        depth: u64,
        /// The most that are allowed.
        limit: u64,
    },
}

/// Checks that a run is not deeper inside other runs and launches than allowed.
///
/// Returns how deep its steps are.
///
/// # Errors
/// It is deeper, or how deep it is cannot be known.
pub fn check_depth(env: &Env, limit: u64) -> Result<u64, DepthError> {
    let above = match env.get(DEPTH) {
        None => 0,
        Some(value) if value.is_empty() => 0,
        // A guard that cannot count does not wave through.
        Some(value) => value.to_str().and_then(|text| text.trim().parse().ok()).ok_or(DepthError::Unknown)?,
    };
    if above >= limit {
        return Err(DepthError::TooDeep { depth: u64::saturating_add(above, 1), limit });
    }
    Ok(above + 1)
}

/// The environment of scripts: the runner's own, less what would mislead them, with the run's marks.
pub(crate) fn scripts_environment(env: &Env, run_id: &str, depth: u64, limit: u64, agent: &str) -> Env {
    let mut own: Env = env
        .iter()
        .filter(|(name, _)| {
            // Values of a runner above are not this run's.
            let name = name.to_string_lossy();
            !(name == "CLAUDECODE" || name.starts_with("RECIPE_VAR_") || name.starts_with("RECIPE_NUMBER_"))
        })
        .collect();
    for (name, value) in
        [("HOME", "/"), ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")]
    {
        if own.get(name).is_none_or(std::ffi::OsStr::is_empty) {
            own.set_variable(name, value);
        }
    }
    own.set_variable(RUN_ID, run_id);
    own.set_variable(DEPTH, depth.to_string());
    own.set_variable(ENV_VAR, agent);
    for (name, value) in
        [(TREE, run_id.to_owned()), (MAX_DEPTH, limit.to_string()), (MAX_SESSIONS, "10".to_owned())]
    {
        if own.get(name).is_none() {
            own.set_variable(name, value);
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_deep_is_refused_and_so_is_what_cannot_be_counted() {
        assert_eq!(check_depth(&Env::empty(), 6), Ok(1));
        assert_eq!(check_depth(&Env::empty().with_variable(DEPTH, "5"), 6), Ok(6));
        for above in ["6", "9", "18446744073709551615", "x", "-1"] {
            assert!(check_depth(&Env::empty().with_variable(DEPTH, above), 6).is_err(), "{above}");
        }
    }

    #[test]
    fn scripts_get_the_runners_environment_without_what_misleads() {
        let env = Env::from_iter([
            ("CLAUDECODE", "1"),
            ("RECIPE_VAR_x", "old"),
            ("KEPT", "k"),
            (TREE, "t"),
            ("HOME", "/h"),
        ]);
        let own = scripts_environment(&env, "run", 2, 6, "claude");
        let names: Vec<_> =
            own.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        assert_eq!(
            names,
            [
                "AMPLIHACK_AGENT_BINARY=claude",
                "AMPLIHACK_MAX_DEPTH=6",
                "AMPLIHACK_MAX_SESSIONS=10",
                "AMPLIHACK_RECIPE_RUN_ID=run",
                "AMPLIHACK_SESSION_DEPTH=2",
                "AMPLIHACK_TREE_ID=t",
                "HOME=/h",
                "KEPT=k",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            ]
        );
    }
}
