//! Ledger of the reports of a launch's hooks and the calls of its agent: a state machine without sockets, processes or clocks.
//!
//! Where hooks and stream name a call by one id ([`coverage::names_calls`]), calls are matched by it, else counted by tool: no tool may
//! have more results than it had verdicts that let it run, and no more denied results than verdicts that stopped it.

use std::collections::{BTreeMap, BTreeSet};

use amplihack_agent::AgentBinary;
use amplihack_agent::event::ToolResult;
use amplihack_hooks::HookEvent;
use amplihack_hooks::channel::HookReport;
use amplihack_hooks::coverage::{self, ToolCoverage};
use amplihack_session::GuardDenials;
use amplihack_verdict::Decision;

use super::finding::GuardFinding;

/// The reports of hooks and the calls of an agent, as far as they came.
#[derive(Debug)]
pub(super) struct CallLedger {
    agent: AgentBinary,
    /// True if any hook reported.
    is_alive: bool,
    /// The rules behind denied calls.
    denied: Vec<String>,
    /// Verdicts of calls that have an id.
    verdicts: BTreeMap<String, Decision>,
    tools: BTreeMap<String, ToolCallCount>,
    /// Calls that may run and for which the host did not ask for permission yet, by their digests.
    judged: BTreeMap<String, usize>,
    /// Calls by tool that were judged when the host asked for permission, which names no call.
    permitted: BTreeMap<String, usize>,
    /// Denials whose payload could not be read, so that they name no call and no tool.
    unnamed: usize,
    /// Calls that the agent told of, with their tools.
    calls: BTreeMap<String, String>,
    unlisted: BTreeSet<String>,
    /// Reason why the audit has no line of a call, the first one.
    unaudited: Option<String>,
    findings: Vec<GuardFinding>,
}

/// The calls of one tool.
#[derive(Debug, Default, Clone, Copy)]
struct ToolCallCount {
    /// Verdicts with which a call may run.
    passing: usize,
    /// Verdicts that stop a call.
    stopping: usize,
    ran: usize,
    stopped: usize,
    /// Calls that a hook saw run.
    seen: usize,
}

impl CallLedger {
    pub(super) fn new(agent: AgentBinary) -> Self {
        Self {
            agent,
            is_alive: false,
            denied: Vec::new(),
            verdicts: BTreeMap::new(),
            tools: BTreeMap::new(),
            judged: BTreeMap::new(),
            permitted: BTreeMap::new(),
            unnamed: 0,
            calls: BTreeMap::new(),
            unlisted: BTreeSet::new(),
            unaudited: None,
            findings: Vec::new(),
        }
    }

    /// Takes a hook's report.
    pub(super) fn take_report(&mut self, report: &HookReport) {
        self.is_alive = true;
        if let Some(why) = &report.unaudited {
            self.unaudited.get_or_insert_with(|| why.clone());
        }
        if report.is_denial() {
            self.denied.push(report.rule.clone().unwrap_or_else(|| "?".to_owned()));
        }
        match report.event {
            HookEvent::PreToolUse => self.take_judgment(report),
            HookEvent::PermissionRequest => self.take_permission(report),
            HookEvent::PostToolUse => self.take_use(report),
            _ => {}
        }
    }

    fn take_judgment(&mut self, report: &HookReport) {
        if report.decision == Decision::Deny && report.call.is_none() && report.tool.is_none() {
            self.unnamed += 1;
            return;
        }
        if let Some(id) = &report.call {
            self.verdicts.insert(id.clone(), report.decision);
        }
        if let Some(digest) = report.digest.clone().filter(|_| report.decision < Decision::Ask) {
            *self.judged.entry(digest).or_default() += 1;
        }
        let count = self.tool_count(report.tool.as_deref().unwrap_or_default());
        // After a question both may come.
        count.passing += usize::from(report.decision <= Decision::Ask);
        count.stopping += usize::from(report.decision >= Decision::Ask);
    }

    /// A call was judged when its host asked for permission: its own hook did not come so far.
    fn take_permission(&mut self, report: &HookReport) {
        if report.decision == Decision::Deny {
            self.unnamed += 1;
        } else if report.decision < Decision::Ask {
            // What a person was asked about has its own verdict.
            let tool = coverage::canonical_tool_name(self.agent, report.tool.as_deref().unwrap_or_default());
            *self.permitted.entry(tool).or_default() += 1;
        }
    }

    /// Reports whether the call with `digest` was judged and may run. Each verdict is used up by asking.
    pub(super) fn was_judged(&mut self, digest: &str) -> bool {
        take_one(&mut self.judged, digest)
    }

    /// The verdict of the call `id` of `tool`, one of its own or one that names no call, which is the call's from then on.
    fn find_verdict(&mut self, id: &str, tool: &str) -> Option<Decision> {
        let known = self.verdicts.get(id).copied();
        known.or_else(|| {
            take_one(&mut self.permitted, &coverage::canonical_tool_name(self.agent, tool)).then(|| {
                self.verdicts.insert(id.to_owned(), Decision::None);
                Decision::None
            })
        })
    }

