//! The exact command line of every agent, mode and option.

use amplihack_config::agent_binary::AgentBinary;

use super::*;

/// The command line for `prompt`, prompt included, words separated by `|`, stdin after `<`.
fn line(agent: AgentBinary, mode: RunMode, options: &AgentRunOptions, prompt: Option<&str>) -> String {
    let installed = Installed::from_agent(agent);
    let command = AgentCommand {
        extra: &["--extra".into()],
        ..AgentCommand::new(&installed, mode, prompt, options, Path::new("/"))
    };
    match command.deliver(PromptDelivery::Auto) {
        Err(error) => error.to_string(),
        Ok(delivered) => {
            let mut words = vec![delivered.command.get_program().to_string_lossy().into_owned()];
            words.extend(delivered.command.get_args().map(|word| word.to_string_lossy().into_owned()));
            let stdin = delivered.stdin_payload.map(|payload| format!(" < {} bytes", payload.len()));
            words.join("|") + &stdin.unwrap_or_default()
        }
    }
}

fn every() -> impl Iterator<Item = (AgentBinary, RunMode)> {
    AgentBinary::ALL.into_iter().flat_map(|agent| [(agent, RunMode::Headless), (agent, RunMode::Interactive)])
}

#[test]
fn prompts() {
    let long = "x".repeat(4097);
    let mut report = String::new();
    for (agent, mode) in every() {
        for prompt in [Some("-dash"), Some(long.as_str()), None] {
            let text = line(agent, mode, &AgentRunOptions::default(), prompt).replace(&long, "LONG");
            let prompt = prompt.map_or("none", |prompt| if prompt.len() > 10 { "long" } else { prompt });
            report.extend(std::iter::once(format!("{agent} {mode} {prompt}: {text}\n")));
        }
    }
    insta::assert_snapshot!(report);
}

#[test]
fn options() {
    let options: [(&str, AgentRunOptions); 11] = [
        ("model", AgentRunOptions { model: Some("m".into()), ..AgentRunOptions::default() }),
        ("resume", AgentRunOptions { resume: Some("ID".into()), ..AgentRunOptions::default() }),
        ("continue", AgentRunOptions { continue_latest: true, ..AgentRunOptions::default() }),
        (
            "add-dir",
            AgentRunOptions { add_dirs: vec!["/a".into(), "/b c".into()], ..AgentRunOptions::default() },
        ),
        ("mcp-config", AgentRunOptions { mcp_configs: vec!["/m.json".into()], ..AgentRunOptions::default() }),
        (
            "append-system-prompt",
            AgentRunOptions {
                append_system_prompt: Some("be \"kind\"".into()),
                ..AgentRunOptions::default()
            },
        ),
        ("ask", AgentRunOptions { permissions: Some(PermissionLevel::Ask), ..AgentRunOptions::default() }),
        ("edit", AgentRunOptions { permissions: Some(PermissionLevel::Edit), ..AgentRunOptions::default() }),
        ("full", AgentRunOptions { permissions: Some(PermissionLevel::Full), ..AgentRunOptions::default() }),
        ("stream", AgentRunOptions { stream: true, ..AgentRunOptions::default() }),
        (
            "usage-file",
            AgentRunOptions { usage_file: Some(Path::new("/u.json").into()), ..AgentRunOptions::default() },
        ),
    ];
    let mut report = String::new();
    for (agent, mode) in every() {
        for (name, options) in &options {
            let prompt = (mode == RunMode::Headless).then_some("hi");
            report.extend(std::iter::once(format!(
                "{agent} {mode} {name}: {}\n",
                line(agent, mode, options, prompt)
            )));
        }
    }
    insta::assert_snapshot!(report);
}

fn headless(
    agent: AgentBinary,
    prompt: &str,
    requested: PromptDelivery,
) -> Result<DeliveredCommand, DeliveryError> {
    bare(&Installed::from_agent(agent), prompt, requested)
}

/// The headless command of a prompt alone.
fn bare(
    installed: &Installed,
    prompt: &str,
    requested: PromptDelivery,
) -> Result<DeliveredCommand, DeliveryError> {
    let options = AgentRunOptions::default();
    AgentCommand::new(installed, RunMode::Headless, Some(prompt), &options, Path::new("/")).deliver(requested)
}

#[test]
fn a_prompt_too_large_for_amplifier_names_size_limit_and_who_could_take_it() {
    let error = headless(AgentBinary::Amplifier, &"a".repeat(200_000), PromptDelivery::Auto).unwrap_err();
    insta::assert_snapshot!(error.to_string());
}

