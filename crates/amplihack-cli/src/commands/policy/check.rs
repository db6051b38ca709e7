//! `amplihack policy check`: the verdict on one command, or on many.

use amplihack_policy::Decision;
use amplihack_utils::env::Env;
use amplihack_utils::error::ExitKind;

use super::args::{CheckArgs, one};
use super::batch;
use super::policies::{Policies, as_json, as_text};
use crate::ui::{self, Failure};

/// Prints the verdict and returns 0 or 4; of a batch the strictest counts, and a line that cannot be read makes it 2.
pub(crate) fn run(args: &CheckArgs, env: &Env) -> Result<u8, Failure> {
    let mut policies = Policies::new(env)?;
    if let Some(file) = &args.batch {
        return batch::run(file, &args.place, &mut policies);
    }
    let script = one(&args.words, "check")?;
    let explanation = policies.explain(script, args.place.cwd.as_deref(), args.place.branch.as_deref())?;
    if args.json {
        ui::data(&format!("{}\n", as_json(&explanation)))?;
    } else {
        ui::data(&as_text(&explanation))?;
    }
    Ok(code(explanation.verdict.decision))
}

/// The exit code of a decision.
pub(super) fn code(decision: Decision) -> u8 {
    if decision >= Decision::Ask { ExitKind::Denied.code() } else { 0 }
}
