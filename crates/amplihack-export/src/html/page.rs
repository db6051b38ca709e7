//! The page: its head, and a section for each part of an export.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::changes::write_files;
use super::timeline::{write_timeline, write_verdict};
use super::write::HtmlPage;
use crate::clean::TextCleaner;
use crate::items::timeline_items;
use crate::model::{ExportDocument, ExportedRun, UnattendedRun, UnattendedTurn};
use crate::summary::{self, NamedFact};

const STYLE: &str = include_str!("style.css");

/// `document` as one HTML page. The same document gives the same bytes.
pub fn html_page(document: &ExportDocument, cleaner: TextCleaner) -> String {
    let mut html = HtmlPage::default();
    let title = summary::document_title(document, cleaner);
    html.push_markup("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    // Nothing is loaded and nothing runs, whatever a text may have smuggled in; the one style is named by its hash.
    html.push_markup(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-",
    );
    html.push_value(STANDARD.encode(Sha256::digest(STYLE)));
    html.push_markup("'; base-uri 'none'; form-action 'none'\">\n");
    html.push_markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.push_markup("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    html.push_markup("<title>")
        .push_text(&title)
        .push_markup("</title>\n<style>")
        .push_markup(STYLE)
        .push_markup("</style>\n</head>\n<body>\n");
    html.push_markup("<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n<p class=\"brand\">amplihack</p>\n<h1>");
    html.push_text(&title).push_markup("</h1>\n</header>\n<main id=\"content\">\n");
    if let Some(unattended) = &document.unattended {
        write_unattended(&mut html, document, unattended, cleaner);
    }
    for (number, run) in document.runs.iter().enumerate() {
        write_run(&mut html, document, number, run, cleaner);
    }
    html.push_markup("</main>\n<footer><p>Exported by amplihack ").push_value(env!("CARGO_PKG_VERSION"));
    html.push_markup(if cleaner.is_redacting() {
        "; what looks like a credential was replaced.</p></footer>\n</body>\n</html>\n"
    } else {
        "; <strong>credentials were not looked for.</strong></p></footer>\n</body>\n</html>\n"
    });
    html.into_string()
}

fn write_facts(html: &mut HtmlPage, facts: &[NamedFact]) {
    html.push_markup("<dl>\n");
    for (name, value) in facts {
        // A path has no place to break at.
        html.push_markup(if matches!(*name, "Directory" | "Branch" | "Reason") {
            "<div class=\"wide\"><dt>"
        } else {
            "<div><dt>"
        });
        html.push_value(name).push_markup("</dt><dd");
        html.push_markup(match (*name, value.as_str()) {
            ("State", "success" | "verified" | "claimed") => " class=\"good\"",
            ("State", "running") => "",
            ("State", _) => " class=\"bad\"",
            _ => "",
        });
        html.push_markup(">").push_text(value).push_markup("</dd></div>\n");
    }
    html.push_markup("</dl>\n");
}

fn write_unattended(
    html: &mut HtmlPage,
    document: &ExportDocument,
    run: &UnattendedRun,
    cleaner: TextCleaner,
) {
    html.push_markup("<section aria-labelledby=\"task\">\n<h2 id=\"task\">Task</h2>\n<div class=\"prose answer\" dir=\"auto\">");
    html.push_text(&cleaner.clean_text(&run.task)).push_markup("</div>\n</section>\n");
    html.push_markup("<section aria-labelledby=\"run\">\n<h2 id=\"run\">The run</h2>\n");
    write_facts(html, &summary::unattended_facts(&document.id, run, cleaner));
    html.push_markup("</section>\n<section aria-labelledby=\"turns\">\n<h2 id=\"turns\">Turns</h2>\n<ol class=\"turns\">\n");
    for turn in &run.turns {
        write_turn(html, document, turn, cleaner);
    }
    html.push_markup("</ol>\n</section>\n");
    if !run.diff.is_empty() {
        html.push_markup("<section aria-labelledby=\"changes\">\n<h2 id=\"changes\">Changes</h2>\n");
        write_files(html, &run.diff, cleaner);
        html.push_markup("</section>\n");
    }
}

fn write_turn(html: &mut HtmlPage, document: &ExportDocument, turn: &UnattendedTurn, cleaner: TextCleaner) {
    html.push_markup("<li>\n<p class=\"head\"><b>Turn ").push_value(turn.number).push_markup("</b> ");
    html.push_text(&cleaner.clean_text(turn.agent.name()))
        .push_markup(", ")
        .push_text(&cleaner.clean_text(&turn.phase));
    for launch in &turn.launches {
        if let Some(number) = document.runs.iter().position(|run| run.id == *launch) {
            html.push_markup(" <a href=\"#r").push_value(number).push_markup("\">what it did</a>");
        }
    }
    html.push_markup("</p>\n<p>").push_text(&cleaner.clean_text(turn.how.trim())).push_markup("</p>\n");
    for denied in &turn.denied {
        html.push_markup("<p><span class=\"mark bad\">denied ")
            .push_text(&cleaner.clean_text(denied))
            .push_markup("</span></p>\n");
    }
    if let Some(outcome) = &turn.outcome {
        html.push_markup("<p class=\"result\">")
            .push_text(&cleaner.clean_text(outcome))
            .push_markup("</p>\n");
    }
    for check in &turn.checks {
        html.push_markup(if check.passed {
            "<p><span class=\"mark good\">passed</span> <code>"
        } else {
            "<p><span class=\"mark bad\">failed</span> <code>"
        });
        html.push_text(&cleaner.clean_text(&check.what)).push_markup("</code></p>\n");
        if !check.found.trim().is_empty() {
            html.push_named(&cleaner.clean_text("found"), &cleaner.clean_text(&check.found));
        }
    }
    html.push_markup("</li>\n");
}

fn write_run(
    html: &mut HtmlPage,
    document: &ExportDocument,
    number: usize,
    run: &ExportedRun,
    cleaner: TextCleaner,
) {
    let turn = document.unattended.as_ref().and_then(|unattended| {
        unattended.turns.iter().find(|turn| turn.launches.contains(&run.id)).map(|turn| turn.number)
    });
    html.push_markup("<section aria-labelledby=\"r")
        .push_value(number)
        .push_markup("\">\n<h2 id=\"r")
        .push_value(number)
        .push_markup("\">");
    match turn {
        Some(turn) => html.push_markup("Turn ").push_value(turn),
        None => html.push_markup("Summary"),
    };
    html.push_markup("</h2>\n");
    write_facts(html, &summary::run_facts(run, cleaner));
    if let Some(answer) = summary::last_answer(run, cleaner) {
        html.push_markup("<h3>Answer</h3>\n<div class=\"prose answer\" dir=\"auto\">")
            .push_text(&answer)
            .push_markup("</div>\n");
    }
    let judged = summary::judged_calls(run, cleaner);
    // The number of judged calls is told also where none was stopped: without it, a run without its guard would look alike.
    if !run.verdicts.is_empty() {
        html.push_markup("<h3>Policy</h3>\n<p>").push_value(run.verdicts.len()).push_markup(" calls judged");
        html.push_markup(if judged.is_empty() { ", none stopped.</p>\n" } else { ".</p>\n<table><thead><tr><th scope=\"col\">Time</th><th scope=\"col\">Answer</th><th scope=\"col\">Tool</th><th scope=\"col\">Command</th></tr></thead><tbody>\n" });
        for call in &judged {
            html.push_markup("<tr><td>").push_text(&call.at).push_markup("</td><td>");
            write_verdict(html, &call.said);
            html.push_markup("</td><td>")
                .push_text(&call.tool)
                .push_markup("</td><td><code>")
                .push_text(&call.command)
                .push_markup("</code></td></tr>\n");
        }
        html.push_markup(if judged.is_empty() { "" } else { "</tbody></table>\n" });
    }
    html.push_markup("<h3>Timeline</h3>\n");
    write_timeline(html, number, run.record.started_at, &timeline_items(run, cleaner), cleaner);
    html.push_markup("</section>\n");
}
