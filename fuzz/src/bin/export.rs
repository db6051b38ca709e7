//! Recorded runs as pages: no text of an agent, a tool or a user is markup, and nothing in them hides or disturbs.

use std::collections::BTreeSet;
use std::path::Path;

use amplihack_agent::decode::new_decoder;
use amplihack_agent::event::{
    AgentSessionStarted, AgentText, AgentWarning, FailKind, ToolCall, ToolResult, UsageTotals,
};
use amplihack_agent::reader::AgentStreamReader;
use amplihack_agent::{AgentBinary, AgentEvent, EndEvent, Envelope};
use amplihack_audit::{AuditData, AuditEntry, EventType};
use amplihack_export::{
    ExportDocument, ExportedRun, TextCleaner, UnattendedRun, UnattendedTurn, VerificationCheck, html_page,
    markdown_document, otel,
};
use amplihack_fuzz::{Target, linear, run, seeds};
use amplihack_session::{EndEvidence, RunEnd, RunRecord};
use amplihack_verdict::Decision;
use jiff::Timestamp;
use pulldown_cmark::{Event, Options, Parser, Tag};

const SEEDS: &[&str] = &[
    "<script>document.title='pwned'</script>",
    "</pre></details></main><img src=https://evil.example/x onerror=alert(1)>",
    "\"><svg/onload=alert(1)>'\"`onfocus=alert(1) autofocus `",
    "\u{1b}[2J\u{1b}]0;pwned\u{7} nul\0byte \u{202e}txt.exe\u{2066} \u{200b}",
    "```\n</details>\n# heading\n[x](javascript:alert(1)) ![i](https://evil.example/i.png) @everyone\n````",
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<old>\n+new\n",
    "| a | b |\n|---|---|\n| ``x`` | \\| |\n\n    code\n> quote\n- [ ] list\n1. x\n***\n[^1]: note\n<!-- --> &lt;b&gt; &#60;\n",
];

const DICTIONARY: &[&str] = &[
    "<",
    ">",
    "&",
    "\"",
    "'",
    "`",
    "```",
    "~~~",
    "<script>",
    "</pre>",
    "</details>",
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[",
    "<?",
    "<a href=",
    "&#60;",
    "&lt;",
    "javascript:",
    "![",
    "](",
    "[x]",
    "# ",
    "> ",
    "- ",
    "    ",
    "\t",
    "|",
    "\\",
    "\\`",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "***",
    "__",
    "~~",
    "$$",
    "[^1]: ",
    "http://e.example",
    "<http://e.example>",
    "diff --git ",
    "+++ ",
    "--- ",
    "@@ ",
    "\u{202e}",
    "\u{200b}",
    "\u{2028}",
    "\0",
    "\u{1b}[",
    "\u{ffff}",
    "é",
    "\u{1f980}",
    "ghp_R4nd0mQ9xZ7bL2vK8mN3pT6wY1cF5hJ0sDqE",
    "{\"command\":\"",
    "\"}",
    "\"old_string\":",
    "\"new_string\":",
    "\"file_path\":",
    "*** Begin Patch\n",
];

const TOKEN: &str = "ghp_R4nd0mQ9xZ7bL2vK8mN3pT6wY1cF5hJ0sDqE";

/// All that a page is made of.
const TAGS: &[&str] = &[
    "a", "article", "b", "body", "code", "dd", "del", "details", "div", "dl", "dt", "em", "footer", "h1",
    "h2", "h3", "h4", "header", "ins", "li", "main", "nav", "ol", "p", "pre", "section", "span", "strong",
    "summary", "table", "tbody", "td", "th", "thead", "time", "tr", "ul",
];

fn main() -> std::process::ExitCode {
    let mut begin = seeds::texts(SEEDS);
    begin.extend(seeds::files("amplihack-agent/tests/transcripts").into_iter().map(|mut file| {
        file.truncate(6000);
        file
    }));
    let target = Target {
        name: "export",
        seeds: begin,
        dictionary: DICTIONARY,
        longest: 16 << 10,
        most: |len| linear(400, 400, len),
    };
    let none = markup(&markdown_document(&document("", AgentBinary::Claude), TextCleaner::new(true)));
    assert!(none.is_subset(&own()), "{none:?}");
    run(target, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let agent = AgentBinary::ALL[bytes.len() % AgentBinary::ALL.len()];
        let document = document(&text, agent);
        for redact in [true, false] {
            let cleaner = TextCleaner::new(redact);
            let html = html_page(&document, cleaner);
            let body = html.split_once("<body>").expect("a page has a body").1;
            tags(body);
            quiet(&html);
            let shown = markdown_document(&document, cleaner);
            quiet(&shown);
            let found = markup(&shown);
            assert!(found.is_subset(&own()), "{:?}", found.difference(&own()).collect::<Vec<_>>());
            let _ = serde_json::to_string(&otel::document_traces(
                &document,
                cleaner,
                true,
                &otel::OtelSettings::without_collector(),
            ))
            .expect("traces have a text");
            // Within another word it is no token.
            let kept = amplihack_secrets::redact_credentials(&text).contains(TOKEN);
            assert!(!redact || kept || !html.contains(TOKEN), "a token is shown");
        }
    })
}

