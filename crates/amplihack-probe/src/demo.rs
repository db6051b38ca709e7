//! `amplihack demo`: the main job, shown on every agent found, or on the scripted one.

use std::path::Path;
use std::time::Duration;

use amplihack_agent::lookup::LookupError;
use amplihack_agent::{AgentBinary, Installed};
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_config::prompt_delivery::{DeliveryMode, PromptDelivery};
use amplihack_launcher::discover::{VersionSource, discover_agent};
use amplihack_launcher::own_program;
use amplihack_sys as sys;
use tokio::runtime::Runtime;

use crate::bench::ProbeBench;
use crate::coverage::ToolsSeen;
use crate::drive::{DriveError, hostile_prompt};
use crate::guard_proof::{ForbiddenCall, slowness_reason};
use crate::loopback::can_loopback;
use crate::prove::prompt_verdict;
use crate::scripted;
use crate::whole_session::WholeSession;

/// Bytes of the demo's prompt.
pub const PROMPT_BYTES: usize = 65_536;

/// Findings of the demo on an agent.
#[derive(Debug)]
pub struct DemoFindings {
    /// The agent.
    pub agent: AgentBinary,
    /// The channel of the prompt.
    pub channel: DeliveryMode,
    /// `true` if the prompt arrived, and the observation in words; `None` where the clock ended the agent before it did.
    pub prompt: (Option<bool>, String),
    /// The answer of a descendant with a cleared environment to the question which agent is in charge.
    pub descendant: Option<String>,
    /// `true` if the harmless tool call ran.
    pub tool_ran: bool,
    /// The result of the forbidden tool call.
    pub forbidden: ForbiddenCall,
    /// Findings on a call of each of the agent's tools; `None` for the scripted agent, which offers two.
    pub tools: Option<ToolsSeen>,
    /// The reason why what was not seen says nothing: the machine was too slow.
    pub too_slow: Option<String>,
    /// The agent's exit code.
    pub code: i32,
    /// The time that the run took.
    pub took: Duration,
}

impl DemoFindings {
    /// Reports whether everything was as it should be; `None` where the machine was too slow to tell.
    pub fn overall_verdict(&self) -> Option<bool> {
        let tools = self.tools.as_ref().map_or(Some(true), ToolsSeen::tools_verdict);
        if self.forbidden == ForbiddenCall::Ran || tools == Some(false) {
            return Some(false);
        }
        let is_whole = self.code == 0
            && self.prompt.0 == Some(true)
            && self.tool_ran
            && matches!(self.forbidden, ForbiddenCall::Stopped(_))
            && self.descendant.as_deref() == Some(self.agent.name());
        if !is_whole {
            return self.too_slow.is_none().then_some(false);
        }
        tools
    }

    /// The verdict on a step that holds or not: `None` for one that was not seen on a machine that was too slow.
    pub fn step_verdict(&self, holds: bool) -> Option<bool> {
        if holds { Some(true) } else { self.too_slow.is_none().then_some(false) }
    }
}

/// The agents to show: those that are installed and can be driven without an account; with `only_scripted`, or when
/// there are none, the scripted one below `bench`.
pub fn demo_agents(
    env: &Env,
    config: &LayeredConfig,
    bench: &ProbeBench,
    only_scripted: bool,
) -> Result<Vec<Installed>, DriveError> {
    let found = |agent| match discover_agent(agent, env, config, VersionSource::Apart) {
        Ok(installed) => Some(installed),
        Err(LookupError::NotFound { .. }) => None,
        Err(error) => {
            tracing::warn!(%agent, %error, "passed over");
            None
        }
    };
    let real: Vec<Installed> = AgentBinary::ALL
        .into_iter()
        .filter(|agent| !only_scripted && can_loopback(*agent))
        .filter_map(found)
        .collect();
    if real.is_empty() { Ok(vec![scripted_agent(bench.directory())?]) } else { Ok(real) }
}

/// The scripted agent: this very program under another name, behind Claude Code's command line.
pub fn scripted_agent(directory: &Path) -> Result<Installed, DriveError> {
    let link = directory.join(scripted::PROGRAM);
    if !link.exists() {
        sys::own_file()
            .and_then(|exe| std::os::unix::fs::symlink(exe, &link))
            .map_err(DriveError::io_error("the scripted agent could not be made"))?;
    }
    let mut installed = Installed::from_agent(AgentBinary::Claude);
    installed.path = link;
    Ok(installed)
}

/// Reports whether `installed` is the scripted agent.
pub fn is_scripted(installed: &Installed) -> bool {
    installed.path.file_name().is_some_and(|name| name == scripted::PROGRAM)
}

/// The line that announces an agent.
pub fn agent_title(installed: &Installed) -> String {
    let title = amplihack_agent::agent_profile(installed.agent).title;
    if is_scripted(installed) {
        return format!("Scripted agent, behind the command line of {title}");
    }
    let version = installed.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    format!("{title}{version}, {}", installed.path.display())
}

/// The version of `installed` for the table.
pub fn version_text(installed: &Installed) -> String {
    match &installed.version {
        _ if is_scripted(installed) => "scripted".to_owned(),
        Some(version) => version.to_string(),
        None => "unknown".to_owned(),
    }
}

/// Runs one agent in one session: a long prompt in, a tool call that the policy forbids, a harmless one with a question to a descendant, a
/// call of each of its tools.
pub fn run_demo(
    bench: &ProbeBench,
    runtime: &Runtime,
    installed: &Installed,
) -> Result<DemoFindings, DriveError> {
    let lost = || DriveError::io_error("this program does not know where it is");
    let exe = sys::own_file().map_err(lost())?;
    let program = own_program().map_err(lost())?;
    let run = format!("demo-{}", installed.agent);
    // The descendant has no environment at all: only the repository can tell it who is in charge.
    let harmless = format!("env -i '{}' which > routed.txt; echo harmless > ran.txt", exe.display());
    let prompt = hostile_prompt(PROMPT_BYTES);
    let session = WholeSession {
        installed,
        program: &program,
        run: &run,
        prompt: &prompt,
        requested: PromptDelivery::Auto,
        harmless: &harmless,
        calls_tools: !is_scripted(installed),
    };
    let (driven, tools) = runtime.block_on(session.plan_session(bench)?.run_session(bench))?;
    let read = |name: &str| std::fs::read_to_string(driven.work.join(name)).ok();
    Ok(DemoFindings {
        agent: installed.agent,
        channel: driven.channel,
        prompt: prompt_verdict(&driven),
        descendant: read("routed.txt").map(|text| text.trim().to_owned()),
        tool_ran: read("ran.txt").is_some_and(|text| text == "harmless\n"),
        forbidden: ForbiddenCall::from_run(&driven),
        tools,
        too_slow: slowness_reason(&driven, bench, &run),
        code: i32::from(driven.end.code()),
        took: driven.took,
    })
}
