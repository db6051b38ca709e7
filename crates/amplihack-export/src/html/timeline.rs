//! The timeline of a run on its page.

use amplihack_policy::Decision;
use jiff::Timestamp;

use super::changes::patch;
use super::write::Html;
use crate::clean::Cleaner;
use crate::items::{Gave, Item, Said, Tool, What};
use crate::summary::{after, span};
use crate::tool::Part;

/// Writes `items` of the run that started at `start`; `number` tells runs of one page apart.
pub(super) fn timeline(html: &mut Html, number: usize, start: Timestamp, items: &[Item], cleaner: Cleaner) {
    html.raw("<ol class=\"timeline\">\n");
    for item in items {
        html.raw(match (&item.what, item.below) {
            (What::Said(_), false) => "<li class=\"said\" id=\"e",
            (What::Said(_), true) => "<li class=\"said below\" id=\"e",
            (What::Tool(Tool { result: Some(Gave { is_error: true, .. }), .. }), false) => {
                "<li class=\"tool bad\" id=\"e"
            }
            (What::Tool(_), false) => "<li class=\"tool\" id=\"e",
            (What::Tool(_), true) => "<li class=\"tool below\" id=\"e",
            (What::Warning { .. }, _) => "<li class=\"warning\" id=\"e",
            _ => "<li class=\"quiet\" id=\"e",
        });
        html.show(number).raw("-").show(item.seq).raw("\">\n<p class=\"head\">");
        head(html, &item.what);
        html.raw(" <a class=\"when\" href=\"#e")
            .show(number)
            .raw("-")
            .show(item.seq)
            .raw("\"><time datetime=\"");
        html.show(item.at).raw("\">").show(after(start, item.at)).raw("</time></a></p>\n");
        body(html, item, cleaner);
        html.raw("</li>\n");
    }
    html.raw("</ol>\n");
}

fn head(html: &mut Html, what: &What) {
    match what {
        What::Said(_) => html.raw("<b>Agent</b>"),
        What::Thought(_) => html.raw("<b>Thinking</b>"),
        What::Tool(tool) => {
            html.raw("<b>Tool</b> <code>").text(&tool.name).raw("</code>");
            if let Some(said) = &tool.verdict {
                html.raw(" ");
                verdict(html, said);
            }
            html
        }
        What::Permission { tool, .. } => html.raw("<b>Permission</b> <code>").text(tool).raw("</code>"),
        What::Warning { kind, .. } => html.raw("<b>Warning</b> <code>").text(kind).raw("</code>"),
        What::Other { kind, .. } => html.raw("<b>Other</b> <code>").text(kind).raw("</code>"),
    };
}

/// What the policy said, as a mark; silence has none.
pub(super) fn verdict(html: &mut Html, said: &Said) {
    html.raw(match said.decision {
        Decision::None => return,
        Decision::Allow => "<span class=\"mark good\">allowed ",
        Decision::Ask => "<span class=\"mark\">asked about ",
        Decision::Deny => "<span class=\"mark bad\">denied ",
    });
    html.text(&said.rule).raw("</span>");
}

fn body(html: &mut Html, item: &Item, cleaner: Cleaner) {
    match &item.what {
        What::Said(text) => {
            html.raw("<div class=\"prose\" dir=\"auto\">").text(text).raw("</div>\n");
        }
        What::Thought(text) => {
            html.raw("<details><summary>What it thought</summary>\n").block(text).raw("</details>\n");
        }
        What::Tool(tool) => call(html, item, tool, cleaner),
        What::Permission { allowed, reason, .. } => {
            html.raw("<p>").raw(match allowed {
                None => "asked for",
                Some(true) => "given",
                Some(false) => "refused",
            });
            if !reason.is_blank() {
                html.raw(": ").text(reason);
            }
            html.raw("</p>\n");
        }
        What::Warning { message, .. } => {
            html.raw("<p>").text(message).raw("</p>\n");
        }
        What::Other { text, .. } => {
            html.raw("<details><summary>The agent's own line</summary>\n").block(text).raw("</details>\n");
        }
    }
}

fn call(html: &mut Html, item: &Item, tool: &Tool, cleaner: Cleaner) {
    for part in &tool.parts {
        match part {
            Part::Argument(name, text) => html.named(name, text),
            Part::Edit(edit) => html.folding(&cleaner.text("edit"), edit, |html| patch(html, edit)),
        };
    }
    let Some(gave) = &tool.result else {
        html.raw("<p class=\"none\">no result</p>\n");
        return;
    };
    html.raw("<p class=\"result\">").raw(if gave.is_error { "failed" } else { "done" });
    if let Some(code) = gave.exit_code {
        html.raw(" with code ").show(code);
    }
    html.raw(" after ").show(span(gave.at.duration_since(item.at))).raw("</p>\n");
    if !gave.output.is_blank() {
        html.folding(&cleaner.text("output"), &gave.output, |html| {
            html.block(&gave.output);
        });
    }
}
