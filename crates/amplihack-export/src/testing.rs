//! Runs for this crate's tests: recorded transcripts of real agents, and hostile ones.

use std::path::Path;

use amplihack_agent::decode::new_decoder;
use amplihack_agent::event::{
    AgentSessionStarted, AgentText, AgentUsage, AgentWarning, EndEvent, ToolCall, ToolResult, UsageTotals,
};
use amplihack_agent::reader::AgentStreamReader;
use amplihack_agent::{AgentBinary, AgentEvent, Envelope};
use amplihack_audit::{AuditData, AuditEntry, EventType};
use amplihack_session::journal::RunRecord;
use amplihack_session::{EndEvidence, RunEnd};
use amplihack_sys::ProcessExit;
use amplihack_verdict::Decision;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::model::{ExportDocument, ExportedRun, UnattendedRun, UnattendedTurn, VerificationCheck};

/// The start of every run of a test.
pub(crate) fn start_time() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// `event` as the `seq`th of its run, `seq` half seconds after its start.
pub(crate) fn numbered_event(seq: u64, event: AgentEvent) -> Envelope {
    let at = start_time() + SignedDuration::from_millis(500 * i64::try_from(seq).unwrap());
    Envelope::new(seq, at, event)
}

/// A run of Claude Code with `events`; it ended as the last of them says.
pub(crate) fn claude_run(events: Vec<Envelope>) -> ExportedRun {
    let mut record = RunRecord::from_this_process(AgentBinary::Claude, Path::new("/repo"));
    record.started_at = start_time();
    record.agent_session = Some("session-1".to_owned());
    record.model = Some("claude-opus".to_owned());
    // No process has this number.
    record.pid = u32::MAX;
    if let Some(Envelope { at, event: AgentEvent::End(end), .. }) = events.last() {
        record.end = Some(RunEnd::new(end.clone(), EndEvidence::Record));
        record.ended_at = Some(*at);
    }
    ExportedRun { id: "0123abcd".to_owned(), record, events, unread: 0, verdicts: Vec::new() }
}

/// The recorded stream `name` of `agent`, as a run whose events came half a second apart.
pub(crate) fn recorded_run(agent: AgentBinary, name: &str) -> ExportedRun {
    let path = amplihack_testkit::workspace().join("crates/amplihack-agent/tests/transcripts").join(name);
    let mut reader = AgentStreamReader::new(new_decoder(agent), false);
    let mut events = Vec::new();
    reader.push(&std::fs::read(path).unwrap(), start_time(), &mut events);
    let end = reader.finish(Some(ProcessExit::Code(0)), start_time(), &mut events);
    reader.number_end(end, start_time(), &mut events);
    let usage = reader.usage();
    let events: Vec<Envelope> = events.into_iter().map(|one| numbered_event(one.seq, one.event)).collect();
    let session = events.iter().find_map(|one| match &one.event {
        AgentEvent::Started(started) => Some((started.agent_session.clone(), started.model.clone())),
        _ => None,
    });
    let mut run = claude_run(events);
    run.record.agent = agent;
    run.record.usage = usage;
    if let Some((session, model)) = session {
        run.record.agent_session = session;
        run.record.model = model;
    }
    run
}

/// `run` alone.
pub(crate) fn single_run_document(run: ExportedRun) -> ExportDocument {
    ExportDocument { id: run.id.clone(), unattended: None, runs: vec![run] }
}

/// Texts that would be markup, code or a disguise if one let them.
pub(crate) const HOSTILE: &[&str] = &[
    "<script>document.title='pwned'</script>",
    "</pre></details></main><img src=https://evil.example/x onerror=alert(1)>",
    "\"><svg/onload=alert(1)>",
    "'\"`onfocus=alert(1) autofocus `",
    "\u{1b}[2J\u{1b}]0;pwned\u{7}",
    "nul\0byte \u{202e}txt.exe\u{2066} \u{200b}",
    "]]><![CDATA[<b>x</b>]]>",
    "<!-- --><style>*{display:none}</style>",
    "```\n</details>\n# heading\n[x](javascript:alert(1)) ![i](https://evil.example/i.png) @everyone\n````",
    "&lt;b&gt;already&#60;escaped",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "\u{fffd}\u{ffff} \u{2028}line",
];

