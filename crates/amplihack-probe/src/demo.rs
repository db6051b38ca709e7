//! `amplihack demo`: the main job, shown on every agent found, or on the scripted one.

use std::path::Path;
use std::time::Duration;

use amplihack_agent::lookup::LookupError;
use amplihack_agent::{AgentBinary, Installed};
use amplihack_launcher::discover::{Versions, discover};
use amplihack_launcher::own_program;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::prompt_delivery::{DeliveryMode, PromptDelivery};
use amplihack_utils::sys;
use tokio::runtime::Runtime;

use crate::drive::{Bench, DriveError, Driven, Job, hostile_prompt};
use crate::guarding::{FORBIDDEN, Forbidden};
use crate::loopback::can_loopback;
use crate::model::{ModelServer, Reply, Scenario, Script};
use crate::prove::verdict;
use crate::scripted;

/// Bytes of the demo's prompt.
pub const PROMPT_BYTES: usize = 65_536;

/// What the demo saw of one agent.
#[derive(Debug)]
pub struct Shown {
    /// The agent.
    pub agent: AgentBinary,
    /// The channel of the prompt.
    pub channel: DeliveryMode,
    /// Whether the prompt arrived, and what was seen.
    pub prompt: (bool, String),
    /// What a descendant with a cleared environment answered when it was asked which agent is in charge.
    pub descendant: Option<String>,
    /// Whether the harmless tool call ran.
    pub tool_ran: bool,
    /// What became of the forbidden tool call.
    pub forbidden: Forbidden,
    /// The agent's exit code.
    pub code: i32,
    /// How long the run took.
    pub took: Duration,
}

impl Shown {
    /// Whether everything was as it should be.
    pub fn holds(&self) -> bool {
        self.code == 0
            && self.prompt.0
            && self.tool_ran
            && matches!(self.forbidden, Forbidden::Stopped(_))
            && self.descendant.as_deref() == Some(self.agent.name())
    }
}

/// The agents to show: those that are installed and can be driven without an account; with `only_scripted`, or when
/// there are none, the scripted one below `bench`.
pub fn agents(
    env: &Env,
    config: &Config,
    bench: &Bench,
    only_scripted: bool,
) -> Result<Vec<Installed>, DriveError> {
    let found = |agent| match discover(agent, env, config, Versions::Apart) {
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
    if real.is_empty() { Ok(vec![scripted_agent(bench.path())?]) } else { Ok(real) }
}

/// The scripted agent: this very program under another name, behind Claude Code's command line.
pub fn scripted_agent(directory: &Path) -> Result<Installed, DriveError> {
    let link = directory.join(scripted::PROGRAM);
    if !link.exists() {
        sys::own_file()
            .and_then(|exe| std::os::unix::fs::symlink(exe, &link))
            .map_err(DriveError::io("the scripted agent could not be made"))?;
    }
    let mut installed = Installed::assumed(AgentBinary::Claude);
    installed.path = link;
    Ok(installed)
}

/// Whether `installed` is the scripted agent.
pub fn is_scripted(installed: &Installed) -> bool {
    installed.path.file_name().is_some_and(|name| name == scripted::PROGRAM)
}

/// The line that announces an agent.
pub fn title(installed: &Installed) -> String {
    let title = amplihack_agent::profile(installed.agent).title;
    if is_scripted(installed) {
        return format!("Scripted agent, behind the command line of {title}");
    }
    let version = installed.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    format!("{title}{version}, {}", installed.path.display())
}

/// The version of `installed` for the table.
pub fn version(installed: &Installed) -> String {
    match &installed.version {
        _ if is_scripted(installed) => "scripted".to_owned(),
        Some(version) => version.to_string(),
        None => "unknown".to_owned(),
    }
}

/// Runs one agent: a long prompt in, a tool call that the policy forbids, a harmless one with a question to a descendant.
pub fn show(
    bench: &mut Bench,
    runtime: &Runtime,
    server: &ModelServer,
    installed: &Installed,
) -> Result<Shown, DriveError> {
    let lost = || DriveError::io("this program does not know where it is");
    let exe = sys::own_file().map_err(lost())?;
    let guard = own_program().map_err(lost())?;
    let run = format!("demo-{}", installed.agent);
    // The descendant has no environment at all: only the repository can tell it who is in charge.
    let command = format!("env -i '{}' which > routed.txt; echo harmless > ran.txt", exe.display());
    let forbidden = Reply::Tool { command: FORBIDDEN.to_owned() };
    let end = Reply::Text("One call was refused, one ran, and I am done.".to_owned());
    server.script(&run, Script::new([forbidden, Reply::Tool { command }, end]));
    let prompt = hostile_prompt(PROMPT_BYTES);
    let job = Job {
        installed,
        scenario: Scenario::Script,
        run: &run,
        prompt: &prompt,
        requested: PromptDelivery::Auto,
        guard: Some(&guard),
        own: None,
    };
    let driven = bench.drive(runtime, server, job)?;
    Ok(seen(installed, &driven))
}

fn seen(installed: &Installed, driven: &Driven) -> Shown {
    let read = |name: &str| std::fs::read_to_string(driven.work.join(name)).ok();
    Shown {
        agent: installed.agent,
        channel: driven.channel,
        prompt: verdict(driven),
        descendant: read("routed.txt").map(|text| text.trim().to_owned()),
        tool_ran: read("ran.txt").is_some_and(|text| text == "harmless\n"),
        forbidden: Forbidden::of(driven),
        code: i32::from(driven.end.code()),
        took: driven.took,
    }
}
