//! Times the resolver without a context file against the bare walk, in turns: `resolver PAIRS`.
//!
//! Prints `DEPTH OURS AGAINST` for each pair: directories between the working directory and the repository's root, and
//! nanoseconds a call. `cargo xtask bench` makes a table of it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use amplihack_config::agent_binary::{AgentSource, SystemLiveness, resolve_in};
use amplihack_config::env::Env;

const DEPTHS: [usize; 4] = [1, 3, 8, 30];
/// Calls that are timed together, so that reading the clock does not count.
const CALLS: u32 = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pairs: usize = std::env::args().nth(1).unwrap_or_default().parse()?;
    let root = tempfile::tempdir()?;
    let root = root.path().canonicalize()?;
    fs::create_dir(root.join(".git"))?;
    let mut out = io::stdout().lock();
    for depth in DEPTHS {
        let cwd = (0..depth).fold(root.clone(), |path, _| path.join("directory"));
        fs::create_dir_all(&cwd)?;
        // A home in which nothing runs, as everybody's is between launches.
        let env = Env::empty().with_variable("AMPLIHACK_HOME", root.join("home"));
        let live = SystemLiveness::new(&env);
        let now = jiff::Timestamp::now();
        let ours = || resolve_in(&cwd, &env, &live, now).source == AgentSource::Default;
        let bare = || bare_walk(&cwd);
        if !ours() || !bare() {
            return Err("a context file is where none should be".into());
        }
        for pair in 0..pairs {
            // Whoever is second finds warmer caches, so they take turns at that too.
            let (first, second) = if pair % 2 == 0 {
                let first = timed(&ours);
                (first, timed(&bare))
            } else {
                let second = timed(&bare);
                (timed(&ours), second)
            };
            writeln!(out, "{depth} {} {}", first.as_nanos(), second.as_nanos())?;
        }
    }
    Ok(())
}

fn timed(call: &impl Fn() -> bool) -> Duration {
    let started = Instant::now();
    for _ in 0..CALLS {
        std::hint::black_box(call());
    }
    started.elapsed() / CALLS
}

/// The least that the job takes: in each directory a look for the context file, then one for the repository's root.
fn bare_walk(cwd: &Path) -> bool {
    for directory in cwd.ancestors() {
        if fs::symlink_metadata(directory.join(".claude/runtime/launcher_context.json")).is_ok() {
            return false;
        }
        if fs::symlink_metadata(directory.join(".git")).is_ok() {
            return true;
        }
    }
    false
}
