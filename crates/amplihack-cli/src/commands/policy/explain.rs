//! `amplihack policy explain`: the script with what matters underlined, its commands, the rules.

use amplihack_config::env::Env;
use amplihack_policy::policy::{ExplainedCommand, VerdictExplanation};
use amplihack_policy::rules;
use amplihack_sys::{push_line, push_text};
use amplihack_verdict::{Decision, Span, Verdict};
use serde_json::{Value, json};

use super::args::{ExplainArgs, single_word};
use super::policies::{DirectoryPolicies, as_json};
use crate::ui::{self, CommandFailure, TonedPart, WordTone};

/// Scripts of more lines are shown only where something is underlined.
const WHOLE_LINES: usize = 20;

/// Prints how the policy comes to its verdict. Always 0: it tells, it does not judge.
pub(crate) fn explain_command(args: &ExplainArgs, env: &Env) -> Result<u8, CommandFailure> {
    let script = single_word(&args.words, "explain")?;
    let explanation = DirectoryPolicies::new(env)?.explain_script(
        script,
        args.place.cwd.as_deref(),
        args.place.branch.as_deref(),
    )?;
    if args.json {
        ui::print_data(&format!("{:#}\n", detailed_json(&explanation)))?;
    } else {
        // Marks stand below their characters only where lines stay whole.
        ui::print_data(&marked_script(&String::from_utf8_lossy(script), &explanation))?;
        ui::print_report(&explanation_text(&explanation), verdict_tone)?;
    }
    Ok(0)
}

fn span_json(span: Span) -> Value {
    json!({ "start": span.start, "end": span.end })
}

fn detailed_json(explanation: &VerdictExplanation) -> Value {
    let mut answer = as_json(explanation);
    answer["would_be"] = json!(explanation.verdict.would_be.map(|decision| decision.to_string()));
    answer["commands"] = explanation
        .commands
        .iter()
        .map(|command| {
            json!({ "words": command.words, "via": command.via, "dir": command.dir, "span": span_json(command.span) })
        })
        .collect();
    answer["hits"] = explanation
        .hits
        .iter()
        .map(|hit| {
            json!({
                "decision": hit.decision.to_string(),
                "rule": hit.rule.as_ref().map(ToString::to_string),
                "reason": hit.reason,
                "spans": hit.spans.iter().copied().map(span_json).collect::<Vec<_>>(),
            })
        })
        .collect();
    answer["undecided"] = json!(explanation.undecided);
    answer
}

/// The verdict's decision, and titles.
fn verdict_tone(line: &str) -> TonedPart {
    if matches!(line, "commands" | "rules") {
        return Some((0..line.len(), WordTone::Title));
    }
    let word = line.strip_prefix("verdict: ")?.split(' ').next()?;
    let start = "verdict: ".len();
    Some((start..start + word.len(), ui::decision_tone(word)?))
}

/// The script, with marks below what the verdict and the rules are about.
fn marked_script(script: &str, explanation: &VerdictExplanation) -> String {
    let mut spans = explanation.verdict.spans.clone();
    spans.extend(explanation.hits.iter().flat_map(|hit| hit.spans.iter().copied()));
    underline_spans(script, &spans)
}

fn explanation_text(explanation: &VerdictExplanation) -> String {
    let verdict = &explanation.verdict;
    let mut out = String::from("\ncommands\n");
    for command in &explanation.commands {
        command_line(&mut out, command);
    }
    if explanation.commands.is_empty() {
        out.push_str("  none\n");
    }
    for why in &explanation.undecided {
        push_line!(out, "  not understood: {why}");
    }
    out.push_str("\nrules\n");
    let mut told: Vec<&Verdict> = Vec::new();
    for hit in &explanation.hits {
        if !told.iter().any(|other| (&other.rule, &other.reason) == (&hit.rule, &hit.reason)) {
            told.push(hit);
            rule_line(&mut out, hit);
        }
    }
    let has_verdict = told.iter().any(|hit| hit.rule == verdict.rule);
    if verdict.rule.is_some() && !has_verdict {
        rule_line(&mut out, verdict);
    } else if told.is_empty() {
        out.push_str("  none applies\n");
    }
    let by = verdict.rule.as_ref().map_or_else(String::new, |rule| format!(" by {rule}"));
    if let Some(would_be) = verdict.would_be {
        push_line!(out, "\nverdict: none (the policy only observes; else {would_be}{by})");
    } else {
        push_line!(out, "\nverdict: {}{by}", verdict.decision);
    }
    out
}

