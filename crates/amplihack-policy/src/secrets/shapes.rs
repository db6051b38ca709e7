//! Credentials whose beginning tells what they are.

use super::{Found, Rule, blocks, entropy, is_placeholder};
use crate::decision::Span;

#[derive(Clone, Copy)]
pub(super) enum Chars {
    /// `A-Z0-9`
    Upper,
    /// `a-z0-9`
    Lower,
    /// `A-Za-z0-9`
    Alnum,
    /// `0-9a-f`
    Hex,
    /// `0-9A-Fa-f`
    HexAny,
    /// `A-Za-z0-9_-`
    Url,
    /// `A-Za-z0-9_-/`
    Path,
    /// `A-Za-z0-9_-/@`
    Address,
    /// `A-Za-z0-9_.-`
    Dotted,
    /// `A-Za-z0-9+/`
    Base64,
    /// Base64 that may be percent-encoded.
    Signature,
}

impl Chars {
    pub(super) const fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::HexAny => byte.is_ascii_hexdigit(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/'),
            Self::Address => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/' | b'@'),
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
    shape("aws-access-key", b"ABIA", Chars::Upper, 16, 16, 2.5),
    shape("aws-access-key", b"ACCA", Chars::Upper, 16, 16, 2.5),
    shape("aws-bedrock-key", b"ABSK", Chars::Base64, 109, 269, 3.5),
    shape("github-token", b"ghp_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"gho_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"ghs_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"ghu_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"ghr_", Chars::Alnum, 36, 255, 3.0),
    shape("github-token", b"github_pat_", Chars::Url, 40, 255, 3.0),
    shape("gitlab-token", b"glpat-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"gldt-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"glrt-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"glptt-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"glcbt-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"glagent-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"gloas-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"glsoat-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"glft-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"glimt-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"glffct-", Chars::Dotted, 20, 300, 3.0),
    shape("gitlab-token", b"GR1348941", Chars::Url, 20, 20, 3.0),
    shape("anthropic-key", b"sk-ant-", Chars::Url, 32, 255, 3.0),
    shape("openai-key", b"sk-proj-", Chars::Url, 40, 255, 3.0),
    shape("openai-key", b"sk-svcacct-", Chars::Url, 40, 255, 3.0),
    shape("openai-key", b"sk-admin-", Chars::Url, 40, 255, 3.0),
    shape("openrouter-key", b"sk-or-v1-", Chars::Hex, 64, 64, 3.0),
    shape("openai-key", b"sk-", Chars::Alnum, 40, 64, 3.5),
    shape("slack-token", b"xoxb-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxp-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxa-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxs-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxr-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxo-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxe-", Chars::Url, 30, 300, 2.5),
    shape("slack-token", b"xoxe.xoxb-", Chars::Url, 30, 300, 2.5),
    shape("slack-token", b"xoxe.xoxp-", Chars::Url, 30, 300, 2.5),
    shape("slack-token", b"xapp-", Chars::Url, 30, 255, 2.5),
    shape("slack-webhook", b"hooks.slack.com/services/T", Chars::Base64, 30, 120, 2.5),
    shape("slack-webhook", b"hooks.slack.com/workflows/T", Chars::Base64, 30, 160, 2.5),
    shape("stripe-key", b"sk_live_", Chars::Alnum, 24, 255, 3.0),
    shape("stripe-key", b"sk_test_", Chars::Alnum, 24, 255, 3.0),
    shape("stripe-key", b"rk_live_", Chars::Alnum, 24, 255, 3.0),
    shape("stripe-key", b"rk_test_", Chars::Alnum, 24, 255, 3.0),
    shape("stripe-key", b"whsec_", Chars::Base64, 32, 255, 3.0),
    shape("google-api-key", b"AIza", Chars::Url, 35, 35, 3.0),
    shape("google-client-secret", b"GOCSPX-", Chars::Url, 28, 28, 3.0),
    shape("google-token", b"ya29.", Chars::Url, 60, 2000, 3.5),
    shape("google-token", b"1//0", Chars::Url, 60, 200, 3.5),
    shape("npm-token", b"npm_", Chars::Alnum, 36, 36, 3.0),
    shape("pypi-token", b"pypi-AgEI", Chars::Url, 60, 1000, 3.0),
    shape("pypi-token", b"pypi-AgEN", Chars::Url, 60, 1000, 3.0),
    shape("crates-io-token", b"cio", Chars::Alnum, 32, 32, 3.5),
    shape("huggingface-token", b"hf_", Chars::Alnum, 34, 40, 3.0),
    shape("huggingface-token", b"api_org_", Chars::Alnum, 34, 34, 3.0),
    shape("sendgrid-key", b"SG.", Chars::Dotted, 66, 66, 3.5),
    shape("twilio-key", b"SK", Chars::Hex, 32, 32, 3.0),
    shape("digitalocean-token", b"dop_v1_", Chars::Hex, 64, 64, 3.0),
    shape("digitalocean-token", b"doo_v1_", Chars::Hex, 64, 64, 3.0),
    shape("digitalocean-token", b"dor_v1_", Chars::Hex, 64, 64, 3.0),
    shape("docker-token", b"dckr_pat_", Chars::Url, 27, 64, 3.0),
    shape("docker-token", b"dckr_oat_", Chars::Url, 27, 64, 3.0),
    shape("databricks-token", b"dapi", Chars::Hex, 32, 32, 3.0),
    shape("vault-token", b"hvs.", Chars::Url, 24, 300, 3.0),
    shape("vault-token", b"hvb.", Chars::Url, 24, 300, 3.0),
    shape("vault-token", b"hvr.", Chars::Url, 24, 300, 3.0),
    shape("heroku-key", b"HRKU-", Chars::Url, 36, 80, 3.0),
    shape("shopify-token", b"shpat_", Chars::HexAny, 32, 32, 3.0),
    shape("shopify-token", b"shpca_", Chars::HexAny, 32, 32, 3.0),
    shape("shopify-token", b"shppa_", Chars::HexAny, 32, 32, 3.0),
    shape("shopify-token", b"shpss_", Chars::HexAny, 32, 32, 3.0),
    shape("groq-key", b"gsk_", Chars::Alnum, 48, 60, 3.5),
    shape("xai-key", b"xai-", Chars::Alnum, 70, 90, 3.5),
    shape("amp-key", b"sgamp_", Chars::Url, 32, 200, 3.0),
    shape("sourcegraph-token", b"sgp_", Chars::Url, 40, 80, 3.0),
    shape("linear-key", b"lin_api_", Chars::Alnum, 40, 40, 3.0),
    shape("linear-key", b"lin_oauth_", Chars::Alnum, 40, 80, 3.0),
    shape("notion-key", b"ntn_", Chars::Alnum, 40, 50, 3.0),
    shape("notion-key", b"secret_", Chars::Alnum, 43, 43, 3.5),
    shape("postman-key", b"PMAK-", Chars::Url, 59, 59, 3.0),
    shape("new-relic-key", b"NRAK-", Chars::Alnum, 27, 27, 3.0),
    shape("new-relic-key", b"NRII-", Chars::Url, 32, 32, 3.0),
    shape("new-relic-key", b"NRRA-", Chars::Hex, 42, 42, 3.0),
    shape("new-relic-key", b"NRJS-", Chars::Hex, 19, 19, 3.0),
    shape("mailgun-key", b"key-", Chars::Hex, 32, 32, 3.0),
    shape("grafana-key", b"glsa_", Chars::Url, 41, 41, 3.0),
    shape("grafana-key", b"glc_", Chars::Base64, 32, 400, 3.0),
    shape("grafana-key", b"eyJrIjoi", Chars::Base64, 70, 400, 3.0),
    shape("square-token", b"sq0atp-", Chars::Url, 22, 22, 3.0),
    shape("square-token", b"sq0csp-", Chars::Url, 43, 43, 3.0),
    shape("square-token", b"EAAA", Chars::Url, 60, 60, 3.5),
    shape("age-key", b"AGE-SECRET-KEY-1", Chars::Upper, 58, 58, 3.0),
    shape("discord-webhook", b"discord.com/api/webhooks/", Chars::Path, 80, 100, 3.5),
    shape("discord-webhook", b"discordapp.com/api/webhooks/", Chars::Path, 80, 100, 3.5),
    shape("1password-token", b"ops_eyJ", Chars::Base64, 200, 1000, 3.5),
    shape("airtable-token", b"pat", Chars::Dotted, 79, 79, 3.5),
    shape("alibaba-access-key", b"LTAI", Chars::Alnum, 16, 24, 3.0),
    shape("tencent-access-key", b"AKID", Chars::Alnum, 32, 32, 3.0),
    shape("adobe-secret", b"p8e-", Chars::Alnum, 32, 32, 3.0),
    shape("artifactory-key", b"AKCp", Chars::Alnum, 69, 69, 3.5),
    shape("artifactory-key", b"cmVmd", Chars::Alnum, 59, 59, 3.5),
    shape("atlassian-token", b"ATATT3", Chars::Signature, 150, 240, 3.5),
    shape("atlassian-token", b"ATCTT3", Chars::Signature, 150, 240, 3.5),
    shape("bitbucket-password", b"ATBB", Chars::Alnum, 32, 32, 3.0),
    shape("clojars-token", b"CLOJARS_", Chars::Lower, 60, 60, 3.0),
    shape("cloudflare-origin-key", b"v1.0-", Chars::Url, 171, 171, 3.0),
    shape("contentful-token", b"CFPAT-", Chars::Url, 43, 43, 3.0),
    shape("doppler-token", b"dp.pt.", Chars::Alnum, 40, 44, 3.0),
    shape("doppler-token", b"dp.ct.", Chars::Alnum, 40, 44, 3.0),
    shape("doppler-token", b"dp.sa.", Chars::Alnum, 40, 44, 3.0),
    shape("doppler-token", b"dp.scim.", Chars::Alnum, 40, 44, 3.0),
    shape("dropbox-token", b"sl.", Chars::Url, 130, 160, 3.5),
    shape("duffel-token", b"duffel_live_", Chars::Url, 43, 43, 3.0),
    shape("duffel-token", b"duffel_test_", Chars::Url, 43, 43, 3.0),
    shape("dynatrace-token", b"dt0c01.", Chars::Dotted, 89, 89, 3.0),
    shape("easypost-key", b"EZAK", Chars::Alnum, 54, 54, 3.0),
    shape("easypost-key", b"EZTK", Chars::Alnum, 54, 54, 3.0),
    shape("facebook-token", b"EAAM", Chars::Alnum, 100, 300, 3.5),
    shape("facebook-token", b"EAAC", Chars::Alnum, 100, 300, 3.5),
    shape("flutterwave-key", b"FLWSECK_TEST-", Chars::Url, 32, 40, 3.0),
    shape("flutterwave-key", b"FLWSECK-", Chars::Url, 32, 40, 3.0),
    shape("fly-token", b"fo1_", Chars::Url, 43, 43, 3.0),
    shape("fly-token", b"fm1r_", Chars::Base64, 100, 1000, 3.5),
    shape("fly-token", b"fm1a_", Chars::Base64, 100, 1000, 3.5),
    shape("fly-token", b"fm2_", Chars::Base64, 100, 1000, 3.5),
    shape("frame-io-token", b"fio-u-", Chars::Url, 64, 64, 3.0),
    shape("figma-token", b"figd_", Chars::Url, 38, 60, 3.0),
    shape("infracost-key", b"ico-", Chars::Alnum, 32, 32, 3.0),
    shape("mapbox-token", b"sk.eyJ1Ijoi", Chars::Dotted, 50, 200, 3.5),
    shape("teams-webhook", b"webhook.office.com/webhookb2/", Chars::Address, 100, 300, 3.0),
    shape("netlify-token", b"nfp_", Chars::Alnum, 36, 60, 3.0),
    shape("nvidia-key", b"nvapi-", Chars::Url, 60, 80, 3.5),
    shape("octopus-key", b"API-", Chars::Upper, 26, 26, 3.0),
    shape("openshift-token", b"sha256~", Chars::Url, 43, 43, 3.0),
    shape("perplexity-key", b"pplx-", Chars::Alnum, 48, 64, 3.0),
    shape("planetscale-token", b"pscale_tkn_", Chars::Dotted, 32, 64, 3.0),
    shape("planetscale-token", b"pscale_oauth_", Chars::Dotted, 32, 64, 3.0),
    shape("planetscale-token", b"pscale_pw_", Chars::Dotted, 32, 64, 3.0),
    shape("prefect-token", b"pnu_", Chars::Lower, 36, 36, 3.0),
    shape("pulumi-token", b"pul-", Chars::Hex, 40, 40, 3.0),
    shape("readme-key", b"rdme_", Chars::Lower, 70, 70, 3.0),
    shape("replicate-token", b"r8_", Chars::Alnum, 37, 37, 3.0),
    shape("rubygems-key", b"rubygems_", Chars::Hex, 48, 48, 3.0),
    shape("scalingo-token", b"tk-us-", Chars::Url, 48, 48, 3.0),
    shape("sendinblue-key", b"xkeysib-", Chars::Url, 81, 81, 3.0),
    shape("sentry-token", b"sntryu_", Chars::Hex, 64, 64, 3.0),
    shape("sentry-token", b"sntrys_", Chars::Signature, 80, 600, 3.5),
    shape("shippo-token", b"shippo_live_", Chars::Hex, 40, 40, 3.0),
    shape("shippo-token", b"shippo_test_", Chars::Hex, 40, 40, 3.0),
    shape("sonar-token", b"squ_", Chars::Hex, 40, 40, 3.0),
    shape("sonar-token", b"sqp_", Chars::Hex, 40, 40, 3.0),
    shape("sonar-token", b"sqa_", Chars::Hex, 40, 40, 3.0),
    shape("supabase-key", b"sb_secret_", Chars::Url, 31, 60, 3.0),
    shape("supabase-key", b"sbp_", Chars::Hex, 40, 40, 3.0),
    shape("tailscale-key", b"tskey-", Chars::Url, 30, 120, 3.0),
    shape("typeform-token", b"tfp_", Chars::Dotted, 59, 59, 3.0),
    shape("yandex-key", b"AQVN", Chars::Url, 35, 38, 3.5),
    shape("buildkite-token", b"bkua_", Chars::Hex, 40, 40, 3.0),
    shape("slack-token", b"xoxc-", Chars::Url, 20, 255, 2.5),
    shape("slack-token", b"xoxd-", Chars::Url, 20, 255, 2.5),
    Shape { whole: false, ..shape("azure-storage-key", b"AccountKey=", Chars::Base64, 86, 88, 4.0) },
    Shape { whole: false, ..shape("azure-shared-key", b"SharedAccessKey=", Chars::Base64, 43, 88, 3.5) },
    Shape { whole: false, ..shape("azure-sas", b"sig=", Chars::Signature, 43, 120, 3.5) },
    Shape { whole: false, ..shape("bearer", b"Bearer ", Chars::Dotted, 20, ANY, 3.0) },
    Shape { whole: false, ..shape("bearer", b"bearer ", Chars::Dotted, 20, ANY, 3.0) },
];

/// Beginnings of what `blocks` looks for.
const BLOCKS: &[&[u8]] = &[b"eyJ", b"LS0tLS1CRUdJTi"];

/// Words of the table of beginnings: 16,384 bits, of which some two hundred are set.
const SLOTS: usize = 256;

/// Where in the table of beginnings three bytes are.
const fn slot(first: u8, second: u8, third: u8) -> (usize, u64) {
    let hash = (first as usize * 961 + second as usize * 31 + third as usize) % (64 * SLOTS);
    (hash / 64, 1 << (hash % 64))
}

/// First bytes of everything looked for here, as a set that says yes too often and never no too often. Made by the compiler: it
/// costs a start nothing.
static BEGINNINGS: [u64; SLOTS] = {
    let mut table = [0; SLOTS];
    let mut at = 0;
    while at < SHAPES.len() + BLOCKS.len() {
        let prefix = if at < SHAPES.len() { SHAPES[at].prefix } else { BLOCKS[at - SHAPES.len()] };
        // After a prefix of two, any of the shape's characters may come.
        let (mut third, last) = if prefix.len() > 2 { (prefix[2], prefix[2]) } else { (0, 255) };
        loop {
            if prefix.len() > 2 || SHAPES[at].chars.has(third) {
                let (word, bit) = slot(prefix[0], prefix[1], third);
                table[word] |= bit;
            }
            if third == last {
                break;
            }
            third += 1;
        }
        at += 1;
    }
    table
};

/// The first two bytes of everything looked for here; `None` behind the last.
pub(super) const fn first_two(at: usize) -> Option<[u8; 2]> {
    if at >= SHAPES.len() + BLOCKS.len() {
        return None;
    }
    let prefix = if at < SHAPES.len() { SHAPES[at].prefix } else { BLOCKS[at - SHAPES.len()] };
    Some([prefix[0], prefix[1]])
}

/// The first shape of each first byte, and behind each shape the next one of the same, as numbers above 0.
static FIRST: [u8; 256] = chains().0;
static NEXT: [u8; SHAPES.len()] = chains().1;

#[expect(clippy::cast_possible_truncation, reason = "asserted")]
const fn chains() -> ([u8; 256], [u8; SHAPES.len()]) {
    let (mut first, mut next) = ([0; 256], [0; SHAPES.len()]);
    // From the last on, so that the order of the list is kept.
    let mut at = SHAPES.len();
    while at > 0 {
        let byte = SHAPES[at - 1].prefix[0] as usize;
        next[at - 1] = first[byte];
        assert!(at < 256, "a number of a shape is a byte");
        first[byte] = at as u8;
        at -= 1;
    }
    (first, next)
}

/// The shapes that begin with `byte`, in their order.
fn beginning_with(byte: u8) -> impl Iterator<Item = &'static Shape> {
    let mut number = usize::from(FIRST[usize::from(byte)]);
    std::iter::from_fn(move || {
        let at = number.checked_sub(1)?;
        number = usize::from(NEXT[at]);
        Some(&SHAPES[at])
    })
}

/// Whether [`at`] may find something, by three bytes.
#[inline]
pub(super) fn may_begin(text: &[u8], at: usize) -> bool {
    let &[first, second, third, ..] = &text[at..] else { return false };
    let (word, bit) = slot(first, second, third);
    BEGINNINGS[word] & bit != 0
}

/// The credential that begins with the word at `at`. The caller knows that a word begins there.
pub(super) fn at(text: &[u8], at: usize) -> Option<Found> {
    if !may_begin(text, at) {
        return None;
    }
    let (first, second) = (text[at], text[at + 1]);
    let rest = &text[at..];
    if rest.starts_with(BLOCKS[0])
        && let Some(found) = blocks::web_token(text, at)
    {
        return Some(found);
    }
    if rest.starts_with(BLOCKS[1]) {
        return blocks::encoded_key(text, at);
    }
    // Comparing a byte here is cheaper than a call for each shape.
    let begins = |shape: &&Shape| shape.prefix[1] == second && rest.starts_with(shape.prefix);
    beginning_with(first).filter(begins).find_map(|shape| shape.at(text, at))
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
