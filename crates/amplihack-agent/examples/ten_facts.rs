//! Ten facts about a run, whichever agent made it: `amplihack codex --output stream-json --prompt … | ten_facts`.
//!
//! It reads the events of one run from stdin, a JSON object a line, and knows no agent.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};

use amplihack_agent::event::{
    ActivityPhase, AgentPlan, AgentTask, EndEvent, FileChangeKind, ToolResult, UsageTotals,
};
use amplihack_agent::ledger::UsageLedger;
use amplihack_agent::{AgentEvent, Envelope};

/// Facts about one run.
#[derive(Default)]
pub(crate) struct RunFacts {
    files: BTreeMap<String, FileChangeKind>,
    /// Commands by the ids of their calls, in the order of the calls.
    commands: Vec<(String, String, Option<i64>)>,
    plan: AgentPlan,
    tasks: BTreeMap<String, AgentTask>,
    usage: UsageLedger,
    denials: BTreeSet<String>,
    limits: Vec<String>,
    end: Option<EndEvent>,
}

impl RunFacts {
    /// The facts of the run whose events `lines` has.
    pub(crate) fn read(lines: impl BufRead) -> Result<Self, Box<dyn std::error::Error>> {
        let mut facts = Self::default();
        for line in lines.lines() {
            let envelope: Envelope = serde_json::from_str(&line?)?;
            facts.take(envelope.event);
        }
        Ok(facts)
    }

    fn take(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::ToolCall(call) => {
                self.commands.extend(call.command.map(|command| (call.id, command, None)));
            }
            AgentEvent::ToolResult(result) => self.take_result(result),
            AgentEvent::Plan(plan) => self.plan = plan,
            AgentEvent::Task(task) => self.take_task(task),
            AgentEvent::PermissionDecided(decided) if decided.allowed == Some(false) => {
                self.denials.insert(decided.tool.unwrap_or(decided.id));
            }
            AgentEvent::Usage(usage) => self.usage.observe(&usage),
            AgentEvent::RateLimit(limit) => self.limits.push(limit.to_string()),
            AgentEvent::Retry(retry) => self.limits.push(retry.to_string()),
            AgentEvent::End(end) => self.end = Some(end),
            _ => {}
        }
    }

    fn take_result(&mut self, result: ToolResult) {
        if let Some((_, _, code)) = self.commands.iter_mut().find(|(id, ..)| *id == result.id) {
            *code = result.exit_code;
        }
        if !result.is_error {
            self.files.extend(result.changes.into_iter().map(|change| (change.path, change.kind)));
        }
    }

    /// Later facts of a task complete the earlier ones.
    fn take_task(&mut self, task: AgentTask) {
        let known = self.tasks.entry(task.id.clone()).or_insert_with(|| task.clone());
        known.phase = task.phase;
        known.name = task.name.or(known.name.take());
        known.tokens = task.tokens.or(known.tokens);
    }

    pub(crate) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let list = |items: Vec<String>| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
        let files = self.files.iter().map(|(path, kind)| format!("{path} ({kind:?})")).collect();
        let commands = self.commands.iter().map(|(_, command, code)| match code {
            Some(code) => format!("`{command}` -> {code}"),
            None => format!("`{command}`"),
        });
        let tasks = self.tasks.values().filter(|task| task.phase != ActivityPhase::Started);
        let UsageTotals { input_tokens, output_tokens, cost_usd, .. } = self.usage.totals();
        let text = |end: &EndEvent| end.summary.text.clone().unwrap_or_default();
        writeln!(out, "files changed: {}", list(files))?;
        writeln!(out, "commands: {}", list(commands.collect()))?;
        writeln!(out, "plan: {}", list(self.plan.to_string().lines().map(str::to_owned).collect()))?;
        writeln!(out, "sub-agents: {}", list(tasks.map(AgentTask::to_string).collect()))?;
        writeln!(out, "tokens: {input_tokens} in, {output_tokens} out")?;
        writeln!(
            out,
            "cost: {}",
            cost_usd.map_or_else(|| "not told".to_owned(), |cost| format!("${cost:.4}"))
        )?;
        writeln!(out, "denied: {}", list(self.denials.iter().cloned().collect()))?;
        writeln!(out, "limits: {}", list(self.limits.clone()))?;
        writeln!(out, "answer: {}", self.end.as_ref().map(text).unwrap_or_default())?;
        writeln!(out, "end: {}", self.end.as_ref().map_or("none", EndEvent::name))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let facts = RunFacts::read(std::io::stdin().lock())?;
    facts.write(&mut std::io::stdout())?;
    Ok(())
}
