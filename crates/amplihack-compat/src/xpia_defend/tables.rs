//! Self-description of the defender: health, patterns, configuration.

use amplihack_config::env::Env;
use amplihack_policy::policy::PolicyMode;
use amplihack_policy::rules;
use amplihack_policy::xpia::XpiaSettings;
use serde_json::{Value, json};

use super::judge::load_policy;

/// Reports whether the policy can be loaded here.
pub(crate) fn health_json(env: &Env) -> Result<Value, String> {
    load_policy(env)?;
    Ok(
        json!({ "status": "healthy", "backend": "rust", "version": env!("CARGO_PKG_VERSION"), "rules": rules::builtin_rules().count() }),
    )
}

/// Every rule of the policy.
pub(crate) fn patterns_json() -> Value {
    rules::builtin_rules()
        .map(|rule| {
            json!({
                "id": rule.id.to_string(),
                "category": rule.pack.name(),
                "decision": rule.decision.to_string(),
                "description": rule.harm,
            })
        })
        .collect()
}

/// Returns the configuration in force here.
pub(crate) fn config_json(env: &Env) -> Result<Value, String> {
    let (policy, _) = load_policy(env)?;
    let xpia = XpiaSettings::from_env(env);
    let mode = match policy.mode() {
        PolicyMode::Standard => "standard",
        PolicyMode::Strict => "strict",
        PolicyMode::Observe => "observe",
    };
    Ok(json!({
        "mode": mode,
        "enabled": xpia.enabled,
        "security_level": format!("{:?}", xpia.level).to_lowercase(),
        "block_high_risk": xpia.block_high_risk,
        "log_file": xpia.log_file,
        "blacklist_domains": xpia.lists.deny,
        "whitelist_domains": xpia.lists.allow,
    }))
}