#[test]
fn amplifier_refuses_explicit_long_form_requests() {
    for requested in [PromptDelivery::Stdin, PromptDelivery::Tempfile] {
        let error = headless(AgentBinary::Amplifier, "hi", requested).unwrap_err();
        assert!(matches!(error, DeliveryError::Rejected { requested: r, .. } if r == requested), "{error}");
    }
    for requested in [PromptDelivery::Auto, PromptDelivery::Argv] {
        assert_eq!(
            headless(AgentBinary::Amplifier, "hi", requested).unwrap().selected_mode,
            DeliveryMode::Argv
        );
    }
}

#[test]
fn the_flag_counts_towards_the_limit_of_one_argument() {
    let fits = "a".repeat(MAX_ARG_BYTES - "--prompt=".len());
    let delivered = headless(AgentBinary::Copilot, &fits, PromptDelivery::Argv).unwrap();
    assert_eq!(delivered.selected_mode, DeliveryMode::Argv);
    assert_eq!(delivered.command.get_args().next().unwrap().len(), MAX_ARG_BYTES);
    let delivered = headless(AgentBinary::Copilot, &(fits + "a"), PromptDelivery::Argv).unwrap();
    assert_eq!(delivered.selected_mode, DeliveryMode::Stdin);
    assert_eq!(delivered.warnings.len(), 1);
}

/// `codex exec -- -` waits for stdin, as the real CLI showed.
#[test]
fn a_prompt_that_is_the_stdin_word_goes_by_stdin() {
    for requested in [PromptDelivery::Auto, PromptDelivery::Argv] {
        let delivered = headless(AgentBinary::Codex, "-", requested).unwrap();
        assert_eq!(delivered.stdin_payload.as_deref(), Some(&b"-"[..]));
    }
    assert_eq!(
        headless(AgentBinary::Claude, "-", PromptDelivery::Auto).unwrap().selected_mode,
        DeliveryMode::Argv
    );
}

#[test]
fn codex_counts_characters() {
    let fits = "漢".repeat(1_048_576);
    assert_eq!(
        headless(AgentBinary::Codex, &fits, PromptDelivery::Auto).unwrap().selected_mode,
        DeliveryMode::Stdin
    );
    let error = headless(AgentBinary::Codex, &(fits + "漢"), PromptDelivery::Auto).unwrap_err();
    assert!(matches!(error, DeliveryError::TooLarge { limit: 1_048_576, .. }), "{error}");
}

#[test]
fn nul_bytes_go_and_are_counted() {
    for requested in [PromptDelivery::Argv, PromptDelivery::Stdin] {
        let delivered = headless(AgentBinary::Claude, "a\0b\0", requested).unwrap();
        assert_eq!(delivered.warnings, [DeliveryWarning::NulRemoved { count: 2 }]);
        let prompt = delivered
            .stdin_payload
            .unwrap_or_else(|| delivered.command.get_args().last().unwrap().as_encoded_bytes().to_vec());
        assert_eq!(prompt, b"ab");
    }
    assert!(matches!(headless(AgentBinary::Claude, "\0\0", PromptDelivery::Auto), Err(DeliveryError::Empty)));
    assert!(matches!(headless(AgentBinary::Claude, "", PromptDelivery::Auto), Err(DeliveryError::Empty)));
}

#[test]
fn a_refuted_channel_is_not_used() {
    let mut installed = Installed::from_agent(AgentBinary::Claude);
    installed.proofs.refuted.push(DeliveryMode::Stdin);
    let delivered = bare(&installed, &"x".repeat(5000), PromptDelivery::Auto).unwrap();
    assert_eq!(delivered.selected_mode, DeliveryMode::Argv);
}

#[test]
fn one_argument_that_is_too_long_is_named() {
    let options = AgentRunOptions {
        append_system_prompt: Some("s".repeat(MAX_ARG_BYTES)),
        ..AgentRunOptions::default()
    };
    let text = line(AgentBinary::Claude, RunMode::Headless, &options, Some("hi"));
    assert_eq!(
        text,
        "the argument for --append-system-prompt has 131094 bytes, the platform takes at most 131071 in one argument"
    );
}

