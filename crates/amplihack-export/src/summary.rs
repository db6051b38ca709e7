//! Facts above a run, by name: alike for a page and for Markdown.

use amplihack_agent::event::UsageTotals;
use amplihack_session::RunEnd;
use amplihack_verdict::Decision;
use jiff::{SignedDuration, Timestamp};

use crate::clean::{CleanText, TextCleaner};
use crate::items::CallVerdict;
use crate::model::{ExportDocument, ExportedRun, UnattendedRun};

/// A fact: its name and what it is.
pub(crate) type NamedFact = (&'static str, CleanText);

/// A call that the policy judged with more than silence.
pub(crate) struct JudgedToolCall {
    pub(crate) at: CleanText,
    pub(crate) said: CallVerdict,
    pub(crate) tool: CleanText,
    pub(crate) command: CleanText,
}

/// Most characters of a task in a title.
const TITLE: usize = 72;

/// The page's title: the task, or which agent's session it was, and how it went.
pub(crate) fn document_title(document: &ExportDocument, cleaner: TextCleaner) -> CleanText {
    let text = match (&document.unattended, document.runs.first()) {
        (Some(run), _) => format!("{}: {}{}", task_title(run), run.state, denied_words(document)),
        (None, Some(run)) => {
            format!("Session of {}: {}{}", run.record.agent, run.record.state_name(), denied_words(document))
        }
        (None, None) => "Session".to_owned(),
    };
    cleaner.clean_text(&text)
}

/// The first line of the task; the agent's name if it is empty.
fn task_title(run: &UnattendedRun) -> String {
    let Some(line) = run.task.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return format!("Unattended run of {}", run.agent);
    };
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// A remark on calls that were denied: a success with them is not the whole success.
fn denied_words(document: &ExportDocument) -> String {
    let verdicts = document.runs.iter().flat_map(|run| &run.verdicts);
    match verdicts.filter(|entry| entry.decision == Decision::Deny).count() {
        0 => String::new(),
        1 => ", 1 call denied".to_owned(),
        count => format!(", {count} calls denied"),
    }
}

/// Facts of an unattended run.
pub(crate) fn unattended_facts(id: &str, run: &UnattendedRun, cleaner: TextCleaner) -> Vec<NamedFact> {
    let mut facts = vec![
        ("Run", cleaner.clean_text(id)),
        ("Agent", cleaner.clean_text(run.agent.name())),
        ("State", cleaner.clean_text(&run.state)),
    ];
    let mut add = |name, text: &str| facts.push((name, cleaner.clean_text(text)));
    if let Some(reason) = &run.reason {
        add("Reason", reason);
    }
    add("Directory", &run.directory);
    if let Some(branch) = &run.branch {
        add("Branch", branch);
    }
    add("Began", &format_moment(run.began));
    if let Some(ended) = run.ended {
        add("Ended", &format_moment(ended));
        add("Took", &format_duration(ended.duration_since(run.began)));
    }
    add("Turns", &run.turns.len().to_string());
    facts.extend(usage_facts(&run.usage, cleaner));
    facts
}

/// Facts of a run.
pub(crate) fn run_facts(run: &ExportedRun, cleaner: TextCleaner) -> Vec<NamedFact> {
    let record = &run.record;
    let started = run.started();
    let mut facts =
        vec![("Session", cleaner.clean_text(&run.id)), ("Agent", cleaner.clean_text(record.agent.name()))];
    let mut add = |name, text: &str| facts.push((name, cleaner.clean_text(text)));
    if let Some(version) = started.and_then(|started| started.version.as_ref()) {
        add("Version", version);
    }
    if let Some(model) = &record.model {
        add("Model", model);
    }
    if let Some(session) = &record.agent_session {
        add("Agent's session", session);
    }
    add("Directory", &record.cwd);
    add("Started", &format_moment(record.started_at));
    if let Some(ended) = record.ended_at {
        add("Ended", &format_moment(ended));
        add("Took", &format_duration(ended.duration_since(record.started_at)));
    }
    add("State", record.state_name());
    if let Some(exit) = record.end.as_ref().and_then(RunEnd::exit) {
        add("Exit", &exit.to_string());
    }
    if let Some(message) = record.end.as_ref().and_then(|end| end.event.message.as_deref()) {
        add("Reason", message);
    }
    add("Events", &run.events.len().to_string());
    if run.unread > 0 {
        add("Of a newer version", &format!("{} events are left out", run.unread));
    }
    facts.extend(usage_facts(&record.usage, cleaner));
    facts
}

fn usage_facts(usage: &UsageTotals, cleaner: TextCleaner) -> Vec<NamedFact> {
    let mut facts = Vec::new();
    if usage.has_tokens() {
        let UsageTotals { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, .. } = usage;
        let text = format!(
            "{input_tokens} in, {output_tokens} out, {cache_read_tokens} from cache, {cache_write_tokens} to cache"
        );
        facts.push(("Tokens", cleaner.clean_text(&text)));
    }
    if let Some(cost) = usage.cost_usd {
        facts.push(("Cost", cleaner.clean_text(&format!("${cost:.4}"))));
    }
    if let Some(requests) = usage.premium_requests {
        facts.push(("Premium requests", cleaner.clean_text(&requests.to_string())));
    }
    facts
}

/// The agent's last word in `run`.
pub(crate) fn last_answer(run: &ExportedRun, cleaner: TextCleaner) -> Option<CleanText> {
    let text = run.record.end.as_ref()?.event.summary.text.as_ref()?;
    Some(cleaner.clean_text(text)).filter(|text| !text.is_blank())
}

/// The calls of `run` that the policy did not pass in silence.
pub(crate) fn judged_calls(run: &ExportedRun, cleaner: TextCleaner) -> Vec<JudgedToolCall> {
    let spoken = run.verdicts.iter().filter(|entry| entry.decision != Decision::None);
    spoken
        .map(|entry| JudgedToolCall {
            at: cleaner.clean_text(&entry.timestamp.strftime("%H:%M:%S").to_string()),
            said: CallVerdict::from_entry(entry, cleaner),
            tool: cleaner.clean_text(entry.data.tool.as_deref().unwrap_or_default()),
            command: cleaner.clean_text(entry.data.command.as_deref().unwrap_or_default()),
        })
        .collect()
}

/// A time, to the second.
fn format_moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The time from `start` to `at`, with a sign.
pub(crate) fn format_offset(start: Timestamp, at: Timestamp) -> String {
    format!("+{}", format_duration(at.duration_since(start)))
}

/// A span of time: `850 ms`, `3.2 s`, `4 min 7 s`, `2 h 5 min`.
pub(crate) fn format_duration(span: SignedDuration) -> String {
    let ms = span.as_millis().max(0);
    match (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60) {
        (0, 0, 0) => format!("{ms} ms"),
        (0, 0, seconds) => format!("{seconds}.{} s", ms % 1000 / 100),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_the_unit_that_fits() {
        let told = |ms| format_duration(SignedDuration::from_millis(ms));
        assert_eq!(
            [-5, 0, 999, 1000, 59_999, 61_000, 3_600_000 * 26 + 60_000].map(told),
            ["0 ms", "0 ms", "999 ms", "1.0 s", "59.9 s", "1 min 1 s", "26 h 1 min"]
        );
    }
}
