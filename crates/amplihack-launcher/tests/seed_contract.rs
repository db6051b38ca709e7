//! The seed's regression contract and its guarantees at the level of launches: per agent, one test a row.
//!
//! The engine below, which knows no agent, is held to the same tables in `amplihack-config`.
#![expect(clippy::unwrap_used, reason = "a test fails by panic; helpers outside of #[test] functions too")]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use amplihack_agent::{AgentCommand, AgentRunOptions, DeliveryError, Installed};
use amplihack_config::LayeredConfig;
use amplihack_config::prompt_delivery::{
    DeliveryCaps, DeliveryMode, DeliveryWarning, PromptDelivery, deliver,
};
use amplihack_launcher::flag_matrix::{AgentBinary, RunMode, prompt_delivery_caps_for};
use amplihack_launcher::prompt_delivery::{DeliveredCommand, build_tool_command_with_prompt_delivery};
use amplihack_launcher::{
    LaunchError, LaunchHosting, LaunchNotice, LaunchPlan, LaunchReport, LaunchRequest, LaunchStreams,
    LaunchTask, plan_launch, start,
};
use amplihack_session::{ChildOutput, Deadlines, RunSpec, run_blocking};
use amplihack_testkit::script::{StdinPlan, Step};
use amplihack_testkit::{Sandbox, Script, logged};

/// Agents whose matrix holds a long-form channel, and the one that is exempt.
const WITH_STDIN: [AgentBinary; 5] =
    [AgentBinary::Claude, AgentBinary::Copilot, AgentBinary::Codex, AgentBinary::Amp, AgentBinary::Gemini];
const ARGV_ONLY: AgentBinary = AgentBinary::Amplifier;
const REQUESTS: [PromptDelivery; 4] =
    [PromptDelivery::Auto, PromptDelivery::Argv, PromptDelivery::Tempfile, PromptDelivery::Stdin];
/// A word of the prompt that must show nowhere.
const MARK: &str = "it's-the-secret-task";

/// 64 KiB with apostrophes and everything else that a shell would change; newlines at the end.
fn long_prompt() -> String {
    let line = format!("{MARK} \"x\" $HOME $(touch ran) `touch ran`; touch ran & \\ 漢字 🚀 %s\n");
    let mut prompt = line.repeat(65_536 / line.len());
    let rest = 65_536 - prompt.len() - 1;
    prompt.push_str(&"'".repeat(rest));
    prompt.push('\n');
    assert_eq!(prompt.len(), 65_536);
    prompt
}

fn build(
    agent: AgentBinary,
    prompt: &str,
    requested: PromptDelivery,
) -> Result<DeliveredCommand, DeliveryError> {
    build_tool_command_with_prompt_delivery(agent, Path::new("/"), &[], prompt, requested)
}

/// A place with all agents: fake ones that write down how they were called, and Amplifier's stand-in.
fn agents() -> Sandbox {
    let mut sandbox = Sandbox::new();
    for agent in WITH_STDIN {
        sandbox.fake(agent.name());
    }
    sandbox.amplifier_stand_in();
    sandbox
}

/// Runs a delivered command as the seed's example does, its payload written to the end and closed.
fn run(sandbox: &Sandbox, delivered: DeliveredCommand) -> ExitStatus {
    let DeliveredCommand { mut command, delivery_handle, stdin_payload, .. } = delivered;
    command.env_clear().envs(sandbox.env().iter()).current_dir(sandbox.work());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take();
    assert_eq!(stdin.is_some(), stdin_payload.is_some());
    if let (Some(mut stdin), Some(payload)) = (stdin, stdin_payload) {
        stdin.write_all(&payload).unwrap();
        stdin.flush().unwrap();
    }
    let status = child.wait().unwrap();
    drop(delivery_handle);
    status
}

