//! The page: its head, and a section for each part of an export.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::changes::files;
use super::timeline::{timeline, verdict};
use super::write::Html;
use crate::clean::Cleaner;
use crate::items::items;
use crate::model::{Document, Run, Turn, Unattended};
use crate::summary::{self, Fact};

const STYLE: &str = include_str!("style.css");

/// `document` as one HTML page. The same document gives the same bytes.
pub fn page(document: &Document, cleaner: Cleaner) -> String {
    let mut html = Html::default();
    let title = summary::title(document, cleaner);
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    // Nothing is loaded and nothing runs, whatever a text may have smuggled in; the one style is named by its hash.
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-");
    html.show(STANDARD.encode(Sha256::digest(STYLE)));
    html.raw("'; base-uri 'none'; form-action 'none'\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    html.raw("<title>").text(&title).raw("</title>\n<style>").raw(STYLE).raw("</style>\n</head>\n<body>\n");
    html.raw("<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n<p class=\"brand\">amplihack</p>\n<h1>");
    html.text(&title).raw("</h1>\n</header>\n<main id=\"content\">\n");
    if let Some(unattended) = &document.unattended {
        whole(&mut html, document, unattended, cleaner);
    }
    for (number, run) in document.runs.iter().enumerate() {
        one(&mut html, document, number, run, cleaner);
    }
    html.raw("</main>\n<footer><p>Exported by amplihack ").show(env!("CARGO_PKG_VERSION"));
    html.raw(if cleaner.redacts() {
        "; what looks like a credential was replaced.</p></footer>\n</body>\n</html>\n"
    } else {
        "; <strong>credentials were not looked for.</strong></p></footer>\n</body>\n</html>\n"
    });
    html.into_string()
}

fn facts(html: &mut Html, facts: &[Fact]) {
    html.raw("<dl>\n");
    for (name, value) in facts {
        html.raw("<div><dt>").show(name).raw("</dt><dd");
        html.raw(match (*name, value.as_str()) {
            ("State", "success" | "verified" | "claimed") => " class=\"good\"",
            ("State", "running") => "",
            ("State", _) => " class=\"bad\"",
            _ => "",
        });
        html.raw(">").text(value).raw("</dd></div>\n");
    }
    html.raw("</dl>\n");
}

fn whole(html: &mut Html, document: &Document, run: &Unattended, cleaner: Cleaner) {
    html.raw("<section aria-labelledby=\"run\">\n<h2 id=\"run\">The run</h2>\n");
    facts(html, &summary::unattended(&document.id, run, cleaner));
    html.named(&cleaner.text("task"), &cleaner.text(&run.task));
    html.raw("</section>\n<section aria-labelledby=\"turns\">\n<h2 id=\"turns\">Turns</h2>\n<ol class=\"turns\">\n");
    for turn in &run.turns {
        self::turn(html, document, turn, cleaner);
    }
    html.raw("</ol>\n</section>\n");
    if !run.diff.is_empty() {
        html.raw("<section aria-labelledby=\"changes\">\n<h2 id=\"changes\">Changes</h2>\n");
        files(html, &run.diff, cleaner);
        html.raw("</section>\n");
    }
}

fn turn(html: &mut Html, document: &Document, turn: &Turn, cleaner: Cleaner) {
    html.raw("<li>\n<p class=\"head\"><b>Turn ").show(turn.number).raw("</b> ");
    html.text(&cleaner.text(turn.agent.name())).raw(", ").text(&cleaner.text(&turn.phase));
    for launch in &turn.launches {
        if let Some(number) = document.runs.iter().position(|run| run.id == *launch) {
            html.raw(" <a href=\"#r").show(number).raw("\">what it did</a>");
        }
    }
    html.raw("</p>\n<p>").text(&cleaner.text(turn.how.trim())).raw("</p>\n");
    for denied in &turn.denied {
        html.raw("<p><span class=\"mark bad\">denied ").text(&cleaner.text(denied)).raw("</span></p>\n");
    }
    if let Some(outcome) = &turn.outcome {
        html.raw("<p class=\"result\">").text(&cleaner.text(outcome)).raw("</p>\n");
    }
    for check in &turn.checks {
        html.raw(if check.passed {
            "<p><span class=\"mark good\">passed</span> <code>"
        } else {
            "<p><span class=\"mark bad\">failed</span> <code>"
        });
        html.text(&cleaner.text(&check.what)).raw("</code></p>\n");
        if !check.found.trim().is_empty() {
            html.named(&cleaner.text("found"), &cleaner.text(&check.found));
        }
    }
    html.raw("</li>\n");
}

fn one(html: &mut Html, document: &Document, number: usize, run: &Run, cleaner: Cleaner) {
    let turn = document.unattended.as_ref().and_then(|unattended| {
        unattended.turns.iter().find(|turn| turn.launches.contains(&run.id)).map(|turn| turn.number)
    });
    html.raw("<section aria-labelledby=\"r").show(number).raw("\">\n<h2 id=\"r").show(number).raw("\">");
    match turn {
        Some(turn) => html.raw("Turn ").show(turn),
        None => html.raw("Summary"),
    };
    html.raw("</h2>\n");
    facts(html, &summary::run(run, cleaner));
    if let Some(answer) = summary::answer(run, cleaner) {
        html.raw("<h3>Answer</h3>\n<div class=\"prose answer\" dir=\"auto\">").text(&answer).raw("</div>\n");
    }
    let judged = summary::judged(run, cleaner);
    if !run.verdicts.is_empty() {
        html.raw("<h3>Policy</h3>\n<p>").show(run.verdicts.len()).raw(" calls judged");
        html.raw(if judged.is_empty() { ", none stopped.</p>\n" } else { ".</p>\n<table><thead><tr><th scope=\"col\">Time</th><th scope=\"col\">Answer</th><th scope=\"col\">Tool</th><th scope=\"col\">Command</th></tr></thead><tbody>\n" });
        for call in &judged {
            html.raw("<tr><td>").text(&call.at).raw("</td><td>");
            verdict(html, &call.said);
            html.raw("</td><td>")
                .text(&call.tool)
                .raw("</td><td><code>")
                .text(&call.command)
                .raw("</code></td></tr>\n");
        }
        html.raw(if judged.is_empty() { "" } else { "</tbody></table>\n" });
    }
    html.raw("<h3>Timeline</h3>\n");
    timeline(html, number, run.record.started_at, &items(run, cleaner), cleaner);
    html.raw("</section>\n");
}
