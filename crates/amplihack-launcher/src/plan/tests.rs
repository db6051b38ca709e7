//! Decided launches, without starting an agent.

use super::*;

fn request(task: LaunchTask, cwd: &Path) -> LaunchRequest {
    LaunchRequest {
        agent: AgentBinary::Claude,
        installed: Some(Installed::from_agent(AgentBinary::Claude)),
        mode: RunMode::Headless,
        task,
        guard: None,
        cwd: cwd.to_owned(),
    }
}

fn prompt() -> LaunchTask {
    LaunchTask::Prompt {
        prompt: Some("it's".to_owned()),
        requested: PromptDelivery::Auto,
        options: AgentRunOptions::default(),
        before_verb: Vec::new(),
        extra: Vec::new(),
    }
}

fn config() -> LayeredConfig {
    let nothing = Path::new("/nonexistent");
    LayeredConfig::load_with(nothing, &Env::empty(), nothing, &[]).unwrap()
}

#[test]
fn a_directory_that_cannot_be_entered_is_named_before_anything_is_looked_for() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    let mut request = request(prompt(), &missing);
    request.installed = None;
    let error = plan_launch(request, &Env::empty(), &config()).unwrap_err();
    assert!(matches!(&error, LaunchError::Directory { path, .. } if *path == missing), "{error}");
    assert!(error.to_string().contains(missing.to_str().unwrap()), "{error}");
}

#[test]
fn an_environment_beyond_the_budget_is_refused_and_its_largest_variable_named() {
    let dir = tempfile::tempdir().unwrap();
    let one = sys::arg_limits().one_string;
    for (length, refused) in [(one - 10, false), (one + 1, true)] {
        let value = "x".repeat(usize::try_from(length).unwrap() - "LARGE=".len());
        let env = Env::empty().with_variable("LARGE", value).with_variable("SMALL", "x");
        match plan_launch(request(prompt(), dir.path()), &env, &config()) {
            Ok(_) => assert!(!refused, "{length}"),
            Err(LaunchError::ExecTooLarge { limit, largest, .. }) => {
                assert!(refused && limit == one && largest == "LARGE", "{length} {largest}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    // Each of these fits, all of them together do not.
    let count = sys::arg_limits().total / (one - 20) + 1;
    let value = "x".repeat(usize::try_from(one - 20).unwrap());
    let env: Env = (0..count).map(|number| (format!("V{number}"), value.clone())).collect();
    let error = plan_launch(request(prompt(), dir.path()), &env, &config()).unwrap_err();
    let total = sys::arg_limits().total;
    assert!(
        matches!(error, LaunchError::ExecTooLarge { size, limit, .. } if size > limit && limit == total),
        "{error}"
    );
}

#[test]
fn the_commands_environment_is_the_given_one_with_its_changes_and_nothing_of_this_process() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::empty().with_variable("KEPT", "it's").with_variable("CLAUDECODE", "1");
    let plan = plan_launch(request(prompt(), dir.path()), &env, &config()).unwrap();
    let variables: Vec<_> = plan.command.get_envs().map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(
        variables,
        [
            "AMPLIHACK_AGENT_BINARY",
            "AMPLIHACK_AGENT_BINARY_SET",
            "AMPLIHACK_SESSION_DEPTH",
            "AMPLIHACK_SESSION_ID",
            "AMPLIHACK_VERSION",
            "KEPT",
        ]
    );
    assert_eq!(plan.command.get_current_dir(), Some(dir.path()));
}

#[test]
fn arguments_that_pass_through_are_untouched() {
    let dir = tempfile::tempdir().unwrap();
    let args: Vec<OsString> = ["mcp", "--", "", "-p"].map(Into::into).into();
    let plan =
        plan_launch(request(LaunchTask::Passthrough(args.clone()), dir.path()), &Env::empty(), &config())
            .unwrap();
    assert_eq!(plan.command.get_args().collect::<Vec<_>>(), args);
    assert!(plan.delivery.is_none() && plan.notices.is_empty());
}

#[test]
fn a_repository_that_nobody_trusts_is_held_in_sessions_that_pass_through() {
    let dir = tempfile::tempdir().unwrap();
    let settings = dir.path().join(".claude/settings.json");
    std::fs::create_dir(settings.parent().unwrap()).unwrap();
    std::fs::write(settings, r#"{"hooks": {"SessionStart": []}}"#).unwrap();
    for (line, held) in [
        (&["-p", "x"][..], true),
        (&["--bg", "go"], true),
        (&["attach", "x"], false),
        (&["mcp", "list"], false),
    ] {
        let args = line.iter().map(Into::into).collect();
        let env = Env::empty().with_variable("HOME", dir.path().join("home"));
        let plan = plan_launch(request(LaunchTask::Passthrough(args), dir.path()), &env, &config()).unwrap();
        let words: Vec<_> = plan.command.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words.iter().any(|word| word == "--setting-sources"), held, "{words:?}");
        let told =
            plan.notices.iter().any(|notice| matches!(notice, LaunchNotice::UntrustedRepository { .. }));
        assert_eq!(told, line[0] != "mcp", "{words:?}");
        assert!(words.ends_with(&line.iter().map(|word| (*word).into()).collect::<Vec<_>>()), "{words:?}");
    }
}
