//! `amplihack sandbox`, tried by a program that wants out.

mod attack;
mod doors;
mod work;

use std::process::Command;

use amplihack_testkit::{Output, Run, Sandbox};

/// Users that start a sandbox: whoever runs the tests, and where that is the administrator, somebody else too.
fn users() -> Vec<Option<u32>> {
    if rustix::process::getuid().is_root() { vec![None, Some(4242)] } else { vec![None] }
}

/// `command` as `user`.
fn as_user(command: &Command, user: Option<u32>) -> Command {
    let Some(user) = user else {
        let mut same = Command::new(command.get_program());
        same.args(command.get_args());
        copy_surroundings(command, &mut same);
        return same;
    };
    let mut other = Command::new("/usr/bin/setpriv");
    other.args([format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()]);
    other.arg(command.get_program()).args(command.get_args());
    copy_surroundings(command, &mut other);
    other
}

fn copy_surroundings(from: &Command, to: &mut Command) {
    to.env_clear();
    for (name, value) in from.get_envs() {
        if let Some(value) = value {
            to.env(name, value);
        }
    }
    if let Some(directory) = from.get_current_dir() {
        to.current_dir(directory);
    }
}

/// A repository that `user` owns, home and all.
fn repository_of(user: Option<u32>) -> Sandbox {
    let sandbox = Sandbox::repository();
    give_away(&sandbox, user);
    sandbox
}

/// Gives all of `sandbox` to `user`.
fn give_away(sandbox: &Sandbox, user: Option<u32>) {
    if let Some(user) = user {
        let owner = format!("{user}:{user}");
        let mut chown = Command::new("/usr/bin/chown");
        chown.args(["-R", &owner]).arg(sandbox.root());
        Run::new(chown).output().assert_code(0);
    }
}

/// Runs `amplihack sandbox run OPTIONS -- WORDS` as `user`.
fn sandboxed(sandbox: &Sandbox, user: Option<u32>, options: &[&str], words: &[&str]) -> Output {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_amplihack"));
    command.args(["sandbox", "run"]).args(options).arg("--").args(words);
    Run::new(as_user(&command, user)).output()
}