/// The prompt that the only run of `agent` got, by whichever channel.
fn received(sandbox: &Sandbox, agent: AgentBinary, mode: DeliveryMode) -> Vec<u8> {
    if agent == ARGV_ONLY {
        return sandbox.accepted().pop().unwrap().prompt.unwrap().0;
    }
    let record = sandbox.runs().pop().unwrap();
    if mode == DeliveryMode::Stdin {
        return record.stdin.unwrap().0;
    }
    let last = record.args().last().unwrap().0.clone();
    [&b"--prompt="[..], b"--execute="]
        .iter()
        .find_map(|flag| last.strip_prefix(*flag).map(<[u8]>::to_vec))
        .unwrap_or(last)
}

fn degrading(requested: PromptDelivery, effective: DeliveryMode) -> Vec<DeliveryWarning> {
    vec![DeliveryWarning::UnsupportedMode { requested, effective }]
}

fn task(prompt: &str, requested: PromptDelivery) -> LaunchTask {
    LaunchTask::Prompt {
        prompt: Some(prompt.to_owned()),
        requested,
        options: AgentRunOptions::default(),
        before_verb: Vec::new(),
        extra: Vec::new(),
    }
}

fn planned(
    sandbox: &Sandbox,
    agent: AgentBinary,
    prompt: &str,
    requested: PromptDelivery,
) -> Result<LaunchPlan, LaunchError> {
    let config =
        LayeredConfig::load_with(Path::new("/nonexistent"), sandbox.env(), &sandbox.work(), &[]).unwrap();
    let task = task(prompt, requested);
    let request = LaunchRequest {
        agent,
        installed: None,
        mode: RunMode::Headless,
        task,
        guard: None,
        cwd: sandbox.work(),
    };
    plan_launch(request, sandbox.env(), &config)
}

/// Carries a plan out, through the one door that every launch takes.
fn launch(plan: LaunchPlan) -> (LaunchReport, Vec<LaunchNotice>) {
    let streams = LaunchStreams {
        stdout: ChildOutput::Tail(1 << 20),
        stderr: ChildOutput::Tail(1 << 20),
        deadlines: Deadlines { total: Some(Duration::from_secs(30)), ..Deadlines::default() },
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (launched, mut notices) = start(plan, LaunchHosting::Library, streams).await.unwrap();
        let mut report = launched.wait().await.unwrap();
        notices.append(&mut report.notices);
        (report, notices)
    })
}

/// Prompt files of anybody that hold this test's mark.
fn prompt_files(mark: &str) -> Vec<PathBuf> {
    let directories = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    directories
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("amplihack-prompt-"))
        .flat_map(|entry| std::fs::read_dir(entry.path()).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains(mark)))
        .collect()
}

mod regression_contract {
    use super::*;

    #[test]
    fn long_prompt_privacy() {
        let prompt = long_prompt();
        for agent in AgentBinary::ALL {
            assert_eq!(
                prompt_delivery_caps_for(agent).supports_stdin,
                WITH_STDIN.contains(&agent),
                "{agent}"
            );
        }
        for agent in WITH_STDIN {
            for requested in [PromptDelivery::Auto, PromptDelivery::Tempfile, PromptDelivery::Stdin] {
                let delivered = build(agent, &prompt, requested).unwrap();
                assert_eq!(delivered.selected_mode, DeliveryMode::Stdin, "{agent} {requested}");
                let holds = |text: &std::ffi::OsStr| text.to_string_lossy().contains(MARK);
                assert!(!delivered.command.get_args().any(holds), "{agent} {requested}");
                let mut values = delivered.command.get_envs().filter_map(|(_, value)| value);
                assert!(!values.any(holds), "{agent} {requested}");
            }
        }
        let delivered = build(ARGV_ONLY, &prompt, PromptDelivery::Auto).unwrap();
        assert_eq!(delivered.command.get_args().filter(|arg| *arg == prompt.as_str()).count(), 1);
    }

