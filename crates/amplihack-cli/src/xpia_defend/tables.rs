//! What the defender says about itself.

use amplihack_policy::policy::Mode;
use amplihack_policy::rules;
use amplihack_policy::xpia::XpiaSettings;
use amplihack_utils::env::Env;
use serde_json::{Value, json};

use crate::judge::policy;

/// Whether the policy can be loaded here.
pub(crate) fn health(env: &Env) -> Result<Value, String> {
    policy(env)?;
    Ok(
        json!({ "status": "healthy", "backend": "rust", "version": env!("CARGO_PKG_VERSION"), "rules": rules::all().count() }),
    )
}

/// Every rule of the policy.
pub(crate) fn patterns() -> Value {
    rules::all()
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

/// What is in force here.
pub(crate) fn config(env: &Env) -> Result<Value, String> {
    let (policy, _) = policy(env)?;
    let xpia = XpiaSettings::from_env(env);
    let mode = match policy.mode() {
        Mode::Standard => "standard",
        Mode::Strict => "strict",
        Mode::Observe => "observe",
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
