//! The timeline of a run on its page.

use amplihack_verdict::Decision;
use jiff::Timestamp;

use super::changes::write_patch;
use super::write::HtmlPage;
use crate::clean::TextCleaner;
use crate::items::{CallVerdict, TimelineItem, TimelineItemKind, ToolCallItem, ToolCallOutput};
use crate::summary::{format_duration, format_offset};
use crate::tool::ArgumentPart;

/// Writes `items` of the run that started at `start`; `number` tells runs of one page apart.
pub(super) fn write_timeline(
    html: &mut HtmlPage,
    number: usize,
    start: Timestamp,
    items: &[TimelineItem],
    cleaner: TextCleaner,
) {
    html.push_markup("<ol class=\"timeline\">\n");
    let mut items = items.iter().peekable();
    let mut is_folded = false;
    while let Some(item) = items.next() {
        // Lines of the agent's own that no event has a place for are folded, where there are more than one.
        let is_other = |item: &TimelineItem| matches!(item.what, TimelineItemKind::Other { .. });
        let is_next_other = items.peek().is_some_and(|next| is_other(next));
        if is_other(item) && is_next_other && !is_folded {
            html.push_markup("<li class=\"quiet\"><details><summary>Other lines of the agent</summary>\n<ol class=\"timeline\">\n");
            is_folded = true;
        }
        html.push_markup(match (&item.what, item.below) {
            (TimelineItemKind::Said(_), false) => "<li class=\"said\" id=\"e",
            (TimelineItemKind::Said(_), true) => "<li class=\"said below\" id=\"e",
            (
                TimelineItemKind::Tool(ToolCallItem {
                    result: Some(ToolCallOutput { is_error: true, .. }),
                    ..
                }),
                false,
            ) => "<li class=\"tool bad\" id=\"e",
            (TimelineItemKind::Tool(_), false) => "<li class=\"tool\" id=\"e",
            (TimelineItemKind::Tool(_), true) => "<li class=\"tool below\" id=\"e",
            (TimelineItemKind::Warning { .. }, _) => "<li class=\"warning\" id=\"e",
            _ => "<li class=\"quiet\" id=\"e",
        });
        html.push_value(number).push_markup("-").push_value(item.seq).push_markup("\">\n<p class=\"head\">");
        write_head(html, &item.what);
        html.push_markup(" <a class=\"when\" href=\"#e")
            .push_value(number)
            .push_markup("-")
            .push_value(item.seq)
            .push_markup("\"><time datetime=\"");
        html.push_value(item.at)
            .push_markup("\">")
            .push_value(format_offset(start, item.at))
            .push_markup("</time></a></p>\n");
        write_body(html, item, cleaner);
        html.push_markup("</li>\n");
        if is_folded && !is_next_other {
            html.push_markup("</ol></details></li>\n");
            is_folded = false;
        }
    }
    html.push_markup("</ol>\n");
}

fn write_head(html: &mut HtmlPage, what: &TimelineItemKind) {
    match what {
        TimelineItemKind::Prompt(_) => html.push_markup("<b>Prompt</b>"),
        TimelineItemKind::Note { kind, .. } => html.push_markup("<b>").push_markup(kind).push_markup("</b>"),
        TimelineItemKind::Said(_) => html.push_markup("<b>Agent</b>"),
        TimelineItemKind::Thought(_) => html.push_markup("<b>Thinking</b>"),
        TimelineItemKind::Tool(tool) => {
            html.push_markup("<b>Tool</b> <code>").push_text(&tool.name).push_markup("</code>");
            if let Some(said) = &tool.verdict {
                html.push_markup(" ");
                write_verdict(html, said);
            }
            html
        }
        TimelineItemKind::Permission { tool, .. } => {
            html.push_markup("<b>Permission</b> <code>").push_text(tool).push_markup("</code>")
        }
        TimelineItemKind::Warning { kind, .. } => {
            html.push_markup("<b>Warning</b> <code>").push_text(kind).push_markup("</code>")
        }
        TimelineItemKind::Other { kind, .. } => {
            html.push_markup("<b>Other</b> <code>").push_text(kind).push_markup("</code>")
        }
    };
}

/// Writes the policy's verdict as a mark; no objection has none.
pub(super) fn write_verdict(html: &mut HtmlPage, said: &CallVerdict) {
    html.push_markup(match said.decision {
        Decision::None => return,
        Decision::Allow => "<span class=\"mark good\">allowed ",
        Decision::Ask => "<span class=\"mark\">asked about ",
        Decision::Deny => "<span class=\"mark bad\">denied ",
    });
    html.push_text(&said.rule).push_markup("</span>");
}

fn write_body(html: &mut HtmlPage, item: &TimelineItem, cleaner: TextCleaner) {
    match &item.what {
        TimelineItemKind::Said(text)
        | TimelineItemKind::Prompt(text)
        | TimelineItemKind::Note { text, .. } => {
            html.push_markup("<div class=\"prose\" dir=\"auto\">").push_text(text).push_markup("</div>\n");
        }
        TimelineItemKind::Thought(text) => {
            html.push_markup("<details><summary>What it thought</summary>\n")
                .push_block(text)
                .push_markup("</details>\n");
        }
        TimelineItemKind::Tool(tool) => write_call(html, item, tool, cleaner),
        TimelineItemKind::Permission { allowed, reason, .. } => {
            html.push_markup("<p>").push_markup(match allowed {
                None => "asked for",
                Some(true) => "given",
                Some(false) => "refused",
            });
            if !reason.is_blank() {
                html.push_markup(": ").push_text(reason);
            }
            html.push_markup("</p>\n");
        }
        TimelineItemKind::Warning { message, .. } => {
            html.push_markup("<p>").push_text(message).push_markup("</p>\n");
        }
        TimelineItemKind::Other { text, .. } => {
            html.push_markup("<details><summary>The agent's own line</summary>\n")
                .push_block(text)
                .push_markup("</details>\n");
        }
    }
}

fn write_call(html: &mut HtmlPage, item: &TimelineItem, tool: &ToolCallItem, cleaner: TextCleaner) {
    for part in &tool.parts {
        match part {
            ArgumentPart::Argument(name, text) => html.push_named(name, text),
            ArgumentPart::Edit(edit) => {
                html.push_folded(&cleaner.clean_text("edit"), edit, |html| write_patch(html, edit))
            }
        };
    }
    let Some(gave) = &tool.result else {
        html.push_markup("<p class=\"none\">no result</p>\n");
        return;
    };
    html.push_markup("<p class=\"result\">").push_markup(if gave.is_error { "failed" } else { "done" });
    if let Some(code) = gave.exit_code {
        html.push_markup(" with code ").push_value(code);
    }
    html.push_markup(" after ")
        .push_value(format_duration(gave.at.duration_since(item.at)))
        .push_markup("</p>\n");
    if !gave.output.is_blank() {
        html.push_folded(&cleaner.clean_text("output"), &gave.output, |html| {
            html.push_block(&gave.output);
        });
    }
}
