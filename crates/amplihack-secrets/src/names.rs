//! Names whose values are secret, and names that tell whose secret it is.

use super::shapes::CredentialChars;

/// Kind of value that a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretNameKind {
    /// Chosen by a person, perhaps.
    Password,
    /// Drawn at random.
    Key,
    /// A user and a password, in base64.
    Login,
    /// A scheme and a credential, as in a header of HTTP.
    Header,
}

/// Endings of names whose values are passwords, without signs, in lower case.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pwd", "passcode", "requirepass"];

/// Endings of names whose values are keys.
const KEYS: &[&str] = &[
    "secret",
    "token",
    "credential",
    "credentials",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
    "accountkey",
    "adminkey",
    "aeskey",
    "appkey",
    "applicationkey",
    "cipherkey",
    "cookiekey",
    "cryptokey",
    "deploykey",
    "encryptionkey",
    "fernetkey",
    "functionkey",
    "hmackey",
    "jwtkey",
    "licensekey",
    "masterkey",
    "rootkey",
    "servicekey",
    "sessionkey",
    "sharedkey",
    "signingkey",
    "storagekey",
    "subscriptionkey",
    "webhookkey",
];

/// Words that may follow those words: `SECRET_KEY_BASE`, `token_prod`.
const TAILS: &[&str] = &[
    "base",
    "dev",
    "live",
    "new",
    "old",
    "primary",
    "prod",
    "production",
    "secondary",
    "stage",
    "staging",
    "string",
    "value",
];

/// Words in names of values that everybody may read, or that open nothing.
const PUBLIC: &[&str] = &[
    "public",
    "nextpage",
    "pagetoken",
    "continuation",
    "csrf",
    "xsrf",
    "cancel",
    "actiontoken",
    "changetoken",
    "idempotency",
    "locktoken",
    "nexttoken",
    "purchasetoken",
    "sequencetoken",
    "startingtoken",
    "synctoken",
    "updatetoken",
];

/// The last two letters of all these words, as a set that says yes too often and never no too often.
static ENDS: [u64; 16] = {
    let mut table = [0; 16];
    let lists: [&[&str]; 4] = [PASSWORDS, KEYS, TAILS, &["pass", "auth", "authorization"]];
    let mut list = 0;
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            let word = lists[list][at].as_bytes();
            let (part, bit) = ending_slot(word[word.len() - 2], word[word.len() - 1]);
            table[part] |= bit;
            at += 1;
        }
        list += 1;
    }
    table
};

const fn ending_slot(first: u8, second: u8) -> (usize, u64) {
    let hash = (first.to_ascii_lowercase() as usize * 31 + second.to_ascii_lowercase() as usize) % 1024;
    (hash / 64, 1 << (hash % 64))
}

/// Reports whether the end of `name` may be one that is looked for. Numbers at the end do not count. Text before the name may be given:
/// the answer is rather yes than no then.
pub(super) fn may_end_so(name: &[u8]) -> bool {
    match name {
        [.., b'0'..=b'9'] => true,
        [.., first, second] => {
            let (part, bit) = ending_slot(*first, *second);
            ENDS[part] & bit != 0
        }
        _ => false,
    }
}

/// Kind of value that `name` promises, if it promises a secret.
pub(super) fn name_kind(name: &[u8]) -> Option<SecretNameKind> {
    if !may_end_so(name) {
        return None;
    }
    let mut buffer = [0; MOST];
    let plain = without_tail(plain_letters(name, &mut buffer));
    let last = plain.last();
    let ends = |words: &[&str]| {
        words.iter().any(|word| word.as_bytes().last() == last && plain.ends_with(word.as_bytes()))
    };
    let found = if ends(PASSWORDS) || short_password(name) {
        SecretNameKind::Password
    } else if ends(KEYS) {
        SecretNameKind::Key
    } else if matches!(plain, b"auth") {
        SecretNameKind::Login
    } else if plain.ends_with(b"authorization") {
        SecretNameKind::Header
    } else {
        return None;
    };
    let public = PUBLIC.iter().any(|word| contains(plain, word.as_bytes()));
    (!public).then_some(found)
}

/// `DB_PASS`, `smtpPass`, but not `compass` and `bypass`.
fn short_password(name: &[u8]) -> bool {
    [&b"_pass"[..], b"-pass", b".pass", b"_PASS", b"Pass"].iter().any(|end| name.ends_with(end))
        || matches!(name, b"pass" | b"PASS")
}

const MOST: usize = 64;

