//! `cargo xtask record`: the recordings of the real agents' streams, made once more.

use crate::requirements::MissingPolicy;
use crate::selection::runner;
use crate::{Failure, shell, test};

/// Records every scenario of every agent, or those that are named.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (agent, scenario) = match args {
        [] => ("", "all"),
        [agent] => (agent.as_str(), "all"),
        [agent, scenario] => (agent.as_str(), scenario.as_str()),
        _ => return Err(format!("unknown arguments {args:?}; try: cargo xtask record [AGENT [SCENARIO]]")),
    };
    test::prepare(MissingPolicy::Skip)?;
    shell::run(shell::cargo().args(["build", "--bins", "--package", "amplihack-testkit"]))?;
    let tests = format!("real_recordings::{agent}");
    let selection = ["--package", "amplihack-cli", "--test", "it", &tests].map(str::to_owned);
    // A scenario that no agent has would record nothing, and say that all is well; the tests fail then.
    shell::run(runner(&selection.iter().collect::<Vec<_>>()).env("AMPLIHACK_RECORD", scenario))
}
