//! Traces of runs that have just ended, sent to the collector that the environment names. What fails is told and changes nothing.

use amplihack_utils::env::Env;

/// Sends the traces of the session or unattended run `id`, if this build can and the environment asks for it.
#[cfg(not(feature = "otel"))]
pub(crate) const fn of_run(_: &str, _: &Env) {}

/// Sends the traces of the session or unattended run `id`, if this build can and the environment asks for it.
#[cfg(feature = "otel")]
pub(crate) fn of_run(id: &str, env: &Env) {
    if let Err(failure) = send(id, env) {
        crate::ui::note("warning", format_args!("the run's traces are not sent: {}", failure.message()));
    }
}

#[cfg(feature = "otel")]
fn send(id: &str, env: &Env) -> Result<(), crate::ui::Failure> {
    use amplihack_export::Cleaner;
    use amplihack_export::otel::{Settings, send, traces};

    let settings = Settings::of(env)?;
    let (Some(collector), Some(home)) = (&settings.collector, env.amplihack_home()) else { return Ok(()) };
    let document = super::sessions::document(&home, id, env)?;
    // What was said stays here: it leaves the machine only by a command that says so.
    Ok(send(&traces(&document, Cleaner::new(true), false, &settings), collector)?)
}
