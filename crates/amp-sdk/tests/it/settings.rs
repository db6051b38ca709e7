//! The private settings file of the shared cases.

use std::os::unix::fs::PermissionsExt;

use amp_sdk::{Error, Options, Permission, PermissionAction, RunPlan, plan_run};
use serde_json::{Value, json};

use crate::fake::{Fake, INIT, RESULT, block_on, cases, drain};

fn planned(fake: &Fake, given: &Value) -> Result<RunPlan, Error> {
    let mut options = fake.options();
    let base =
        given.get("base").map(ToString::to_string).or_else(|| given["base_text"].as_str().map(str::to_owned));
    if let Some(base) = base {
        std::fs::write(fake.path("base.json"), base).unwrap();
        options.settings_file = Some(fake.path("base.json"));
    }
    if let Some(path) = given["base_path"].as_str() {
        options.settings_file = Some(path.into());
    }
    if let Some(rules) = given["permissions"].as_array() {
        let rules = rules.iter().cloned().map(Permission::try_from).collect::<Result<Vec<_>, _>>()?;
        options = options.with_permissions(rules);
    }
    options.dangerously_allow_all = given["dangerously_allow_all"].as_bool();
    options.skills = given["skills"].as_str().map(str::to_owned);
    options.enabled_tools = given["enabled_tools"]
        .as_array()
        .map(|tools| tools.iter().map(|tool| tool.as_str().unwrap().to_owned()).collect());
    plan_run(&"hello".into(), &options)
}

#[test]
fn settings_are_those_of_the_cases() {
    for row in cases("settings_cases.jsonl") {
        let fake = Fake::new("exit 0");
        let (id, given, expected) = (&row["id"], &row["given"], &row["expect"]);
        let planned = match (planned(&fake, given), expected["error"].as_str()) {
            (Err(error), Some(kind)) => {
                assert_eq!(error.kind(), kind, "{id}");
                if let Some(part) = expected["message_has"].as_str() {
                    assert!(error.to_string().contains(part), "{id}: {error}");
                }
                if let (Error::InvalidConfiguration { path, .. }, Some(named)) =
                    (&error, expected["context"]["path"].as_str())
                {
                    assert_eq!(path.as_deref(), Some(named.as_ref()), "{id}");
                }
                continue;
            }
            (planned, None) => planned.unwrap_or_else(|error| panic!("{id}: {error}")),
            (Ok(planned), Some(kind)) => panic!("{id}: {planned:?} in the place of {kind}"),
        };
        if let Some(settings) = expected["settings"].as_object() {
            let mut settings = settings.clone();
            let rules = settings.contains_key("amp.permissions");
            if rules {
                // The cases are about the other keys; rules bind only with this one.
                settings.entry("amp.dangerouslyAllowAll").or_insert(json!(false));
            }
            assert_eq!(planned.settings, Some(Value::Object(settings)), "{id}");
        }
        if expected["file"].is_string() {
            assert!(
                planned.argv.contains(&fake.path("base.json").into_os_string()),
                "{id}: {:?}",
                planned.argv
            );
        }
        if expected.get("file").is_some() {
            assert_eq!(planned.settings, None, "{id}");
        }
        assert_eq!(
            planned.warnings.is_empty(),
            expected.get("warning").is_none(),
            "{id}: {:?}",
            planned.warnings
        );
    }
}

#[test]
fn the_users_own_settings_are_merged_and_not_hidden() {
    let fake = Fake::new("exit 0");
    let config = fake.path("home/.config/amp");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(
        config.join("settings.jsonc"),
        "{ \"amp.url\": \"u\", // mine\n \"amp.permissions\": [], }",
    )
    .unwrap();
    let rule = Permission::new("Bash", PermissionAction::Reject);
    let options = fake.options().with_permissions([rule.clone()]);
    let settings = |options: &Options| plan_run(&"x".into(), options).unwrap().settings.unwrap();
    assert_eq!(
        settings(&options),
        json!({"amp.url": "u", "amp.permissions": [rule.to_value()], "amp.dangerouslyAllowAll": false})
    );
    std::fs::write(fake.path("mine.json"), "{\"amp.url\": \"other\"}").unwrap();
    let variable = [("AMP_SETTINGS_FILE", fake.path("mine.json").display().to_string())];
    assert_eq!(settings(&options.clone().with_env(variable))["amp.url"], "other");
    std::fs::write(config.join("settings.jsonc"), "{ broken").unwrap();
    assert_eq!(plan_run(&"x".into(), &options).unwrap_err().kind(), "invalid_configuration");
}

