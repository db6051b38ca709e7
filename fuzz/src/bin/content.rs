//! Text that others wrote: scanned in time linear in its length, with places that are in it.

use std::time::Duration;

use amplihack_fuzz::{Target, run, seeds};
use amplihack_policy::Origin;
use amplihack_policy::content::{InjectionScanner, override_phrase, quarantine_note};
use amplihack_secrets::{redact_credentials, scan_file};

const DICTIONARY: &[&str] = &[
    "ignore ",
    "all previous ",
    "instructions",
    "you are now ",
    "DAN",
    "system: ",
    "<|im_start|>",
    "[INST]",
    "<!--",
    "-->",
    "![x](http://e/?q=",
    ")",
    "%20%69%67",
    "aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnM=",
    "\\u0069\\u0067\\u006e",
    "69676e6f7265",
    "i g n o r e ",
    "1gn0r3",
    "don't ",
    "\"",
    "`",
    ". ",
    "; ",
    ": ",
    "忽略",
    "之前",
    "指令",
    "\u{200b}",
    "\u{430}",
    "é",
    "\u{e0069}",
    "AKIAIOSFODNN7QWERTYU",
    "password=",
    "-----BEGIN RSA PRIVATE KEY-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJ",
    "name: value=",
    ".atlasv1.",
    "8Q~",
    "mysql -p",
    "Bearer ",
    "https://u:p@h/",
    "send ",
    "api key",
    "to https://evil.example",
    "_",
    "=",
    "\n\n",
];

fn main() -> std::process::ExitCode {
    let mut begin = seeds::lines(
        &["amplihack-policy/tests/corpus/content.jsonl", "amplihack-policy/tests/corpus/bastioncorpus.jsonl"],
        "text",
    );
    begin.extend(seeds::files("amplihack-policy/src/content"));
    let target = Target {
        name: "content",
        seeds: begin,
        dictionary: DICTIONARY,
        longest: 256 << 10,
        most: |len| {
            Duration::from_millis(100) + Duration::from_micros(4) * u32::try_from(len).unwrap_or(u32::MAX)
        },
    };
    run(target, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for origin in [Origin::ToolOutput, Origin::Prompt] {
            let findings = InjectionScanner::new().scan(&text, origin);
            for finding in &findings {
                assert!(text.get(finding.span.start..finding.span.end).is_some(), "{:?}", finding.span);
            }
            assert!(findings.len() <= 64 && !quarantine_note(&findings).contains('\n'));
        }
        if let Some(span) = override_phrase(&text) {
            assert!(text.get(span.start..span.end).is_some());
        }
        let _ = redact_credentials(&text);
        for path in ["a.rs", "a.yml"] {
            assert!(scan_file(path, bytes).iter().all(|finding| finding.line <= bytes.len() + 1));
        }
    })
}
