//! The page: what is on it, and that no text of others is markup. A real browser looks at it in the tests of the command line.

use crate::html_page;
use std::collections::BTreeSet;

use amplihack_agent::AgentBinary;

use crate::clean::TextCleaner;
use crate::testing::{hostile_document, recorded_run, single_run_document};

/// What stands between `<` and `>`, digits and times as 0.
fn tags(page: &str) -> BTreeSet<String> {
    let (head, body) = page.split_once("<body>").unwrap();
    assert!(!head.contains("</head>\n<script"));
    body.split('<')
        .skip(1)
        .map(|tag| tag.split_once('>').unwrap().0)
        .map(|tag| {
            let tag = match tag.split_once("datetime=") {
                Some((before, _)) => format!("{before}datetime=0"),
                None => tag.to_owned(),
            };
            tag.chars()
                .map(|c| if c.is_ascii_digit() && !tag.starts_with(['h', '/']) { '0' } else { c })
                .collect()
        })
        .collect()
}

#[test]
fn the_page_of_a_run_of_claude() {
    let page = html_page(
        &single_run_document(recorded_run(AgentBinary::Claude, "claude-2.1.332.jsonl")),
        TextCleaner::new(true),
    );
    let body = page.split_once("<body>").unwrap().1;
    insta::assert_snapshot!(body.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn no_text_of_others_is_markup() {
    let page = html_page(&hostile_document(), TextCleaner::new(true));
    insta::assert_debug_snapshot!(tags(&page));
    for bad in
        ["<script", "<img", "<svg", "<iframe", "<style>*", "<!--", "<b>x", " onerror=alert", "javascript:"]
    {
        let at = page.find(bad).filter(|_| bad.starts_with('<'));
        assert_eq!(at, None, "{bad}");
    }
}

#[test]
fn nothing_hides_or_disturbs() {
    let page = html_page(&hostile_document(), TextCleaner::new(true));
    let bad = page.chars().find(|c| {
        (c.is_control() && *c != '\n' && *c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{2028}')
    });
    assert_eq!(bad, None);
    assert!(
        page.contains("[U+202E]txt.exe") && page.contains("nul[U+0000]byte") && page.contains("[U+001B][2J")
    );
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    for document in
        [hostile_document(), single_run_document(recorded_run(AgentBinary::Codex, "codex-0.171.0.jsonl"))]
    {
        let page = html_page(&document, TextCleaner::new(true));
        assert!(page.contains("default-src 'none'; style-src 'sha256-"));
        for tag in tags(&page) {
            assert!(!tag.contains("src=") && !tag.starts_with("link") && !tag.contains("style="), "{tag}");
            assert!(!tag.contains("href=") || tag.contains("href=\"#"), "{tag}");
        }
    }
}

#[test]
fn secrets_are_replaced_unless_asked_for() {
    let mut run = recorded_run(AgentBinary::Claude, "claude-2.1.332.jsonl");
    let secret = "ghp_R4nd0mQ9xZ7bL2vK8mN3pT6wY1cF5hJ0sDqE";
    run.record.cwd = format!("/repo/{secret}");
    if let Some(end) = &mut run.record.end {
        end.event.summary.text = Some(format!("the token is {secret}"));
    }
    let document = single_run_document(run);
    assert!(!html_page(&document, TextCleaner::new(true)).contains("R4nd0m"));
    let open = html_page(&document, TextCleaner::new(false));
    assert_eq!(open.matches(secret).count(), 2);
    assert!(open.contains("credentials were not looked for"));
}

#[test]
fn headings_are_linked_to_and_ids_are_unique() {
    let page = html_page(&hostile_document(), TextCleaner::new(true));
    let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len());
    for link in page.split("href=\"#").skip(1).chain(page.split("labelledby=\"").skip(1)) {
        let to = link.split_once('"').unwrap().0;
        assert!(unique.contains(to), "{to}");
    }
}
