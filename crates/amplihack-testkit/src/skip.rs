//! Tests that this machine cannot run: each is named, and in CI each is a failure.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use amplihack_config::env::Env;

/// Variable that makes every skip a failure: set, and not empty.
pub const NO_SKIPS_VAR: &str = "AMPLIHACK_TEST_NO_SKIPS";
/// Variable with the path of the file that gets one line for each skip. Runners hide what a passed test writes to stderr.
pub const SKIP_LOG_VAR: &str = "AMPLIHACK_TEST_SKIP_LOG";

/// Reports that the running test, or a part of it, is left out because of `reason`: what is missing, and how to get it.
///
/// This is the only way to skip: the line goes to stderr and to the file of [`SKIP_LOG_VAR`]. The caller returns.
///
/// # Panics
/// Where [`NO_SKIPS_VAR`] is set, as `cargo xtask test --system` does.
#[track_caller]
pub fn skip_test(reason: &str) {
    skip_test_in(&Env::from_process(), reason);
}

#[track_caller]
fn skip_test_in(env: &Env, reason: &str) {
    assert!(env.text(NO_SKIPS_VAR).is_none(), "skipped, although {NO_SKIPS_VAR} is set: {reason}");
    crate::loud(&format!("SKIPPED: {reason}"));
    if let Some(log) = env.path(SKIP_LOG_VAR) {
        let name = std::thread::current().name().unwrap_or("a thread of a test").to_owned();
        let mut file =
            OpenOptions::new().create(true).append(true).open(&log).expect("the log of skips is writable");
        file.write_all(format!("{name}: {reason}\n").as_bytes()).expect("the log of skips is writable");
    }
}

/// Reports whether this is root; if not, the test that asked is skipped.
#[track_caller]
pub fn require_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip_test("it needs root");
    }
    is_root
}

/// Reports whether all `programs`, paths or names in PATH, are installed; if not, the test that asked is skipped.
#[track_caller]
pub fn require_programs<P: AsRef<Path>>(programs: &[P]) -> bool {
    let path = Env::from_process().get("PATH").map(OsStr::to_owned).unwrap_or_default();
    let is_installed = |program: &Path| {
        program.is_file() || std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
    };
    let missing = programs.iter().map(AsRef::as_ref).find(|program| !is_installed(program));
    if let Some(missing) = missing {
        skip_test(&format!(
            "{} is not installed; `cargo xtask test --system` installs it",
            missing.display()
        ));
    }
    missing.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_logged_with_the_name_of_its_test() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let env = Env::empty().with_variable(SKIP_LOG_VAR, &log);
        skip_test_in(&env, "one");
        skip_test_in(&env, "two");
        let own = "skip::tests::a_skip_is_logged_with_the_name_of_its_test";
        assert_eq!(std::fs::read_to_string(log).unwrap(), format!("{own}: one\n{own}: two\n"));
    }

    #[test]
    #[should_panic = "skipped, although AMPLIHACK_TEST_NO_SKIPS is set: no tmux"]
    fn a_skip_is_a_failure_where_none_is_allowed() {
        skip_test_in(&Env::empty().with_variable(NO_SKIPS_VAR, "1"), "no tmux");
    }

    #[test]
    fn programs_are_found_by_path_and_by_name() {
        assert!(require_programs(&["sh", "/bin/sh"]));
    }
}
