//! `amplihack policy export`: the policy in an agent's own permission language.

use amplihack_config::env::Env;
use amplihack_hooks::{export, guard};
use serde_json::json;

use super::args::PolicyExportArgs;
use crate::commands::current_dir;
use crate::ui::{self, CommandFailure};

/// Prints the rules on stdout; where they belong and what they do not stop on stderr, or all of it in one object.
pub(crate) fn export_policy(args: &PolicyExportArgs, env: &Env) -> Result<u8, CommandFailure> {
    let export = export::export_policy(&guard::load_policy(env, &current_dir()?, None)?, args.agent)?;
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
            "gaps": { "harmful": gaps.harmful, "missed": gaps.missed, "percent": gaps.missed_percent() },
        });
        ui::print_data(&format!("{object:#}\n"))?;
        return Ok(0);
    }
    ui::print_data(&export.text)?;
    ui::print_note("place", export.place);
    ui::print_note(
        "gaps",
        format!(
            "{} of {} harmful examples ({} %) are not stopped by these rules; the hooks stop all",
            gaps.missed,
            gaps.harmful,
            gaps.missed_percent()
        ),
    );
    Ok(0)
}
