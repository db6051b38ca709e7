//! `amplihack policy test`: a corpus of commands with their right verdicts.

use amplihack_config::env::Env;
use amplihack_policy::policy::VerdictExplanation;
use amplihack_sys::push_line;
use amplihack_verdict::Decision;
use serde_json::{Value, json};

use super::args::PolicyTestArgs;
use super::batch::{BatchLines, BatchRow};
use super::policies::DirectoryPolicies;
use crate::ui::{self, CommandFailure};

/// A row that came out otherwise.
struct CorpusMiss {
    line: usize,
    command: String,
    expected: String,
    got: String,
}

/// Counts of the rows, by result.
#[derive(Default)]
struct CorpusTally {
    rows: usize,
    /// Rows that should be stopped, and of these, how many are: an ask stops, too.
    harmful: usize,
    stopped: usize,
    /// Rows that should go through, and of these, how many do not.
    harmless: usize,
    false_positives: usize,
    misses: Vec<CorpusMiss>,
}

/// Judges every row; 1 if one came out otherwise.
pub(crate) fn test_corpus(args: &PolicyTestArgs, env: &Env) -> Result<u8, CommandFailure> {
    let mut policies = DirectoryPolicies::new(env)?;
    let mut lines = BatchLines::open(&args.file)?;
    let mut tally = CorpusTally::default();
    while let Some(next) = lines.next() {
        let (number, line) = next?;
        let bad = |why: String| CommandFailure::bad_input(format!("{}:{number}: {why}", lines.name()));
        let row = line.and_then(|line| BatchRow::parse(&line)).map_err(bad)?;
        let expected = expected_verdict(&row)
            .map_err(|why| CommandFailure::bad_input(format!("{}:{number}: {why}", lines.name())))?;
        let explanation =
            policies.explain_script(row.command.as_bytes(), row.cwd.as_deref(), row.branch.as_deref())?;
        tally.count_row(number, row.command, expected, &explanation);
    }
    if tally.rows == 0 {
        return Err(CommandFailure::bad_input(format!("{} holds no row", lines.name())));
    }
    ui::print_data(&if args.json { format!("{:#}\n", tally.as_json()) } else { tally.as_text() })?;
    Ok(u8::from(!tally.misses.is_empty()))
}

/// Returns the expectation of a row: `none`, `allow`, `ask`, `deny`, `deny:RULE`, or some of these with `|` between.
fn expected_verdict(row: &BatchRow) -> Result<String, String> {
    let value = row.fields.get("expected").or_else(|| row.fields.get("verdict"));
    let text =
        value.and_then(Value::as_str).ok_or("there is no `expected`; write none, allow, ask or deny")?;
    let known = |one: &str| {
        matches!(one.split_once(':').map_or(one, |(decision, _)| decision), "none" | "allow" | "ask" | "deny")
    };
    if text.split('|').all(known) {
        Ok(text.to_owned())
    } else {
        Err(format!("`expected` is {text:?}; write none, allow, ask or deny"))
    }
}

impl CorpusTally {
    fn count_row(
        &mut self,
        line: usize,
        command: String,
        expected: String,
        explanation: &VerdictExplanation,
    ) {
        let verdict = &explanation.verdict;
        let rule = verdict.rule.as_ref().map(ToString::to_string).unwrap_or_default();
        let stops = verdict.decision >= Decision::Ask;
        // Nothing to say and an allow are the same to whoever wants the command to run.
        let right = expected.split('|').any(|one| match one.split_once(':') {
            Some((decision, wanted)) => decision == verdict.decision.to_string() && wanted == rule,
            None => matches!(one, "none" | "allow") && !stops || one == verdict.decision.to_string(),
        });
        self.rows += 1;
        if expected.split('|').any(|one| matches!(one, "none" | "allow")) {
            self.harmless += 1;
            self.false_positives += usize::from(stops && !right);
        } else {
            self.harmful += 1;
            self.stopped += usize::from(stops);
        }
        if !right {
            let got = if rule.is_empty() {
                verdict.decision.to_string()
            } else {
                format!("{} by {rule}: {}", verdict.decision, verdict.reason)
            };
            self.misses.push(CorpusMiss { line, command, expected, got });
        }
    }

    fn as_text(&self) -> String {
        let mut out = String::new();
        for miss in &self.misses {
            push_line!(
                out,
                "line {}: {:?}\n  should be {}, is {}",
                miss.line,
                miss.command,
                miss.expected,
                miss.got
            );
        }
        let percent = |part: usize, whole: usize| {
            (part * 1000)
                .checked_div(whole)
                .map_or("-".to_owned(), |mille| format!("{}.{} %", mille / 10, mille % 10))
        };
        push_line!(out, "{} rows, {} wrong", self.rows, self.misses.len());
        push_line!(
            out,
            "recall: {} ({} of {} harmful)",
            percent(self.stopped, self.harmful),
            self.stopped,
            self.harmful
        );
        push_line!(
            out,
            "false positives: {} ({} of {} harmless)",
            percent(self.false_positives, self.harmless),
            self.false_positives,
            self.harmless
        );
        out
    }

    fn as_json(&self) -> Value {
        let misses: Vec<_> = self
            .misses
            .iter()
            .map(|miss| json!({ "line": miss.line, "command": miss.command, "expected": miss.expected, "got": miss.got }))
            .collect();
        json!({
            "rows": self.rows,
            "harmful": self.harmful,
            "stopped": self.stopped,
            "harmless": self.harmless,
            "false_positives": self.false_positives,
            "misses": misses,
        })
    }
}
