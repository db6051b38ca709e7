//! Credentials are put together at run time, so that no scanner finds one in this file.

use super::*;

/// `length` characters of `alphabet` that look random, always the same for the same seed.
fn random(alphabet: &str, length: usize, mut seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        letters[usize::try_from(seed >> 33).unwrap() % letters.len()]
    })
    .take(length)
    .collect()
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

fn real() -> Vec<(&'static str, String)> {
    let alnum = |length, seed| random(ALNUM, length, seed);
    let hex = |length, seed| random(HEX, length, seed);
    vec![
        ("aws-access-key", format!("{}{}", "AKIA", random(UPPER, 16, 1))),
        ("aws-access-key", format!("{}{}", "ASIA", random(UPPER, 16, 2))),
        ("github-token", format!("{}{}", "ghp_", alnum(36, 3))),
        ("github-token", format!("{}{}", "gho_", alnum(36, 4))),
        ("github-token", format!("{}{}", "ghs_", alnum(36, 5))),
        ("github-token", format!("{}{}_{}", "github_pat_", alnum(22, 6), alnum(59, 7))),
        ("gitlab-token", format!("{}{}", "glpat-", alnum(20, 8))),
        ("anthropic-key", format!("{}{}", "sk-ant-api03-", alnum(93, 9))),
        ("openai-key", format!("{}{}", "sk-proj-", alnum(120, 10))),
        ("openai-key", format!("{}{}", "sk-", alnum(48, 11))),
        ("slack-token", format!("{}{}-{}", "xoxb-", random("0123456789", 12, 12), alnum(24, 13))),
        (
            "slack-webhook",
            format!("{}{}/B{}/{}", "hooks.slack.com/services/T", alnum(9, 14), alnum(9, 15), alnum(24, 16)),
        ),
        ("stripe-key", format!("{}{}", "sk_live_", alnum(24, 17))),
        ("stripe-key", format!("{}{}", "rk_live_", alnum(30, 18))),
        ("google-api-key", format!("{}{}", "AIza", alnum(35, 19))),
        ("google-client-secret", format!("{}{}", "GOCSPX-", alnum(28, 20))),
        ("npm-token", format!("{}{}", "npm_", alnum(36, 21))),
        ("pypi-token", format!("{}{}", "pypi-AgEIcHlwaS5vcmc", alnum(140, 22))),
        ("huggingface-token", format!("{}{}", "hf_", alnum(34, 23))),
        ("sendgrid-key", format!("SG.{}.{}", alnum(22, 24), alnum(43, 25))),
        ("twilio-key", format!("{}{}", "SK", hex(32, 26))),
        ("azure-storage-key", format!("AccountKey={}==", alnum(86, 27))),
        ("azure-sas", format!("https://a.blob.example/c?sv=2024&se=2026&sig={}%3D", alnum(43, 28))),
        ("jwt", format!("eyJ{}.eyJ{}.{}", alnum(33, 29), alnum(60, 30), alnum(43, 31))),
        (
            "private-key",
            format!("-----BEGIN {} KEY-----\n{}\n-----END {0} KEY-----", "OPENSSH PRIVATE", alnum(200, 32)),
        ),
        ("private-key", format!("-----BEGIN {} KEY-----\n{}", "RSA PRIVATE", alnum(200, 33))),
        ("password", format!("DB_PASSWORD={}", alnum(14, 34))),
        ("password", format!("\"api_key\": \"{}\"", alnum(32, 35))),
        ("password", format!("client_secret = '{}'", alnum(40, 36))),
        ("password", format!("deploy --token {} --now", alnum(30, 37))),
        ("url-password", format!("postgres://app:{}@db.internal:5432/x", alnum(12, 38))),
        ("bearer", format!("curl -H 'Authorization: Bearer {}' https://x", alnum(40, 39))),
        ("basic-auth", format!("curl -u admin:{} https://x", alnum(10, 40))),
        ("digitalocean-token", format!("{}{}", "dop_v1_", hex(64, 41))),
        ("vault-token", format!("{}{}", "hvs.", alnum(90, 42))),
        ("docker-token", format!("{}{}", "dckr_pat_", alnum(27, 43))),
    ]
}

