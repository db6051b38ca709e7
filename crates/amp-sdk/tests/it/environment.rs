//! The environment of the CLI.

use amp_sdk::{AmpContext, Options, usage};

use crate::fake::{Fake, RESULT, block_on};

/// The environment that the CLI got under these options, and the fake.
fn seen(change: impl FnOnce(&Fake, &mut Options)) -> String {
    let fake = Fake::new(&format!("cat >/dev/null; env >\"$AMP_TEST_DIR/env\"; {RESULT}"));
    let mut options = fake.options();
    change(&fake, &mut options);
    block_on(amp_sdk::run("x", options)).unwrap();
    fake.read("env")
}

fn given(name: &'static str, value: &'static str) -> String {
    seen(|_, options| drop(options.env.insert(name.into(), value.into())))
}

fn has(env: &str, line: &str) -> bool {
    env.lines().any(|found| found == line)
}

#[test]
fn a_key_that_is_given_reaches_the_cli_alone() {
    let env = given("AMP_API_KEY", "key-1");
    assert!(has(&env, "AMP_API_KEY=key-1") && !env.contains("ambient"), "{env}");
}

#[test]
fn an_address_that_is_given_reaches_the_cli() {
    let env = given("AMP_URL", "http://127.0.0.1:1/");
    assert!(has(&env, "AMP_URL=http://127.0.0.1:1/"), "{env}");
}

#[test]
fn further_variables_reach_the_cli_over_the_base() {
    let env = given("MY_VAR", "value");
    assert!(has(&env, "MY_VAR=value"), "{env}");
    let env = given("HOME", "/other");
    assert!(has(&env, "HOME=/other"), "{env}");
}

#[test]
fn toolbox_scripts_reach_the_cli_by_their_variable() {
    let env = seen(|_, options| options.toolbox = Some("/tools".into()));
    assert!(has(&env, "AMP_TOOLBOX=/tools"), "{env}");
}

#[test]
fn nothing_of_amp_is_inherited() {
    for name in ["AMP_API_KEY", "AMP_URL", "AMP_TOOLBOX", "AMP_CLI_PATH", "AMP_SETTINGS_FILE"] {
        let env = seen(|fake, options| options.base_env = Some(fake.env().with_variable(name, "ambient")));
        assert!(!env.contains("ambient"), "{name}: {env}");
        assert!(env.contains("HOME=") && env.contains("PATH="), "{env}");
    }
}

#[test]
fn the_base_is_what_was_given() {
    let env = seen(|fake, options| options.base_env = Some(fake.env().with_variable("OURS", "1")));
    assert!(has(&env, "OURS=1"), "{env}");
}

#[test]
fn the_sdk_says_who_it_is() {
    let line = concat!("AMP_SDK_VERSION=rust-", env!("CARGO_PKG_VERSION"));
    let env = given("AMP_SDK_VERSION", "mine");
    assert!(has(&env, line) && !env.contains("mine"), "{env}");
}

#[test]
fn management_commands_have_the_same_environment() {
    let fake = Fake::new("env >\"$AMP_TEST_DIR/env\"");
    let mut options = fake.options();
    options.env.insert("AMP_API_KEY".into(), "key-1".into());
    usage::blocking::usage(&AmpContext::from(options), &usage::UsageRange::default()).unwrap();
    let env = fake.read("env");
    assert!(has(&env, "AMP_API_KEY=key-1") && env.contains("AMP_SDK_VERSION=rust-"), "{env}");
}

#[test]
fn the_environment_is_for_the_governed_what_the_authority_says() {
    use serde_json::json;
    let fake = Fake::new(&format!("/bin/cat >/dev/null; /usr/bin/env >\"$OUT/env\"; {RESULT}"));
    let names = [
        "authority_ref",
        "credential_lease_ref",
        "connector_instance_ref",
        "connector_binding_ref",
        "provider_account_ref",
        "native_auth_assertion_ref",
        "target_ref",
        "operation_policy_ref",
    ];
    let mut map: serde_json::Map<String, serde_json::Value> =
        names.map(|name| (name.to_owned(), json!(format!("{name}-7")))).into_iter().collect();
    map.insert("command".into(), json!(fake.path("amp").canonicalize().unwrap()));
    map.insert("clear_env".into(), json!(true));
    map.insert("env".into(), json!({"OUT": fake.dir.path(), "ONLY": "1"}));
    let authority = amp_sdk::GovernedAuthority::try_from(serde_json::Value::Object(map)).unwrap();
    let options = Options::default().with_governed_authority(authority);
    block_on(amp_sdk::run("x", options)).unwrap();
    let env = fake.read("env");
    let shell = ["PWD", "_", "SHLVL", "OLDPWD"];
    let mut names: Vec<&str> = env.lines().filter_map(|line| line.split('=').next()).collect();
    names.retain(|name| !shell.contains(name));
    names.sort_unstable();
    assert_eq!(names, ["ONLY", "OUT"]);
}
