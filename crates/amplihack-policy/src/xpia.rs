//! The six `XPIA_*` variables, and what they change in how foreign text and web addresses are judged.

use std::path::PathBuf;

use amplihack_config::env::Env;

use crate::content::InjectionSeverity;
use crate::fetch::DomainLists;

/// `XPIA_SECURITY_LEVEL`: how sure a finding in foreign text must be to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum XpiaLevel {
    /// `LENIENT` or `LOW`: only what is hardly ever said for another reason.
    Low,
    /// `MODERATE` or `MEDIUM`: what is worth a note.
    #[default]
    Medium,
    /// `HIGH`: text that is only about such things, too.
    High,
    /// `STRICT`: as `HIGH`, and with a list of allowed domains every other one asks.
    Strict,
}

impl XpiaLevel {
    /// The level of a word, in any case; `None` if it names none.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word.to_ascii_uppercase().as_str() {
            "LENIENT" | "LOW" => Self::Low,
            "MODERATE" | "MEDIUM" => Self::Medium,
            "HIGH" => Self::High,
            "STRICT" => Self::Strict,
            _ => return None,
        })
    }

    /// The least severity that counts.
    pub(crate) fn least_severity(self) -> InjectionSeverity {
        match self {
            Self::Low => InjectionSeverity::High,
            Self::Medium => InjectionSeverity::Medium,
            Self::High | Self::Strict => InjectionSeverity::Low,
        }
    }
}

/// Settings of the `XPIA_*` variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XpiaSettings {
    /// `XPIA_ENABLED`. Off: foreign text and addresses are judged, but nothing is decided.
    pub enabled: bool,
    /// `XPIA_SECURITY_LEVEL`.
    pub level: XpiaLevel,
    /// `XPIA_BLOCK_HIGH_RISK`: what would be asked about is denied.
    pub block_high_risk: bool,
    /// `XPIA_LOG_FILE`: an absolute path at which the audit is written a second time. Never in place of the usual one.
    pub log_file: Option<PathBuf>,
    /// `XPIA_BLACKLIST_DOMAINS` and `XPIA_WHITELIST_DOMAINS`.
    pub lists: DomainLists,
    /// True if a domain of the allow list is allowed in so many words, past the host's own question.
    pub may_allow: bool,
}

impl Default for XpiaSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            level: XpiaLevel::default(),
            block_high_risk: false,
            log_file: None,
            lists: DomainLists::default(),
            may_allow: false,
        }
    }
}

impl XpiaSettings {
    /// Settings from an environment that may come from an agent or a repository, as a hook's does: only what
    /// is stricter than without them counts.
    pub fn from_env(env: &Env) -> Self {
        let wished = Self::from_user_env(env);
        let default = Self::default();
        Self { enabled: true, level: wished.level.max(default.level), may_allow: false, ..wished }
    }

    /// Settings from the variables, to the letter: for an environment that is the user's own. A word that is no level counts as
    /// none given.
    pub fn from_user_env(env: &Env) -> Self {
        let list = |name| env.text(name).unwrap_or_default();
        Self {
            enabled: env.text("XPIA_ENABLED").is_none_or(|word| !is_off(word)),
            level: env.text("XPIA_SECURITY_LEVEL").and_then(XpiaLevel::from_word).unwrap_or_default(),
            block_high_risk: env.text("XPIA_BLOCK_HIGH_RISK").is_some_and(|word| !is_off(word)),
            log_file: env.path("XPIA_LOG_FILE").filter(|path| path.is_absolute()),
            lists: DomainLists::from_text(list("XPIA_BLACKLIST_DOMAINS"), list("XPIA_WHITELIST_DOMAINS")),
            may_allow: true,
        }
    }
}

fn is_off(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Env {
        pairs.iter().copied().collect()
    }

    #[test]
    fn without_variables_nothing_changes() {
        assert_eq!(XpiaSettings::from_env(&Env::empty()), XpiaSettings::default());
    }

    #[test]
    fn a_hooks_environment_only_tightens() {
        let loose =
            env(&[("XPIA_ENABLED", "false"), ("XPIA_SECURITY_LEVEL", "LOW"), ("XPIA_BLOCK_HIGH_RISK", "no")]);
        assert_eq!(XpiaSettings::from_env(&loose), XpiaSettings::default());
        let wished = XpiaSettings::from_user_env(&loose);
        assert_eq!((wished.enabled, wished.level, wished.may_allow), (false, XpiaLevel::Low, true));
    }

    #[test]
    fn stricter_words_count_everywhere() {
        let strict = env(&[
            ("XPIA_SECURITY_LEVEL", "strict"),
            ("XPIA_BLOCK_HIGH_RISK", "true"),
            ("XPIA_LOG_FILE", "/var/log/xpia.log"),
            ("XPIA_BLACKLIST_DOMAINS", "evil.example, *.bad.test"),
            ("XPIA_WHITELIST_DOMAINS", "docs.rs"),
        ]);
        let settings = XpiaSettings::from_env(&strict);
        assert_eq!((settings.level, settings.block_high_risk), (XpiaLevel::Strict, true));
        assert_eq!(settings.log_file, Some(PathBuf::from("/var/log/xpia.log")));
        assert_eq!(settings.lists.deny, ["evil.example", "bad.test"]);
        assert_eq!(settings.lists.allow, ["docs.rs"]);
        assert!(!settings.may_allow);
    }

    #[test]
    fn words_of_both_generations_name_levels() {
        for (word, level) in
            [("Moderate", XpiaLevel::Medium), ("LENIENT", XpiaLevel::Low), ("high", XpiaLevel::High)]
        {
            assert_eq!(XpiaLevel::from_word(word), Some(level));
        }
        assert_eq!(XpiaLevel::from_word("paranoid"), None);
        let settings = XpiaSettings::from_user_env(&env(&[
            ("XPIA_SECURITY_LEVEL", "paranoid"),
            ("XPIA_LOG_FILE", "relative"),
        ]));
        assert_eq!((settings.level, settings.log_file), (XpiaLevel::Medium, None));
    }
}
