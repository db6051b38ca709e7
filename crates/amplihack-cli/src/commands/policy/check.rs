//! `amplihack policy check`: the verdict on one command, or on many.

use amplihack_config::env::Env;
use amplihack_sys::error::ExitKind;
use amplihack_verdict::Decision;

use super::args::{CheckArgs, single_word};
use super::batch;
use super::policies::{DirectoryPolicies, as_json, as_text};
use crate::ui::{self, CommandFailure, TonedPart};

/// Prints the verdict and returns 0 or 4; of a batch the strictest counts, and a line that cannot be read makes it 2.
pub(crate) fn check_command(args: &CheckArgs, env: &Env) -> Result<u8, CommandFailure> {
    let mut policies = DirectoryPolicies::new(env)?;
    if let Some(file) = &args.batch {
        return batch::answer_batch(file, &args.place, &mut policies);
    }
    let script = single_word(&args.words, "check")?;
    let explanation =
        policies.explain_script(script, args.place.cwd.as_deref(), args.place.branch.as_deref())?;
    if args.json {
        ui::print_data(&format!("{}\n", as_json(&explanation)))?;
    } else {
        ui::print_report(&as_text(&explanation), first_word_tone)?;
    }
    Ok(decision_exit_code(explanation.verdict.decision))
}

/// The decision stands first.
fn first_word_tone(line: &str) -> TonedPart {
    let word = line.split([' ', ':']).next()?;
    Some((0..word.len(), ui::decision_tone(word)?))
}

/// The exit code of a decision.
pub(super) fn decision_exit_code(decision: Decision) -> u8 {
    if decision >= Decision::Ask { ExitKind::Denied.code() } else { 0 }
}