fn command_line(out: &mut String, command: &ExplainedCommand) {
    let words: Vec<String> = command.words.iter().map(|word| quote_word(word)).collect();
    push_text!(out, "  {}", words.join(" "));
    if !command.via.is_empty() {
        push_text!(out, "  (in {})", command.via.join(", "));
    }
    if let Some(dir) = &command.dir {
        push_text!(out, "  (at {})", visible_text(dir));
    }
    out.push('\n');
}

/// A word that would fall apart stands in quotes.
fn quote_word(word: &str) -> String {
    let word = visible_text(word);
    if word.is_empty() || word.contains(' ') { format!("'{}'", word.replace('\'', r"'\''")) } else { word }
}

fn rule_line(out: &mut String, hit: &Verdict) {
    let Some(id) = &hit.rule else { return };
    let decision =
        if hit.decision == Decision::None { hit.would_be.unwrap_or_default() } else { hit.decision };
    push_line!(out, "  {decision} by {id}: {}", visible_text(&hit.reason));
    if let Some(rule) = rules::builtin_rules().find(|rule| rule.id == *id) {
        push_line!(out, "    stops: {}", rule.harm);
    }
}

/// `text` with one visible character for each that would move the cursor or hide something.
fn visible_text(text: &str) -> String {
    text.chars().map(visible_char).collect()
}

fn visible_char(ch: char) -> char {
    match ch {
        '\t' => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(ch)).unwrap_or('\u{fffd}'),
        '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => '\u{fffd}',
        ch => ch,
    }
}

/// The lines of `script`, each with marks below what `spans` are about.
fn underline_spans(script: &str, spans: &[Span]) -> String {
    let lines: Vec<&str> = script.split('\n').collect();
    let all = lines.len() <= WHOLE_LINES;
    let width = lines.len().to_string().len();
    let mut out = String::new();
    let mut start = 0;
    for (number, line) in lines.iter().enumerate() {
        let marks = span_marks(line, start, spans);
        start += line.len() + 1;
        if !all && marks.is_empty() {
            continue;
        }
        let gutter = if lines.len() == 1 { String::new() } else { format!("{:>width$} | ", number + 1) };
        push_line!(out, "{gutter}{}", visible_text(line));
        if !marks.is_empty() {
            push_line!(out, "{}{marks}", " ".repeat(gutter.len()));
        }
    }
    out
}

/// A mark for each character of `line`, which begins at the byte `start`, that is in one of `spans`; empty if there is none.
fn span_marks(line: &str, start: usize, spans: &[Span]) -> String {
    let marks: String = line
        .char_indices()
        .map(|(at, _)| {
            let at = start + at;
            if spans.iter().any(|span| span.start <= at && at < span.end) { '^' } else { ' ' }
        })
        .collect();
    marks.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_below_their_characters() {
        let script = "é=1\nrm -rf / # x";
        let start = script.find("rm").unwrap();
        let text = underline_spans(script, &[Span { start, end: start + 8 }]);
        assert_eq!(text, "1 | é=1\n2 | rm -rf / # x\n    ^^^^^^^^\n");
        assert_eq!(underline_spans("a\u{202e}\u{1b}[2J\tb", &[]), "a\u{fffd}\u{241b}[2J b\n");
        // Spans that are not of this text mark nothing.
        assert_eq!(underline_spans("ls", &[Span { start: 90, end: 99 }, Span::default()]), "ls\n");
    }

    #[test]
    fn of_long_scripts_only_the_marked_lines_are_shown() {
        let script = "ls\n".repeat(30) + "reboot";
        let text = underline_spans(&script, &[Span { start: 90, end: 96 }]);
        assert_eq!(text, "31 | reboot\n     ^^^^^^\n");
    }
}
