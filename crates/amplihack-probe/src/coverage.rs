//! Each tool that an installed agent offers, called with the guard on: whether its calls ask the guard, and what became of a forbidden one.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use amplihack_agent::AgentBinary;
use amplihack_hooks::coverage::{ListedTool, ToolCoverage, offered_tools, tool_coverage};
use amplihack_launcher::proofs::GuardProof;
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};
use serde_json::Value;

use crate::bench::{ProbeBench, RunDirectories};
use crate::drive::DrivenRun;
use crate::guard_proof::{AuditedCall, audited_calls, slowness_reason};
use crate::model::ScriptedReply;
use crate::tool_calls::{FORBIDDEN, TRACES, ToolSample, tool_samples};

/// Findings on an agent's tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolsSeen {
    /// Tools whose calls asked the guard.
    pub hooked: Vec<String>,
    /// Tools that never ask, each with the reason why it can do no harm.
    pub harmless: Vec<(String, &'static str)>,
    /// Tools of which no call was made: the session ended before, or there is no sample.
    pub uncalled: Vec<String>,
    /// Tools whose calls did not ask, though they should.
    pub unasked: Vec<String>,
    /// Tools that the table does not list.
    pub unlisted: Vec<String>,
    /// Tools of which a forbidden call was not denied.
    pub undenied: Vec<String>,
    /// Files that only a forbidden call makes.
    pub traces: Vec<String>,
    /// The reason why a missing question or denial says nothing: the machine was too slow.
    pub too_slow: Option<String>,
}

impl ToolsSeen {
    /// Reports whether every tool asks or is harmless, and nothing forbidden ran; `None` where that was not seen to the end.
    pub fn tools_verdict(&self) -> Option<bool> {
        let are_empty = |lists: &[&Vec<String>]| lists.iter().all(|list| list.is_empty());
        if !are_empty(&[&self.traces, &self.unlisted]) {
            return Some(false);
        }
        if self.too_slow.is_some() {
            return None;
        }
        if !are_empty(&[&self.unasked, &self.undenied]) || self.hooked.is_empty() {
            return Some(false);
        }
        self.uncalled.is_empty().then_some(true)
    }
}

impl fmt::Display for ToolsSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.hooked.len() + self.unasked.len() + self.uncalled.len();
        if *self == Self::default() {
            return f.write_str("no tool was offered to the model");
        }
        write!(f, "{} of {count} tools hooked", self.hooked.len())?;
        let not_in_time = if self.too_slow.is_some() { "not seen to ask in time" } else { "DID NOT ASK" };
        let not_denied = if self.too_slow.is_some() {
            "forbidden call not seen to be denied in time"
        } else {
            "FORBIDDEN CALL NOT DENIED"
        };
        for (words, list) in [
            ("not called", &self.uncalled),
            (not_in_time, &self.unasked),
            ("NOT IN THE TABLE OF TOOLS", &self.unlisted),
            (not_denied, &self.undenied),
            ("FORBIDDEN CALL RAN", &self.traces),
        ] {
            if !list.is_empty() {
                write!(f, "; {words}: {}", list.join(", "))?;
            }
        }
        if let Some(why) = &self.too_slow {
            write!(f, "; {why}")?;
        }
        for (number, (tool, why)) in self.harmless.iter().enumerate() {
            let words = if number == 0 { "; harmless without being asked: " } else { ", " };
            write!(f, "{words}{tool} ({why})")?;
        }
        Ok(())
    }
}

/// Calls of each tool of one agent, in one room.
pub(crate) struct ToolCalls {
    agent: AgentBinary,
    samples: Vec<ToolSample>,
}

impl ToolCalls {
    /// Puts what the calls need into `room`.
    pub(crate) fn prepare_calls(agent: AgentBinary, room: &RunDirectories) -> std::io::Result<Self> {
        write_sample_files(&room.work_dir(), &room.home_dir())?;
        Ok(Self { agent, samples: tool_samples(agent, &room.work_dir()) })
    }

    /// Replies of a model that make the calls, one after another.
    pub(crate) fn model_replies(&self) -> Vec<ScriptedReply> {
        let call =
            |tool: &str, input: &Value| ScriptedReply::Call { tool: tool.to_owned(), input: input.clone() };
        let calls = |sample: &ToolSample| {
            let forbidden = sample.forbidden.iter().map(|input| call(sample.tool, input));
            forbidden.chain([call(sample.tool, &sample.harmless)]).collect::<Vec<_>>()
        };
        self.samples.iter().flat_map(calls).collect()
    }

    /// Collects the results of the calls in the run `run`.
    pub(crate) fn collect_seen(&self, driven: &DrivenRun, bench: &ProbeBench, run: &str) -> ToolsSeen {
        let names = bench.server().offered_tools(run);
        let called = bench.server().called_tools(run);
        let calls = audited_calls(&driven.home, self.agent.name());
        let mut seen = sort_tools(self.agent, &names, &self.samples, &called, &calls);
        let there = TRACES.iter().filter(|name| driven.work.join(name).exists());
        seen.traces = there.map(|name| (*name).to_owned()).collect();
        seen.too_slow = slowness_reason(driven, bench, run);
        seen
    }
}

/// The leg of a guard's proof on each tool.
pub(crate) fn tools_leg(seen: &ToolsSeen) -> GuardProof {
    GuardProof { leg: GuardProof::TOOLS.to_owned(), held: seen.tools_verdict(), detail: seen.to_string() }
}