/// A run in which everything that others write is hostile.
pub(crate) fn hostile_document() -> ExportDocument {
    let mut events = Vec::new();
    let mut add = |what| events.push(numbered_event(events.len() as u64, what));
    let nasty = |at: usize| HOSTILE[at % HOSTILE.len()].to_owned();
    let mut started = AgentSessionStarted::new(AgentBinary::Claude);
    started.agent_session = Some("session-1".to_owned());
    started.version = Some(nasty(0));
    add(AgentEvent::Started(started));
    for at in 0..HOSTILE.len() {
        let id = format!("call{at}{}", nasty(at));
        add(AgentEvent::Text(AgentText::new(nasty(at))));
        add(AgentEvent::Thinking(AgentText::new(nasty(at + 1))));
        let mut input = json!({ "command": nasty(at + 2), "long": nasty(at).repeat(200), "old_string": nasty(at), "new_string": nasty(at + 3) });
        input[nasty(at + 4)] = json!({ "nested": nasty(at + 5) });
        add(AgentEvent::ToolCall(ToolCall::new(id.clone(), nasty(at + 6), (&input).into())));
        let output = format!("{}\n", nasty(at + 7)).repeat(1 + at * 5);
        let mut result = ToolResult::new(id, output);
        (result.is_error, result.exit_code) = (at % 2 == 0, Some(1));
        add(AgentEvent::ToolResult(result));
        add(AgentEvent::Warning(AgentWarning::new(&nasty(at + 8), nasty(at + 9))));
    }
    let mut usage = AgentUsage::default();
    usage.amounts = UsageTotals { input_tokens: 1, cost_usd: Some(0.5), ..UsageTotals::default() };
    add(AgentEvent::Usage(usage));
    let mut end = EndEvent::bare_failure(amplihack_agent::event::FailKind::Agent, nasty(2));
    end.summary.text = Some(nasty(1));
    add(AgentEvent::End(end));
    let mut run = claude_run(events);
    run.record.model = Some(nasty(2));
    run.record.cwd = nasty(3);
    for at in 0..HOSTILE.len() {
        let mut entry = AuditEntry::new(
            "2027-01-15T08:00:00".parse().unwrap(),
            EventType::PreToolValidation,
            Decision::Deny,
        );
        entry.rule = Some(nasty(at));
        entry.data = AuditData {
            command: Some(nasty(at + 1)),
            tool: Some(nasty(at + 2)),
            call_id: Some(format!("call{at}{}", nasty(at))),
            ..AuditData::default()
        };
        run.verdicts.push(entry);
    }
    let turns = (0..HOSTILE.len()).map(|at| UnattendedTurn {
        number: u32::try_from(at).unwrap(),
        agent: AgentBinary::Claude,
        phase: "execute".to_owned(),
        started: start_time(),
        how: nasty(at),
        denied: vec![nasty(at + 1)],
        outcome: Some(nasty(at + 2)),
        checks: vec![VerificationCheck { what: nasty(at + 3), passed: false, found: nasty(at + 4) }],
        launches: vec![run.id.clone()],
    });
    let unattended = UnattendedRun {
        agent: AgentBinary::Claude,
        state: "failed".to_owned(),
        reason: Some(nasty(0)),
        task: nasty(1),
        directory: nasty(2),
        branch: Some(nasty(3)),
        began: start_time(),
        ended: None,
        usage: UsageTotals::default(),
        turns: turns.collect(),
        diff: HOSTILE
            .iter()
            .map(|text| format!("diff --git a/{text} b/x\n+{text}\n-{text}\n"))
            .collect::<Vec<_>>()
            .concat(),
    };
    ExportDocument { id: "feed".to_owned(), unattended: Some(unattended), runs: vec![run] }
}
