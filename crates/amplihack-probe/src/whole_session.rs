//! A session that shows everything: a prompt, a forbidden and a harmless call, then a call of each tool that the agent offers.

use amplihack_agent::Installed;
use amplihack_config::prompt_delivery::PromptDelivery;
use amplihack_hooks::coverage::offered_tools;
use amplihack_hooks::registration::HookProgram;

use crate::bench::ProbeBench;
use crate::coverage::{ToolCalls, ToolsSeen};
use crate::drive::{DriveError, DrivenRun, PlannedRun, ProbeJob};
use crate::guard_proof::FORBIDDEN;
use crate::model::{DONE, ModelScenario, ModelScript, ScriptedReply};
use crate::tool_calls::NESTED_WORD;

/// A session, asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WholeSession<'a> {
    /// The agent.
    pub(crate) installed: &'a Installed,
    /// The guard's program.
    pub(crate) program: &'a HookProgram,
    /// The name of the run at the server.
    pub(crate) run: &'a str,
    /// The prompt.
    pub(crate) prompt: &'a str,
    /// The way in which the prompt should travel.
    pub(crate) requested: PromptDelivery,
    /// The command of the harmless call.
    pub(crate) harmless: &'a str,
    /// `true` if each tool is called, of an agent whose tools are known.
    pub(crate) calls_tools: bool,
}

/// A session, ready to be started.
pub(crate) struct PlannedSession<'a> {
    session: WholeSession<'a>,
    planned: PlannedRun<'a>,
    calls: Option<ToolCalls>,
}

impl<'a> WholeSession<'a> {
    /// Plans the session's launch in a new room of `bench`, and tells the model server what to say.
    pub(crate) fn plan_session(self, bench: &ProbeBench) -> Result<PlannedSession<'a>, DriveError> {
        let agent = self.installed.agent;
        let room = bench.next_run_directories();
        let calls = (self.calls_tools && !offered_tools(agent).is_empty())
            .then(|| ToolCalls::prepare_calls(agent, &room))
            .transpose()
            .map_err(DriveError::io_error("the throw-away repository could not be made"))?;
        let call = |command: &str| ScriptedReply::Tool { command: command.to_owned() };
        let mut replies = vec![call(FORBIDDEN), call(self.harmless)];
        replies.extend(calls.iter().flat_map(ToolCalls::model_replies));
        let end = ScriptedReply::Text(DONE.to_owned());
        replies.push(end.clone());
        // The end of a sub-agent may be told as if a user had said something.
        let script = ModelScript::new(replies).over_conversation().with_skipping();
        bench.server().set_script(self.run, script.with_nested(NESTED_WORD, ModelScript::new([end])));
        let job = ProbeJob {
            installed: self.installed,
            scenario: ModelScenario::Script,
            run: self.run,
            prompt: self.prompt,
            requested: self.requested,
            guard: Some(self.program),
            own: None,
            // Else Claude Code offers half of its tools only when they are searched for.
            more_env: if calls.is_some() { &[("ENABLE_TOOL_SEARCH", "false")] } else { &[] },
        };
        let planned = bench.plan_run(room, job)?;
        Ok(PlannedSession { session: self, planned, calls })
    }
}

impl PlannedSession<'_> {
    /// Runs the session; with what was seen of the tools, if they were called.
    pub(crate) async fn run_session(
        self,
        bench: &ProbeBench,
    ) -> Result<(DrivenRun, Option<ToolsSeen>), DriveError> {
        let Self { session, planned, calls } = self;
        let driven = bench.run_planned(planned).await?;
        let seen = calls.map(|calls| calls.collect_seen(&driven, bench, session.run));
        Ok((driven, seen))
    }
}