    #[test]
    fn prompt_fidelity() {
        let prompt = long_prompt();
        for agent in AgentBinary::ALL {
            for requested in [PromptDelivery::Auto, PromptDelivery::Argv] {
                let sandbox = agents();
                let delivered = build(agent, &prompt, requested).unwrap();
                let mode = delivered.selected_mode;
                assert!(run(&sandbox, delivered).success(), "{agent} {requested}");
                assert!(received(&sandbox, agent, mode) == prompt.as_bytes(), "{agent} {requested}");
            }
        }
    }

    #[test]
    fn structured_argv_safety() {
        let hostile = "-don't \"x\" $HOME $(touch ran) `touch ran`; touch ran | tee ran > ran & \\ * ~ 漢\n";
        for prompt in [hostile, "help", "--version", "$(touch ran)"] {
            for agent in AgentBinary::ALL {
                let sandbox = agents();
                let delivered = build(agent, prompt, PromptDelivery::Argv).unwrap();
                assert_eq!(delivered.selected_mode, DeliveryMode::Argv, "{agent}");
                let at = delivered.prompt_argument.unwrap();
                assert_eq!(delivered.command.get_args().count(), at + 1, "{agent}: it is the last");
                assert!(run(&sandbox, delivered).success(), "{agent} {prompt:?}");
                assert_eq!(received(&sandbox, agent, DeliveryMode::Argv), prompt.as_bytes(), "{agent}");
                assert!(!sandbox.work().join("ran").exists(), "{agent} {prompt:?}: a shell read it");
            }
        }
    }

    #[test]
    fn unsupported_tempfile_request() {
        for agent in WITH_STDIN {
            for size in [1, 4097] {
                let delivered = build(agent, &"x".repeat(size), PromptDelivery::Tempfile).unwrap();
                assert_eq!(delivered.selected_mode, DeliveryMode::Stdin, "{agent}");
                assert_eq!(delivered.warnings, degrading(PromptDelivery::Tempfile, DeliveryMode::Stdin));
            }
        }
        // Without stdin, as in a session in a terminal, to argv.
        let delivered = interactive(PromptDelivery::Tempfile);
        assert_eq!(delivered.selected_mode, DeliveryMode::Argv);
        assert_eq!(delivered.warnings, degrading(PromptDelivery::Tempfile, DeliveryMode::Argv));
    }

    fn interactive(requested: PromptDelivery) -> DeliveredCommand {
        let (installed, options) = (Installed::from_agent(AgentBinary::Claude), AgentRunOptions::default());
        AgentCommand::new(&installed, RunMode::Interactive, Some("x"), &options, Path::new("/"))
            .deliver(requested)
            .unwrap()
    }

    #[test]
    fn unsupported_stdin_request() {
        let delivered = interactive(PromptDelivery::Stdin);
        assert_eq!(delivered.selected_mode, DeliveryMode::Argv);
        assert_eq!(delivered.warnings, degrading(PromptDelivery::Stdin, DeliveryMode::Argv));
        assert!(delivered.delivery_handle.tempfile_path().is_none() && delivered.stdin_payload.is_none());
        // A program with prompt files but without stdin: still argv.
        let mut command = Command::new("stand-in");
        let caps = DeliveryCaps::argv_and_tempfile("--prompt-file");
        let handle = deliver(&mut command, "x", PromptDelivery::Stdin, &caps).unwrap();
        assert_eq!(handle.mode(), DeliveryMode::Argv);
    }

    #[test]
    fn amplifier_unsupported_mode_request() {
        for requested in [PromptDelivery::Tempfile, PromptDelivery::Stdin] {
            let sandbox = agents();
            let mark = sandbox.marker("prompt");
            let error = planned(&sandbox, ARGV_ONLY, &mark, requested).unwrap_err();
            let rejected = matches!(&error, LaunchError::Delivery(DeliveryError::Rejected { agent, requested: what, .. })
                if *agent == ARGV_ONLY && *what == requested);
            assert!(rejected, "{error}");
            assert!(error.to_string().starts_with(&format!("amplifier prompt delivery mode '{requested}'")));
            assert_eq!(sandbox.accepted(), [], "nothing was run");
            assert_eq!(prompt_files(&mark), [] as [PathBuf; 0], "no file was made");
            assert!(!sandbox.work().join(".claude").exists(), "no launch was announced");
        }
        for requested in [PromptDelivery::Auto, PromptDelivery::Argv] {
            let sandbox = agents();
            let (report, _) = launch(planned(&sandbox, ARGV_ONLY, "it's", requested).unwrap());
            assert!(report.end.is_success(), "{report:?}");
            assert_eq!(received(&sandbox, ARGV_ONLY, DeliveryMode::Argv), b"it's");
        }
    }