/// The letters and digits of the end of `name`, in lower case.
fn plain_letters<'a>(name: &[u8], buffer: &'a mut [u8; MOST]) -> &'a [u8] {
    let mut length = 0;
    for byte in name.iter().filter(|byte| byte.is_ascii_alphanumeric()).take(MOST) {
        buffer[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    &buffer[..length]
}

fn without_tail(plain: &[u8]) -> &[u8] {
    let end = plain.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    let plain = plain[..end].strip_suffix(b"v").filter(|_| end < plain.len()).unwrap_or(&plain[..end]);
    TAILS.iter().find_map(|tail| plain.strip_suffix(tail.as_bytes())).unwrap_or(plain)
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

/// A provider's credential that only its name tells from any other random text.
pub(super) struct NamedCredential {
    pub(super) rule: &'static str,
    /// All of them are in the name.
    words: &'static [&'static str],
    chars: CredentialChars,
    length: (usize, usize),
}

const fn named_row(
    rule: &'static str,
    words: &'static [&'static str],
    chars: CredentialChars,
    least: usize,
    most: usize,
) -> NamedCredential {
    NamedCredential { rule, words, chars, length: (least, most) }
}

const NAMED: &[NamedCredential] = &[
    named_row("aws-secret-key", &["secretaccesskey"], CredentialChars::Base64, 40, 40),
    named_row("aws-secret-key", &["aws", "secret"], CredentialChars::Base64, 40, 40),
    named_row("azure-storage-key", &["storage", "key"], CredentialChars::Base64, 86, 88),
    named_row("azure-storage-key", &["accountkey"], CredentialChars::Base64, 86, 88),
    named_row("azure-shared-key", &["sharedaccesskey"], CredentialChars::Base64, 43, 44),
    named_row("azure-devops-token", &["azuredevops"], CredentialChars::Lower, 52, 52),
    named_row("azure-devops-token", &["vsts"], CredentialChars::Lower, 52, 52),
    named_row("heroku-key", &["heroku", "key"], CredentialChars::Url, 36, 36),
    named_row("datadog-key", &["datadog", "key"], CredentialChars::Lower, 32, 40),
    named_row("datadog-key", &["ddapikey"], CredentialChars::Lower, 32, 40),
    named_row("datadog-key", &["ddappkey"], CredentialChars::Lower, 32, 40),
    named_row("datadog-key", &["ddapplicationkey"], CredentialChars::Lower, 32, 40),
    named_row("mailgun-key", &["mailgun", "key"], CredentialChars::Url, 32, 50),
    named_row("twilio-token", &["twilio", "token"], CredentialChars::Hex, 32, 32),
    named_row("new-relic-key", &["newrelic", "key"], CredentialChars::Alnum, 40, 40),
    named_row("discord-secret", &["discord", "secret"], CredentialChars::Url, 32, 32),
    named_row("telegram-token", &["telegram", "token"], CredentialChars::Url, 35, 35),
    named_row("vault-token", &["vault", "token"], CredentialChars::Dotted, 26, 26),
    named_row("square-token", &["square", "token"], CredentialChars::Url, 60, 64),
    named_row("dropbox-secret", &["dropbox", "secret"], CredentialChars::Lower, 15, 15),
    named_row("yandex-key", &["yandex", "key"], CredentialChars::Url, 40, 40),
    named_row("grafana-key", &["grafana", "key"], CredentialChars::Url, 60, 400),
];

/// The provider's rule that `name` and its `value` fit.
pub(super) fn provider_rule(name: &[u8], value: &[u8]) -> Option<&'static str> {
    let mut buffer = [0; MOST];
    let plain = plain_letters(name, &mut buffer);
    let bare = value.len() - value.iter().rev().take_while(|&&byte| byte == b'=').take(2).count();
    let fits = |named: &&NamedCredential| {
        bare >= named.length.0
            && bare <= named.length.1
            && value[..bare].iter().all(|&byte| named.chars.contains_byte(byte))
            && named.words.iter().all(|word| contains(plain, word.as_bytes()))
    };
    NAMED.iter().find(fits).map(|named| named.rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_their_values_are() {
        for name in ["DB_PASSWORD", "spring.datasource.password", "smtpPass", "password_prod", "PGPASSWORD2"]
        {
            assert_eq!(name_kind(name.as_bytes()), Some(SecretNameKind::Password), "{name}");
        }
        for name in ["api_key", "SECRET_KEY_BASE", "x-api-key", "clientSecret", "_authToken", "apiKeyV2"] {
            assert_eq!(name_kind(name.as_bytes()), Some(SecretNameKind::Key), "{name}");
        }
        for name in
            ["compass", "bypass", "nextPageToken", "public_key", "monkey", "MAX_TOKENS", "tokenizer", ""]
        {
            assert_eq!(name_kind(name.as_bytes()), None, "{name}");
        }
    }
}