#[test]
fn real_shapes_are_found_and_nothing_of_them_is_left() {
    let real = real();
    assert!(real.len() >= 30);
    for (rule, text) in real {
        let text = format!("x {text} y");
        let found = find_credentials(text.as_bytes());
        assert_eq!(found.iter().map(|found| found.rule.0).collect::<Vec<_>>(), [rule], "{text}");
        let secret = &text[found[0].span.start..found[0].span.end];
        let clean = redact_credentials(&text);
        assert!(clean.contains(&format!("[redacted:{rule}]")) && !clean.contains(secret), "{clean}");
        assert_eq!(redact_credentials(&clean), clean);
    }
}

#[test]
fn look_alikes_are_left_alone() {
    let hash = random(HEX, 40, 50);
    let look_alikes = [
        "password=$PASSWORD",
        "password: String,",
        "let token = get_token();",
        "MAX_TOKENS=4096",
        "api_key=\"<your key>\"",
        "API_KEY=your-api-key-123",
        "secret=changeme1",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "password = os.environ['PASSWORD1']",
        "AKIAIOSFODNN7EXAMPLE",
        "AKIA1234567890123456",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-ant-xxxxxxxx",
        "sk-learn is a package, sk-",
        "sk-this-is-a-css-class-name-of-a-skeleton-loader",
        "npm_config_registry=https://registry.example/",
        "hf_hub_download(repo)",
        "Bearer token",
        "Bearer $TOKEN",
        "the bearer of this letter is trustworthy",
        "https://user@example.com/a",
        "postgres://user:password@localhost/x",
        "postgres://user:$PW@localhost/x",
        "ssh://git@example.com:22/x",
        "http://localhost:8080/a@b",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJRTES\n",
        "passwd: files systemd",
        "token = token.strip()",
        "key: value",
        "eyJhbGciOiJIUzI1NiJ9",
        "secret_name: my-secret-1",
        "--token-file ./t1",
        "docker run -u 1000:1000 x",
        "password_hash(password, PASSWORD_BCRYPT)",
        "SKIP=1 SKELETON",
        "if password == expected2::VALUE {",
        "author=Jane1",
    ];
    assert!(look_alikes.len() >= 30);
    for text in look_alikes.into_iter().chain([hash.as_str()]) {
        assert_eq!(find_credentials(text.as_bytes()), [], "{text}");
        assert!(matches!(redact_credentials(text), Cow::Borrowed(same) if same == text));
    }
}

#[test]
fn bytes_that_are_no_text_and_text_of_many_names_end_soon() {
    find_credentials(&[0xff, b'=', b':', 0, b'-', b'-']);
    let many = "password=".repeat(50_000);
    find_credentials(many.as_bytes());
    find_credentials("://".repeat(100_000).as_bytes());
    find_credentials("-----BEGIN X PRIVATE KEY-----".repeat(20_000).as_bytes());
    assert_eq!(redact_credentials("pässword=übung"), "pässword=übung");
}

/// What is passed over without a call would have found nothing, in the corpora and in texts that are signs all over.
#[test]
fn shortcuts_hide_nothing() {
    use amplihack_testkit::secrets;
    let cases = secrets::real(3).into_iter().chain(secrets::unseen(3)).chain(secrets::look_alikes(3));
    let mut texts: Vec<Vec<u8>> = cases.map(|case| case.text.into()).collect();
    for sign in [" ", ":", "=", "-p", ".", "~", ",", ">", "||", "??", "\\n", "%3D"] {
        texts.push(format!("{sign}a{sign}SK{sign}value{sign}VALUE {sign}Pass{sign}x.atlasv1.x{sign}").into());
    }
    let mut looked_at = 0;
    for text in &texts {
        for at in 0..text.len() {
            match STEPS[usize::from(text[at])] {
                ByteStep::Sign if !assign::may_be_at(text, at) => {
                    for care in [
                        SearchStrictness::Redaction,
                        SearchStrictness::Settings,
                        SearchStrictness::Code,
                        SearchStrictness::Binary,
                    ] {
                        assert_eq!(
                            assign::credential_at(text, at, care),
                            None,
                            "{}",
                            String::from_utf8_lossy(text)
                        );
                    }
                }
                ByteStep::Word if !word_may_be_at(text, at) => {
                    assert!(!BEGIN.iter().any(|begin| text[at..].starts_with(begin)), "{at}");
                    assert_eq!(word_credential(text, at), None);
                }
                _ => continue,
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 10_000, "{looked_at}");
}

/// Some beginnings, so that a table that says no to everything is found out.
const BEGIN: [&[u8]; 6] = [b"ghp_", b"AKIA", b"sk-ant-", b"eyJ", b"1//0", b"xoxb-"];