    /// A hook saw a call after it ran.
    fn take_use(&mut self, report: &HookReport) {
        let tool = report.tool.clone().unwrap_or_default();
        if !self.is_to_be_judged(&tool) {
            return;
        }
        match report.call.as_ref().map(|id| self.find_verdict(id, &tool)) {
            Some(None) => self.add_finding(GuardFinding::NoVerdict { tool }),
            Some(Some(Decision::Deny)) => self.add_finding(GuardFinding::RanAlthoughDenied { tool }),
            Some(Some(_)) => {}
            None => {
                let count = self.tool_count(&tool);
                count.seen += 1;
                if count.seen > count.passing + count.stopping {
                    self.add_finding(GuardFinding::NoVerdict { tool });
                }
            }
        }
    }

    /// The agent asked for a tool.
    pub(super) fn take_call(&mut self, id: &str, tool: &str) {
        self.calls.insert(id.to_owned(), tool.to_owned());
    }

    /// A call has its result in the agent's stream, or in its `record`, which names calls as hooks do.
    pub(super) fn take_result(&mut self, result: &ToolResult, is_record: bool) {
        let ToolResult { id, is_error, output, error_kind, .. } = result;
        let is_error = *is_error;
        let Some(tool) = self.calls.remove(id.as_str()) else { return };
        let is_unasked = is_error
            && (coverage::refused_unasked(self.agent, output, error_kind.as_deref())
                || coverage::is_interrupted(self.agent, &tool, output));
        if !self.is_to_be_judged(&tool) || is_unasked {
            return;
        }
        let was_stopped = is_error && coverage::is_denial(output);
        let verdict = if is_record || coverage::names_calls(self.agent) {
            self.find_verdict(id, &tool)
        } else {
            self.count_result(&tool, was_stopped)
        };
        let verdict = verdict.or_else(|| self.unnamed_denial(was_stopped));
        match verdict {
            None if is_error && output.contains(coverage::DID_NOT_RUN) => {
                self.add_finding(GuardFinding::DidNotRun);
            }
            None => self.add_finding(GuardFinding::NoVerdict { tool }),
            Some(Decision::Deny) if !was_stopped => {
                self.add_finding(GuardFinding::RanAlthoughDenied { tool });
            }
            Some(_) => {}
        }
    }

    /// The verdict that one more result of `tool` stands on; `None` if there is none left.
    fn count_result(&mut self, tool: &str, was_stopped: bool) -> Option<Decision> {
        let is_unnamed = self.unnamed > 0;
        let count = self.tool_count(tool);
        // Words of a tool may look like a denial, and a denial that ran out of verdicts is held to those that are left.
        if was_stopped && count.stopped < count.stopping {
            count.stopped += 1;
            return Some(Decision::Deny);
        }
        if was_stopped && is_unnamed {
            return None;
        }
        if count.ran < count.passing {
            count.ran += 1;
            return Some(Decision::None);
        }
        self.count_result(coverage::asked_as(self.agent, tool)?, was_stopped)
    }

    /// The verdict of a denial that could name no call, for a result that says that its call was denied.
    fn unnamed_denial(&mut self, was_stopped: bool) -> Option<Decision> {
        if !was_stopped || self.unnamed == 0 {
            return None;
        }
        self.unnamed -= 1;
        Some(Decision::Deny)
    }

    /// Reports whether calls of `tool` need a verdict. A tool that no table lists does, and is named.
    fn is_to_be_judged(&mut self, tool: &str) -> bool {
        match coverage::tool_coverage(self.agent, tool) {
            Some(ToolCoverage::NotHooked { .. }) => false,
            Some(_) => true,
            None => {
                self.unlisted.insert(tool.to_owned());
                true
            }
        }
    }

    fn tool_count(&mut self, tool: &str) -> &mut ToolCallCount {
        self.tools.entry(coverage::canonical_tool_name(self.agent, tool)).or_default()
    }

    /// Takes what others saw of the guard.
    pub(super) fn add_finding(&mut self, finding: GuardFinding) {
        let is_new = match finding {
            GuardFinding::Hung { .. } => {
                !self.findings.iter().any(|known| matches!(known, GuardFinding::Hung { .. }))
            }
            _ => !self.findings.contains(&finding),
        };
        if is_new {
            self.findings.push(finding);
        }
    }

    /// The run has ended; `is_success` is what is known of it so far. A success without any hook had no guard.
    pub(super) fn finish_run(&mut self, is_success: bool) {
        if is_success && !self.is_alive {
            self.add_finding(GuardFinding::Silent);
        }
    }

    pub(super) fn findings(&self) -> &[GuardFinding] {
        &self.findings
    }

    /// The reason why the audit lacks a line, if it does.
    pub(super) fn unaudited(&self) -> Option<&str> {
        self.unaudited.as_deref()
    }

    /// Tools that were called and are in no table.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = &str> {
        self.unlisted.iter().map(String::as_str)
    }

    /// The calls that were denied; unknown if no hook ever reported.
    pub(super) fn denials(&self) -> GuardDenials {
        if self.is_alive { GuardDenials::Known(self.denied.clone()) } else { GuardDenials::Unknown }
    }
}

/// Takes one of what is counted under `key`, if there is one.
fn take_one(counts: &mut BTreeMap<String, usize>, key: &str) -> bool {
    let Some(count) = counts.get_mut(key) else { return false };
    *count -= 1;
    if *count == 0 {
        counts.remove(key);
    }
    true
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
