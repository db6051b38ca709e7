//! Markdown: what a reader makes of it, and that no text of others is markup.

use std::collections::BTreeSet;

use amplihack_agent::AgentBinary;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::markdown_document;
use crate::clean::TextCleaner;
use crate::testing::{hostile_document, recorded_run, single_run_document};

#[test]
fn a_run_of_claude() {
    let text = markdown_document(
        &single_run_document(recorded_run(AgentBinary::Claude, "claude-2.1.332.jsonl")),
        TextCleaner::new(true),
    );
    insta::assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

/// Markup of a text, as somebody else's reader of Markdown finds it.
fn markup(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let tags =
                    html.split('<').skip(1).filter_map(|tag| Some(format!("<{}>", tag.split_once('>')?.0)));
                found.extend(tags);
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                found.insert(dest_url.into_string());
            }
            Event::Start(Tag::Heading { level, .. }) => {
                found.insert(level.to_string());
            }
            Event::Start(tag @ (Tag::BlockQuote(_) | Tag::FootnoteDefinition(_))) => {
                found.insert(format!("{tag:?}"));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn no_text_of_others_is_markup() {
    let text = markdown_document(&hostile_document(), TextCleaner::new(true));
    let own = ["<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>", "h1", "h2", "h3"];
    assert_eq!(markup(&text), own.map(str::to_owned).into());
    // Headings are ours, so is every fold.
    let headings = Parser::new_ext(&text, Options::ENABLE_TABLES)
        .filter(|event| matches!(event, Event::Start(Tag::Heading { .. })));
    assert_eq!(
        headings.count(),
        text.lines()
            .filter(|line| ["# ", "## ", "### "].iter().any(|head| line.starts_with(head))
                && *line != "# heading")
            .count()
    );
    let count = |tag: &str| {
        Parser::new_ext(&text, Options::ENABLE_TABLES)
            .filter(|event| matches!(event, Event::Html(html) if html.contains(tag)))
            .count()
    };
    assert!(count("<details>") > 1);
    assert_eq!(count("<details>"), count("</details>"));
}

/// The check above can fail.
#[test]
fn markup_is_found() {
    let found = markup("a <b>x</b>\n\n# y\n\n![i](https://evil.example/i.png) [x](javascript:y)\n");
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn nothing_hides_or_disturbs() {
    let text = markdown_document(&hostile_document(), TextCleaner::new(true));
    let bad = text
        .chars()
        .find(|c| (c.is_control() && *c != '\n' && *c != '\t') || ('\u{202a}'..='\u{202e}').contains(c));
    assert_eq!(bad, None);
}
