//! `cargo xtask test`: builds and runs every test, to a verdict on the whole workspace. It changes nothing outside of the checkout unless told.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use crate::odd_place::{self, OddPlace};
use crate::requirements::{MissingPolicy, prepare_machine};
use crate::selection::{TestKind, TestSelection, runner, selects_packages};
use crate::shell::EVERYTHING;
use crate::summary::Summary;
use crate::{Failure, agents, dist, examples, shell, skips, ui};

/// What is there only with the feature `otel`, which the shipped build has not.
const OTEL: [&str; 4] = ["--features", "amplihack-cli/otel", "--test", "otel"];

/// What is run again with the hook binary as it is shipped: another C library, another allocator, another order of functions.
const GUARD: &[TestSelection] = &[
    TestSelection { packages: &["amplihack-hooks"], kind: TestKind::Integration, modules: &[] },
    TestSelection {
        packages: &["amplihack-cli"],
        kind: TestKind::Integration,
        modules: &["control_plane", "wrappers", "real_guard", "policy", "overhead"],
    },
];

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct TestOptions<'a> {
    /// The long form of kill, soak and many-run loops.
    long: bool,
    /// What becomes of what the machine does not have.
    missing: MissingPolicy,
    /// A skipped test is a failure.
    no_skips: bool,
    /// Arguments of the runner, which select tests.
    selection: Vec<&'a String>,
}

impl<'a> TestOptions<'a> {
    fn parse(args: &'a [String]) -> Self {
        let has = |flag: &str| args.iter().any(|arg| arg == flag);
        let own = ["--long", "--system", "--skip-missing"];
        let selection: Vec<&String> = args.iter().filter(|arg| !own.contains(&arg.as_str())).collect();
        let is_whole = selection.is_empty() || selection == ["--shipped-hook"];
        let missing = match (has("--system"), has("--skip-missing") || !is_whole) {
            (true, _) => MissingPolicy::Install,
            (false, true) => MissingPolicy::Skip,
            (false, false) => MissingPolicy::Ask,
        };
        Self { long: has("--long"), missing, no_skips: has("--system"), selection }
    }
}

/// Makes sure that the machine has what the tests need: its packages as `missing` tells, and the real agents in the checkout.
///
/// # Errors
/// Something is missing, and `missing` does not let its tests be left out.
pub(crate) fn prepare(missing: MissingPolicy) -> Result<(), Failure> {
    let missing = prepare_machine(missing)?;
    match agents::install() {
        Err(why) if missing == MissingPolicy::Skip => {
            ui::say(&format!(
                "the real agents are not installed: {why}; their tests are skipped, and listed at the end"
            ));
            Ok(())
        }
        Err(why) => Err(format!(
            "the real agents cannot be installed: {why}\n\
             hint: `cargo xtask test --skip-missing` leaves out the tests that need them"
        )),
        Ok(()) => Ok(()),
    }
}

/// Prepares the machine, builds, runs every test, and ends with the counts.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let options = TestOptions::parse(args);
    prepare(options.missing)?;
    let skips = skips::SkipLog::begin()?;
    let (long, args) = (options.long, options.selection);

    // Programs of other crates that a test starts are found beside it; the runner alone would not build them.
    ui::say("building the programs; a first build takes minutes");
    let mut build = shell::cargo();
    build.args(["build", "--bins"]);
    if selects_packages(&args) {
        build.args(["--package", "amplihack-testkit", "--package", "amplihack-hooks"]);
    } else {
        // With the tests, since their libraries ask for more of the others': built apart, each would be built twice.
        build.args(["--tests", "--examples"]).args(EVERYTHING);
    }
    shell::run(&mut build)?;

    let only_the_guard = args == ["--shipped-hook"];
    let shipped = if args.is_empty() || only_the_guard { Some(ShippedHook::begin()?) } else { None };
    let mut runs = if only_the_guard { Vec::new() } else { vec![runner(&args)] };
    if args.is_empty() {
        let mut doc_tests = shell::cargo();
        doc_tests.args(["test", "--doc", "--no-fail-fast"]).args(EVERYTHING);
        runs.push(doc_tests);
        let mut with_feature = shell::cargo();
        with_feature.args(["test", "--no-fail-fast"]).args(EVERYTHING).args(OTEL);
        runs.push(with_feature);
    } else {
        ui::say("documentation tests are left out, since the run is a selection");
    }

    let odd_place = if args.is_empty() { Some(OddPlace::create()?) } else { None };
    runs.extend(odd_place.iter().flat_map(|place| {
        odd_place::SELECTIONS.iter().map(|selection| {
            let mut elsewhere = selection.runner();
            place.surround(&mut elsewhere);
            elsewhere
        })
    }));

    let mut total = Summary::default();
    let mut failure = None;
    let mut run = |command: &mut Command, failure: &mut Option<Failure>| -> Result<(), Failure> {
        if long {
            command.env("AMPLIHACK_TEST_LONG", "1");
        }
        if options.no_skips {
            command.env("AMPLIHACK_TEST_NO_SKIPS", "1");
        }
        command.env("AMPLIHACK_TEST_SKIP_LOG", skips.path());
        ui::say(&format!("running {}", shell::shown(command)));
        let (summary, outcome) = watched(command)?;
        total.add(summary);
        if failure.is_none() {
            *failure = outcome.err();
        }
        Ok(())
    };
    for command in &mut runs {
        run(command, &mut failure)?;
    }
    match shipped.map(ShippedHook::runs) {
        Some(Ok(runs)) => {
            for mut command in runs {
                run(&mut command, &mut failure)?;
            }
        }
        Some(Err(why)) => failure = failure.or(Some(why)),
        None => {}
    }
    if args.is_empty() {
        failure = failure.or(examples::run(&[]).err());
    }
    let left_out = skips.read();
    total.skipped += u64::try_from(left_out.len()).unwrap_or(u64::MAX);
    if !left_out.is_empty() {
        ui::warn(&format!("left out, because this machine lacks something:\n  {}", left_out.join("\n  ")));
    }
    keep(total)?;
    if let Some(text) = failure {
        ui::warn(&format!("error: {text}"));
        ui::warn(&total.to_string());
        return Err(Failure::new());
    }
    ui::warn(&total.to_string());
    Ok(())
}