#[test]
fn what_no_version_takes_is_refused_without_one() {
    use AgentBinary::{Amp, Amplifier, Claude};
    use RunMode::{Headless, Interactive};
    let check = |agent, mode, prompt: Option<&str>, requested| {
        let installed = Installed::from_agent(agent);
        let options = AgentRunOptions { add_dirs: vec!["/a".into()], ..AgentRunOptions::default() };
        let (before_verb, extra, cwd) = (&[], &[], Path::new("/"));
        let command = AgentCommand {
            installed: &installed,
            mode,
            prompt,
            options: &options,
            hooks: &[],
            before_verb,
            extra,
            cwd,
        };
        command
            .check_delivery(requested)
            .map_err(|error| amplihack_sys::error::ErrorExplanation::kind(&error))
    };
    let long = "x".repeat(MAX_ARG_BYTES + 1);
    assert_eq!(check(Amplifier, Headless, Some("hi"), PromptDelivery::Stdin), Err("delivery_rejected"));
    assert_eq!(check(Amplifier, Interactive, None, PromptDelivery::Tempfile), Err("delivery_rejected"));
    assert_eq!(check(Amplifier, Headless, Some(&long), PromptDelivery::Auto), Err("prompt_too_large"));
    assert_eq!(check(Claude, Headless, Some(&long), PromptDelivery::Auto), Ok(()));
    assert_eq!(check(Claude, Interactive, Some(&long), PromptDelivery::Auto), Err("prompt_too_large"));
    assert_eq!(check(Claude, Headless, Some("\0"), PromptDelivery::Auto), Err("prompt_empty"));
    assert_eq!(check(Claude, Headless, None, PromptDelivery::Auto), Err("prompt_empty"));
    assert_eq!(check(Claude, Interactive, None, PromptDelivery::Auto), Ok(()));
    // These are refused later, with the version: no option for directories, no prompt in a terminal.
    assert_eq!(check(Amplifier, Headless, Some("hi"), PromptDelivery::Auto), Ok(()));
    assert_eq!(check(Amp, Interactive, Some("hi"), PromptDelivery::Auto), Ok(()));
}

#[test]
fn a_refuted_channel_is_not_used_and_without_another_there_is_an_error() {
    let long = "x".repeat(5000);
    let deliver = |refuted: &[DeliveryMode], prompt: &str| {
        let mut installed = Installed::from_agent(AgentBinary::Claude);
        installed.version = Some(semver::Version::new(2, 1, 332));
        installed.proofs.refuted = refuted.to_vec();
        bare(&installed, prompt, PromptDelivery::Auto).map(|delivered| delivered.selected_mode)
    };
    assert_eq!(deliver(&[], &long).unwrap(), DeliveryMode::Stdin);
    assert_eq!(deliver(&[DeliveryMode::Stdin], &long).unwrap(), DeliveryMode::Argv);
    assert_eq!(deliver(&[DeliveryMode::Argv], "short").unwrap(), DeliveryMode::Stdin);
    assert_eq!(
        deliver(&[DeliveryMode::Argv, DeliveryMode::Stdin], "short").unwrap_err().to_string(),
        "no prompt reaches claude 2.1.332 unchanged: a probe on this machine refuted argv and stdin"
    );
    let error = deliver(&[DeliveryMode::Stdin], &"x".repeat(200_000)).unwrap_err();
    let DeliveryError::TooLarge { could, .. } = error else { panic!("{error}") };
    assert!(!could.is_empty() && could.iter().all(|(agent, _)| *agent != AgentBinary::Claude), "{could:?}");
}

#[test]
fn hooks_stand_among_the_options_in_the_shape_of_their_row() {
    let words = |agent, hooks: &[OsString]| {
        let installed = Installed::from_agent(agent);
        let options = AgentRunOptions { model: Some("m".into()), ..AgentRunOptions::default() };
        let command = AgentCommand {
            hooks,
            extra: &["--extra".into()],
            ..AgentCommand::new(&installed, RunMode::Headless, Some("do it"), &options, Path::new("/"))
        };
        let delivered = command.deliver(PromptDelivery::Auto)?;
        Ok::<_, DeliveryError>(
            delivered.command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>(),
        )
    };
    let values = ["h.A=[1]".into(), "h.B=[2]".into()];
    let codex = words(AgentBinary::Codex, &values).unwrap();
    let expected = [
        "exec",
        "-c",
        "h.A=[1]",
        "-c",
        "h.B=[2]",
        "-c",
        "features.hooks=true",
        "-c",
        "features.unified_exec_tty=false",
        "--model=m",
        "--extra",
    ];
    assert_eq!(codex[..expected.len()], expected);
    let claude = words(AgentBinary::Claude, &["{}".into()]).unwrap();
    let expected = ["-p", "--settings", "{}", "--model=m", "--extra"];
    assert_eq!(claude[..expected.len()], expected);
    assert!(matches!(words(AgentBinary::Amp, &values), Err(DeliveryError::Unsupported(_))));
}
