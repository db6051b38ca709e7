//! Kinds of failure that an agent's own words are about.

use crate::event::FailKind;

/// Words of the models' providers and of the agents, in the order in which they decide: an account without money answers with
/// the status of a rate limit, a long prompt with that of a bad request.
const WORDS: &[(FailKind, &[&str])] = &[
    (
        FailKind::Quota,
        &[
            "insufficient_quota",
            "exceeded your current quota",
            "credit balance",
            "usage limit",
            "usage_limit",
            "out of credits",
            "quota exceeded",
            "exceeded your quota",
            "billing",
            "payment required",
        ],
    ),
    (
        FailKind::ContextLength,
        &[
            "prompt is too long",
            "prompt too long",
            "context length",
            "context_length",
            "context window",
            "context limit",
            "maximum context",
            "exceeds the maximum length",
            "model_max_prompt_tokens_exceeded",
            "input is too long",
        ],
    ),
    (
        FailKind::Auth,
        &[
            "authentication",
            "unauthorized",
            "failed to authenticate",
            "invalid api key",
            "invalid x-api-key",
            "invalid_api_key",
            "incorrect api key",
            "not logged in",
            "please run /login",
            "oauth token",
            "permission_error",
            "unauthenticated",
            "api key not valid",
        ],
    ),
    (
        FailKind::RateLimit,
        &[
            "rate limit",
            "rate_limit",
            "rate-limit",
            "too many requests",
            "request rejected (429)",
            "resource_exhausted",
        ],
    ),
];

/// The kind of a failure that an agent reports in `text`, after a model's answer with `status`, if it is known.
pub(crate) fn classify_failure(status: Option<i64>, text: &str) -> FailKind {
    let text = text.to_ascii_lowercase();
    let said = WORDS.iter().find(|(_, words)| words.iter().any(|word| text.contains(word)));
    match (status, said) {
        (_, Some((kind @ (FailKind::Quota | FailKind::ContextLength), _))) => *kind,
        (Some(401 | 403), _) => FailKind::Auth,
        (Some(402), _) => FailKind::Quota,
        (Some(413), _) => FailKind::ContextLength,
        (Some(429), _) => FailKind::RateLimit,
        // A server's own failure is none of these, whatever it says.
        (Some(500..), _) | (_, None) => FailKind::Agent,
        (_, Some((kind, _))) => *kind,
    }
}

#[cfg(test)]
mod tests {
    use super::{FailKind, classify_failure};

    #[test]
    fn words_and_status_tell_the_kind() {
        for (status, text, expected) in [
            (Some(401), "Failed to authenticate. API Error: 401 fake", FailKind::Auth),
            (None, "unexpected status 401 Unauthorized: no, url: http://h/", FailKind::Auth),
            (None, "exceeded retry limit, last status: 429 Too Many Requests", FailKind::RateLimit),
            (Some(429), "API Error: Request rejected (429)", FailKind::RateLimit),
            (Some(429), "You exceeded your current quota", FailKind::Quota),
            (Some(400), "Your credit balance is too low", FailKind::Quota),
            (Some(400), "prompt is too long: 250000 tokens > 200000", FailKind::ContextLength),
            (None, "Codex ran out of room in the model's context window.", FailKind::ContextLength),
            (None, "You've hit your usage limit.", FailKind::Quota),
            (Some(500), "authentication backend down", FailKind::Agent),
            (None, "We're currently experiencing high demand", FailKind::Agent),
            (None, "", FailKind::Agent),
        ] {
            assert_eq!(classify_failure(status, text), expected, "{text}");
        }
    }
}
