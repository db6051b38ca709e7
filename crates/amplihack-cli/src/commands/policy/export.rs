//! `amplihack policy export`: the policy in an agent's own permission language.

use amplihack_hooks::export::export;
use amplihack_hooks::guard;
use amplihack_utils::env::Env;
use serde_json::json;

use super::args::ExportArgs;
use crate::commands::current_dir;
use crate::ui::{self, Failure};

/// Prints the rules on stdout; where they belong and what they do not stop on stderr, or all of it in one object.
pub(crate) fn run(args: &ExportArgs, env: &Env) -> Result<u8, Failure> {
    let export = export(&guard::policy(env, &current_dir()?, None)?, args.agent)?;
    let gaps = export.gaps;
    if args.json {
        let rules = export.rules.iter().map(|rule| {
            json!({ "pattern": rule.pattern, "decision": rule.decision.to_string(), "rule": rule.rule.to_string() })
        });
        let object = json!({
            "agent": export.agent.name(),
            "place": export.place,
            "text": export.text,
            "rules": rules.collect::<Vec<_>>(),
            "gaps": { "harmful": gaps.harmful, "missed": gaps.missed, "percent": gaps.percent() },
        });
        ui::data(&format!("{object:#}\n"))?;
        return Ok(0);
    }
    ui::data(&export.text)?;
    ui::note("place", export.place);
    ui::note(
        "gaps",
        format!(
            "{} of {} harmful examples ({} %) are not stopped by these rules; the hooks stop all",
            gaps.missed,
            gaps.harmful,
            gaps.percent()
        ),
    );
    Ok(0)
}
