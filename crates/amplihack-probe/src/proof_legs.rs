//! The legs of a proof: each prompt channel, the guard alone, beside the user's own hooks, and on each tool.
//!
//! One session shows most of them, and the others run beside it. What does not hold there gets a session of its own, so that its verdict
//! names its own cause. A forbidden call that ran is never tried again.

use amplihack_agent::{AgentCapability, Installed, RunMode};
use amplihack_config::prompt_delivery::{DeliveryMode, PromptDelivery};
use amplihack_hooks::registration::HookProgram;
use amplihack_launcher::proofs::{AgentProof, ChannelProof, GuardProof};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::bench::ProbeBench;
use crate::coverage::{ToolsSeen, tools_leg};
use crate::drive::{DriveError, DrivenRun, PlannedRun, ProbeJob, hostile_prompt};
use crate::guard_proof::{FORBIDDEN, ForbiddenCall, HARMLESS, guard_leg};
use crate::model::{DONE, ModelScenario, ModelScript, ScriptedReply};
use crate::own_hooks::{OwnHooks, OwnHooksError};
use crate::prove::{PROMPT_BYTES, prompt_verdict};
use crate::whole_session::WholeSession;

/// A prompt for sessions in which only calls matter.
const ANY_PROMPT: &str = "go on";

/// The agent that is proved, and the bench for it.
#[derive(Clone, Copy)]
pub(crate) struct ProofLegs<'a> {
    /// The bench.
    pub(crate) bench: &'a ProbeBench,
    /// The runtime that drives the sessions.
    pub(crate) runtime: &'a Runtime,
    /// The agent, without earlier proofs.
    pub(crate) installed: &'a Installed,
    /// The guard's program.
    pub(crate) program: &'a HookProgram,
}

/// The legs, seen.
#[derive(Debug, Default)]
pub(crate) struct LegsSeen {
    /// The prompt channels.
    pub(crate) delivery: Vec<ChannelProof>,
    /// The legs of the guard; none if no prompt arrives.
    pub(crate) guard: Vec<GuardProof>,
}

/// The settings of the user on hooks, or why they cannot be looked at.
type OwnHooksResult = Result<OwnHooks, OwnHooksError>;

/// Results of the sessions that run at once.
struct ConcurrentLegs {
    /// The channel of the whole session.
    main: ChannelProof,
    /// The other channels.
    others: Vec<ChannelProof>,
    /// `true` if the forbidden call ran in the whole session.
    ran: bool,
    alone: GuardProof,
    tools: Option<ToolsSeen>,
    /// The session beside the user's own hooks, if there are any.
    configured: Option<Result<DrivenRun, DriveError>>,
}

