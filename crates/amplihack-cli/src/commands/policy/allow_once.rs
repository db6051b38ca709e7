//! `amplihack policy allow-once`: a person's yes to one stopped call.

use std::time::SystemTime;

use amplihack_hooks::guard::Ledger;
use amplihack_hooks::once::{self, GRANTED_FOR};
use amplihack_utils::env::Env;

use crate::ui::{self, Failure};

/// Grants the call and tells which it is. Refused where an agent could be asking.
pub(crate) fn run(id: &str, env: &Env) -> Result<u8, Failure> {
    if let Some(mark) = once::session_mark(env) {
        return Err(Failure::denied(
            format!(
                "only a person may allow a call, and {} says that this is an agent's session",
                mark.display()
            ),
            "run it in a terminal of your own",
        ));
    }
    let home = env.amplihack_home().ok_or_else(|| {
        Failure::input(
            "neither AMPLIHACK_HOME nor HOME is an absolute path, so no call can be found; set HOME",
        )
    })?;
    let pending = once::grant(&home, id, SystemTime::now())?;
    if let Err(why) = Ledger::new(env).granted(&pending) {
        ui::note("warning", format!("the audit could not be written: {why}"));
    }
    ui::data(&format!(
        "within {} minutes this goes through once, in {}:\n  {}\n",
        GRANTED_FOR.as_secs() / 60,
        pending.cwd.display(),
        pending.command.escape_debug()
    ))?;
    Ok(0)
}
