//! Who alone may do what: rules that a search over the code keeps.

use std::path::{Path, PathBuf};

use crate::source::Source;
use crate::{none, sources};

/// The scripted agent plays an agent: it reads an agent's command line.
pub(crate) const SCRIPTED_AGENT: &str = "crates/amplihack-probe/src/scripted";
/// The crate that may have `unsafe` code.
const SYS: &str = "crates/amplihack-sys";
/// Parts of it that end a process, and that start one.
const SYS_ENDS: &[&str] = &["crates/amplihack-sys/src/last_words.rs"];
const SYS_STARTS: &[&str] = &[
    "crates/amplihack-sys/src/capture.rs",
    "crates/amplihack-sys/src/first_calls.rs",
    // It becomes the program, and starts none.
    "crates/amplihack-sys/src/confine/init.rs",
];

fn is_one_of(source: &Source, files: &[&str]) -> bool {
    files.iter().any(|file| source.is_in(file))
}

/// Places of `needles` in files that `may_not` have them.
pub(crate) fn places(may_not: impl Fn(&Source) -> bool, needles: &[&str]) -> Vec<String> {
    let sources = sources();
    let watched = sources.iter().filter(|source| may_not(source));
    watched.flat_map(|source| needles.iter().flat_map(|needle| source.places(needle))).collect()
}

#[test]
fn unsafe_code_is_in_one_crate() {
    let outside = |source: &Source| !source.is_in(SYS);
    // The second word lifts the lint that denies the first.
    none("unsafe outside amplihack-sys", places(outside, &["unsafe", "unsafe_code"]));
    assert!(!places(|source| source.is_in(SYS), &["unsafe"]).is_empty(), "the search finds none in {SYS}");

    // The lints would also ask for documentation, which the programs of fuzz do without; the search looks at them too.
    let takes_lints = |path: &PathBuf| path.ends_with("Cargo.toml") && !path.starts_with("fuzz");
    let manifests = crate::tracked().into_iter().filter(takes_lints);
    let crates = manifests.map(|path| (read(&path), path)).filter(|(text, _)| text.contains("[package]"));
    let deviant = crates.filter(|(text, _)| !text.contains("[lints]\nworkspace = true"));
    none("a crate does not take the workspace's lints", deviant.map(|(_, path)| path.display().to_string()));
    assert!(read(Path::new("Cargo.toml")).contains("\nunsafe_code = \"deny\""), "the lint is on");
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(amplihack_testkit::workspace().join(path)).expect("a tracked file is there")
}

#[test]
fn results_are_dropped_for_a_reason() {
    let mut found = 0;
    let mut bare = Vec::new();
    let is_product = |source: &&Source| {
        let name = source.path.to_string_lossy();
        source.ships() && !name.ends_with("_tests.rs") && !name.contains("/examples/")
    };
    for source in sources().iter().filter(is_product) {
        let lines: Vec<&str> = source.text.lines().collect();
        for (index, _) in source.code.lines().enumerate().filter(|(_, line)| line.contains("let _ =")) {
            found += 1;
            let above = index.checked_sub(1).and_then(|above| lines.get(above)).unwrap_or(&"");
            if !lines[index].contains("//") && !above.trim_start().starts_with("//") {
                bare.push(format!("{}:{}: {}", source.path.display(), index + 1, lines[index].trim()));
            }
        }
    }
    assert!(found > 20, "the search finds only {found}");
    none("a result is dropped, and no comment beside it says why", bare);
}

/// Crates that answer out of what they are given: text, and facts of the world that they ask for.
const PURE: &[&str] = &[
    "crates/amplihack-policy",
    "crates/amplihack-secrets",
    "crates/amplihack-shell",
    "crates/amplihack-verdict",
];

#[test]
fn what_judges_opens_no_file() {
    // A user's policy is loaded from its files before anything is judged.
    let is_pure = |source: &Source| {
        source.ships()
            && !source.path.components().any(|part| part.as_os_str() == "examples")
            && PURE.iter().any(|home| source.is_in(home))
            && !source.is_in("crates/amplihack-policy/src/user")
    };
    let touches =
        ["fs::", "std::io", "std::process", "TcpStream", "UdpSocket", "UnixStream", "lock::", "log::"];
    none("what reads or judges text touches the world", places(is_pure, &touches));
    assert!(sources().iter().filter(|source| is_pure(source)).count() > 100, "nothing was looked at");
}

#[test]
fn only_main_ends_the_process() {
    let may_not = |source: &Source| {
        !is_one_of(source, SYS_ENDS) && !source.path.ends_with("main.rs") && !source.is_test_or_build()
    };
    let ends = places(may_not, &["process::exit", "process::abort", "exit("]);
    // A method or a function of that name is no end of the process.
    let ends = ends.into_iter().filter(|line| !line.contains(".exit(") && !line.contains("fn exit("));
    none("the process is ended outside main.rs and the last words", ends);
}

#[test]
fn only_the_ui_prints() {
    let is_ui = |source: &Source| {
        source.is_in("crates/amplihack-cli/src/ui")
            || source.is_in("crates/amplihack-cli/src/ui.rs")
            || source.is_in("xtask/src/ui.rs")
    };
    let may_not = |source: &Source| !is_ui(source) && !source.is_test_or_build();
    none(
        "print macros outside the command line's ui",
        places(may_not, &["print!", "println!", "eprint!", "eprintln!", "dbg!"]),
    );
}

