//! Credentials whose beginning tells what they are.

use amplihack_verdict::Span;

use super::{CredentialRule, FoundCredential, blocks, is_placeholder, shannon_entropy};

#[derive(Clone, Copy)]
pub(super) enum CredentialChars {
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

impl CredentialChars {
    pub(super) const fn contains_byte(self, byte: u8) -> bool {
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

struct CredentialShape {
    rule: &'static str,
    prefix: &'static [u8],
    chars: CredentialChars,
    /// Characters after the prefix, at least and at most.
    length: (usize, usize),
    /// Bits of entropy that the rest must have.
    entropy: f64,
    /// True if the prefix belongs to the credential.
    whole: bool,
}

const ANY: usize = 4096;

const fn shape_row(
    rule: &'static str,
    prefix: &'static [u8],
    chars: CredentialChars,
    least: usize,
    most: usize,
    entropy: f64,
) -> CredentialShape {
    CredentialShape { rule, prefix, chars, length: (least, most), entropy, whole: true }
}

const SHAPES: &[CredentialShape] = &[
    shape_row("aws-access-key", b"AKIA", CredentialChars::Upper, 16, 16, 2.5),
    shape_row("aws-access-key", b"ASIA", CredentialChars::Upper, 16, 16, 2.5),
    shape_row("aws-access-key", b"ABIA", CredentialChars::Upper, 16, 16, 2.5),
    shape_row("aws-access-key", b"ACCA", CredentialChars::Upper, 16, 16, 2.5),
    shape_row("aws-bedrock-key", b"ABSK", CredentialChars::Base64, 109, 269, 3.5),
    shape_row("github-token", b"ghp_", CredentialChars::Alnum, 36, 255, 3.0),
    shape_row("github-token", b"gho_", CredentialChars::Alnum, 36, 255, 3.0),
    shape_row("github-token", b"ghs_", CredentialChars::Alnum, 36, 255, 3.0),
    shape_row("github-token", b"ghu_", CredentialChars::Alnum, 36, 255, 3.0),
    shape_row("github-token", b"ghr_", CredentialChars::Alnum, 36, 255, 3.0),
    shape_row("github-token", b"github_pat_", CredentialChars::Url, 40, 255, 3.0),
    shape_row("gitlab-token", b"glpat-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"gldt-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"glrt-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"glptt-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"glcbt-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"glagent-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"gloas-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"glsoat-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"glft-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"glimt-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"glffct-", CredentialChars::Dotted, 20, 300, 3.0),
    shape_row("gitlab-token", b"GR1348941", CredentialChars::Url, 20, 20, 3.0),
    shape_row("anthropic-key", b"sk-ant-", CredentialChars::Url, 32, 255, 3.0),
    shape_row("openai-key", b"sk-proj-", CredentialChars::Url, 40, 255, 3.0),
    shape_row("openai-key", b"sk-svcacct-", CredentialChars::Url, 40, 255, 3.0),
    shape_row("openai-key", b"sk-admin-", CredentialChars::Url, 40, 255, 3.0),
    shape_row("openrouter-key", b"sk-or-v1-", CredentialChars::Hex, 64, 64, 3.0),
    shape_row("openai-key", b"sk-", CredentialChars::Alnum, 40, 64, 3.5),
    shape_row("slack-token", b"xoxb-", CredentialChars::Url, 20, 255, 2.5),
    shape_row("slack-token", b"xoxp-", CredentialChars::Url, 20, 255, 2.5),
    shape_row("slack-token", b"xoxa-", CredentialChars::Url, 20, 255, 2.5),
    shape_row("slack-token", b"xoxs-", CredentialChars::Url, 20, 255, 2.5),
    shape_row("slack-token", b"xoxr-", CredentialChars::Url, 20, 255, 2.5),
    shape_row("slack-token", b"xoxo-", CredentialChars::Url, 20, 255, 2.5),
    shape_row("slack-token", b"xoxe-", CredentialChars::Url, 30, 300, 2.5),
    shape_row("slack-token", b"xoxe.xoxb-", CredentialChars::Url, 30, 300, 2.5),
    shape_row("slack-token", b"xoxe.xoxp-", CredentialChars::Url, 30, 300, 2.5),
    shape_row("slack-token", b"xapp-", CredentialChars::Url, 30, 255, 2.5),
    shape_row("slack-webhook", b"hooks.slack.com/services/T", CredentialChars::Base64, 30, 120, 2.5),
    shape_row("slack-webhook", b"hooks.slack.com/workflows/T", CredentialChars::Base64, 30, 160, 2.5),
    shape_row("stripe-key", b"sk_live_", CredentialChars::Alnum, 24, 255, 3.0),
    shape_row("stripe-key", b"sk_test_", CredentialChars::Alnum, 24, 255, 3.0),
    shape_row("stripe-key", b"rk_live_", CredentialChars::Alnum, 24, 255, 3.0),
    shape_row("stripe-key", b"rk_test_", CredentialChars::Alnum, 24, 255, 3.0),
    shape_row("stripe-key", b"whsec_", CredentialChars::Base64, 32, 255, 3.0),
    shape_row("google-api-key", b"AIza", CredentialChars::Url, 35, 35, 3.0),
    shape_row("google-client-secret", b"GOCSPX-", CredentialChars::Url, 28, 28, 3.0),
    shape_row("google-token", b"ya29.", CredentialChars::Url, 60, 2000, 3.5),
    shape_row("google-token", b"1//0", CredentialChars::Url, 60, 200, 3.5),
    shape_row("npm-token", b"npm_", CredentialChars::Alnum, 36, 36, 3.0),
    shape_row("pypi-token", b"pypi-AgEI", CredentialChars::Url, 60, 1000, 3.0),
    shape_row("pypi-token", b"pypi-AgEN", CredentialChars::Url, 60, 1000, 3.0),
    shape_row("crates-io-token", b"cio", CredentialChars::Alnum, 32, 32, 3.5),
    shape_row("huggingface-token", b"hf_", CredentialChars::Alnum, 34, 40, 3.0),
    shape_row("huggingface-token", b"api_org_", CredentialChars::Alnum, 34, 34, 3.0),
    shape_row("sendgrid-key", b"SG.", CredentialChars::Dotted, 66, 66, 3.5),
    shape_row("twilio-key", b"SK", CredentialChars::Hex, 32, 32, 3.0),
    shape_row("digitalocean-token", b"dop_v1_", CredentialChars::Hex, 64, 64, 3.0),
    shape_row("digitalocean-token", b"doo_v1_", CredentialChars::Hex, 64, 64, 3.0),
    shape_row("digitalocean-token", b"dor_v1_", CredentialChars::Hex, 64, 64, 3.0),
    shape_row("docker-token", b"dckr_pat_", CredentialChars::Url, 27, 64, 3.0),
    shape_row("docker-token", b"dckr_oat_", CredentialChars::Url, 27, 64, 3.0),
    shape_row("databricks-token", b"dapi", CredentialChars::Hex, 32, 32, 3.0),
    shape_row("vault-token", b"hvs.", CredentialChars::Url, 24, 300, 3.0),
    shape_row("vault-token", b"hvb.", CredentialChars::Url, 24, 300, 3.0),
    shape_row("vault-token", b"hvr.", CredentialChars::Url, 24, 300, 3.0),
    shape_row("heroku-key", b"HRKU-", CredentialChars::Url, 36, 80, 3.0),
    shape_row("shopify-token", b"shpat_", CredentialChars::HexAny, 32, 32, 3.0),
    shape_row("shopify-token", b"shpca_", CredentialChars::HexAny, 32, 32, 3.0),
    shape_row("shopify-token", b"shppa_", CredentialChars::HexAny, 32, 32, 3.0),
    shape_row("shopify-token", b"shpss_", CredentialChars::HexAny, 32, 32, 3.0),
    shape_row("groq-key", b"gsk_", CredentialChars::Alnum, 48, 60, 3.5),
    shape_row("xai-key", b"xai-", CredentialChars::Alnum, 70, 90, 3.5),
    shape_row("amp-key", b"sgamp_", CredentialChars::Url, 32, 200, 3.0),
    shape_row("sourcegraph-token", b"sgp_", CredentialChars::Url, 40, 80, 3.0),
    shape_row("linear-key", b"lin_api_", CredentialChars::Alnum, 40, 40, 3.0),
    shape_row("linear-key", b"lin_oauth_", CredentialChars::Alnum, 40, 80, 3.0),
    shape_row("notion-key", b"ntn_", CredentialChars::Alnum, 40, 50, 3.0),
    shape_row("notion-key", b"secret_", CredentialChars::Alnum, 43, 43, 3.5),
    shape_row("postman-key", b"PMAK-", CredentialChars::Url, 59, 59, 3.0),
    shape_row("new-relic-key", b"NRAK-", CredentialChars::Alnum, 27, 27, 3.0),
    shape_row("new-relic-key", b"NRII-", CredentialChars::Url, 32, 32, 3.0),
    shape_row("new-relic-key", b"NRRA-", CredentialChars::Hex, 42, 42, 3.0),
    shape_row("new-relic-key", b"NRJS-", CredentialChars::Hex, 19, 19, 3.0),
    shape_row("mailgun-key", b"key-", CredentialChars::Hex, 32, 32, 3.0),
    shape_row("grafana-key", b"glsa_", CredentialChars::Url, 41, 41, 3.0),
    shape_row("grafana-key", b"glc_", CredentialChars::Base64, 32, 400, 3.0),
    shape_row("grafana-key", b"eyJrIjoi", CredentialChars::Base64, 70, 400, 3.0),
    shape_row("square-token", b"sq0atp-", CredentialChars::Url, 22, 22, 3.0),
    shape_row("square-token", b"sq0csp-", CredentialChars::Url, 43, 43, 3.0),
    shape_row("square-token", b"EAAA", CredentialChars::Url, 60, 60, 3.5),
    shape_row("age-key", b"AGE-SECRET-KEY-1", CredentialChars::Upper, 58, 58, 3.0),
    shape_row("discord-webhook", b"discord.com/api/webhooks/", CredentialChars::Path, 80, 100, 3.5),
    shape_row("discord-webhook", b"discordapp.com/api/webhooks/", CredentialChars::Path, 80, 100, 3.5),
    shape_row("1password-token", b"ops_eyJ", CredentialChars::Base64, 200, 1000, 3.5),
    shape_row("airtable-token", b"pat", CredentialChars::Dotted, 79, 79, 3.5),
    shape_row("alibaba-access-key", b"LTAI", CredentialChars::Alnum, 16, 24, 3.0),
    shape_row("tencent-access-key", b"AKID", CredentialChars::Alnum, 32, 32, 3.0),
    shape_row("adobe-secret", b"p8e-", CredentialChars::Alnum, 32, 32, 3.0),
    shape_row("artifactory-key", b"AKCp", CredentialChars::Alnum, 69, 69, 3.5),
    shape_row("artifactory-key", b"cmVmd", CredentialChars::Alnum, 59, 59, 3.5),
    shape_row("atlassian-token", b"ATATT3", CredentialChars::Signature, 150, 240, 3.5),
    shape_row("atlassian-token", b"ATCTT3", CredentialChars::Signature, 150, 240, 3.5),
    shape_row("bitbucket-password", b"ATBB", CredentialChars::Alnum, 32, 32, 3.0),
    shape_row("clojars-token", b"CLOJARS_", CredentialChars::Lower, 60, 60, 3.0),
    shape_row("cloudflare-origin-key", b"v1.0-", CredentialChars::Url, 171, 171, 3.0),
    shape_row("contentful-token", b"CFPAT-", CredentialChars::Url, 43, 43, 3.0),
    shape_row("doppler-token", b"dp.pt.", CredentialChars::Alnum, 40, 44, 3.0),
    shape_row("doppler-token", b"dp.ct.", CredentialChars::Alnum, 40, 44, 3.0),
    shape_row("doppler-token", b"dp.sa.", CredentialChars::Alnum, 40, 44, 3.0),
    shape_row("doppler-token", b"dp.scim.", CredentialChars::Alnum, 40, 44, 3.0),
    shape_row("dropbox-token", b"sl.", CredentialChars::Url, 130, 160, 3.5),
    shape_row("duffel-token", b"duffel_live_", CredentialChars::Url, 43, 43, 3.0),
    shape_row("duffel-token", b"duffel_test_", CredentialChars::Url, 43, 43, 3.0),
    shape_row("dynatrace-token", b"dt0c01.", CredentialChars::Dotted, 89, 89, 3.0),
    shape_row("easypost-key", b"EZAK", CredentialChars::Alnum, 54, 54, 3.0),
    shape_row("easypost-key", b"EZTK", CredentialChars::Alnum, 54, 54, 3.0),
    shape_row("facebook-token", b"EAAM", CredentialChars::Alnum, 100, 300, 3.5),
    shape_row("facebook-token", b"EAAC", CredentialChars::Alnum, 100, 300, 3.5),
    shape_row("flutterwave-key", b"FLWSECK_TEST-", CredentialChars::Url, 32, 40, 3.0),
    shape_row("flutterwave-key", b"FLWSECK-", CredentialChars::Url, 32, 40, 3.0),
    shape_row("fly-token", b"fo1_", CredentialChars::Url, 43, 43, 3.0),
    shape_row("fly-token", b"fm1r_", CredentialChars::Base64, 100, 1000, 3.5),
    shape_row("fly-token", b"fm1a_", CredentialChars::Base64, 100, 1000, 3.5),
    shape_row("fly-token", b"fm2_", CredentialChars::Base64, 100, 1000, 3.5),
    shape_row("frame-io-token", b"fio-u-", CredentialChars::Url, 64, 64, 3.0),
    shape_row("figma-token", b"figd_", CredentialChars::Url, 38, 60, 3.0),
    shape_row("infracost-key", b"ico-", CredentialChars::Alnum, 32, 32, 3.0),
    shape_row("mapbox-token", b"sk.eyJ1Ijoi", CredentialChars::Dotted, 50, 200, 3.5),
    shape_row("teams-webhook", b"webhook.office.com/webhookb2/", CredentialChars::Address, 100, 300, 3.0),
    shape_row("netlify-token", b"nfp_", CredentialChars::Alnum, 36, 60, 3.0),
    shape_row("nvidia-key", b"nvapi-", CredentialChars::Url, 60, 80, 3.5),
    shape_row("octopus-key", b"API-", CredentialChars::Upper, 26, 26, 3.0),
    shape_row("openshift-token", b"sha256~", CredentialChars::Url, 43, 43, 3.0),
    shape_row("perplexity-key", b"pplx-", CredentialChars::Alnum, 48, 64, 3.0),
    shape_row("planetscale-token", b"pscale_tkn_", CredentialChars::Dotted, 32, 64, 3.0),
    shape_row("planetscale-token", b"pscale_oauth_", CredentialChars::Dotted, 32, 64, 3.0),
    shape_row("planetscale-token", b"pscale_pw_", CredentialChars::Dotted, 32, 64, 3.0),
    shape_row("prefect-token", b"pnu_", CredentialChars::Lower, 36, 36, 3.0),
    shape_row("pulumi-token", b"pul-", CredentialChars::Hex, 40, 40, 3.0),
    shape_row("readme-key", b"rdme_", CredentialChars::Lower, 70, 70, 3.0),
    shape_row("replicate-token", b"r8_", CredentialChars::Alnum, 37, 37, 3.0),
    shape_row("rubygems-key", b"rubygems_", CredentialChars::Hex, 48, 48, 3.0),
    shape_row("scalingo-token", b"tk-us-", CredentialChars::Url, 48, 48, 3.0),
    shape_row("sendinblue-key", b"xkeysib-", CredentialChars::Url, 81, 81, 3.0),
    shape_row("sentry-token", b"sntryu_", CredentialChars::Hex, 64, 64, 3.0),
    shape_row("sentry-token", b"sntrys_", CredentialChars::Signature, 80, 600, 3.5),
    shape_row("shippo-token", b"shippo_live_", CredentialChars::Hex, 40, 40, 3.0),
    shape_row("shippo-token", b"shippo_test_", CredentialChars::Hex, 40, 40, 3.0),
    shape_row("sonar-token", b"squ_", CredentialChars::Hex, 40, 40, 3.0),
    shape_row("sonar-token", b"sqp_", CredentialChars::Hex, 40, 40, 3.0),
    shape_row("sonar-token", b"sqa_", CredentialChars::Hex, 40, 40, 3.0),
    shape_row("supabase-key", b"sb_secret_", CredentialChars::Url, 31, 60, 3.0),
    shape_row("supabase-key", b"sbp_", CredentialChars::Hex, 40, 40, 3.0),
    shape_row("tailscale-key", b"tskey-", CredentialChars::Url, 30, 120, 3.0),
    shape_row("typeform-token", b"tfp_", CredentialChars::Dotted, 59, 59, 3.0),
    shape_row("yandex-key", b"AQVN", CredentialChars::Url, 35, 38, 3.5),
    shape_row("buildkite-token", b"bkua_", CredentialChars::Hex, 40, 40, 3.0),
    shape_row("slack-token", b"xoxc-", CredentialChars::Url, 20, 255, 2.5),
    shape_row("slack-token", b"xoxd-", CredentialChars::Url, 20, 255, 2.5),
    CredentialShape {
        whole: false,
        ..shape_row("azure-storage-key", b"AccountKey=", CredentialChars::Base64, 86, 88, 4.0)
    },
    CredentialShape {
        whole: false,
        ..shape_row("azure-shared-key", b"SharedAccessKey=", CredentialChars::Base64, 43, 88, 3.5)
    },
    CredentialShape {
        whole: false,
        ..shape_row("azure-sas", b"sig=", CredentialChars::Signature, 43, 120, 3.5)
    },
    CredentialShape {
        whole: false,
        ..shape_row("bearer", b"Bearer ", CredentialChars::Dotted, 20, ANY, 3.0)
    },
    CredentialShape {
        whole: false,
        ..shape_row("bearer", b"bearer ", CredentialChars::Dotted, 20, ANY, 3.0)
    },
];

/// Beginnings of what `blocks` looks for.
const BLOCKS: &[&[u8]] = &[b"eyJ", b"LS0tLS1CRUdJTi"];

/// Words of the table of beginnings: 16,384 bits, of which some two hundred are set.
const SLOTS: usize = 256;

/// Place of three bytes in the table of beginnings.
const fn prefix_slot(first: u8, second: u8, third: u8) -> (usize, u64) {
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
            if prefix.len() > 2 || SHAPES[at].chars.contains_byte(third) {
                let (word, bit) = prefix_slot(prefix[0], prefix[1], third);
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
static FIRST: [u8; 256] = prefix_chains().0;
static NEXT: [u8; SHAPES.len()] = prefix_chains().1;

#[expect(clippy::cast_possible_truncation, reason = "asserted")]
const fn prefix_chains() -> ([u8; 256], [u8; SHAPES.len()]) {
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
fn beginning_with(byte: u8) -> impl Iterator<Item = &'static CredentialShape> {
    let mut number = usize::from(FIRST[usize::from(byte)]);
    std::iter::from_fn(move || {
        let at = number.checked_sub(1)?;
        number = usize::from(NEXT[at]);
        Some(&SHAPES[at])
    })
}

/// Reports whether [`credential_at`] may find something, by three bytes.
#[inline]
pub(super) fn may_begin(text: &[u8], at: usize) -> bool {
    let &[first, second, third, ..] = &text[at..] else { return false };
    let (word, bit) = prefix_slot(first, second, third);
    BEGINNINGS[word] & bit != 0
}

/// The credential that begins with the word at `at`. The caller knows that a word begins there.
pub(super) fn credential_at(text: &[u8], at: usize) -> Option<FoundCredential> {
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
    let begins = |shape: &&CredentialShape| shape.prefix[1] == second && rest.starts_with(shape.prefix);
    beginning_with(first).filter(begins).find_map(|shape| shape.match_at(text, at))
}

impl CredentialShape {
    fn match_at(&self, text: &[u8], at: usize) -> Option<FoundCredential> {
        let start = at + self.prefix.len();
        let length = text[start..]
            .iter()
            .take(self.length.1 + 1)
            .take_while(|&&byte| self.chars.contains_byte(byte))
            .count();
        if length < self.length.0 || length > self.length.1 {
            return None;
        }
        let mut end = start + length;
        while text[start..end].ends_with(b".") {
            end -= 1;
        }
        let value = &text[start..end];
        if shannon_entropy(value) < self.entropy
            || is_placeholder(value)
            || value.iter().all(u8::is_ascii_lowercase)
        {
            return None;
        }
        // Padding belongs to it.
        end += text[end..].iter().take(2).take_while(|&&byte| byte == b'=').count();
        Some(FoundCredential {
            rule: CredentialRule(self.rule),
            span: Span { start: if self.whole { at } else { start }, end },
        })
    }
}
