//! Where the CLI is found.

use std::path::Path;

use amp_sdk::{Options, plan_run};

use crate::fake::{Fake, RESULT, block_on, program};

/// The program that these options lead to.
fn found(options: &Options) -> Result<std::path::PathBuf, amp_sdk::Error> {
    plan_run(&"x".into(), options).map(|plan| plan.program.unwrap())
}

/// A fake with programs at these places below its directory, and options that name none of them.
fn places(names: &[&str]) -> (Fake, Options) {
    let fake = Fake::new("exit 0");
    for name in names {
        put(&fake.path(name));
    }
    let env = fake.env().with_variable("PATH", fake.path("bin"));
    let options = Options::default().with_base_env(env);
    (fake, options)
}

fn put(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    program(path, "#!/bin/sh\nexit 0\n");
}

#[test]
fn a_path_in_the_given_environment_comes_first() {
    let (fake, mut options) = places(&["mine/amp", "home/.amp/bin/amp", "bin/amp"]);
    options.env.insert("AMP_CLI_PATH".into(), fake.path("mine/amp").display().to_string());
    assert_eq!(found(&options).unwrap(), fake.path("mine/amp"));
    // Nothing else is tried where it names no program.
    options.env.insert("AMP_CLI_PATH".into(), "/nowhere/amp".into());
    let error = found(&options).unwrap_err();
    assert_eq!(error.kind(), "cli_not_found");
    assert!(error.to_string().contains("AMP_CLI_PATH names /nowhere/amp"), "{error}");
}

#[test]
fn a_script_is_run_by_node() {
    let (fake, mut options) = places(&["bin/node"]);
    std::fs::write(fake.path("main.js"), "").unwrap();
    program(
        &fake.path("bin/node"),
        &format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$AMP_TEST_DIR/argv\"\n/bin/cat >/dev/null\n{RESULT}\n"),
    );
    options.env.insert("AMP_CLI_PATH".into(), fake.path("main.js").display().to_string());
    assert_eq!(block_on(amp_sdk::run("x", options)).unwrap(), "ok");
    let argv = fake.read("argv");
    assert_eq!(argv, format!("{}\n--execute\n--stream-json\n", fake.path("main.js").display()));
}

#[test]
fn the_official_place_comes_before_the_link_of_the_script() {
    let (fake, options) = places(&["home/.amp/bin/amp", "home/.local/bin/amp", "bin/amp"]);
    assert_eq!(found(&options).unwrap(), fake.path("home/.amp/bin/amp"));
}

#[test]
fn the_link_of_the_script_comes_before_path() {
    let (fake, options) = places(&["home/.local/bin/amp", "bin/amp"]);
    assert_eq!(found(&options).unwrap(), fake.path("home/.local/bin/amp"));
}

#[test]
fn path_comes_last() {
    let (fake, options) = places(&["bin/amp"]);
    assert_eq!(found(&options).unwrap(), fake.path("bin/amp"));
    let (_fake, options) = places(&[]);
    let error = found(&options).unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), ("cli_not_found", Some(127)));
}
