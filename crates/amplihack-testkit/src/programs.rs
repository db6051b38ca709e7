//! Where this kit's own programs and those that are shipped are, built when a test needs them and they are missing or old.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use amplihack_config::env::Env;

/// The fake agent's program file.
pub fn fake_agent_path() -> PathBuf {
    built("fake-agent")
}

/// The program file of the stand-in for azlin.
pub fn fake_azlin_path() -> PathBuf {
    built("fake-azlin")
}

/// The Amplifier stand-in's program file.
pub fn amplifier_stand_in_path() -> PathBuf {
    built("amplifier-stand-in")
}

/// The program file of the agent that does what its prompt says.
pub fn obedient_agent_path() -> PathBuf {
    built("obedient-agent")
}

/// The program file of the server of tools.
pub fn tool_server_path() -> PathBuf {
    built("tool-server")
}

/// An empty program file with the permission bits `mode`, and its directory.
pub fn program(path: &Path, mode: u32) {
    let directory = path.parent().expect("a program lies in a directory");
    std::fs::create_dir_all(directory).expect("a test makes its directories");
    std::fs::write(path, "").expect("a test writes its files");
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a test owns its files");
}

/// The directory that `cargo xtask test` names for a second run of the guard's tests: with the hook binary as it is shipped.
pub fn as_shipped() -> Option<PathBuf> {
    Env::from_process().path("AMPLIHACK_TEST_PROGRAMS")
}

/// The program that cargo built as `built`, or the one of its name in the directory of [`as_shipped`].
pub fn under_test(built: &str) -> PathBuf {
    let built = Path::new(built);
    as_shipped()
        .map_or_else(|| built.to_owned(), |directory| directory.join(built.file_name().unwrap_or_default()))
}

/// Where the programs that are shipped lie, of this test's profile: `amplihack`, `amplihack-hooks`, `recipe-runner-rs` and
/// `xpia-defend`. The tests of their own crates have the variables of cargo's instead.
pub fn shipped() -> PathBuf {
    static ONCE: OnceLock<PathBuf> = OnceLock::new();
    ONCE.get_or_init(|| {
        if let Some(named) = as_shipped() {
            return named;
        }
        let directory = beside_this_test();
        let programs = ["amplihack", "amplihack-hooks", "recipe-runner-rs", "xpia-defend"];
        let sources = crate::workspace().join("crates");
        if programs.iter().any(|name| is_old(&directory.join(name), &sources)) {
            build(&directory, &["amplihack-cli", "amplihack-hooks"]);
        }
        directory
    })
    .clone()
}

fn built(name: &str) -> PathBuf {
    static ONCE: OnceLock<PathBuf> = OnceLock::new();
    ONCE.get_or_init(|| {
        let directory = beside_this_test();
        if is_old(&directory.join(name), &Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
            build(&directory, &[env!("CARGO_PKG_NAME")]);
        }
        directory
    })
    .join(name)
}

/// `target/<profile>`: test programs lie in its `deps`.
fn beside_this_test() -> PathBuf {
    let own = std::env::current_exe().expect("a test knows its own program file");
    let directory = own.parent().expect("a program file lies in a directory");
    let in_deps = directory.file_name().is_some_and(|name| name == "deps");
    if in_deps { directory.parent().unwrap_or(directory) } else { directory }.to_path_buf()
}

fn is_old(program: &Path, sources: &Path) -> bool {
    match std::fs::metadata(program).and_then(|found| found.modified()) {
        Ok(built) => newest(sources).is_some_and(|changed| changed > built),
        Err(_) => true,
    }
}

fn newest(directory: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    entries
        .filter_map(|entry| {
            let path = entry.path();
            if path.is_dir() { newest(&path) } else { entry.metadata().ok()?.modified().ok() }
        })
        .max()
}

fn build(directory: &Path, packages: &[&str]) {
    let cargo = Env::from_process().path("CARGO").unwrap_or_else(|| PathBuf::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--bins"]);
    for package in packages {
        command.args(["--package", package]);
    }
    if directory.file_name().is_some_and(|name| name == "release") {
        command.arg("--release");
    }
    if let Some(target) = directory.parent() {
        command.arg("--target-dir").arg(target);
    }
    let status = command.current_dir(crate::workspace()).status().expect("cargo can be started");
    assert!(status.success(), "failed to build the test programs: {status}");
}
