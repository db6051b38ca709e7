//! Secrets as types, and the names of variables that hold secrets.

#[cfg(feature = "files")]
mod text;

use std::ffi::OsStr;

#[cfg(feature = "files")]
pub use text::Secret;

/// Text in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Words that make a name a secret's if they are a whole word of it.
const WORDS: &[&str] =
    &["KEY", "KEYS", "PAT", "PASS", "AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "COOKIES", "DSN", "JWT"];

/// Words that make a name a secret's if a word of it ends so: `GITHUBTOKEN`, `PGPASSWORD`.
const ENDINGS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "APIKEY",
    "ACCESSKEY",
    "SECRETKEY",
    "PRIVATEKEY",
];

/// Reports whether a variable of this name may hold a secret, in any case.
///
/// Names are cut at everything but letters and digits; digits at a word's end do not count. Rather too often than too seldom,
/// but `TOKENS` is a number of tokens and `AUTHOR` a person.
pub fn is_secret_name(name: impl AsRef<OsStr>) -> bool {
    let name = name.as_ref().to_string_lossy().to_ascii_uppercase();
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()))
        .any(|word| WORDS.contains(&word) || ENDINGS.iter().any(|ending| word.ends_with(ending)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_secret_is_seen_only_when_exposed() {
        let secret = Secret::new("hunter2");
        assert_eq!(
            format!("{secret} {secret:?} {:#?}", Some(&secret)),
            "[redacted] [redacted] Some(\n    [redacted],\n)"
        );
        assert_eq!(secret.expose(), "hunter2");
        assert_eq!(Secret::from("x".to_owned()).clone().expose(), "x");
    }

    #[test]
    fn names_of_secrets() {
        for name in [
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "COPILOT_GITHUB_TOKEN",
            "ANTHROPIC_AUTH_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AZURE_CLIENT_SECRET",
            "PGPASSWORD",
            "DB_PASSWD",
            "SMTP_PASS",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "npm_config__authToken",
            "AZURE_DEVOPS_EXT_PAT",
            "MY-API-KEY",
            "githubtoken",
            "OPENAI_APIKEY",
            "API_KEY2",
            "SIGNING_KEYS",
            "SENTRY_DSN",
            "key",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        assert!(is_secret_name(OsStr::from_bytes(b"\xff_TOKEN")));
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "MAX_THINKING_TOKENS",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "GIT_AUTHOR_NAME",
            "XAUTHORITY",
            "KEYBOARD",
            "MONKEY",
            "HTTPS_PROXY",
            "AMPLIHACK_AGENT_BINARY",
            "COMPASS",
            "",
            "_",
            "42",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
