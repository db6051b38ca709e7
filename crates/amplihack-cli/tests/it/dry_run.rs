//! `--dry-run`: the whole launch, without starting it.

use std::fmt::Write;

use crate::fakes::{fakes, forget};
use crate::world::{amplihack, prepare};

#[test]
fn a_dry_run_tells_all_but_prompt_and_secrets_and_starts_only_the_version_probe() {
    let mut sandbox = fakes();
    sandbox.set("CLAUDECODE", "1").set("ANTHROPIC_API_KEY", "sekret-value");
    let root = sandbox.root().canonicalize().unwrap().to_string_lossy().into_owned();
    let mut report = String::new();
    for args in [
        &[
            "claude",
            "--permissions",
            "ask",
            "PROMPTBYTES",
            "--",
            "--api-key",
            "sekret-value",
            "--auth-token=sekret-value",
        ][..],
        &[
            "codex",
            "--prompt-file",
            "-",
            "--",
            "--search",
            "exec",
            "-c",
            "model_providers.x.api_key=sekret-value",
        ],
        &["copilot", "--model", "m", "PROMPTBYTES"],
        &["amplifier", "PROMPTBYTES"],
        &["amp", "--", "-x", "PROMPTBYTES"],
        &["codex", "--", "login", "--api-key", "sekret-value"],
        &["claude", "--raw", "--", "-p", "anything"],
    ] {
        let long = "PROMPTBYTES ".repeat(1000);
        let args = [&args[..1], &["--dry-run"], &args[1..]].concat();
        forget(&sandbox);
        let output = prepare(&sandbox, &args).stdin(long).output();
        output.assert_code(0).assert_nowhere("PROMPTBYTES").assert_nowhere("sekret-value");
        assert_eq!(sandbox.runs(), [], "{output}");
        let text = output.stdout_text().replace(&root, "ROOT");
        writeln!(report, "$ amplihack {}\n{}\n", args.join(" "), without_session(&without_guard(&text)))
            .unwrap();
    }
    assert!(!sandbox.work().join(".claude").exists());
    insta::assert_snapshot!(report);
}

/// `text` with the guard's program, its directory and the hash of its policy replaced.
fn without_guard(text: &str) -> String {
    let directory = amplihack().parent().unwrap().to_string_lossy().into_owned();
    let named = text
        .replace(&format!("{directory}/amplihack-hooks"), "GUARD")
        .replace(&format!("{directory}/amplihack hook"), "GUARD");
    let named = without_code(&named);
    let mut parts = named.split(".amplihack/sessions/");
    let first = parts.next().unwrap_or_default().to_owned();
    let named = parts
        .fold(first, |text, part| text + ".amplihack/sessions/SESSION" + &part[part.find('/').unwrap()..]);
    // The hashes of the policy, and of Codex's hooks, whose commands have the session in them.
    without_hash(&without_hash(&named, " --pin "), "sha256:")
}

/// `text` with each number in hexadecimal behind `mark` replaced.
fn without_hash(text: &str, mark: &str) -> String {
    let mut parts = text.split(mark);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + mark + "HASH" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit())
    })
}

/// `text` with each answer code of a launch replaced: the one that lets a call run, and the next, which stops it.
fn without_code(text: &str) -> String {
    let mut parts = text.split(" --code ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let code: u32 = part[..end].parse().unwrap();
        let both = format!("in {code}) exit 0 ;; {}) exit 2 ;;", code + 1);
        assert!(part.contains(&both), "{part}");
        text + " --code N" + &part[end..].replacen(&both, "in N) exit 0 ;; N+1) exit 2 ;;", 1)
    })
}

/// `text` with each session id and version of ours replaced.
fn without_session(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once('=') {
        Some((name, _)) if name.ends_with("AMPLIHACK_SESSION_ID") => format!("{name}=SESSION"),
        Some((name, value)) if name.ends_with("AMPLIHACK_AGENT_BINARY_SET") => {
            format!("{name}=SESSION:{}", value.rsplit(':').next().unwrap_or_default())
        }
        Some((name, _)) if name.ends_with("AMPLIHACK_VERSION") => format!("{name}=VERSION"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
