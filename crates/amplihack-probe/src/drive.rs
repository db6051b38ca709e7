//! Drives a run of an agent against the scripted model, in a throw-away home, seen from both ends.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use amplihack_agent::{AgentRunOptions, Installed, PermissionLevel, RunMode};
use amplihack_config::env::Env;
use amplihack_config::prompt_delivery::{DeliveryMode, PromptDelivery};
use amplihack_config::{ConfigError, LayeredConfig};
use amplihack_hooks::HookError;
use amplihack_hooks::registration::HookProgram;
use amplihack_launcher::{
    LaunchError, LaunchHosting, LaunchNotice, LaunchPlan, LaunchReport, LaunchRequest, LaunchStreams,
    LaunchTask, plan_launch, start,
};
use amplihack_session::{ChildOutput, Deadlines, RunEnd};
use amplihack_setup::install::{InstallError, InstallRequest, InstallScope, install_hooks};
use amplihack_sys::error::{ErrorExplanation, ExitKind};

use crate::bench::{ProbeBench, RunDirectories};
use crate::guard_proof::refusing_rules;
use crate::loopback::{self, LoopbackError, prepare_loopback};
use crate::model::{ModelScenario, ObservedDelivery};
use crate::own_hooks::{OwnHooks, OwnHooksError};

/// The most that is kept of an agent's output.
const KEPT_OUTPUT: usize = 64 * 1024;

/// The reason why an agent could not be driven.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The agent speaks no protocol that the server scripts, or its settings could not be written.
    #[error(transparent)]
    Loopback(#[from] LoopbackError),
    /// The launch was refused or failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The hooks could not be installed in the throw-away home.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The throw-away configuration could not be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The user's own hooks could not be copied.
    #[error("your own hooks cannot be copied: {0}")]
    OwnHooks(#[from] OwnHooksError),
    /// The throw-away directory or the server could not be made.
    #[error("{what}: {source}; check the space and the permissions of the temporary directory")]
    Io {
        /// The step that failed, as a clause.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl ErrorExplanation for DriveError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Loopback(error) => error.kind(),
            Self::Launch(error) => error.kind(),
            Self::Install(error) => error.kind(),
            Self::Config(error) => error.kind(),
            Self::OwnHooks(_) | Self::Io { .. } => "probe_io",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::Launch(error) => error.exit_kind(),
            _ => ExitKind::Failed,
        }
    }
}

impl DriveError {
    /// Names what failed on the way to `source`.
    pub(crate) fn io_error(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// A run of an agent, asked for.
#[derive(Debug, Clone, Copy)]
pub struct ProbeJob<'a> {
    /// The agent.
    pub installed: &'a Installed,
    /// The scenario of the model.
    pub scenario: ModelScenario,
    /// Name of the run at the server.
    pub run: &'a str,
    /// The prompt.
    pub prompt: &'a str,
    /// The way in which the prompt should travel.
    pub requested: PromptDelivery,
    /// The program that answers the guard's hooks; `None` leaves the guard out.
    pub guard: Option<&'a HookProgram>,
    /// Hooks of the user's own that the agent finds in its settings; `None` leaves them empty.
    pub own: Option<&'a OwnHooks>,
    /// Variables beside those that every run has.
    pub more_env: &'a [(&'a str, &'a str)],
}

/// A finished run of an agent, with the evidence.
#[derive(Debug)]
pub struct DrivenRun {
    /// The end of the run.
    pub end: RunEnd,
    /// The channel of the prompt.
    pub channel: DeliveryMode,
    /// The form in which the prompt stood in the model's requests.
    pub delivery: ObservedDelivery,
    /// The agent's home.
    pub home: PathBuf,
    /// The directory that the agent worked in.
    pub work: PathBuf,
    /// The rules behind the calls that the policy denied.
    pub denials: Vec<String>,
    /// Notices of the launch.
    pub notices: Vec<LaunchNotice>,
    /// From the plan to the end.
    pub took: Duration,
}

/// A run of an agent, ready to be started.
#[derive(Debug)]
pub struct PlannedRun<'a> {
    job: ProbeJob<'a>,
    room: RunDirectories,
    plan: LaunchPlan,
}