/// Writes the files that the samples need. Skills are the user's: those of a repository that nobody trusts are held back.
fn write_sample_files(work: &Path, home: &Path) -> std::io::Result<()> {
    let skill = |command: &str| format!("---\nname: x\ndescription: d\n---\nx !`{command}` y\n");
    let notebook = r#"{"cells": [{"cell_type": "code", "id": "c", "metadata": {}, "source": ["2"], "outputs": [], "execution_count": null}],
        "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}"#;
    for (path, text) in [
        (work.join("README.md"), "one\n".to_owned()),
        (work.join("n.ipynb"), notebook.to_owned()),
        (home.join(".claude/skills/harmless/SKILL.md"), skill("echo harmless")),
        (home.join(".claude/skills/forbidden/SKILL.md"), skill(FORBIDDEN)),
    ] {
        create_private_dir(path.parent().unwrap_or(work))?;
        write_atomic(&path, text.as_bytes(), 0o600, WriteDurability::Process)?;
    }
    Ok(())
}

/// Sorts the `offered` tools by what the audit has of their calls.
fn sort_tools(
    agent: AgentBinary,
    names: &BTreeSet<String>,
    samples: &[ToolSample],
    called: &BTreeSet<String>,
    calls: &[AuditedCall],
) -> ToolsSeen {
    let mut seen = ToolsSeen::default();
    for name in names {
        let listed = offered_tools(agent).iter().find(|tool| tool.name == name);
        let hook_name = listed.and_then(|tool: &ListedTool| tool.hook_name).unwrap_or(name);
        let mut asked = calls.iter().filter(|call| call.tool.eq_ignore_ascii_case(hook_name)).peekable();
        let of_tool = || samples.iter().filter(|sample| sample.tool == name);
        match tool_coverage(agent, name) {
            None => seen.unlisted.push(name.clone()),
            Some(ToolCoverage::NotHooked { harmless: why }) => seen.harmless.push((name.clone(), why)),
            Some(ToolCoverage::Hooked) if asked.peek().is_some() => {
                seen.hooked.push(name.clone());
                if of_tool().any(|sample| sample.forbidden.is_some()) && !asked.any(|call| call.is_denied) {
                    seen.undenied.push(name.clone());
                }
            }
            Some(ToolCoverage::Hooked) if !called.contains(name) => seen.uncalled.push(name.clone()),
            Some(ToolCoverage::Hooked) => seen.unasked.push(name.clone()),
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audited(tool: &str, is_denied: bool) -> AuditedCall {
        AuditedCall { tool: tool.to_owned(), is_denied }
    }

    /// Every tool was called.
    fn seen(names: &[&str], calls: &[AuditedCall]) -> ToolsSeen {
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let samples = tool_samples(AgentBinary::Copilot, Path::new("/w"));
        sort_tools(AgentBinary::Copilot, &names, &samples, &names, calls)
    }

    #[test]
    fn every_offered_tool_is_accounted_for() {
        let calls = [
            audited("Bash", true),
            audited("Bash", false),
            audited("list_bash", false),
            audited("Read", false),
        ];
        let found = seen(&["bash", "list_bash", "view", "grep", "hammer"], &calls);
        assert_eq!(found.hooked, ["bash", "list_bash", "view"]);
        assert_eq!(
            (&found.undenied, &found.unasked, &found.unlisted),
            (&vec!["view".to_owned()], &vec!["grep".to_owned()], &vec!["hammer".to_owned()])
        );
        assert_eq!(found.tools_verdict(), Some(false));
        let whole = seen(&["bash", "list_bash"], &calls[..3]);
        assert_eq!(whole.tools_verdict(), Some(true));
        assert_eq!(whole.to_string(), "2 of 2 tools hooked");
        for nothing in [seen(&["bash"], &[]), ToolsSeen::default()] {
            assert_eq!(nothing.tools_verdict(), Some(false));
        }
    }

    #[test]
    fn what_was_not_called_or_not_in_time_is_unknown_and_what_ran_is_not() {
        let calls = [audited("Bash", true), audited("Bash", false)];
        let names: BTreeSet<String> = ["bash", "grep"].map(str::to_owned).into();
        let samples = tool_samples(AgentBinary::Copilot, Path::new("/w"));
        let called = BTreeSet::from(["bash".to_owned()]);
        let cut = sort_tools(AgentBinary::Copilot, &names, &samples, &called, &calls);
        assert_eq!(
            (cut.tools_verdict(), cut.to_string()),
            (None, "1 of 2 tools hooked; not called: grep".to_owned())
        );
        let slow = ToolsSeen { too_slow: Some("too slow".to_owned()), ..seen(&["bash", "grep"], &calls) };
        assert_eq!(slow.tools_verdict(), None);
        assert_eq!(slow.to_string(), "1 of 2 tools hooked; not seen to ask in time: grep; too slow");
        let ran = ToolsSeen { traces: vec!["x".to_owned()], ..slow };
        assert_eq!(ran.tools_verdict(), Some(false));
    }

    #[test]
    fn a_tool_that_does_not_ask_is_named_with_the_reason() {
        let names = BTreeSet::from(["DeferredToolPlaceholder".to_owned(), "Read".to_owned()]);
        let calls = [audited("Read", true)];
        let found = sort_tools(AgentBinary::Claude, &names, &[], &names, &calls);
        assert!(found.to_string().starts_with(
            "1 of 1 tools hooked; harmless without being asked: DeferredToolPlaceholder (it stands for "
        ));
    }
}
