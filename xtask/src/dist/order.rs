//! The order of the hook binary's functions: by first use. A start maps the program in windows of sixteen pages, and each window costs
//! as much as twenty thousand instructions.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::symbols;
use crate::{Failure, shell};

/// Calls that hosts make, the most frequent first: what they have in common comes before what only one of them uses.
const CALLS: &[(&str, &str)] = &[
    ("pre-tool-use", r#"{"tool_name":"Bash","tool_input":{"command":"ls -la"}}"#),
    (
        "pre-tool-use",
        r#"{"tool_name":"Bash","tool_input":{"command":"cd src && cargo test --workspace 2>&1 | tail -20"}}"#,
    ),
    (
        "pre-tool-use",
        r#"{"tool_name":"Bash","tool_input":{"command":"X=$(git rev-parse HEAD); echo \"$X\" > head"}}"#,
    ),
    ("pre-tool-use", r#"{"tool_name":"Read","tool_input":{"file_path":"src/main.rs"}}"#),
    (
        "pre-tool-use",
        r#"{"tool_name":"Write","tool_input":{"file_path":"src/main.rs","content":"fn main() {}\n"}}"#,
    ),
    ("pre-tool-use", r#"{"tool_name":"WebFetch","tool_input":{"url":"https://example.com/","prompt":"x"}}"#),
    (
        "post-tool-use",
        r#"{"tool_name":"Bash","tool_input":{"command":"ls -la"},"tool_response":{"stdout":"total 4\n"}}"#,
    ),
    ("session-start", r#"{"source":"startup"}"#),
    ("user-prompt-submit", r#"{"prompt":"Fix the test."}"#),
    ("stop", r#"{"stop_hook_active":false}"#),
    (
        "pre-tool-use",
        r#"{"tool_name":"Bash","tool_input":{"command":"for f in *.txt; do sed -i 's/a/b/' \"$f\"; done"}}"#,
    ),
    ("pre-tool-use", r#"{"tool_name":"Bash","tool_input":{"command":"rm -rf ~"}}"#),
    (
        "pre-tool-use",
        r#"{"tool_name":"Bash","tool_input":{"command":"python3 - <<'EOF'\nimport os\nprint(os.getcwd())\nEOF"}}"#,
    ),
];

/// A launch: the policy that it pins, the arguments of its guard, and those behind every other event. A test of `amplihack-hooks`
/// compares them with what launches are.
pub(crate) const LAUNCH: &str = include_str!("../../../crates/amplihack-hooks/tests/cases/launch.txt");

/// The exit code of a guard that lets a call run, by those arguments.
const PASSES: &str = "79";

/// The names of the functions that `program`, with its symbols, calls first, one a line; `tracer` is [`tracer`].
pub(crate) fn of(program: &Path, tracer: &Path) -> Result<String, Failure> {
    let unread = |error| format!("failed to read {}: {error}", program.display());
    let functions = symbols::functions(&fs::read(program).map_err(unread)?)
        .ok_or_else(|| format!("{} has no table of symbols", program.display()))?;
    let place = Place::new()?;
    let mut addresses = String::new();
    for address in functions.keys() {
        // Writing to a String cannot fail.
        let _ = writeln!(addresses, "{address:x}");
    }
    place.write("addresses", &addresses)?;
    place.check(program)?;
    let mut order = String::new();
    let mut listed = std::collections::HashSet::new();
    for (event, payload) in CALLS {
        for address in place.calls(tracer, program, event, payload)? {
            if let Some(names) = functions.get(&address).filter(|_| listed.insert(address)) {
                order.extend(names.iter().flat_map(|name| [name, "\n"]));
            }
        }
    }
    Ok(order)
}

/// The program that runs a program and tells its first calls.
pub(crate) fn tracer() -> Result<PathBuf, Failure> {
    let mut build = shell::cargo();
    build.args(["build", "--quiet", "--package", "amplihack-sys"]);
    build.args(["--features", "first-calls", "--bin", "first-calls"]);
    shell::run(&mut build)?;
    Ok(shell::target().join("debug/first-calls"))
}

/// A directory with a home, a repository and a launch, for the calls.
struct Place {
    root: PathBuf,
    /// The hash of the pinned policy.
    pin: String,
}

/// Where an answer goes that somebody looks at, and where one goes that nobody does.
const HEARD: &str = "exec \"$@\" 3>&1 >/dev/null";
const UNHEARD: &str = "exec \"$@\" 3>/dev/null";

impl Place {
    fn new() -> Result<Self, Failure> {
        let mut place = Self { root: shell::target().join("hook-order/place"), pin: String::new() };
        // The same files each time give the same order each time.
        let _ = fs::remove_dir_all(&place.root);
        for directory in ["home", "repository/.git", "launch"] {
            super::make(&place.root.join(directory))?;
        }
        place.listen().map_err(|error| format!("failed to listen in {}: {error}", place.root.display()))?;
        let policy =
            place.write("launch/policy.json", &place.named(LAUNCH.lines().next().unwrap_or_default()))?;
        let sum = shell::read(shell::program("sha256sum").arg(policy))?;
        sum.split(' ').next().unwrap_or_default().clone_into(&mut place.pin);
        Ok(place)
    }

    /// `text` of [`LAUNCH`] with what it names.
    fn named(&self, text: &str) -> String {
        let directory = |name: &str| self.root.join(name).display().to_string();
        text.replace("@LAUNCHER@", &std::process::id().to_string())
            .replace("@HOME@", &directory("home"))
            .replace("@LAUNCH@", &directory("launch"))
            .replace("@CWD@", &directory("repository"))
            .replace("@PIN@", &self.pin)
    }

    /// Stands for the launch that hooks report to, as long as this process lives. What it hears is of no interest.
    fn listen(&self) -> std::io::Result<()> {
        // By a path that is short enough for a socket's, wherever the directory is.
        let launch = fs::File::open(self.root.join("launch"))?;
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/guard.sock", launch.as_raw_fd()))?;
        std::thread::spawn(move || {
            for mut connection in listener.incoming().flatten() {
                let _ = connection.read_to_end(&mut Vec::new());
            }
        });
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.root.join(name);
        fs::write(&path, text).map_err(|error| format!("failed to write {}: {error}", path.display()))?;
        Ok(path)
    }

    /// `program` in the repository, with `payload` to read, and the descriptor of answers as the shell text `answer` lays it.
    fn command(&self, program: &Path, payload: &str, answer: &str) -> Result<Command, Failure> {
        let payload = self.write("payload", payload)?;
        let stdin = fs::File::open(&payload)
            .map_err(|error| format!("failed to open {}: {error}", payload.display()))?;
        let mut command = shell::program("/bin/sh");
        command.args(["-c", answer, "-"]).arg(program);
        command.env_clear().env("HOME", self.root.join("home")).env("PATH", "/usr/bin:/bin");
        // As many variables as a host has, for the code that sorts them.
        command.envs((0..40).map(|number| (format!("VARIABLE_{number}"), "value")));
        command.current_dir(self.root.join("repository")).stdin(Stdio::from(stdin));
        Ok(command)
    }

    /// The arguments of a registration for `event`.
    fn arguments(&self, event: &str) -> Vec<String> {
        let mut lines = LAUNCH.lines().skip(1);
        let (guard, others) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let is_guard = guard.split(' ').next() == Some(event);
        let words = if is_guard { guard.to_owned() } else { format!("{event} {others}") };
        words.split(' ').map(|word| self.named(word)).collect()
    }

    /// Fails unless `program` lets the first call run: what a launch gives its hooks may have changed.
    fn check(&self, program: &Path) -> Result<(), Failure> {
        let (event, payload) = CALLS[0];
        let ended = self.command(program, payload, HEARD)?.args(self.arguments(event)).output();
        let ended = ended.map_err(|error| format!("failed to start {}: {error}", program.display()))?;
        if ended.status.code() == PASSES.parse().ok() && ended.stdout.is_empty() {
            return Ok(());
        }
        let said = [ended.stdout, ended.stderr].concat();
        Err(format!("the guard stops {payload} with {}: {}", ended.status, String::from_utf8_lossy(&said)))
    }

    /// The addresses that one call of `program` reaches, in order.
    fn calls(&self, tracer: &Path, program: &Path, event: &str, payload: &str) -> Result<Vec<u64>, Failure> {
        let mut trace = self.command(tracer, payload, UNHEARD)?;
        trace.arg(self.root.join("addresses")).arg(program).args(self.arguments(event));
        let text = shell::read(&mut trace)?;
        text.lines()
            .map(|line| u64::from_str_radix(line, 16).map_err(|_| format!("the tracer said {line:?}")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_arguments_of_their_launch() {
        let place = Place { root: "/a b".into(), pin: "0af".to_owned() };
        let guard = place.arguments("pre-tool-use");
        assert_eq!((guard[0].as_str(), guard.last().unwrap().as_str()), ("pre-tool-use", PASSES));
        let (launch, pin) = ("/a b/launch".to_owned(), "0af".to_owned());
        assert!(
            guard.contains(&launch) && guard.contains(&pin) && guard.contains(&"/a b/repository".to_owned())
        );
        let others = place.arguments("stop");
        assert!(others[0] == "stop" && others.contains(&launch) && !others.contains(&PASSES.to_owned()));
        assert!(!guard.iter().chain(&others).any(|word| word.contains('@')), "{guard:?} {others:?}");
    }
}