impl ProofLegs<'_> {
    /// Proves the agent, in one leg beside the user's own hooks.
    pub(crate) fn prove_agent(self, own: &OwnHooksResult) -> Result<LegsSeen, DriveError> {
        let all = [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin];
        let is_claimed = |channel: &DeliveryMode| {
            self.installed.can(AgentCapability::Prompt(*channel), RunMode::Headless).is_ok()
        };
        let mut others: Vec<DeliveryMode> = all.into_iter().filter(is_claimed).collect();
        // The channel of long prompts, if there is one.
        let Some(main) = others.pop() else { return Ok(LegsSeen::default()) };
        let mut seen = self.run_concurrently(main, &others, own)?;
        let is_sound = seen.main.arrived != Some(false) && (seen.alone.held != Some(false) || seen.ran);
        if seen.main.arrived == Some(false) {
            let run = self.run_name(&main.to_string());
            let prompt = hostile_prompt(PROMPT_BYTES);
            let driven = self
                .runtime
                .block_on(self.bench.run_planned(self.plan_text_session(&run, &prompt, main)?))?;
            seen.main = channel_leg(main, &driven);
        }
        let mut delivery = seen.others;
        delivery.push(seen.main);
        if delivery.iter().all(|channel| channel.arrived == Some(false)) {
            return Ok(LegsSeen { delivery, guard: Vec::new() });
        }
        let is_refuted = delivery.iter().any(|channel| channel.arrived == Some(false));
        let proofs = AgentProof { delivery: delivery.clone(), ..AgentProof::default() }.local_proofs();
        let installed = Installed { proofs, ..self.installed.clone() };
        let legs = ProofLegs { installed: &installed, ..self };
        if !is_sound {
            (seen.alone, seen.tools) = legs.run_apart()?;
        }
        if is_refuted {
            seen.configured = legs.run_beside_own_hooks(own)?;
        }
        let configured = self.configured_leg(&seen.alone, own, seen.configured.as_ref());
        let tools = seen.tools.as_ref().map(tools_leg);
        Ok(LegsSeen { delivery, guard: [seen.alone, configured].into_iter().chain(tools).collect() })
    }

    /// Everything at once: a session with a prompt by `main` and all calls; beside it the other channels and the user's hooks.
    fn run_concurrently(
        self,
        main: DeliveryMode,
        others: &[DeliveryMode],
        own: &OwnHooksResult,
    ) -> Result<ConcurrentLegs, DriveError> {
        let (prompt, bench) = (hostile_prompt(PROMPT_BYTES), self.bench);
        let (name, beside) = (self.run_name("whole"), self.run_name(GuardProof::AS_CONFIGURED));
        let whole = self.whole_session(&name, &prompt, delivery_by(main)).plan_session(bench)?;
        let names: Vec<String> = others.iter().map(|channel| self.run_name(&channel.to_string())).collect();
        let texts =
            others.iter().zip(&names).map(|(channel, run)| self.plan_text_session(run, &prompt, *channel));
        let texts: Vec<PlannedRun<'_>> = texts.collect::<Result<_, _>>()?;
        let configured = hooks_in_use(own).map(|own| self.plan_call_session(&beside, Some(own)));
        let ended = Notify::new();
        let first = async {
            let seen = whole.run_session(bench).await;
            ended.notify_one();
            seen
        };
        let more = async {
            // What an agent unpacks at its first start is there when the others begin.
            tokio::select! {
                _ = bench.server().wait_for_calls(&name, 1) => (),
                () = ended.notified() => (),
            }
            let texts = async {
                let mut seen = Vec::new();
                for text in texts {
                    seen.push(bench.run_planned(text).await);
                }
                seen
            };
            let configured = async {
                match configured? {
                    Ok(planned) => Some(bench.run_planned(planned).await),
                    Err(error) => Some(Err(error)),
                }
            };
            tokio::join!(texts, configured)
        };
        let (whole, (texts, configured)) = self.runtime.block_on(async { tokio::join!(first, more) });
        let (driven, tools) = whole?;
        let texts = texts.into_iter().zip(others);
        Ok(ConcurrentLegs {
            main: channel_leg(main, &driven),
            others: texts
                .map(|(driven, channel)| Ok(channel_leg(*channel, &driven?)))
                .collect::<Result<_, DriveError>>()?,
            ran: ForbiddenCall::from_run(&driven) == ForbiddenCall::Ran,
            alone: guard_leg(GuardProof::ALONE, &Ok(driven), self.installed, bench, &name),
            tools,
            configured,
        })
    }

    /// The guard alone and on each tool, in a session each.
    fn run_apart(self) -> Result<(GuardProof, Option<ToolsSeen>), DriveError> {
        let run = self.run_name(GuardProof::ALONE);
        let driven = self
            .plan_call_session(&run, None)
            .and_then(|calls| self.runtime.block_on(self.bench.run_planned(calls)));
        let alone = guard_leg(GuardProof::ALONE, &driven, self.installed, self.bench, &run);
        let run = self.run_name(GuardProof::TOOLS);
        let whole = self.whole_session(&run, ANY_PROMPT, PromptDelivery::Auto).plan_session(self.bench)?;
        Ok((alone, self.runtime.block_on(whole.run_session(self.bench))?.1))
    }

    /// The session beside the user's own hooks once more, with what is known of the channels; `None` without such hooks.
    fn run_beside_own_hooks(
        self,
        own: &OwnHooksResult,
    ) -> Result<Option<Result<DrivenRun, DriveError>>, DriveError> {
        let Some(own) = hooks_in_use(own) else { return Ok(None) };
        let run = self.run_name(GuardProof::AS_CONFIGURED);
        let planned = self.plan_call_session(&run, Some(own))?;
        Ok(Some(self.runtime.block_on(self.bench.run_planned(planned))))
    }

    /// The leg beside the user's own hooks.
    fn configured_leg(
        self,
        alone: &GuardProof,
        own: &OwnHooksResult,
        seen: Option<&Result<DrivenRun, DriveError>>,
    ) -> GuardProof {
        let leg = GuardProof::AS_CONFIGURED;
        match (own, seen) {
            (Err(error), _) => GuardProof {
                leg: leg.to_owned(),
                held: Some(false),
                detail: format!("your settings cannot be looked at: {error}"),
            },
            (Ok(own), Some(seen)) => {
                let proof = guard_leg(leg, seen, self.installed, self.bench, &self.run_name(leg));
                GuardProof { detail: format!("{}; beside {own}", proof.detail), ..proof }
            }
            (Ok(_), None) => GuardProof {
                leg: leg.to_owned(),
                held: alone.held,
                detail: "your settings have none, so as above".to_owned(),
            },
        }
    }

    /// The name of a run at the model server.
    fn run_name(self, leg: &str) -> String {
        format!("prove-{}-{leg}", self.installed.agent)
    }

    fn whole_session<'b>(
        &'b self,
        run: &'b str,
        prompt: &'b str,
        requested: PromptDelivery,
    ) -> WholeSession<'b> {
        let (installed, program) = (self.installed, self.program);
        WholeSession { installed, program, run, prompt, requested, harmless: HARMLESS, calls_tools: true }
    }

    /// A session in which the prompt by `channel` is all that matters.
    fn plan_text_session<'b>(
        &'b self,
        run: &'b str,
        prompt: &'b str,
        channel: DeliveryMode,
    ) -> Result<PlannedRun<'b>, DriveError> {
        let job = ProbeJob {
            scenario: ModelScenario::Text,
            prompt,
            requested: delivery_by(channel),
            ..self.base_job(run)
        };
        self.bench.plan_run(self.bench.next_run_directories(), job)
    }

    /// A session with the guard and a forbidden and a harmless call.
    fn plan_call_session<'b>(
        &'b self,
        run: &'b str,
        own: Option<&'b OwnHooks>,
    ) -> Result<PlannedRun<'b>, DriveError> {
        let call = |command: &str| ScriptedReply::Tool { command: command.to_owned() };
        let end = ScriptedReply::Text(DONE.to_owned());
        self.bench.server().set_script(run, ModelScript::new([call(FORBIDDEN), call(HARMLESS), end]));
        let job = ProbeJob { guard: Some(self.program), own, ..self.base_job(run) };
        self.bench.plan_run(self.bench.next_run_directories(), job)
    }

    fn base_job<'b>(&'b self, run: &'b str) -> ProbeJob<'b> {
        ProbeJob {
            installed: self.installed,
            scenario: ModelScenario::Script,
            run,
            prompt: ANY_PROMPT,
            requested: PromptDelivery::Auto,
            guard: None,
            own: None,
            more_env: &[],
        }
    }
}

/// The hooks of the user's own, if there are any.
fn hooks_in_use(own: &OwnHooksResult) -> Option<&OwnHooks> {
    own.as_ref().ok().filter(|own| !own.is_empty())
}

/// The leg of one channel.
fn channel_leg(channel: DeliveryMode, driven: &DrivenRun) -> ChannelProof {
    let (arrived, detail) = prompt_verdict(driven);
    ChannelProof { channel: channel.to_string(), bytes: PROMPT_BYTES, arrived, detail }
}

const fn delivery_by(channel: DeliveryMode) -> PromptDelivery {
    match channel {
        DeliveryMode::Argv => PromptDelivery::Argv,
        DeliveryMode::Tempfile => PromptDelivery::Tempfile,
        DeliveryMode::Stdin => PromptDelivery::Stdin,
    }
}
