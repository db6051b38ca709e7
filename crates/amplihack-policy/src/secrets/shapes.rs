//! Credentials whose beginning tells what they are.

use super::{Found, Rule, entropy, is_placeholder};
use crate::decision::Span;

#[derive(Clone, Copy)]
enum Chars {
    /// `A-Z0-9`
    Upper,
    /// `A-Za-z0-9`
    Alnum,
    /// `0-9a-f`
    Hex,
    /// `A-Za-z0-9_-`
    Url,
    /// `A-Za-z0-9_.-`
    Dotted,
    /// `A-Za-z0-9+/`
    Base64,
    /// Base64 that may be percent-encoded.
    Signature,
}

impl Chars {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'),
            Self::Signature => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'%' | b'=' | b'-' | b'_')
            }
        }
    }
}

struct Shape {
    rule: &'static str,
    prefix: &'static [u8],
    chars: Chars,
    /// Characters after the prefix, at least and at most.
    length: (usize, usize),
    /// Bits of entropy that the rest must have.
    entropy: f64,
    /// Whether the prefix belongs to the credential.
    whole: bool,
}

const ANY: usize = 4096;

const fn shape(
    rule: &'static str,
    prefix: &'static [u8],
    chars: Chars,
    least: usize,
    most: usize,
    entropy: f64,
) -> Shape {
    Shape { rule, prefix, chars, length: (least, most), entropy, whole: true }
}

const SHAPES: &[Shape] = &[
    shape("aws-access-key", b"AKIA", Chars::Upper, 16, 16, 2.5),
    shape("aws-access-key", b"ASIA", Chars::Upper, 16, 16, 2.5),
    shape("github-token", b"ghp_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"gho_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"ghs_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"ghu_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"ghr_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"github_pat_", Chars::Url, 40, 255, 3.0),
    shape("gitlab-token", b"glpat-", Chars::Dotted, 20, 300, 3.0),
    shape("anthropic-key", b"sk-ant-", Chars::Url, 32, 255, 3.0),
    shape("openai-key", b"sk-proj-", Chars::Url, 40, 255, 3.0),
    shape("openai-key", b"sk-svcacct-", Chars::Url, 40, 255, 3.0),
    shape("openrouter-key", b"sk-or-v1-", Chars::Hex, 64, 64, 3.0),
    shape("openai-key", b"sk-", Chars::Alnum, 40, 64, 3.5),
    shape("slack-token", b"xoxb-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxp-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxa-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxs-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xapp-", Chars::Url, 30, 255, 2.5),
    shape("slack-webhook", b"hooks.slack.com/services/T", Chars::Base64, 30, 120, 2.5),
    shape("stripe-key", b"sk_live_", Chars::Alnum, 24, 255, 3.0),
    shape("stripe-key", b"sk_test_", Chars::Alnum, 24, 255, 3.0),
    shape("stripe-key", b"rk_live_", Chars::Alnum, 24, 255, 3.0),
    shape("stripe-key", b"whsec_", Chars::Base64, 32, 255, 3.0),
    shape("google-api-key", b"AIza", Chars::Url, 35, 35, 3.0),
    shape("google-client-secret", b"GOCSPX-", Chars::Url, 28, 28, 3.0),
    shape("npm-token", b"npm_", Chars::Alnum, 36, 36, 3.0),
    shape("pypi-token", b"pypi-AgEIcHlwaS5vcmc", Chars::Url, 50, 1000, 3.0),
    shape("huggingface-token", b"hf_", Chars::Alnum, 34, 40, 3.0),
    shape("sendgrid-key", b"SG.", Chars::Dotted, 66, 66, 3.5),
    shape("twilio-key", b"SK", Chars::Hex, 32, 32, 3.0),
    shape("digitalocean-token", b"dop_v1_", Chars::Hex, 64, 64, 3.0),
    shape("docker-token", b"dckr_pat_", Chars::Url, 27, 64, 3.0),
    shape("databricks-token", b"dapi", Chars::Hex, 32, 32, 3.0),
    shape("vault-token", b"hvs.", Chars::Url, 24, 200, 3.0),
    shape("groq-key", b"gsk_", Chars::Alnum, 48, 60, 3.5),
    shape("xai-key", b"xai-", Chars::Alnum, 70, 90, 3.5),
    shape("amp-key", b"sgamp_", Chars::Url, 32, 200, 3.0),
    shape("linear-key", b"lin_api_", Chars::Alnum, 40, 40, 3.0),
    shape("age-key", b"AGE-SECRET-KEY-1", Chars::Upper, 58, 58, 3.0),
    Shape { whole: false, ..shape("azure-storage-key", b"AccountKey=", Chars::Base64, 86, 88, 4.0) },
    Shape { whole: false, ..shape("azure-sas", b"sig=", Chars::Signature, 43, 120, 3.5) },
    Shape { whole: false, ..shape("bearer", b"Bearer ", Chars::Dotted, 20, ANY, 3.0) },
    Shape { whole: false, ..shape("bearer", b"bearer ", Chars::Dotted, 20, ANY, 3.0) },
    Shape { whole: false, ..shape("basic-auth", b"Authorization: Basic ", Chars::Base64, 8, ANY, 2.5) },
];

/// First bytes of everything looked for here.
static FIRST: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < SHAPES.len() {
        table[SHAPES[at].prefix[0] as usize] = true;
        at += 1;
    }
    table[b'e' as usize] = true;
    table[b'-' as usize] = true;
    table
};

