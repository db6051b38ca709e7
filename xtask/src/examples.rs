//! `cargo xtask examples`: every example of the Amp SDK runs to its end, against the fake CLI that it brings along.

use crate::{Failure, shell, ui};

/// Where they are.
const EXAMPLES: &str = "crates/amp-sdk/examples";

/// Runs them one after another. One that fails, or says nothing, fails the chore.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(format!("unknown arguments {args:?}; try: cargo xtask examples"));
    }
    shell::build_programs()?;
    for name in shell::programs(&shell::root().join(EXAMPLES))? {
        let said = shell::read(&mut shell::example(&name))?;
        if said.trim().is_empty() {
            return Err(format!("the example {name} said nothing"));
        }
        ui::say(&format!("example {name}: {} lines", said.lines().count()));
    }
    Ok(())
}
