//! Randomness of values: drawn at random, chosen by a person, or only in place of a credential.

/// Shannon's entropy of `bytes` in bits a byte: 0 for one byte repeated, about 4 for random hexadecimal, about 5 for random base64 of 40.
pub(super) fn shannon_entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let total = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX).max(1));
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}

/// Words that stand where a credential will be.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "your",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "redacted",
    "xxxx",
    "****",
    "....",
    "dummy",
    "insert",
    "replace",
    "todo",
    "sample",
    "my_",
    "my-",
    "mytoken",
    "mypassword",
    "fake",
    "notreal",
    "not-a-real",
    "0000000",
    "1234567890",
    "abcdefgh",
    "deadbeef",
    "test-",
    "test_",
    "none",
    "null",
    "undefined",
    "secret_here",
    "goes-here",
    "goes_here",
    "foobar",
];

/// Words in passwords of manuals and tests, which open nothing.
const WEAK: &[&str] = &[
    "password", "passw0rd", "p@ssw", "secret", "s3cret", "test", "demo", "admin", "foo", "bar", "qwerty",
    "letmein", "default", "hunter2", "welcome", "change", "token", "temp", "12345", "abc123", "mock", "stub",
];

/// Reports whether `value` only stands for a credential.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    if matches!(value, [b'<' | b'$' | b'{' | b'%' | b'[' | b'(' | b'*', ..]) || runs_on(value) {
        return true;
    }
    // By chance, a short word is somewhere in many long random texts.
    let least = if value.len() >= 24 && looks_random(value) { 6 } else { 0 };
    holds_word(value, PLACEHOLDERS, &PLACEHOLDER_STARTS, least)
}

/// Reports whether `value` is one of those that manuals and tests take for a password.
pub(super) fn is_weak(value: &[u8]) -> bool {
    let least = if value.len() >= 16 && looks_random(value) { 6 } else { 0 };
    holds_word(value, WEAK, &WEAK_STARTS, least)
}

/// The first two letters of each word, as a set that says yes too often and never no too often.
type WordStarts = [u64; 16];

const fn pair_slot(first: u8, second: u8) -> (usize, u64) {
    let hash = (first.to_ascii_lowercase() as usize * 31 + second.to_ascii_lowercase() as usize) % 1024;
    (hash / 64, 1 << (hash % 64))
}

const fn word_starts(words: &[&str]) -> WordStarts {
    let mut table = [0; 16];
    let mut at = 0;
    while at < words.len() {
        let word = words[at].as_bytes();
        let (part, bit) = pair_slot(word[0], word[1]);
        table[part] |= bit;
        at += 1;
    }
    table
}

static PLACEHOLDER_STARTS: WordStarts = word_starts(PLACEHOLDERS);
static WEAK_STARTS: WordStarts = word_starts(WEAK);

