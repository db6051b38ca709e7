//! Traces of runs that have just ended, sent to the collector that the environment names. What fails is told and changes nothing.

use amplihack_config::env::Env;

/// Sends the traces of the session or unattended run `id`, if this build can and the environment asks for it.
#[cfg(not(feature = "otel"))]
pub(crate) const fn report_run(_: &str, _: &Env) {}

/// Sends the traces of the session or unattended run `id`, if this build can and the environment asks for it.
#[cfg(feature = "otel")]
pub(crate) fn report_run(id: &str, env: &Env) {
    if let Err(failure) = send_run(id, env) {
        crate::ui::print_note(
            "warning",
            format_args!("the run's traces are not sent: {}", failure.message()),
        );
    }
}

#[cfg(feature = "otel")]
fn send_run(id: &str, env: &Env) -> Result<(), crate::ui::CommandFailure> {
    use amplihack_export::TextCleaner;
    use amplihack_export::otel::{OtelSettings, document_traces, send_traces};

    let settings = OtelSettings::from_env(env)?;
    let (Some(collector), Some(home)) = (&settings.collector, env.amplihack_home()) else { return Ok(()) };
    let document = super::sessions::load_document(&home, id, env)?;
    // What was said stays here: it leaves the machine only by a command that says so.
    Ok(send_traces(&document_traces(&document, TextCleaner::new(true), false, &settings), collector)?)
}
