//! The environment that the external runner gets, and a variable that is checked though nothing is installed.

use std::time::Duration;

use amplihack_config::agent_binary::ENV_VAR;
use amplihack_config::env::Env;

use super::error::BridgeError;

/// Everything that passes; all else, keys and tokens above all, stays here.
const ALLOWED: &[&str] = &[
    ENV_VAR,
    "AMPLIHACK_HOME",
    "AMPLIHACK_MAX_DEPTH",
    "AMPLIHACK_MAX_SESSIONS",
    "AMPLIHACK_NONINTERACTIVE",
    "AMPLIHACK_PROMPT_DELIVERY",
    "AMPLIHACK_RECIPE_LOG",
    "AMPLIHACK_SESSION_DEPTH",
    "AMPLIHACK_SESSION_ID",
    "AMPLIHACK_TREE_ID",
    "CLAUDE_PROJECT_DIR",
    "COPILOT_MODEL",
    "CURL_CA_BUNDLE",
    "FORCE_COLOR",
    "GH_AW_GITHUB_TOKEN",
    "GITHUB_TOKEN",
    "HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "NO_COLOR",
    "NO_PROXY",
    "PATH",
    "PYTHONPATH",
    "RECIPE_RUNNER_RS_PATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "USER",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Returns the part of `env` that the runner gets: the variables that the predecessor passes on, and nothing else.
pub fn runner_environment(env: &Env) -> Env {
    env.iter()
        .filter(|(name, _)| {
            name.to_str().is_some_and(|name| {
                ALLOWED.contains(&name) || amplihack_sys::sabotage::is_active("copilot-runner-environment")
            })
        })
        .collect()
}

/// Without the variable.
const DEFAULT_INSTALL_TIMEOUT: Duration = Duration::from_mins(5);

/// `RECIPE_RUNNER_INSTALL_TIMEOUT`, whole seconds. There is no installer any more; a value that is none is still an error.
pub(crate) fn install_timeout(env: &Env) -> Result<Duration, BridgeError> {
    let Some(value) = env.get("RECIPE_RUNNER_INSTALL_TIMEOUT") else { return Ok(DEFAULT_INSTALL_TIMEOUT) };
    let seconds =
        value.to_str().and_then(|text| text.trim().parse::<u64>().ok()).filter(|seconds| *seconds > 0);
    let seconds =
        seconds.or_else(|| amplihack_sys::sabotage::is_active("copilot-install-timeout").then_some(300));
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| BridgeError::BadInstallTimeout { value: value.to_string_lossy().into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_tokens_stay_here() {
        let env: Env =
            ["PATH", "HOME", "GITHUB_TOKEN", "no_proxy", "COPILOT_MODEL", "AMPLIHACK_AGENT_BINARY"]
                .into_iter()
                .chain([
                    "ANTHROPIC_API_KEY",
                    "GH_TOKEN",
                    "AWS_SECRET_ACCESS_KEY",
                    "NPM_TOKEN",
                    "LD_PRELOAD",
                    "path",
                ])
                .map(|name| (name, "x"))
                .collect();
        let passed: Vec<String> =
            runner_environment(&env).iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert_eq!(
            passed,
            ["AMPLIHACK_AGENT_BINARY", "COPILOT_MODEL", "GITHUB_TOKEN", "HOME", "PATH", "no_proxy"]
        );
    }

    #[test]
    fn the_install_timeout_is_whole_seconds() {
        let of = |value: &str| {
            install_timeout(&Env::empty().with_variable("RECIPE_RUNNER_INSTALL_TIMEOUT", value))
        };
        assert_eq!(install_timeout(&Env::empty()).unwrap(), Duration::from_mins(5));
        assert_eq!(of(" 150 ").unwrap(), Duration::from_secs(150));
        for bad in ["", "0", "-1", "1.5", "soon", "99999999999999999999"] {
            assert!(matches!(of(bad), Err(BridgeError::BadInstallTimeout { .. })), "{bad}");
        }
    }
}