/// Reports whether one of `words`, which are in lower case, is in `value` and has `least` letters.
fn holds_word(value: &[u8], words: &[&str], starts: &WordStarts, least: usize) -> bool {
    (0..value.len().saturating_sub(1)).any(|at| {
        let (part, bit) = pair_slot(value[at], value[at + 1]);
        starts[part] & bit != 0
            && words.iter().filter(|word| word.len() >= least).any(|word| {
                value.get(at..at + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
            })
    })
}

/// Reports whether most of `value` counts up, down, or repeats: `abcdefghij0123456789`.
fn runs_on(value: &[u8]) -> bool {
    let steps = value.windows(2).filter(|two| two[0].abs_diff(two[1]) <= 1).count();
    value.len() >= 8 && steps * 2 > value.len()
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum LetterKind {
    Lower,
    Upper,
    Digit,
    Other,
}

fn letter_kind(byte: u8) -> LetterKind {
    match byte {
        b'a'..=b'z' => LetterKind::Lower,
        b'A'..=b'Z' => LetterKind::Upper,
        b'0'..=b'9' => LetterKind::Digit,
        _ => LetterKind::Other,
    }
}

/// Number of changes of the kind of letter, but for the one capital that a word begins with; and of those that a digit has to do with.
fn count_changes(run: &[u8]) -> (usize, usize) {
    let (mut all, mut digits) = (0, 0);
    for two in run.windows(2) {
        let (a, b) = (letter_kind(two[0]), letter_kind(two[1]));
        let apart = a == LetterKind::Other
            || b == LetterKind::Other
            || (a, b) == (LetterKind::Upper, LetterKind::Lower);
        if a != b && !apart {
            all += 1;
            digits += usize::from(a == LetterKind::Digit || b == LetterKind::Digit);
        }
    }
    (all, digits)
}

/// Reports whether letters and digits come in no order of words, versions and names. What has eight letters in a row is looked at.
pub(super) fn looks_random(value: &[u8]) -> bool {
    let (mut mixed, mut all) = (0, 0);
    for run in value.split(|byte| !byte.is_ascii_alphanumeric()) {
        all += run.len();
        let (changes, digits) = count_changes(run);
        if run.len() >= 8 && (changes * 4 >= run.len() || changes * 5 >= run.len() && digits >= 4) {
            mixed += run.len();
        }
    }
    if value.len() >= 32 && count_kinds(value) >= 3 && shannon_entropy(value) >= 4.5 {
        return true;
    }
    mixed * 3 >= all && mixed >= 8 && value.iter().any(u8::is_ascii_digit) && shannon_entropy(value) >= 2.9
}

fn is_sign(byte: u8) -> bool {
    matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' | b'+' | b'~')
}

/// Number of kinds of letters in `value`: signs, digits, lower case, upper case.
pub(super) fn count_kinds(value: &[u8]) -> usize {
    let has = |is: fn(u8) -> bool| usize::from(value.iter().any(|&byte| is(byte)));
    has(is_sign)
        + has(|byte| byte.is_ascii_digit())
        + has(|byte| byte.is_ascii_lowercase())
        + has(|byte| byte.is_ascii_uppercase())
}

/// Reports whether a person may have chosen `value` as a password: letters with digits or signs among them, and no name in code.
pub(super) fn looks_chosen(value: &[u8]) -> bool {
    let digits = value.iter().any(u8::is_ascii_digit);
    let mixed = if value.iter().any(|&byte| is_sign(byte)) {
        count_kinds(value) >= 3
    } else {
        let changes = count_changes(value).0;
        count_kinds(value) >= 2
            && (digits && changes * 5 >= value.len() || value.len() >= 14 && changes * 4 >= value.len())
    };
    mixed && value.iter().any(u8::is_ascii_alphabetic) && shannon_entropy(value) >= 2.7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_that_of_the_letters() {
        assert!(shannon_entropy(b"aaaa") < 0.001);
        assert!((shannon_entropy(b"abcd") - 2.0).abs() < 0.001);
        assert!(shannon_entropy(b"") < 0.001);
    }

    #[test]
    fn names_and_versions_are_not_random() {
        for plain in [
            "getAccessTokenSecretForUser2",
            "task-management-dashboard-component",
            "risk-assessment-long-name-v2",
            "v1.2.3-beta4.20240101",
            "my.package.name.Sha256Hasher",
            "20240101T000000Z",
            "us-east-1a-subnet-2b-public",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        ] {
            assert!(!looks_random(plain.as_bytes()), "{plain}");
        }
    }

    #[test]
    fn passwords_of_people_are_told_from_names() {
        for chosen in ["Gr4nite!Falcon", "kestrel#47River", "b7Xq9-Lm2z"] {
            assert!(looks_chosen(chosen.as_bytes()), "{chosen}");
        }
        for plain in ["falcon", "userPasswordField", "password_hash", "Sha256Hasher", "column-2-wide"] {
            assert!(!looks_chosen(plain.as_bytes()), "{plain}");
        }
    }

    #[test]
    fn what_counts_up_stands_for_something_else() {
        assert!(is_placeholder(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"));
        assert!(is_placeholder(b"aaaaaaaaaaaa"));
        assert!(!is_placeholder(b"q8Zr1Kp0Wm4Tx7Vb"));
    }
}