impl ProbeBench {
    /// Furnishes `room` for `job` and plans its launch.
    ///
    /// The agent gets an environment built from nothing: PATH, a home of its own, dummy keys, the server's address,
    /// a temporary directory that goes with the bench.
    pub fn plan_run<'a>(
        &self,
        room: RunDirectories,
        job: ProbeJob<'a>,
    ) -> Result<PlannedRun<'a>, DriveError> {
        room.create_directories().map_err(DriveError::io_error("the throw-away home could not be made"))?;
        let (home, work) = (room.home_dir(), room.work_dir());
        let settings = prepare_loopback(
            job.installed.agent,
            &self.server().base_url(job.scenario, job.run),
            &home,
            loopback::LoopbackOptions { cache: Some(&self.cache_dir()), workspace: Some(&work) },
        )?;
        if let Some(own) = job.own {
            own.copy_into(&home)?;
        }
        let env: Env = [
            ("PATH", self.search_path()),
            ("TMPDIR", room.tmp_dir().as_os_str()),
            ("LANG", "C.UTF-8".as_ref()),
            ("TERM", "dumb".as_ref()),
        ]
        .into_iter()
        .map(|(name, value)| (OsString::from(name), value.to_owned()))
        .chain(settings.env)
        .chain(job.more_env.iter().map(|(name, value)| ((*name).into(), (*value).into())))
        .collect();
        let plan = plan_job(job, &room, &env)?;
        Ok(PlannedRun { job, room, plan })
    }

    /// Runs what was planned to its end, when a place is free.
    pub async fn run_planned(&self, planned: PlannedRun<'_>) -> Result<DrivenRun, DriveError> {
        let PlannedRun { job, room, mut plan } = planned;
        let _place = self.acquire_slot().await;
        let started = Instant::now();
        let mut notices = std::mem::take(&mut plan.notices);
        let channel = plan.delivery.map_or(DeliveryMode::Argv, |delivery| delivery.selected);
        let streams = LaunchStreams {
            stdout: ChildOutput::Tail(KEPT_OUTPUT),
            stderr: ChildOutput::Tail(KEPT_OUTPUT),
            deadlines: Deadlines { total: Some(self.deadline()), ..Deadlines::default() },
        };
        let (launched, more) = start(plan, LaunchHosting::Binary, streams).await?;
        notices.extend(more);
        let LaunchReport { end, notices: more, .. } = launched.wait().await.map_err(LaunchError::from)?;
        notices.extend(more);
        let (home, work) = (room.home_dir(), room.work_dir());
        let denials = if notices.iter().any(|notice| matches!(notice, LaunchNotice::InstalledGuard(_))) {
            refusing_rules(&home, job.installed.agent.name())
        } else {
            end.denials.denied_rules().to_vec()
        };
        let delivery = self.server().observed_delivery(job.run, job.prompt);
        Ok(DrivenRun { end, channel, delivery, home, work, denials, notices, took: started.elapsed() })
    }
}

/// The launch of `job` in `room`.
fn plan_job(job: ProbeJob<'_>, room: &RunDirectories, env: &Env) -> Result<LaunchPlan, DriveError> {
    let config = LayeredConfig::load_with(&room.no_file(), env, &room.work_dir(), &[])?;
    let request = LaunchRequest {
        agent: job.installed.agent,
        installed: Some(job.installed.clone()),
        mode: RunMode::Headless,
        task: LaunchTask::Prompt {
            prompt: Some(job.prompt.to_owned()),
            requested: job.requested,
            options: AgentRunOptions {
                permissions: Some(PermissionLevel::Full),
                ..AgentRunOptions::default()
            },
            before_verb: Vec::new(),
            extra: Vec::new(),
        },
        guard: job.guard.cloned(),
        cwd: room.work_dir(),
    };
    Ok(match (plan_launch(request.clone(), env, &config), job.guard) {
        // It holds to hooks that are installed, so here too.
        (Err(LaunchError::Hooks(HookError::NotRead { .. })), Some(program)) => {
            let (program, policy) = (program.clone(), Some(config.policy().to_owned()));
            let wanted = InstallRequest { scope: InstallScope::User, program, policy, rules: Vec::new() };
            install_hooks(&[job.installed.agent], &wanted, env)?;
            plan_launch(request, env, &config)?
        }
        (decided, _) => decided?,
    })
}

/// A prompt of `bytes` bytes with everything that shells and files mangle.
pub(crate) fn hostile_prompt(bytes: usize) -> String {
    const LINE: &str = "don't \"quote\" $HOME $(id) `id` \\ ; | & 漢字 \u{1f980} -- %s\n";
    let mut prompt = LINE.repeat(bytes / LINE.len() + 1);
    let mut end = bytes;
    while !prompt.is_char_boundary(end) {
        end -= 1;
    }
    prompt.truncate(end);
    // The end is text: agents trim blanks there.
    while prompt.ends_with([' ', '\n']) {
        prompt.pop();
    }
    let missing = bytes - prompt.len();
    prompt.push_str(&"x".repeat(missing));
    prompt
}

#[cfg(test)]
mod tests {
    use super::hostile_prompt;

    #[test]
    fn a_hostile_prompt_has_its_size_and_ends_in_text() {
        for bytes in [1, 60, 61, 62, 63, 64, 4096, 65_536] {
            let prompt = hostile_prompt(bytes);
            assert_eq!(prompt.len(), bytes);
            assert_eq!(prompt.trim_end().len(), bytes);
        }
        assert!(hostile_prompt(65_536).contains('\''));
    }
}
