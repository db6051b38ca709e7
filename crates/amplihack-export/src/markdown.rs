//! A run as Markdown for a pull request: a table, then what was done in folds. Texts stand in code, so that none of them is markup.

#[cfg(test)]
mod tests;
mod write;

use amplihack_verdict::Decision;
use jiff::Timestamp;
use write::MarkdownText;

use crate::clean::TextCleaner;
use crate::items::{
    CallVerdict, TimelineItem, TimelineItemKind, ToolCallItem, ToolCallOutput, timeline_items,
};
use crate::model::{ExportDocument, ExportedRun, UnattendedRun, UnattendedTurn};
use crate::summary::{self, NamedFact, format_duration, format_offset};
use crate::tool::ArgumentPart;

/// `document` as Markdown (CommonMark with tables and `details`). The same document gives the same bytes.
pub fn markdown_document(document: &ExportDocument, cleaner: TextCleaner) -> String {
    let mut out = MarkdownText::default();
    out.push_markup("# ").push_line(&summary::document_title(document, cleaner));
    if let Some(unattended) = &document.unattended {
        write_unattended(&mut out, document, unattended, cleaner);
    }
    for run in &document.runs {
        write_run(&mut out, document, run, cleaner);
    }
    out.push_markup("\n---\n\n_Exported by amplihack ").push_value(env!("CARGO_PKG_VERSION"));
    out.push_markup(if cleaner.is_redacting() {
        "; what looks like a credential was replaced._\n"
    } else {
        "; **credentials were not looked for.**_\n"
    });
    out.into_string()
}

fn write_facts(out: &mut MarkdownText, facts: &[NamedFact]) {
    out.push_markup("\n| | |\n|---|---|\n");
    for (name, value) in facts {
        out.push_markup("| ").push_value(name).push_markup(" | ").push_cell(value).push_markup(" |\n");
    }
}

fn write_unattended(
    out: &mut MarkdownText,
    document: &ExportDocument,
    run: &UnattendedRun,
    cleaner: TextCleaner,
) {
    out.push_markup("\n## Task\n").push_fence("text", &cleaner.clean_text(&run.task));
    out.push_markup("\n## The run\n");
    write_facts(out, &summary::unattended_facts(&document.id, run, cleaner));
    out.push_markup("\n## Turns\n");
    for turn in &run.turns {
        write_turn(out, turn, cleaner);
    }
    if !run.diff.is_empty() {
        out.push_markup("\n## Changes\n\n<details><summary>The patch</summary>\n");
        out.push_fence("diff", &cleaner.clean_text(&run.diff)).push_markup("\n</details>\n");
    }
}

fn write_turn(out: &mut MarkdownText, turn: &UnattendedTurn, cleaner: TextCleaner) {
    out.push_markup("\n")
        .push_value(turn.number)
        .push_markup(". ")
        .push_code(&cleaner.clean_text(turn.agent.name()))
        .push_markup(", ");
    out.push_value(&turn.phase)
        .push_markup(": ")
        .push_code(&cleaner.clean_text(turn.how.trim()))
        .push_markup("\n");
    for denied in &turn.denied {
        out.push_markup("   - denied: ").push_code(&cleaner.clean_text(denied)).push_markup("\n");
    }
    if let Some(outcome) = &turn.outcome {
        out.push_markup("   - ").push_code(&cleaner.clean_text(outcome)).push_markup("\n");
    }
    for check in &turn.checks {
        out.push_markup(if check.passed { "   - passed: " } else { "   - **failed**: " });
        out.push_code(&cleaner.clean_text(&check.what)).push_markup("\n");
    }
    for check in turn.checks.iter().filter(|check| !check.found.trim().is_empty()) {
        out.push_markup("\n<details><summary>")
            .push_html(&cleaner.clean_text(&check.what))
            .push_markup("</summary>\n");
        out.push_fence("text", &cleaner.clean_text(&check.found)).push_markup("\n</details>\n");
    }
}