    /// No agent takes a prompt file today, so a program that does stands in for one.
    #[test]
    fn tempfile_lifetime() {
        let mut command = Command::new("sh");
        // The option of a prompt file is the script's `$1`, the file its `$2`.
        command.args(["-c", "sleep 0.3; test \"$1\" = --prompt-file && exec cat \"$2\"", "stand-in"]);
        let prompt = long_prompt();
        let caps = DeliveryCaps::all_modes("--prompt-file");
        let handle = deliver(&mut command, &prompt, PromptDelivery::Tempfile, &caps).unwrap();
        let file = handle.tempfile_path().unwrap().to_owned();
        let spec =
            RunSpec { stdout: ChildOutput::Head(1 << 20), keep: Box::new(handle), ..RunSpec::new(command) };
        let outcome = run_blocking(spec).unwrap();
        assert!(outcome.stdout.bytes == prompt.as_bytes(), "read late, and whole");
        assert!(!file.exists() && !file.parent().unwrap().exists(), "gone with its handle");
    }

    #[test]
    fn stdin_lifecycle() {
        let prompt = long_prompt().repeat(4);
        for agent in WITH_STDIN {
            // A late reader that also writes more than a pipe holds to both outputs.
            let mut sandbox = agents();
            sandbox.script(
                &Script::new()
                    .stdin(StdinPlan::LateMs(150))
                    .then(Step::PrintBytes(300_000))
                    .then(Step::PrintErrorBytes(300_000)),
            );
            let (report, _) = launch(planned(&sandbox, agent, &prompt, PromptDelivery::Auto).unwrap());
            assert!(report.end.is_success(), "{agent}: {report:?}");
            assert_eq!(report.end.unread_prompt, None, "{agent}");
            assert_eq!(report.stdout.bytes.len(), 300_000, "{agent}");
            // It read up to the end, so stdin was closed.
            assert!(received(&sandbox, agent, DeliveryMode::Stdin) == prompt.as_bytes(), "{agent}");
        }
    }

    #[test]
    fn diagnostics_safety() {
        let prompt = long_prompt();
        for agent in AgentBinary::ALL {
            for requested in REQUESTS {
                let delivered = match build(agent, &prompt, requested) {
                    Ok(delivered) => delivered,
                    Err(error) => {
                        assert!(!format!("{error} {error:?}").contains(MARK));
                        continue;
                    }
                };
                let warnings: Vec<String> = delivered.warnings.iter().map(ToString::to_string).collect();
                let shown = format!("{delivered:?} {warnings:?}");
                assert!(!shown.contains(MARK) && shown.len() < 2000, "{agent} {requested}: {shown:.500}");
            }
            let error = build(agent, &prompt.repeat(900), PromptDelivery::Argv).map(|_| ()).err();
            assert!(!format!("{error:?}").contains(MARK), "{agent}");
        }
        let sandbox = agents();
        for requested in [PromptDelivery::Argv, PromptDelivery::Stdin] {
            let plan = planned(&sandbox, AgentBinary::Claude, &prompt, requested).unwrap();
            let shown = format!("{plan:?} {:?}", task(&prompt, requested));
            assert!(!shown.contains(MARK) && shown.len() < 5000, "{shown:.500}");
        }
    }
}

mod security_and_lifecycle {
    use super::*;

