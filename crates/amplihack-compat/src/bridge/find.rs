//! The search for the external runner's program file.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_agent::lookup::{is_executable, on_path};
use amplihack_config::env::Env;

use super::error::BridgeError;

const PROGRAM: &str = "recipe-runner-rs";
/// Names the runner, first of all.
const VARIABLE: &str = "RECIPE_RUNNER_RS_PATH";
/// Places below the home directory that are looked at last.
const PLACES: [&str; 2] = [".cargo/bin", ".local/bin"];
/// The bit that lets everybody write.
const OTHERS_WRITE: u32 = 0o002;

/// The runner that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRunner {
    /// Path to the runner's program file.
    pub path: PathBuf,
    /// The path that `RECIPE_RUNNER_RS_PATH` names, if that is no program and the runner is another.
    pub passed_over: Option<PathBuf>,
}

/// Finds the runner: `given` and nothing else if it is there; `RECIPE_RUNNER_RS_PATH`, PATH, `~/.cargo/bin`, `~/.local/bin`, in
/// this order.
///
/// A variable that names no executable file is passed over, and said to have been. A runner that everybody may write is
/// refused.
pub fn find_runner(given: Option<&Path>, env: &Env) -> Result<FoundRunner, BridgeError> {
    if let Some(given) = given {
        let given = std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
        if !is_executable(&given) {
            return Err(BridgeError::RunnerNotFound { looked: vec![given.display().to_string()] });
        }
        return check_runner_mode(FoundRunner { path: given, passed_over: None });
    }
    let named = env.path(VARIABLE).filter(|_| !amplihack_sys::sabotage::is_active("copilot-find-variable"));
    let on_path = |program: &str| env.get("PATH").and_then(|path| on_path(program, path));
    let resolved = named.as_ref().and_then(|named| match named.to_str() {
        Some(name) if !name.contains('/') => on_path(name),
        _ => Some(named.clone()).filter(|path| path.is_absolute() && is_executable(path)),
    });
    let passed_over = named.filter(|_| resolved.is_none());
    let places = || {
        let home = env.home()?;
        PLACES
            .iter()
            .filter(|place| !is_unseen(place))
            .map(|place| home.join(place).join(PROGRAM))
            .find(|path| is_executable(path))
    };
    let path = resolved
        .or_else(|| on_path(PROGRAM).filter(|_| !amplihack_sys::sabotage::is_active("copilot-find-path")))
        .or_else(places);
    let path = path.or_else(|| {
        amplihack_sys::sabotage::is_active("copilot-find-missing").then(|| PathBuf::from("/bin/true"))
    });
    let path =
        path.ok_or_else(|| BridgeError::RunnerNotFound { looked: searched_places(passed_over.as_deref()) })?;
    check_runner_mode(FoundRunner { path, passed_over })
}

/// Reports whether a fault hides a place.
fn is_unseen(place: &str) -> bool {
    match place {
        ".cargo/bin" => amplihack_sys::sabotage::is_active("copilot-find-cargo"),
        _ => amplihack_sys::sabotage::is_active("copilot-find-local"),
    }
}

fn check_runner_mode(found: FoundRunner) -> Result<FoundRunner, BridgeError> {
    let mode = std::fs::metadata(&found.path).map_or(0, |meta| meta.permissions().mode() & 0o7777);
    if mode & OTHERS_WRITE == 0 {
        Ok(found)
    } else {
        Err(BridgeError::UnsafeRunner { path: found.path, mode })
    }
}

fn searched_places(passed_over: Option<&Path>) -> Vec<String> {
    let named = match passed_over {
        Some(path) => format!("{VARIABLE} ({})", path.display()),
        None => VARIABLE.to_owned(),
    };
    let places = PLACES.iter().map(|place| format!("~/{place}"));
    [named, "PATH".to_owned()].into_iter().chain(places).collect()
}

#[cfg(test)]
mod tests {
    use amplihack_testkit::programs::program;

    use super::*;

    #[test]
    fn the_order_is_variable_path_cargo_local() {
        let dir = tempfile::tempdir().unwrap();
        let at = |place: &str| dir.path().join(place).join(PROGRAM);
        let mut env =
            Env::empty().with_variable("HOME", dir.path()).with_variable("PATH", dir.path().join("bin"));
        let found = |env: &Env| find_runner(None, env).map(|found| found.path);
        assert!(matches!(found(&env), Err(BridgeError::RunnerNotFound { .. })));
        for place in [".local/bin", ".cargo/bin", "bin", "mine"] {
            program(&at(place), 0o755);
            if place == "mine" {
                env.set_variable(VARIABLE, at(place));
            }
            assert_eq!(found(&env).unwrap(), at(place));
        }
        env.set_variable(VARIABLE, PROGRAM);
        let given = at(".local/bin");
        assert_eq!(find_runner(Some(&given), &env).unwrap().path, given);
        assert!(find_runner(Some(dir.path()), &env).is_err(), "a directory is no program");
        assert_eq!(found(&env).unwrap(), at("bin"), "a bare name is looked for on PATH");
    }

    #[test]
    fn a_variable_that_names_no_program_is_passed_over_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let (wrong, right) = (dir.path().join("wrong"), dir.path().join("bin").join(PROGRAM));
        std::fs::write(&wrong, "").unwrap();
        let env = Env::empty()
            .with_variable("PATH", dir.path().join("bin"))
            .with_variable(VARIABLE, wrong.as_os_str());
        let error = find_runner(None, &env).unwrap_err().to_string();
        let expected = format!(
            "recipe-runner-rs was not found; looked at {VARIABLE} ({}), PATH, ~/.cargo/bin, ~/.local/bin",
            wrong.display()
        );
        assert_eq!(error, expected);
        program(&right, 0o755);
        assert_eq!(find_runner(None, &env).unwrap(), FoundRunner { path: right, passed_over: Some(wrong) });
    }

    #[test]
    fn a_runner_that_everybody_may_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(PROGRAM);
        let env = Env::empty().with_variable("PATH", dir.path());
        for (mode, refused) in [(0o777, true), (0o757, true), (0o775, false), (0o700, false)] {
            program(&path, mode);
            assert_eq!(
                matches!(find_runner(None, &env), Err(BridgeError::UnsafeRunner { .. })),
                refused,
                "{mode:o}"
            );
        }
    }
}
