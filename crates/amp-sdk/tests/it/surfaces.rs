//! Other machines, and governed execution.

use amp_sdk::{
    ExecutionSurface, GovernedAuthority, Options, Permission, PermissionAction, SshSurface, StreamMessage,
    execute,
};
use serde_json::{Value, json};

use crate::fake::{Fake, INIT, RESULT, block_on, drain, program};

/// A fake ssh that runs the remote command here, in another home, with a PATH of its own.
fn ssh(fake: &Fake) -> SshSurface {
    std::fs::create_dir_all(fake.path("there/bin")).unwrap();
    std::fs::rename(fake.path("amp"), fake.path("there/bin/amp")).unwrap();
    program(
        &fake.path("ssh"),
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$AMP_TEST_DIR/ssh-argv\"\nfor last; do :; done\ncd \"$AMP_TEST_DIR/there\"\n\
         exec env -i HOME=\"$AMP_TEST_DIR/there\" PATH=\"$AMP_TEST_DIR/there/bin:/usr/bin:/bin\" OUT=\"$AMP_TEST_DIR\" \
         AMP_TEST_DIR=\"$AMP_TEST_DIR\" sh -c \"$last\"\n",
    );
    SshSurface::new("build").with_ssh_path(fake.path("ssh")).with_user("me")
}

#[test]
fn another_machine_is_asked_by_one_quoted_command() {
    let fake = Fake::new(&format!(
        "printf '%s\\n' \"$@\" >\"$OUT/argv\"; env >\"$OUT/env\"; pwd >\"$OUT/cwd\"; cat >\"$OUT/stdin\"; {INIT}; {RESULT}"
    ));
    let surface = ExecutionSurface::Ssh(ssh(&fake));
    std::fs::create_dir(fake.path("there/it's here")).unwrap();
    let options = Options::default()
        .with_base_env(fake.env())
        .with_execution_surface(surface)
        .with_cwd(fake.path("there/it's here"))
        .with_mode("o'dd $(x)")
        .with_env([("AMP_API_KEY", "hunter2 'x'"), ("AMP_CLI_PATH", "/mine")]);
    assert_eq!(block_on(amp_sdk::run("--prompt\n", options)).unwrap(), "ok");
    assert_eq!(fake.read("stdin"), "--prompt\n");
    assert_eq!(fake.read("argv"), "--execute\n--stream-json\n--mode\no'dd $(x)\n");
    assert_eq!(fake.read("cwd").trim(), fake.path("there/it's here").to_str().unwrap());
    let env = fake.read("env");
    assert!(env.contains("AMP_API_KEY=hunter2 'x'\n") && env.contains("AMP_SDK_VERSION=rust-"), "{env}");
    assert!(!env.contains("AMP_CLI_PATH"), "{env}");
    let argv = fake.read("ssh-argv");
    assert!(!argv.contains("hunter2") && !argv.contains("--prompt"), "{argv}");
}

#[test]
fn a_missing_cli_there_and_files_of_here_are_named() {
    let fake = Fake::new("exit 0");
    let there = Options::default()
        .with_base_env(fake.env())
        .with_execution_surface(ExecutionSurface::Ssh(ssh(&fake)));
    std::fs::remove_file(fake.path("there/bin/amp")).unwrap();
    let error = block_on(amp_sdk::run("x", there.clone())).unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), ("cli_not_found", Some(127)));
    std::fs::remove_file(fake.path("ssh-argv")).unwrap();
    let overlay = there.with_permissions([Permission::new("Bash", PermissionAction::Ask)]);
    assert_eq!(block_on(amp_sdk::run("x", overlay)).unwrap_err().kind(), "invalid_configuration");
    assert!(!fake.path("ssh-argv").exists(), "ssh was started");
}

fn authority(fake: &Fake) -> Value {
    let command = fake.path("amp").canonicalize().unwrap();
    json!({
        "authority_ref": "authority-7", "credential_lease_ref": "lease-7", "connector_instance_ref": "instance-7",
        "connector_binding_ref": "binding-7", "provider_account_ref": "account-7", "native_auth_assertion_ref": "assertion-7",
        "target_ref": "target-7", "operation_policy_ref": "policy-7", "command": command, "clear_env": true,
        "env": {"AMP_API_KEY": "hunter2", "OUT": fake.dir.path()},
    })
}

