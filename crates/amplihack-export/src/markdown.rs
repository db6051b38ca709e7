//! A run as Markdown for a pull request: a table, then what was done in folds. Texts stand in code, so that none of them is markup.

#[cfg(test)]
mod tests;
mod write;

use amplihack_policy::Decision;
use jiff::Timestamp;
use write::Markdown;

use crate::clean::Cleaner;
use crate::items::{Gave, Item, Said, Tool, What, items};
use crate::model::{Document, Run, Turn, Unattended};
use crate::summary::{self, Fact, after, span};
use crate::tool::Part;

/// `document` as Markdown (CommonMark with tables and `details`). The same document gives the same bytes.
pub fn markdown(document: &Document, cleaner: Cleaner) -> String {
    let mut out = Markdown::default();
    out.raw("# ").line(&summary::title(document, cleaner));
    if let Some(unattended) = &document.unattended {
        whole(&mut out, document, unattended, cleaner);
    }
    for run in &document.runs {
        one(&mut out, document, run, cleaner);
    }
    out.raw("\n---\n\n_Exported by amplihack ").show(env!("CARGO_PKG_VERSION"));
    out.raw(if cleaner.redacts() {
        "; what looks like a credential was replaced._\n"
    } else {
        "; **credentials were not looked for.**_\n"
    });
    out.into_string()
}

fn facts(out: &mut Markdown, facts: &[Fact]) {
    out.raw("\n| | |\n|---|---|\n");
    for (name, value) in facts {
        out.raw("| ").show(name).raw(" | ").cell(value).raw(" |\n");
    }
}

fn whole(out: &mut Markdown, document: &Document, run: &Unattended, cleaner: Cleaner) {
    facts(out, &summary::unattended(&document.id, run, cleaner));
    out.raw("\n## Task\n").fence("text", &cleaner.text(&run.task)).raw("\n## Turns\n");
    for turn in &run.turns {
        self::turn(out, turn, cleaner);
    }
    if !run.diff.is_empty() {
        out.raw("\n## Changes\n\n<details><summary>The patch</summary>\n");
        out.fence("diff", &cleaner.text(&run.diff)).raw("\n</details>\n");
    }
}

fn turn(out: &mut Markdown, turn: &Turn, cleaner: Cleaner) {
    out.raw("\n").show(turn.number).raw(". ").code(&cleaner.text(turn.agent.name())).raw(", ");
    out.show(&turn.phase).raw(": ").code(&cleaner.text(turn.how.trim())).raw("\n");
    for denied in &turn.denied {
        out.raw("   - denied: ").code(&cleaner.text(denied)).raw("\n");
    }
    if let Some(outcome) = &turn.outcome {
        out.raw("   - ").code(&cleaner.text(outcome)).raw("\n");
    }
    for check in &turn.checks {
        out.raw(if check.passed { "   - passed: " } else { "   - **failed**: " });
        out.code(&cleaner.text(&check.what)).raw("\n");
    }
    for check in turn.checks.iter().filter(|check| !check.found.trim().is_empty()) {
        out.raw("\n<details><summary>").html(&cleaner.text(&check.what)).raw("</summary>\n");
        out.fence("text", &cleaner.text(&check.found)).raw("\n</details>\n");
    }
}

fn one(out: &mut Markdown, document: &Document, run: &Run, cleaner: Cleaner) {
    let turns = document.unattended.as_ref().map(|unattended| &unattended.turns);
    if let Some(turn) = turns.and_then(|turns| turns.iter().find(|turn| turn.launches.contains(&run.id))) {
        out.raw("\n## Turn ").show(turn.number).raw("\n");
    }
    facts(out, &summary::run(run, cleaner));
    if let Some(answer) = summary::answer(run, cleaner) {
        out.raw("\n### Answer\n").fence("text", &answer);
    }
    let judged = summary::judged(run, cleaner);
    if !judged.is_empty() {
        out.raw("\n### Policy\n\n| Time | Answer | Rule | Tool | Command |\n|---|---|---|---|---|\n");
        for call in &judged {
            out.raw("| ")
                .cell(&call.at)
                .raw(" | ")
                .raw(answered(&call.said))
                .raw(" | ")
                .cell(&call.said.rule);
            out.raw(" | ").cell(&call.tool).raw(" | ").cell(&call.command).raw(" |\n");
        }
    }
    let items = items(run, cleaner);
    out.raw("\n### Timeline\n\n<details><summary>").show(items.len()).raw(" entries</summary>\n");
    for item in &items {
        entry(out, run.record.started_at, item);
    }
    out.raw("\n</details>\n");
}

fn answered(said: &Said) -> &'static str {
    match said.decision {
        Decision::None => "none",
        Decision::Allow => "allowed",
        Decision::Ask => "asked about",
        Decision::Deny => "**denied**",
    }
}

fn entry(out: &mut Markdown, start: Timestamp, item: &Item) {
    out.raw("\n**").show(after(start, item.at)).raw("** ");
    if item.below {
        out.raw("(sub-agent) ");
    }
    match &item.what {
        What::Said(text) => out.raw("says\n").fence("text", text),
        What::Thought(text) => out.raw("thinks\n").fence("text", text),
        What::Tool(tool) => call(out, item, tool),
        What::Permission { tool, allowed, reason } => {
            let how = match allowed {
                None => "asks leave for ",
                Some(true) => "may use ",
                Some(false) => "may not use ",
            };
            out.raw(how).code(tool);
            if !reason.is_blank() {
                out.raw(": ").code(reason);
            }
            out.raw("\n")
        }
        What::Warning { kind, message } => out.raw("warning ").code(kind).raw(": ").code(message).raw("\n"),
        What::Other { kind, text } => out.raw("other line ").code(kind).raw("\n").fence("json", text),
    };
}

fn call<'a>(out: &'a mut Markdown, item: &Item, tool: &Tool) -> &'a mut Markdown {
    out.raw("calls ").code(&tool.name);
    if let Some(said) = tool.verdict.as_ref().filter(|said| said.decision != Decision::None) {
        out.raw(" (").raw(answered(said)).raw(": ").code(&said.rule).raw(")");
    }
    out.raw("\n");
    for part in &tool.parts {
        match part {
            Part::Argument(name, text) if text.lines() <= 1 => {
                out.raw("- ").code(name).raw(": ").code(text).raw("\n");
            }
            Part::Argument(name, text) => {
                out.raw("\n").code(name).raw("\n").fence("text", text);
            }
            Part::Edit(edit) => {
                out.fence("diff", edit);
            }
        }
    }
    let Some(Gave { at, output, is_error, exit_code }) = &tool.result else {
        return out.raw("\nno result\n");
    };
    out.raw(if *is_error { "\n**failed**" } else { "\ndone" });
    if let Some(code) = exit_code {
        out.raw(" with code ").show(code);
    }
    out.raw(" after ").show(span(at.duration_since(item.at))).raw("\n");
    if !output.is_blank() {
        out.fence("text", output);
    }
    out
}