#[test]
fn private_files_hold_what_argv_must_not_and_go_with_the_run() {
    let body = format!(
        r#"printf '%s\n' "$@" >"$AMP_TEST_DIR/argv"; env >"$AMP_TEST_DIR/env"
while [ $# -gt 0 ]; do case $1 in --settings-file|--mcp-config)
stat -c %a "$2" >>"$AMP_TEST_DIR/modes"; cat "$2" >>"$AMP_TEST_DIR/files"; esac; shift; done
cat >"$AMP_TEST_DIR/stdin"; {INIT}; {RESULT}"#
    );
    let fake = Fake::new(&body);
    let options = fake
        .options()
        .with_permissions([Permission::new("Bash", PermissionAction::Ask)])
        .with_mcp_config("{\"s\":{\"url\":\"https://h\",\"headers\":{\"Authorization\":\"hunter2\"}}}")
        .with_env([("AMP_API_KEY", "key1")]);
    let text = block_on(amp_sdk::run("--prompt\nof two lines\n", options)).unwrap();
    assert_eq!((text.as_str(), fake.left()), ("ok", 0));
    assert_eq!(fake.read("modes"), "600\n600\n");
    assert_eq!(fake.read("stdin"), "--prompt\nof two lines\n");
    assert!(fake.read("files").contains("hunter2") && fake.read("files").contains("amp.permissions"));
    let argv = fake.read("argv");
    assert!(!argv.contains("hunter2") && !argv.contains("key1") && !argv.contains("prompt\n"), "{argv}");
    let env = fake.read("env");
    assert!(env.contains("AMP_API_KEY=key1\n") && env.contains("AMP_SDK_VERSION=rust-"), "{env}");
}

#[test]
fn private_files_go_on_every_way_out() {
    for (body, deadline) in [("exit 3", None), (INIT, None), ("sleep 60", Some(200))] {
        let fake = Fake::new(body);
        let mut options = fake.options().with_permissions([Permission::new("Bash", PermissionAction::Ask)]);
        options.run_deadline_ms = deadline;
        let (_, error) = block_on(async { drain(&mut amp_sdk::execute("x", options)).await });
        assert!(error.is_some());
        assert_eq!(fake.left(), 0, "{body}");
    }
    let fake = Fake::new("exit 0");
    std::fs::write(fake.path("amp"), "#!/nowhere/interpreter\n").unwrap();
    let permissions = vec![Permission::new("Bash", PermissionAction::Ask)];
    let options = fake.options().with_permissions(permissions.clone());
    assert_eq!(block_on(amp_sdk::run("x", options)).unwrap_err().kind(), "cli_not_found");
    assert_eq!(fake.left(), 0);
    // A dropped stream's files go when its CLI is reaped.
    let fake = Fake::new(&format!("{INIT}; sleep 60"));
    block_on(async {
        let mut stream = amp_sdk::execute("x", fake.options().with_permissions(permissions));
        stream.next().await.unwrap().unwrap();
        assert_eq!(fake.left(), 1);
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let dir = std::fs::read_dir(fake.path("tmp")).unwrap().next().unwrap().unwrap().path();
        assert_eq!(mode(&dir), 0o700);
    });
    let dropped = std::time::Instant::now();
    while fake.left() > 0 {
        assert!(dropped.elapsed() < std::time::Duration::from_secs(30), "a dropped stream's files stay");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn every_tool_may_be_allowed_and_that_may_be_denied() {
    let fake = Fake::new("exit 0");
    std::fs::write(fake.path("mine.json"), "{\"amp.dangerouslyAllowAll\": true, \"amp.url\": \"u\"}")
        .unwrap();
    let rules = vec![Permission::new("Bash", PermissionAction::Reject)];
    let written = |dangerously_allow_all, permissions: &[Permission]| {
        let mut options = fake.options().with_settings_file(fake.path("mine.json"));
        options.dangerously_allow_all = dangerously_allow_all;
        options.permissions = Some(permissions.to_vec()).filter(|rules| !rules.is_empty());
        let planned = plan_run(&"x".into(), &options).unwrap();
        (planned.settings.map(|settings| settings["amp.dangerouslyAllowAll"].clone()), planned.warnings.len())
    };
    // Nothing is said: the user's own settings count, and with rules the rules.
    assert_eq!(written(None, &[]), (None, 0));
    assert_eq!(written(None, &rules), (Some(json!(false)), 0));
    assert_eq!(written(Some(false), &[]), (Some(json!(false)), 0));
    assert_eq!(written(Some(false), &rules), (Some(json!(false)), 0));
    assert_eq!(written(Some(true), &[]), (Some(json!(true)), 0));
    assert_eq!(written(Some(true), &rules), (Some(json!(true)), 1));
}

#[test]
fn rules_that_the_cli_refuses_are_refused_before_anything_is_written() {
    let fake = Fake::new("touch \"$AMP_TEST_DIR/started\"");
    let refused = |rule: Value| {
        let Ok(rule) = Permission::try_from(rule.clone()) else { return };
        // The checker is the one that was recorded from the CLI.
        assert!(!amp_sdk::permissions::check_rules(&json!([rule.to_value()])).is_empty(), "{rule:?}");
        let options =
            fake.options().with_permissions([Permission::new("Read", PermissionAction::Allow), rule]);
        let planned = plan_run(&"x".into(), &options).unwrap_err();
        let ran = block_on(amp_sdk::run("x", options)).unwrap_err();
        for error in [planned, ran] {
            assert_eq!(error.kind(), "invalid_configuration", "{error}");
            assert!(error.to_string().starts_with("use permissions[1]."), "{error}");
        }
    };
    for rule in [
        json!({"tool": "Bash", "action": "allow", "context": "main"}),
        json!({"tool": "Bash", "action": "allow", "context": ""}),
        json!({"tool": "Bash", "action": "delegate"}),
        json!({"tool": "Bash", "action": "delegate", "to": ""}),
        json!({"tool": "Bash", "action": "reject", "to": "x"}),
        json!({"tool": "Bash", "action": "allow", "message": "no"}),
        json!({"tool": "Bash", "action": "reject", "message": 7}),
        json!({"tool": "Bash", "action": "ask", "matches": {"cmd": []}}),
        json!({"tool": "Bash", "action": "ask", "matches": {"cmd": ["a", []]}}),
    ] {
        refused(rule);
    }
    assert_eq!((fake.left(), fake.path("started").exists()), (0, false));
    let with = |context: &str| amp_sdk::PermissionOptions::default().with_context(context);
    let error = amp_sdk::create_permission("Bash", "allow", with("main")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "use permission.context: the CLI refuses it: Invalid option: expected one of \"thread\"|\"subagent\"; correct or drop it"
    );
    for context in ["thread", "subagent"] {
        amp_sdk::create_permission("Bash", "allow", with(context)).unwrap();
    }
}

#[test]
fn the_cli_has_five_log_levels() {
    let fake = Fake::new("touch \"$AMP_TEST_DIR/started\"");
    let with = |level: &str| fake.options().with_log_level(level);
    for level in ["error", "warn", "info", "debug", "audit"] {
        let argv = plan_run(&"x".into(), &with(level)).unwrap().argv;
        assert!(argv.windows(2).any(|two| two == ["--log-level", level]), "{argv:?}");
    }
    for level in ["trace", "DEBUG", "warning", "off", "verbose"] {
        let error = block_on(amp_sdk::run("x", with(level))).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "use log_level: {level:?} is no level of the CLI; give one of debug, info, warn, error, audit"
            )
        );
        let amp = amp_sdk::AmpContext::from(with(level));
        let error = amp_sdk::threads::blocking::markdown(&amp, "T-1").unwrap_err();
        assert_eq!(error.kind(), "invalid_configuration");
    }
    assert!(!fake.path("started").exists());
}

#[test]
fn what_is_called_otherwise_now_is_named_where_it_is_refused() {
    let fake = Fake::new("touch \"$AMP_TEST_DIR/started\"");
    let amp = amp_sdk::AmpContext::from(fake.options());
    let error = amp_sdk::threads::blocking::new(&amp, Some("public")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "use --visibility public: the Amp CLI 0.0.1790142911 does not have it; 0.0.1790142911 refuses it, and calls it unlisted"
    );
    assert!(!fake.path("started").exists());
}

#[test]
fn an_empty_list_of_rules_takes_the_place_of_the_users_own() {
    let fake = Fake::new("exit 0");
    let own = fake.path("home/.config/amp");
    std::fs::create_dir_all(&own).unwrap();
    let rule = json!({"tool": "*", "action": "allow"});
    std::fs::write(
        own.join("settings.json"),
        json!({"amp.permissions": [rule], "amp.url": "u", "amp.dangerouslyAllowAll": true}).to_string(),
    )
    .unwrap();
    let planned = |options: &Options| plan_run(&"x".into(), options).unwrap().settings;
    assert_eq!(planned(&fake.options()), None);
    let none = fake.options().with_permissions(Vec::<Permission>::new());
    assert_eq!(
        planned(&none),
        Some(json!({"amp.permissions": [], "amp.url": "u", "amp.dangerouslyAllowAll": false}))
    );
}

#[test]
fn a_plan_refuses_contexts_that_the_cli_does_not_have() {
    let fake = Fake::new("exit 0");
    for (context, usable) in [("thread", true), ("subagent", true), ("everywhere", false), ("", false)] {
        let rule = Permission::new("Bash", PermissionAction::Ask).with_context(context);
        let planned = plan_run(&"x".into(), &fake.options().with_permissions([rule]));
        assert_eq!(planned.is_ok(), usable, "{context}: {planned:?}");
        if let Err(error) = planned {
            assert!(error.to_string().starts_with("use permissions[0].context: "), "{error}");
        }
    }
}