    #[test]
    fn no_shell_command_construction() {
        for agent in AgentBinary::ALL {
            for requested in [PromptDelivery::Auto, PromptDelivery::Argv] {
                for prompt in ["a b", &long_prompt()] {
                    let delivered = build(agent, prompt, requested).unwrap();
                    assert_eq!(delivered.command.get_program(), agent.name());
                    let with = |arg: &&std::ffi::OsStr| arg.to_string_lossy().contains(prompt);
                    let on_argv = usize::from(delivered.selected_mode == DeliveryMode::Argv);
                    assert_eq!(delivered.command.get_args().filter(with).count(), on_argv, "{agent}");
                }
            }
        }
    }

    #[test]
    fn no_prompt_logging() {
        let prompt = long_prompt();
        for agent in AgentBinary::ALL {
            let sandbox = agents();
            let log = logged(|| {
                let plan = planned(&sandbox, agent, &prompt, PromptDelivery::Auto).unwrap();
                tracing::info!(?plan, "planned");
                let (_, notices) = launch(plan);
                tracing::info!(?notices, "done");
            });
            assert!(log.contains("planned") && log.contains("done"), "{log}");
            assert!(!log.contains(MARK), "{agent}: {log:.500}");
        }
    }

    #[test]
    fn restricted_tempfiles() {
        let mut command = Command::new("stand-in");
        let caps = DeliveryCaps::all_modes("--prompt-file");
        let handle = deliver(&mut command, MARK, PromptDelivery::Tempfile, &caps).unwrap();
        let file = handle.tempfile_path().unwrap().to_owned();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        drop(handle);
        assert!(!file.exists());
    }

    /// The handle goes with the run, not with the function that started it.
    #[test]
    fn child_lifetime_ownership() {
        struct Handle(PathBuf);
        impl Drop for Handle {
            fn drop(&mut self) {
                std::fs::write(&self.0, "dropped").unwrap();
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().join("dropped");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 0.3; test -e \"$1\" && echo early; exit 0", "sh"]).arg(&mark);
        let spec = RunSpec {
            stdout: ChildOutput::Head(100),
            keep: Box::new(Handle(mark.clone())),
            ..RunSpec::new(command)
        };
        let outcome = run_blocking(spec).unwrap();
        assert_eq!(outcome.stdout.bytes, b"", "the handle was dropped before the child ended");
        assert!(mark.exists(), "and it was dropped with the run");
    }

    #[test]
    fn closed_stdin() {
        let prompt = long_prompt();
        for agent in WITH_STDIN {
            // One that never reads its stdin, and one that closes it early: no deadlock, and no failure by itself.
            for stdin in [StdinPlan::Never, StdinPlan::First(10)] {
                let mut sandbox = agents();
                sandbox.script(&Script::new().stdin(stdin).sleep_ms(50).exit(7));
                let (report, _) = launch(planned(&sandbox, agent, &prompt, PromptDelivery::Stdin).unwrap());
                assert_eq!(report.end.code(), 7, "{agent}: {report:?}");
            }
            // With the prompt on argv there is nothing to wait for: stdin is at its end from the start.
            let sandbox = agents();
            launch(planned(&sandbox, agent, "short", PromptDelivery::Argv).unwrap());
            assert_eq!(sandbox.only_run().stdin.unwrap().0, b"", "{agent}");
        }
    }

    #[test]
    fn static_capabilities() {
        // A request is no capability: what is asked for by variable or by argument changes no agent's channels.
        let before: Vec<_> = AgentBinary::ALL.map(prompt_delivery_caps_for).into();
        for requested in REQUESTS {
            for agent in AgentBinary::ALL {
                let caps = prompt_delivery_caps_for(agent);
                assert!(!caps.supports_tempfile, "{agent}: no CLI has a file for a task prompt");
                if let Ok(delivered) = build(agent, &long_prompt(), requested) {
                    assert!(caps.supports_mode(delivered.selected_mode), "{agent} {requested}");
                }
            }
        }
        assert_eq!(before, AgentBinary::ALL.map(prompt_delivery_caps_for));
    }