/// The credential that begins at `at`.
pub(super) fn at(text: &[u8], at: usize) -> Option<Found> {
    let first = *text.get(at)?;
    if !FIRST[usize::from(first)] {
        return None;
    }
    if first == b'-' {
        return private_key(text, at);
    }
    if at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == b'_') {
        return None;
    }
    if first == b'e'
        && let Some(found) = web_token(text, at)
    {
        return Some(found);
    }
    SHAPES.iter().filter(|shape| text[at..].starts_with(shape.prefix)).find_map(|shape| shape.at(text, at))
}

impl Shape {
    fn at(&self, text: &[u8], at: usize) -> Option<Found> {
        let start = at + self.prefix.len();
        let length =
            text[start..].iter().take(self.length.1 + 1).take_while(|&&byte| self.chars.has(byte)).count();
        if length < self.length.0 || length > self.length.1 {
            return None;
        }
        let mut end = start + length;
        while text[start..end].ends_with(b".") {
            end -= 1;
        }
        let value = &text[start..end];
        if entropy(value) < self.entropy || is_placeholder(value) || value.iter().all(u8::is_ascii_lowercase)
        {
            return None;
        }
        // Padding belongs to it.
        end += text[end..].iter().take(2).take_while(|&&byte| byte == b'=').count();
        Some(Found { rule: Rule(self.rule), span: Span { start: if self.whole { at } else { start }, end } })
    }
}

/// `eyJ….eyJ….…`
fn web_token(text: &[u8], at: usize) -> Option<Found> {
    if !text[at..].starts_with(b"eyJ") {
        return None;
    }
    let length = text[at..].iter().take(ANY * 4).take_while(|&&byte| Chars::Dotted.has(byte)).count();
    let token = &text[at..at + length];
    let mut parts = token.split(|&byte| byte == b'.');
    let (head, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
    let shaped =
        head.len() >= 17 && claims.starts_with(b"eyJ") && claims.len() >= 10 && signature.len() >= 16;
    let end = at + head.len() + claims.len() + signature.len() + 2;
    shaped.then_some(Found { rule: Rule("jwt"), span: Span { start: at, end } })
}

/// A PEM private key, to its end or the text's.
fn private_key(text: &[u8], at: usize) -> Option<Found> {
    let rest = text[at..].strip_prefix(b"-----BEGIN ")?;
    let label = rest.iter().take(40).position(|&byte| byte == b'-')?;
    if !rest[..label].ends_with(b"PRIVATE KEY") && !rest[..label].ends_with(b"PRIVATE KEY BLOCK") {
        return None;
    }
    let body = &rest[label..];
    // The mark alone, in documentation or code, is none.
    let letters = body.iter().take(200).filter(|byte| byte.is_ascii_alphanumeric()).count();
    if letters < 40 {
        return None;
    }
    let end = body.windows(9).position(|nine| nine == b"-----END ").map_or(text.len(), |end| {
        let from = at + 11 + label + end + 9;
        text[from..]
            .windows(5)
            .take(60)
            .position(|five| five == b"-----")
            .map_or(text.len(), |tail| from + tail + 5)
    });
    Some(Found { rule: Rule("private-key"), span: Span { start: at, end } })
}
