//! The scan of files on a corpus of made-up credentials and look-alikes, and on input that is made to keep it busy.

use amplihack_secrets::{AllowedSecrets, find_credentials, redact_credentials, scan_file};
use amplihack_testkit::secrets::{SecretCase, look_alikes, real, unseen};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const SEEDS: [u64; 3] = [1, 2, 3];

fn cases() -> impl Iterator<Item = SecretCase> {
    SEEDS.into_iter().flat_map(|seed| [real(seed), look_alikes(seed), unseen(seed)]).flatten()
}

fn with_secret() -> impl Iterator<Item = SecretCase> {
    cases().filter(|case| case.secret.is_some())
}

fn lines_of(case: &SecretCase) -> Vec<usize> {
    scan_file(case.path, case.text.as_bytes()).into_iter().map(|finding| finding.line).collect()
}

#[test]
fn every_credential_is_found_once_on_its_line() {
    let mut missed = Vec::new();
    for case in with_secret() {
        let lines = lines_of(&case);
        if lines != case.lines().map_or(vec![], |lines| vec![*lines.start()]) {
            missed.push(format!("{}: lines {lines:?}\n{}", case.kind, case.text));
        }
    }
    assert!(missed.is_empty(), "{} missed\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn nothing_is_found_in_look_alikes() {
    let mut false_alarms = Vec::new();
    for case in cases().filter(|case| case.secret.is_none()) {
        for finding in scan_file(case.path, case.text.as_bytes()) {
            false_alarms.push(format!("{}: {finding:?}\n{}", case.kind, case.text));
        }
    }
    assert!(false_alarms.is_empty(), "{}", false_alarms.join("\n"));
}

#[test]
fn the_corpus_is_what_the_page_says() {
    let (real, alike) = (real(1), look_alikes(1));
    assert!(real.len() >= 60 && alike.len() >= 60, "{} and {}", real.len(), alike.len());
    let mut kinds: Vec<_> = real.iter().chain(&alike).map(|case| case.kind).collect();
    kinds.sort_unstable();
    let count = kinds.len();
    kinds.dedup();
    assert_eq!(kinds.len(), count);
}

#[test]
fn redaction_leaves_no_credential() {
    let mut left = Vec::new();
    for case in with_secret() {
        let clean = redact_credentials(&case.text);
        // A part of sixteen letters is enough to know it by.
        let secret = case.secret.as_deref().unwrap_or_default();
        let parts = secret.split(['\n', '\\']).filter(|part| part.len() >= 8);
        let open = |part: &str| clean.contains(&part[part.len() / 2..]) && !part.starts_with('-');
        if parts.into_iter().any(open) {
            left.push(format!("{}: {clean}", case.kind));
        }
        assert_eq!(redact_credentials(&clean), clean, "{}", case.kind);
    }
    assert!(left.is_empty(), "{}", left.join("\n"));
}

#[test]
fn what_is_told_of_a_finding_does_not_tell_it() {
    for case in with_secret() {
        let secret = case.secret.as_deref().unwrap_or_default();
        for finding in scan_file(case.path, case.text.as_bytes()) {
            let told = format!("{finding:?}").replace(case.path, "");
            let shown = finding.masked.chars().take_while(|&letter| letter != '…').count();
            assert!(shown <= 4 && (shown == 0 || secret.len() >= 20), "{}: {}", case.kind, finding.masked);
            let part = secret.get(4..12).unwrap_or(secret);
            assert!(!told.contains(part), "{}: {told}", case.kind);
        }
    }
}

#[test]
fn fingerprints_are_of_value_kind_and_path() {
    let case = real(1).into_iter().find(|case| case.kind == "github user token").unwrap();
    let of = |path: &str, text: &str| scan_file(path, text.as_bytes())[0].fingerprint.clone();
    let first = of("a/b.txt", &case.text);
    assert!(first.len() == 16 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
    assert_eq!(of("a/b.txt", &format!("moved\n\n{}", case.text)), first);
    assert_ne!(of("a/c.txt", &case.text), first);
    let other = real(2).into_iter().find(|other| other.kind == case.kind).unwrap();
    assert_ne!(of("a/b.txt", &other.text), first);
}

#[test]
fn what_is_allowed_is_allowed_for_its_path_only() {
    let case = real(1).into_iter().find(|case| case.kind == "github user token").unwrap();
    let finding = |path: &str| scan_file(path, case.text.as_bytes()).remove(0);
    let list = format!("# reviewed\n\n{}  a key of a test\n", finding("a").fingerprint.to_uppercase());
    let allowed = AllowedSecrets::parse(&list).unwrap();
    assert!(allowed.allows_finding(&finding("a")) && !allowed.allows_finding(&finding("b")));
    assert_eq!(allowed.iter().map(|(_, note)| note).collect::<Vec<_>>(), ["a key of a test"]);
    assert!(!AllowedSecrets::parse("").unwrap().allows_finding(&finding("a")));
    let error = AllowedSecrets::parse("# x\n0123456789abcdef\n*\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 3 begins with no fingerprint of 16 hexadecimal digits; write one, or a # before a comment"
    );
}

#[test]
fn bytes_that_are_no_utf_8_are_scanned_too() {
    for case in real(1) {
        let lines = lines_of(&case);
        let latin = [&b"# \xe9t\xe9\n"[..], case.text.as_bytes()].concat();
        let found: Vec<usize> =
            scan_file(case.path, &latin).into_iter().map(|finding| finding.line - 1).collect();
        assert_eq!(found, lines, "{} in Latin-1", case.kind);
        for (mark, write) in
            [(b"\xff\xfe", u16::to_le_bytes as fn(u16) -> [u8; 2]), (b"\xfe\xff", u16::to_be_bytes)]
        {
            let wide: Vec<u8> = case.text.encode_utf16().flat_map(write).collect();
            let found = |bytes: &[u8]| {
                scan_file(case.path, bytes).into_iter().map(|finding| finding.line).collect::<Vec<_>>()
            };
            assert_eq!(found(&[&mark[..], wide.as_slice()].concat()), lines, "{} in UTF-16", case.kind);
            assert_eq!(found(&wide), lines, "{} in UTF-16 without a mark", case.kind);
        }
    }
}

#[test]
fn in_a_binary_only_shapes_are_looked_for() {
    let mut found = Vec::new();
    for case in real(1) {
        let bytes = [&b"\0\x01ELF\n"[..], case.text.as_bytes()].concat();
        found.extend(scan_file("bin/tool", &bytes).into_iter().map(|finding| finding.rule.0));
    }
    assert!(found.contains(&"github-token") && found.contains(&"private-key"), "{found:?}");
    assert!(!found.contains(&"password") && !found.contains(&"bearer"), "{found:?}");
}

/// Beginnings of everything that is looked for, in an order that chance makes.
fn near_misses() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "password=",
        "token: ",
        "://",
        "a:b@",
        "-----BEGIN RSA PRIVATE KEY-----",
        "eyJ",
        ".",
        "=",
        ":",
        "\"",
        "'",
        ",",
        ">",
        "<password>",
        "</",
        "ghp_",
        "sk-",
        "AKIA",
        "8Q~",
        ".atlasv1.",
        ":AA",
        "value=",
        "key=",
        "name: ",
        " -p",
        "mysql ",
        "sshpass -p ",
        "-u ",
        "Bearer ",
        "Private-Lines: ",
        "\n",
        "\\n",
        "%3D",
        "LS0tLS1CRUdJTi",
        "||",
        "??",
        "::",
        "x",
        "a1B2c3D4e5F6g7H8",
        "\0",
        "é",
        " ",
        "sig=",
    ];
    let piece = prop_oneof![
        select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        vec(any::<u8>(), 1..4),
    ];
    vec(piece, 0..120).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn whatever_comes_findings_are_in_it_and_in_order(bytes in near_misses()) {
        let mut end = 0;
        for found in find_credentials(&bytes) {
            prop_assert!(end <= found.span.start && found.span.start < found.span.end && found.span.end <= bytes.len());
            end = found.span.end;
        }
        let lines = bytes.len() + 1;
        for path in ["a.rs", "a.yml", ""] {
            for finding in scan_file(path, &bytes) {
                prop_assert!((1..=lines).contains(&finding.line) && finding.fingerprint.len() == 16);
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = redact_credentials(&text);
    }

    #[test]
    fn random_words_around_a_credential_hide_nothing(before in "[ -~]{0,40}", after in "[ -~]{0,40}", seed in 1_u64..1000) {
        let case = real(seed).into_iter().find(|case| case.kind == "github classic token").unwrap();
        let secret = case.secret.unwrap();
        let text = format!("{before}\n{secret}\n{after}");
        prop_assert!(!redact_credentials(&text).contains(&secret));
        prop_assert!(scan_file("x", text.as_bytes()).iter().any(|finding| finding.line == 2));
    }
}

/// No matter of the clock: what grows faster than its input does not end. With checks on it is a hundred times slower, and less has to do.
#[test]
fn many_near_misses_end() {
    let size = if cfg!(debug_assertions) { 64 << 10 } else { 10 << 20 };
    for piece in [
        "password=a1",
        "password=a1:",
        "token: \"",
        "://a:b",
        "-----BEGIN X PRIVATE KEY-----",
        "eyJ-",
        "eyJhbGciOiJIUzI1NiJ9.eyJ-",
        "LS0tLS1CRUdJTi/",
        "sk-sk_",
        "glpat-",
        "name: value=",
        " -p mysql",
        "a.b.c.d.",
        "a1B2c3D4e5F6",
        ",\"\",",
        "value=",
        "Private-Lines: ",
        "x",
        "-u a:",
        "1:A",
    ] {
        let text = piece.repeat(size / piece.len());
        for path in ["a.rs", "a.yml"] {
            assert!(scan_file(path, text.as_bytes()).len() <= size, "{piece}");
        }
        find_credentials(text.as_bytes());
    }
}