    #[test]
    fn deterministic_handling() {
        let outcome = |agent, size: usize, requested| match build(agent, &"x".repeat(size), requested) {
            Ok(delivered) => {
                let warned = if delivered.warnings.is_empty() { "" } else { "!" };
                format!("{}{warned}", delivered.selected_mode)
            }
            Err(DeliveryError::Rejected { .. }) => "rejected".to_owned(),
            Err(error) => error.to_string(),
        };
        let row = |agent, size| REQUESTS.map(|requested| outcome(agent, size, requested)).join(" ");
        for _ in 0..2 {
            for agent in WITH_STDIN {
                assert_eq!(row(agent, 1), "argv argv stdin! stdin", "{agent}");
                assert_eq!(row(agent, 4096), "argv argv stdin! stdin", "{agent}");
                assert_eq!(row(agent, 4097), "stdin argv stdin! stdin", "{agent}");
                assert_eq!(row(agent, 131_072), "stdin stdin! stdin! stdin", "{agent}");
            }
            for size in [1, 4096, 4097, 131_071] {
                assert_eq!(row(ARGV_ONLY, size), "argv argv rejected rejected", "{size}");
            }
            assert_eq!(
                outcome(ARGV_ONLY, 131_072, PromptDelivery::Auto),
                "the prompt has 131072 bytes and no channel of amplifier in headless mode holds more than 131071; \
                 these could take it: claude (stdin), copilot (stdin), codex (stdin), amp (stdin), gemini (stdin)"
            );
        }
    }
}

/// The fields of the seed's table "Launcher API".
mod delivered_command {
    use super::*;

    #[test]
    fn says_what_was_requested_and_what_is_used() {
        for agent in WITH_STDIN {
            for (requested, mode) in [
                (PromptDelivery::Argv, DeliveryMode::Argv),
                (PromptDelivery::Stdin, DeliveryMode::Stdin),
                (PromptDelivery::Tempfile, DeliveryMode::Stdin),
            ] {
                let delivered = build(agent, "x", requested).unwrap();
                assert_eq!((delivered.requested_mode, delivered.selected_mode), (requested, mode), "{agent}");
                assert_eq!(delivered.delivery_handle.mode(), mode, "{agent}");
            }
        }
    }

    #[test]
    fn has_a_warning_for_each_degradation_and_no_other() {
        for agent in WITH_STDIN {
            let warned = |requested| build(agent, "x", requested).unwrap().warnings;
            assert_eq!(
                warned(PromptDelivery::Tempfile),
                degrading(PromptDelivery::Tempfile, DeliveryMode::Stdin)
            );
            for requested in [PromptDelivery::Auto, PromptDelivery::Argv, PromptDelivery::Stdin] {
                assert_eq!(warned(requested), [], "{agent} {requested}");
            }
        }
    }

    #[test]
    fn has_a_payload_with_stdin_alone_and_it_is_the_prompt() {
        let prompt = long_prompt();
        for agent in AgentBinary::ALL {
            let delivered = build(agent, &prompt, PromptDelivery::Auto).unwrap();
            let on_stdin = delivered.selected_mode == DeliveryMode::Stdin;
            let expected = on_stdin.then(|| prompt.clone().into_bytes());
            assert!(delivered.stdin_payload == expected, "{agent}");
            let delivered = build(agent, "short", PromptDelivery::Argv).unwrap();
            assert_eq!(delivered.stdin_payload, None, "{agent}");
        }
    }

    #[test]
    fn amplifiers_prompt_is_the_last_argument_of_run_whatever_its_size() {
        for prompt in ["two words", &long_prompt()] {
            let delivered = build(ARGV_ONLY, prompt, PromptDelivery::Auto).unwrap();
            let args: Vec<_> = delivered.command.get_args().map(|arg| arg.to_str().unwrap()).collect();
            assert!(args == ["run", "--", prompt], "{:.300}", args.join("|"));
            assert!(delivered.stdin_payload.is_none() && delivered.delivery_handle.tempfile_path().is_none());
        }
    }
}