fn write_run(out: &mut MarkdownText, document: &ExportDocument, run: &ExportedRun, cleaner: TextCleaner) {
    let turns = document.unattended.as_ref().map(|unattended| &unattended.turns);
    if let Some(turn) = turns.and_then(|turns| turns.iter().find(|turn| turn.launches.contains(&run.id))) {
        out.push_markup("\n## Turn ").push_value(turn.number).push_markup("\n");
    }
    write_facts(out, &summary::run_facts(run, cleaner));
    if let Some(answer) = summary::last_answer(run, cleaner) {
        out.push_markup("\n### Answer\n").push_fence("text", &answer);
    }
    let judged = summary::judged_calls(run, cleaner);
    if !judged.is_empty() {
        out.push_markup("\n### Policy\n\n| Time | Answer | Rule | Tool | Command |\n|---|---|---|---|---|\n");
        for call in &judged {
            out.push_markup("| ")
                .push_cell(&call.at)
                .push_markup(" | ")
                .push_markup(decision_words(&call.said))
                .push_markup(" | ")
                .push_cell(&call.said.rule);
            out.push_markup(" | ")
                .push_cell(&call.tool)
                .push_markup(" | ")
                .push_cell(&call.command)
                .push_markup(" |\n");
        }
    }
    let items = timeline_items(run, cleaner);
    out.push_markup("\n### Timeline\n\n<details><summary>")
        .push_value(items.len())
        .push_markup(" entries</summary>\n");
    for item in &items {
        write_item(out, run.record.started_at, item);
    }
    out.push_markup("\n</details>\n");
}

fn decision_words(said: &CallVerdict) -> &'static str {
    match said.decision {
        Decision::None => "none",
        Decision::Allow => "allowed",
        Decision::Ask => "asked about",
        Decision::Deny => "**denied**",
    }
}

fn write_item(out: &mut MarkdownText, start: Timestamp, item: &TimelineItem) {
    out.push_markup("\n**").push_value(format_offset(start, item.at)).push_markup("** ");
    if item.below {
        out.push_markup("(sub-agent) ");
    }
    match &item.what {
        TimelineItemKind::Prompt(text) => out.push_markup("is asked\n").push_fence("text", text),
        TimelineItemKind::Note { kind, text } => {
            out.push_markup(kind).push_markup("\n").push_fence("text", text)
        }
        TimelineItemKind::Said(text) => out.push_markup("says\n").push_fence("text", text),
        TimelineItemKind::Thought(text) => out.push_markup("thinks\n").push_fence("text", text),
        TimelineItemKind::Tool(tool) => write_call(out, item, tool),
        TimelineItemKind::Permission { tool, allowed, reason } => {
            let how = match allowed {
                None => "asks leave for ",
                Some(true) => "may use ",
                Some(false) => "may not use ",
            };
            out.push_markup(how).push_code(tool);
            if !reason.is_blank() {
                out.push_markup(": ").push_code(reason);
            }
            out.push_markup("\n")
        }
        TimelineItemKind::Warning { kind, message } => {
            out.push_markup("warning ").push_code(kind).push_markup(": ").push_code(message).push_markup("\n")
        }
        TimelineItemKind::Other { kind, text } => {
            out.push_markup("other line ").push_code(kind).push_markup("\n").push_fence("json", text)
        }
    };
}

fn write_call<'a>(
    out: &'a mut MarkdownText,
    item: &TimelineItem,
    tool: &ToolCallItem,
) -> &'a mut MarkdownText {
    out.push_markup("calls ").push_code(&tool.name);
    if let Some(said) = tool.verdict.as_ref().filter(|said| said.decision != Decision::None) {
        out.push_markup(" (")
            .push_markup(decision_words(said))
            .push_markup(": ")
            .push_code(&said.rule)
            .push_markup(")");
    }
    out.push_markup("\n");
    for part in &tool.parts {
        match part {
            ArgumentPart::Argument(name, text) if text.line_count() <= 1 => {
                out.push_markup("- ").push_code(name).push_markup(": ").push_code(text).push_markup("\n");
            }
            ArgumentPart::Argument(name, text) => {
                out.push_markup("\n").push_code(name).push_markup("\n").push_fence("text", text);
            }
            ArgumentPart::Edit(edit) => {
                out.push_fence("diff", edit);
            }
        }
    }
    let Some(ToolCallOutput { at, output, is_error, exit_code }) = &tool.result else {
        return out.push_markup("\nno result\n");
    };
    out.push_markup(if *is_error { "\n**failed**" } else { "\ndone" });
    if let Some(code) = exit_code {
        out.push_markup(" with code ").push_value(code);
    }
    out.push_markup(" after ").push_value(format_duration(at.duration_since(item.at))).push_markup("\n");
    if !output.is_blank() {
        out.push_fence("text", output);
    }
    out
}
