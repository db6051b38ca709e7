//! A headless run as events: `--output json`, `--output stream-json`, and text of a run whose end only the stream tells.

use amplihack_launcher::{Hosting, Plan, Streams, Wanted, start_events};
use amplihack_session::Report;
use amplihack_utils::env::Env;

use super::show;
use crate::cli::OutputFormat;
use crate::commands::{runtime, telemetry};
use crate::ui::{self, Failure, line};

/// Runs `plan`, prints its events, and returns the exit code.
pub(super) fn run(
    plan: Plan,
    streams: Streams,
    wanted: Wanted,
    output: OutputFormat,
    env: &Env,
) -> Result<u8, Failure> {
    let (report, session, events) = runtime()?.block_on(async {
        let (mut launched, notices) = start_events(plan, Hosting::Binary, streams, wanted).await?;
        show(&notices);
        let session = launched.session().to_string();
        let mut events = Vec::new();
        while let Some(event) = launched.next().await? {
            match output {
                OutputFormat::StreamJson => ui::data(&line(&event)?)?,
                OutputFormat::Json => events.push(event),
                // Its text is in the end.
                OutputFormat::Text => {}
            }
        }
        Ok::<_, Failure>((launched.finish().await?, session, events))
    })?;
    if let (OutputFormat::Text, Some(text)) = (output, &report.end.event.summary.text) {
        ui::data(&format!("{text}\n"))?;
    }
    if output == OutputFormat::Json {
        let whole = Report { session: &session, end: &report.end, events: &events };
        ui::data(&line(&whole)?)?;
    }
    if !report.end.is_success() {
        said(&report.end.stderr.bytes);
    }
    show(&report.notices);
    telemetry::of_run(&session, env);
    Ok(report.end.code())
}

/// What the agent said on standard error, of a run that was no success.
fn said(stderr: &[u8]) {
    for line in String::from_utf8_lossy(stderr).lines() {
        ui::note("agent", line);
    }
}
