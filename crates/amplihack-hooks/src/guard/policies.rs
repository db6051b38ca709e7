//! Which policy holds in a directory: the built-in rules, the system's, the repository's and the user's files, and the mode.

use std::path::{Path, PathBuf};

use amplihack_policy::policy::Mode;
use amplihack_policy::user::{Layer, Owner, PolicyError, REPOSITORY_FILE, USER_FILE};
use amplihack_policy::{Policy, XpiaSettings};
use amplihack_utils::config::{Config, ConfigError};
use amplihack_utils::env::Env;
use amplihack_utils::error::Explain;
use amplihack_utils::fs::repository_root;

/// The variable that asks for a mode.
pub const POLICY_VAR: &str = "AMPLIHACK_POLICY";

/// The system's policy.
const SYSTEM_FILE: &str = "/etc/amplihack/policy.toml";

/// Why no policy is in force.
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
}

impl Explain for GuardError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Policy(error) => error.kind(),
            Self::Config(error) => error.kind(),
            Self::Pinned(_) => "bad_pinned_mode",
        }
    }
}

/// The policy for what happens in `cwd`, in the mode that is `pinned` or configured.
pub fn policy(env: &Env, cwd: &Path, pinned: Option<&str>) -> Result<Policy, GuardError> {
    let repository = repository_root(cwd);
    let files = [
        (Owner::System, Some(PathBuf::from(SYSTEM_FILE))),
        (Owner::Repository, repository.map(|root| root.join(REPOSITORY_FILE))),
        (Owner::User, env.config_home().map(|home| home.join(USER_FILE))),
    ];
    let mut layers = Vec::new();
    for (owner, file) in files {
        let Some(file) = file else { continue };
        layers.extend(Layer::read(owner, &file)?);
    }
    let policy = Policy::load(&layers)?.with_mode(mode(env, cwd, pinned)?);
    Ok(policy.with_xpia(XpiaSettings::from_env(env)))
}

/// The mode of a hook process: `pinned`, else what configuration files say; the variable may only tighten it.
///
/// An agent can set variables for what it starts, so a variable never loosens.
pub fn mode(env: &Env, cwd: &Path, pinned: Option<&str>) -> Result<Mode, GuardError> {
    let base = if let Some(pinned) = pinned {
        pinned.parse().map_err(|_| GuardError::Pinned(pinned.to_owned()))?
    } else {
        let mut files_only = env.clone();
        files_only.remove(POLICY_VAR);
        configured(&Config::load(&files_only, cwd, &[])?)
    };
    let asked: Option<Mode> = env.text(POLICY_VAR).and_then(|text| text.to_ascii_lowercase().parse().ok());
    Ok(Mode::tighten(Some(base), asked.unwrap_or(base)))
}

fn configured(config: &Config) -> Mode {
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
            (Some("standard"), "observe", Mode::Standard),
            (Some("standard"), "strict", Mode::Strict),
            (Some("observe"), "standard", Mode::Standard),
            (Some("strict"), "observe", Mode::Strict),
            (Some("observe"), "nonsense", Mode::Observe),
            (None, "observe", Mode::Standard),
            (None, "strict", Mode::Strict),
        ] {
            let env = Env::empty().with(POLICY_VAR, variable);
            assert_eq!(mode(&env, cwd, pinned).unwrap(), expected, "{pinned:?} {variable}");
        }
        assert!(matches!(mode(&Env::empty(), cwd, Some("lax")), Err(GuardError::Pinned(_))));
    }

    #[test]
    fn the_users_file_may_choose_the_mode_and_a_repositorys_may_not() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with("HOME", dir.path());
        let repository = dir.path().join("r");
        fs::create_dir_all(repository.join(".git")).unwrap();
        fs::create_dir_all(repository.join(".amplihack")).unwrap();
        fs::write(repository.join(".amplihack/config.toml"), "policy = \"observe\"\n").unwrap();
        assert_eq!(mode(&env, &repository, None).unwrap(), Mode::Standard);
        fs::create_dir_all(dir.path().join(".config/amplihack")).unwrap();
        fs::write(dir.path().join(".config/amplihack/config.toml"), "policy = \"observe\"\n").unwrap();
        assert_eq!(mode(&env, &repository, None).unwrap(), Mode::Observe);
    }

    #[test]
    fn a_policy_that_cannot_be_read_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with("HOME", dir.path());
        policy(&env, dir.path(), None).unwrap();
        fs::create_dir_all(dir.path().join(".config/amplihack/policy.toml")).unwrap();
        let error = policy(&env, dir.path(), None).unwrap_err();
        assert!(error.to_string().contains("policy.toml"), "{error}");
    }
}