/// What Markdown of ours is made of, as somebody else's reader finds it.
fn own() -> BTreeSet<String> {
    ["<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>", "h1", "h2", "h3"]
        .map(str::to_owned)
        .into()
}

fn markup(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let tags = html.split('<').skip(1);
                found.extend(tags.map(|tag| {
                    tag.split_once('>').map_or_else(|| format!("<{tag}"), |(tag, _)| format!("<{tag}>"))
                }));
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                found.insert(dest_url.into_string());
            }
            Event::Start(Tag::Heading { level, .. }) => {
                found.insert(level.to_string());
            }
            Event::Start(tag @ (Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) | Tag::Strikethrough)) => {
                found.insert(format!("{tag:?}"));
            }
            _ => {}
        }
    }
    found
}

/// Every `<` begins a tag of ours, closed before the next, with attributes that a page has; tags are closed in their order.
fn tags(body: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "an open bracket: {text:?}");
        if let Some(name) = tag.strip_prefix('/') {
            if !["body", "html"].contains(&name) {
                assert_eq!(open.pop(), Some(name), "{tag} closes something else");
            }
            continue;
        }
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        assert!(TAGS.contains(&name), "a page has no {name}");
        open.push(name);
        let mut rest = tag[name.len()..].trim_start();
        while !rest.is_empty() {
            let end = rest.find(['=', ' ']).unwrap_or(rest.len());
            let attribute = &rest[..end];
            assert!(
                [
                    "class",
                    "id",
                    "href",
                    "datetime",
                    "open",
                    "scope",
                    "aria-labelledby",
                    "aria-label",
                    "role",
                    "tabindex",
                    "title",
                    "lang",
                    "dir"
                ]
                .contains(&attribute),
                "{tag}"
            );
            rest = &rest[end..];
            if let Some(value) = rest.strip_prefix("=\"") {
                let (value, after) = value.split_once('"').expect("a value ends");
                assert!(attribute != "href" || value.starts_with('#'), "{tag}");
                rest = after;
            }
            rest = rest.trim_start();
        }
    }
    assert!(open.is_empty(), "{open:?} are not closed");
}

/// No control, nothing that turns or hides text.
fn quiet(text: &str) {
    let bad = text.chars().find(|c| {
        (c.is_control() && *c != '\n' && *c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
    });
    assert_eq!(bad, None);
}

/// A document in which everything that others write is `text`, or what an agent's decoder makes of it.
fn document(text: &str, agent: AgentBinary) -> ExportDocument {
    let start = Timestamp::from_second(1_800_000_000).expect("a time");
    let own = || text.to_owned();
    let mut reader = AgentStreamReader::new(new_decoder(agent), false);
    let mut events: Vec<Envelope> = Vec::new();
    reader.push(text.as_bytes(), start, &mut events);
    let mut add = |event| events.push(Envelope::new(0, start, event));
    let mut started = AgentSessionStarted::new(agent);
    started.version = Some(own());
    started.agent_session = Some(own());
    add(AgentEvent::Started(started));
    add(AgentEvent::Text(AgentText::new(own())));
    add(AgentEvent::Thinking(AgentText::new(own())));
    let mut input =
        serde_json::json!({ "command": text, "old_string": text, "new_string": text, "file_path": text });
    input[text] = serde_json::json!([text, { text: text }]);
    add(AgentEvent::ToolCall(ToolCall::new(own(), own(), (&input).into())));
    let mut result = ToolResult::new(own(), own());
    (result.is_error, result.exit_code, result.parent) = (true, Some(1), Some(own()));
    add(AgentEvent::ToolResult(result));
    add(AgentEvent::Warning(AgentWarning::new(text, own())));
    let mut end = EndEvent::bare_failure(FailKind::Agent, own());
    end.summary.text = Some(own());
    add(AgentEvent::End(end.clone()));
    let mut record = RunRecord::from_this_process(agent, Path::new(text));
    record.started_at = start;
    record.model = Some(own());
    record.agent_session = Some(own());
    record.end = Some(RunEnd::new(end, EndEvidence::Record));
    record.ended_at = Some(start);
    let mut entry = AuditEntry::new(
        "2027-01-15T08:00:00".parse().expect("a time"),
        EventType::PreToolValidation,
        Decision::Deny,
    );
    entry.rule = Some(own());
    entry.data =
        AuditData { command: Some(own()), tool: Some(own()), call_id: Some(own()), ..AuditData::default() };
    // Ids and words of states are this program's own.
    let run = ExportedRun { id: "0123abcd".to_owned(), record, events, unread: 1, verdicts: vec![entry] };
    let turn = UnattendedTurn {
        number: 1,
        agent,
        phase: "execute".to_owned(),
        started: start,
        how: own(),
        denied: vec![own()],
        outcome: Some(own()),
        checks: vec![VerificationCheck { what: own(), passed: false, found: own() }],
        launches: vec!["0123abcd".to_owned()],
    };
    let unattended = UnattendedRun {
        agent,
        state: "failed".to_owned(),
        reason: Some(own()),
        task: own(),
        directory: own(),
        branch: Some(own()),
        began: start,
        ended: None,
        usage: UsageTotals::default(),
        turns: vec![turn],
        diff: own(),
    };
    ExportDocument { id: "feed".to_owned(), unattended: Some(unattended), runs: vec![run] }
}