/// The hook binary as it is shipped, which is built while other tests wait, by a process that gives way to them.
struct ShippedHook(JoinHandle<Result<PathBuf, Failure>>);

impl ShippedHook {
    /// Begins to build it. The other programs of its directory are those of this build: later runs put others in their place.
    fn begin() -> Result<Self, Failure> {
        let directory = dist::hook_directory()?;
        for name in ["amplihack", "recipe-runner-rs", "xpia-defend"] {
            dist::place(&shell::target().join("debug").join(name), &directory.join(name))?;
        }
        Ok(Self(std::thread::spawn(dist::hook_binary_for_tests)))
    }

    /// What is run with it, when it is there.
    fn runs(self) -> Result<Vec<Command>, Failure> {
        let crashed = |_| "the build of the shipped hook binary crashed".to_owned();
        let hook = self.0.join().map_err(crashed)??;
        let directory = hook.parent().unwrap_or(&hook);
        Ok(GUARD
            .iter()
            .map(|selection| {
                let mut run = selection.runner();
                run.env("AMPLIHACK_TEST_PROGRAMS", directory);
                run
            })
            .collect())
    }
}

/// Runs a test runner, passes on what it says, and reads its closing lines.
fn watched(command: &mut Command) -> Result<(Summary, Result<(), Failure>), Failure> {
    let name = shell::shown(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("failed to start {name}: {error}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let summary = std::thread::scope(|scope| {
        let out = scope.spawn(|| pass_on(stdout, std::io::stdout()));
        let mut summary = pass_on(stderr, std::io::stderr());
        summary.add(out.join().unwrap_or_default());
        summary
    });
    let status = child.wait().map_err(|error| format!("failed to wait for {name}: {error}"))?;
    let outcome = if status.success() { Ok(()) } else { Err(format!("{name} ended with {status}")) };
    Ok((summary, outcome))
}

fn pass_on(from: Option<impl Read>, mut to: impl Write) -> Summary {
    let mut summary = Summary::default();
    let Some(from) = from else { return summary };
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        // The tests are judged by the runner's exit code, even if nobody reads what it says.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        summary.read(&String::from_utf8_lossy(&line));
        line.clear();
    }
    summary
}

/// Leaves the counts for `.ci/run`, whose last line they are.
fn keep(total: Summary) -> Result<(), Failure> {
    let path = shell::target().join("test-summary.txt");
    std::fs::write(&path, format!("{total}\n"))
        .map_err(|error| format!("failed to write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_system_installs_and_only_a_whole_run_insists() {
        let parsed = |line: &str| {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let options = TestOptions::parse(&args);
            (options.missing, options.no_skips, options.long, options.selection.len())
        };
        assert_eq!(parsed(""), (MissingPolicy::Ask, false, false, 0));
        assert_eq!(parsed("--long"), (MissingPolicy::Ask, false, true, 0));
        assert_eq!(parsed("--shipped-hook"), (MissingPolicy::Ask, false, false, 1));
        assert_eq!(parsed("--skip-missing"), (MissingPolicy::Skip, false, false, 0));
        assert_eq!(parsed("--system --long"), (MissingPolicy::Install, true, true, 0));
        assert_eq!(parsed("--package amplihack-cli --test it"), (MissingPolicy::Skip, false, false, 4));
        assert_eq!(parsed("--system --package amplihack-cli"), (MissingPolicy::Install, true, false, 2));
    }
}