#[test]
fn a_test_is_left_out_in_one_way() {
    // In two parts, so that this file has none.
    let words = [concat!("\"SKIP", "PED:"), concat!("\"NOT ISOL", "ATED:")];
    let by_hand = |path: &PathBuf| {
        let is_source = path.extension().is_some_and(|end| end == "rs")
            && !path.ends_with("amplihack-testkit/src/skip.rs");
        let text = std::fs::read(amplihack_testkit::workspace().join(path)).expect("a tracked file is there");
        let text = String::from_utf8_lossy(&text).into_owned();
        is_source && words.iter().any(|word| text.contains(word))
    };
    let breaches: Vec<String> =
        crate::tracked().into_iter().filter(by_hand).map(|path| path.display().to_string()).collect();
    none("a test is left out, and `amplihack_testkit::skip_test` does not know it", breaches);
}

#[test]
fn the_environment_is_read_once_and_never_changed() {
    let reads = ["env::var", "env::var_os", "env::set_var", "env::remove_var"];
    none("the process environment is touched", places(|_| true, &reads));
    let snapshots = |source: &Source| {
        !source.is_in("crates/amplihack-config/src/env.rs") && !source.is_in("xtask/src/shell.rs")
    };
    none(
        "the environment is read outside amplihack_config::env",
        places(snapshots, &["env::vars", "env::vars_os"]),
    );
}

#[test]
fn remote_sessions_have_no_python_part() {
    let shipped = crate::tracked().into_iter().filter(|path| path.starts_with("crates/amplihack-remote/src"));
    let has_python = |path: &PathBuf| {
        let bytes =
            std::fs::read(amplihack_testkit::workspace().join(path)).expect("a tracked file is there");
        path.extension().is_some_and(|end| end == "py")
            || String::from_utf8_lossy(&bytes).to_lowercase().contains("python")
    };
    let breaches: Vec<String> = shipped.filter(has_python).map(|path| path.display().to_string()).collect();
    none("a remote session needs Python", breaches);
}

#[test]
fn there_is_one_enumeration_of_agents() {
    let found = places(|source| !source.is_test_or_build(), &["enum AgentBinary"]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with("crates/amplihack-config/src/agent_binary"), "{found:#?}");
}

/// Who may name the variable that names the agent: whoever reads it past the resolver would have to. Others write it by
/// the constant.
#[test]
fn the_variable_of_the_agent_in_charge_has_one_owner() {
    const OWNERS: [&str; 2] =
        ["crates/amplihack-config/src/agent_binary", "crates/amplihack-config/src/env.rs"];
    let named = |source: &Source, name: &str| {
        if source.ships() { source.quoting_places(name) } else { Vec::new() }
    };
    let sources = sources();
    let mut breaches = Vec::new();
    for name in ["AMPLIHACK_AGENT_BINARY", "AMPLIHACK_AGENT_BINARY_SET"] {
        let places: Vec<String> = sources.iter().flat_map(|source| named(source, name)).collect();
        let is_owned = |place: &String| OWNERS.iter().any(|owner| place.starts_with(owner));
        assert!(places.iter().any(is_owned), "the search finds {name} nowhere");
        breaches.extend(places.into_iter().filter(|place| !is_owned(place)));
    }
    // The constant is for whoever writes the variable; reading it is the resolver's.
    let reads = |source: &&Source| source.ships() && !OWNERS.iter().any(|owner| source.is_in(owner));
    let lines = sources.iter().filter(reads).flat_map(|source| source.places("ENV_VAR"));
    breaches
        .extend(lines.filter(|line| [".get(", ".text(", ".path("].iter().any(|read| line.contains(read))));
    none("the agent in charge is read past the resolver", breaches);
}

/// What only the builder of agent command lines writes. A second builder would have to name these.
const BUILDER_ONLY: &[(&str, &str)] = &[
    ("struct DeliveredCommand", "crates/amplihack-agent/src"),
    ("fn deliver(self", "crates/amplihack-agent/src"),
];

/// Flags of agents: whoever writes one builds a command line past the matrix.
const AGENT_FLAGS: &[&str] = &[
    "--dangerously-skip-permissions",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "--allow-all-tools",
    "--skip-git-repo-check",
    "--append-system-prompt-file",
];

#[test]
fn there_is_one_builder_of_agent_command_lines() {
    let mut breaches = Vec::new();
    for (needle, home) in BUILDER_ONLY {
        let found = places(Source::ships, &[*needle]);
        let elsewhere = found.iter().filter(|place| !place.starts_with(home));
        breaches.extend(elsewhere.cloned());
        if found.len() > 1 {
            breaches.extend(found);
        }
    }
    for source in sources().iter().filter(|source| {
        source.ships() && !source.is_in("crates/amplihack-agent") && !source.is_in(SCRIPTED_AGENT)
    }) {
        // Flags stand inside of strings, so the whole text is looked at, unit tests and comments left out by hand.
        for flag in AGENT_FLAGS.iter().filter(|flag| source.text.contains(&format!("\"{flag}"))) {
            breaches.push(format!("{} writes {flag}", source.path.display()));
        }
    }
    none("an agent's command line is built outside amplihack-agent", breaches);
}

#[test]
fn child_processes_have_one_owner() {
    let may_not = |source: &Source| {
        source.ships()
            && !source.is_in("crates/amplihack-session")
            && !is_one_of(source, SYS_STARTS)
            && source.code.contains("Command")
    };
    none(
        "a process is started outside amplihack-session",
        places(may_not, &[".spawn()", ".output()", ".status()", ".exec()"]),
    );
}