#[test]
fn an_authority_alone_says_what_runs() {
    let fake = Fake::new(&format!("/usr/bin/env >\"$OUT/env\"; echo \"noise hunter2\"; {INIT}; {RESULT}"));
    let governed = GovernedAuthority::try_from(authority(&fake)).unwrap();
    let options = Options::default().with_governed_authority(governed);
    let (messages, error) = block_on(async { drain(&mut execute("x", options.clone())).await });
    assert!(error.is_none(), "{error:?}");
    let env = fake.read("env");
    let mut names: Vec<&str> = env.lines().filter_map(|line| line.split('=').next()).collect();
    names.retain(|name| !["PWD", "_", "SHLVL", "OLDPWD"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["AMP_API_KEY", "OUT"], "{env}");
    let StreamMessage::Diagnostic(noise) = &messages[0] else { panic!("{messages:?}") };
    assert_eq!(noise.line, "noise [redacted]");
    assert!(!format!("{options:?}").contains("hunter2") && !format!("{options:?}").contains("lease-7"));
}

type Change = fn(&mut Options);

#[test]
fn what_the_authority_does_not_govern_is_refused_by_name() {
    let fake = Fake::new("touch \"$OUT/started\"");
    let governed =
        Options::default().with_governed_authority(GovernedAuthority::try_from(authority(&fake)).unwrap());
    let changes: &[(Change, &str)] = &[
        (|given| given.cwd = Some("/".into()), "cwd"),
        (|given| given.env = [("AMP_API_KEY".into(), "x".into())].into(), "env"),
        (|given| given.env = [("AMP_CLI_PATH".into(), "/x".into())].into(), "env"),
        (|given| given.env = [("AMP_URL".into(), "http://x".into())].into(), "env"),
        (|given| given.base_env = Some(amplihack_config::env::Env::empty()), "base_env"),
        (|given| given.cli_path = Some("/bin/true".into()), "cli_path"),
        (|given| given.settings_file = Some("/s".into()), "settings_file"),
        (|given| given.log_level = Some("debug".into()), "log_level"),
        (|given| given.log_file = Some("/l".into()), "log_file"),
        (|given| given.mcp_config = Some("/m".into()), "mcp_config"),
        (|given| given.toolbox = Some("/t".into()), "toolbox"),
        (|given| given.skills = Some("/s".into()), "skills"),
        (|given| given.enabled_tools = Some(vec!["Read".into()]), "enabled_tools"),
        (|given| given.permissions = Some(Vec::new()), "permissions"),
        (|given| given.dangerously_allow_all = Some(true), "dangerously_allow_all"),
        (|given| given.dangerously_allow_all = Some(false), "dangerously_allow_all"),
        (|given| given.execution_surface = ExecutionSurface::Ssh(SshSurface::new("h")), "execution_surface"),
    ];
    for (change, name) in changes {
        let mut options = governed.clone();
        change(&mut options);
        let error = block_on(amp_sdk::run("x", options)).unwrap_err();
        assert_eq!(error.kind(), "invalid_configuration");
        assert!(error.to_string().starts_with(&format!("use {name}: ")), "{error}");
    }
    assert!(!fake.path("started").exists());
}

#[test]
fn an_authority_is_whole_or_refused_and_never_quoted() {
    let fake = Fake::new("echo \"Error: lease-7 of hunter2 at $0\" >&2; exit 1");
    let change = |key: &str, value: Value| {
        let mut map = authority(&fake);
        map[key] = value;
        GovernedAuthority::try_from(map).unwrap_err().to_string()
    };
    for (key, value) in [
        ("authority_ref", json!("")),
        ("target_ref", Value::Null),
        ("command", json!("amp-secret-path")),
        ("command", json!("/usr/../amp-secret-path")),
        ("clear_env", json!(false)),
        ("cwd", json!("secret-path")),
        ("base_url", json!("ftp://secret-path")),
        ("env", json!({"A B": "secret-path"})),
        ("from_tomorrow", json!("secret-path")),
    ] {
        let error = change(key, value);
        assert!(!error.contains("secret-path") && !error.contains("hunter2"), "{error}");
    }
    let governed = GovernedAuthority::try_from(authority(&fake)).unwrap();
    let error =
        block_on(amp_sdk::run("x", Options::default().with_governed_authority(governed))).unwrap_err();
    assert_eq!(error.kind(), "transport_exit");
    let shown = format!("{error} {error:?}");
    assert_eq!(error.stderr().trim(), "Error: [redacted] of [redacted] at [redacted]");
    assert!(!shown.contains("hunter2") && !shown.contains(fake.dir.path().to_str().unwrap()), "{shown}");
}
