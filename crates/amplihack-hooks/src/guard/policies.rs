//! The policy that holds in a directory: the built-in rules, the system's, the repository's and the user's files, and the mode.

use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_config::{ConfigError, LayeredConfig};
use amplihack_policy::policy::PolicyMode;
use amplihack_policy::user::{Layer, PolicyError, PolicyLayerOwner, REPOSITORY_FILE, USER_FILE};
use amplihack_policy::{Policy, XpiaSettings};
use amplihack_sys::error::ErrorExplanation;
use amplihack_sys::fs::find_repository_root;

use super::snapshot::SnapshotError;

/// The variable that asks for a mode.
pub const POLICY_VAR: &str = "AMPLIHACK_POLICY";

/// The system's policy.
const SYSTEM_FILE: &str = "/etc/amplihack/policy.toml";

/// The reason why no policy is in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// A policy file.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A configuration file, which the mode comes from.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A registration pins a mode that there is none of.
    #[error("the registration pins the policy's mode to {0:?}; run `amplihack install` again")]
    Pinned(String),
    /// The session around a launch pinned its policy, and that is not to be had.
    #[error("this launch is inside a session of amplihack, whose policy holds for it too: {0}")]
    OuterPolicy(SnapshotError),
}

impl ErrorExplanation for GuardError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Policy(error) => error.kind(),
            Self::Config(error) => error.kind(),
            Self::Pinned(_) => "bad_pinned_mode",
            Self::OuterPolicy(_) => "outer_policy",
        }
    }
}

/// The policy for what happens in `cwd`, in the mode that is `pinned` or configured.
pub fn load_policy(env: &Env, cwd: &Path, pinned: Option<&str>) -> Result<Policy, GuardError> {
    let layers = policy_layers(env, cwd)?;
    let policy = Policy::load(&layers)?.with_mode(policy_mode(env, cwd, pinned)?);
    Ok(policy.with_xpia(XpiaSettings::from_env(env)))
}

/// The policy files that count in `cwd`, the weakest first, whether they are there or not.
pub(super) fn policy_files(env: &Env, cwd: &Path) -> Vec<(PolicyLayerOwner, PathBuf)> {
    // Whatever ceilings git has: the variable must not take a repository's rules away.
    let repository = find_repository_root(cwd, None)
        .map(|root| (PolicyLayerOwner::Repository, root.join(REPOSITORY_FILE)));
    let user = env.config_home().map(|home| (PolicyLayerOwner::User, home.join(USER_FILE)));
    [Some((PolicyLayerOwner::System, PathBuf::from(SYSTEM_FILE))), repository, user]
        .into_iter()
        .flatten()
        .collect()
}

/// The content of the policy files that count in `cwd`.
pub(super) fn policy_layers(env: &Env, cwd: &Path) -> Result<Vec<Layer>, PolicyError> {
    let read = |(owner, file): (PolicyLayerOwner, PathBuf)| Layer::read(owner, &file).transpose();
    policy_files(env, cwd).into_iter().filter_map(read).collect()
}

/// The mode of a hook process: `pinned`, else what configuration files say; the variable may only tighten it.
///
/// An agent can set variables for what it starts, so a variable never loosens.
pub fn policy_mode(env: &Env, cwd: &Path, pinned: Option<&str>) -> Result<PolicyMode, GuardError> {
    let base = if let Some(pinned) = pinned {
        pinned.parse().map_err(|_| GuardError::Pinned(pinned.to_owned()))?
    } else {
        let mut files_only = env.clone();
        files_only.remove(POLICY_VAR);
        configured_mode(&LayeredConfig::load(&files_only, cwd, &[])?)
    };
    let asked: Option<PolicyMode> =
        env.text(POLICY_VAR).and_then(|text| text.to_ascii_lowercase().parse().ok());
    Ok(base.max(asked.unwrap_or(base)))
}

fn configured_mode(config: &LayeredConfig) -> PolicyMode {
    config.policy().parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_variable_only_tightens() {
        let cwd = Path::new("/");
        for (pinned, variable, expected) in [
            (Some("standard"), "observe", PolicyMode::Standard),
            (Some("standard"), "strict", PolicyMode::Strict),
            (Some("observe"), "standard", PolicyMode::Standard),
            (Some("strict"), "observe", PolicyMode::Strict),
            (Some("observe"), "nonsense", PolicyMode::Observe),
            (None, "observe", PolicyMode::Standard),
            (None, "strict", PolicyMode::Strict),
        ] {
            let env = Env::empty().with_variable(POLICY_VAR, variable);
            assert_eq!(policy_mode(&env, cwd, pinned).unwrap(), expected, "{pinned:?} {variable}");
        }
        assert!(matches!(policy_mode(&Env::empty(), cwd, Some("lax")), Err(GuardError::Pinned(_))));
    }

    #[test]
    fn the_users_file_may_choose_the_mode_and_a_repositorys_may_not() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        let repository = dir.path().join("r");
        amplihack_testkit::create_repository(&repository);
        fs::create_dir_all(repository.join(".amplihack")).unwrap();
        fs::write(repository.join(".amplihack/config.toml"), "policy = \"observe\"\n").unwrap();
        assert_eq!(policy_mode(&env, &repository, None).unwrap(), PolicyMode::Standard);
        fs::create_dir_all(dir.path().join(".config/amplihack")).unwrap();
        fs::write(dir.path().join(".config/amplihack/config.toml"), "policy = \"observe\"\n").unwrap();
        assert_eq!(policy_mode(&env, &repository, None).unwrap(), PolicyMode::Observe);
    }

    #[test]
    fn a_policy_that_cannot_be_read_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        load_policy(&env, dir.path(), None).unwrap();
        fs::create_dir_all(dir.path().join(".config/amplihack/policy.toml")).unwrap();
        let error = load_policy(&env, dir.path(), None).unwrap_err();
        assert!(error.to_string().contains("policy.toml"), "{error}");
    }
}
