//! `--output json` and `--output stream-json`: a headless run as events.

use amplihack_agent::End;
use amplihack_launcher::{EventsEnded, Hosting, Plan, Streams, Wanted, start_events};
use amplihack_session::Report;
use amplihack_utils::env::Env;
use amplihack_utils::error::ExitKind;

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
    let (ended, session, events) = runtime()?.block_on(async {
        let (mut launched, notices) = start_events(plan, Hosting::Binary, streams, wanted).await?;
        show(&notices);
        let session = launched.session().to_string();
        let mut events = Vec::new();
        while let Some(event) = launched.next().await? {
            match output {
                OutputFormat::StreamJson => ui::data(&line(&event)?)?,
                _ => events.push(event),
            }
        }
        Ok::<_, Failure>((launched.finish().await?, session, events))
    })?;
    if output == OutputFormat::Json {
        let EventsEnded { finished, .. } = &ended;
        let whole = Report { session: &session, end: &finished.end, usage: finished.usage, events: &events };
        ui::data(&line(&whole)?)?;
    }
    if !ended.finished.end.is_success() {
        said(&ended.finished.outcome.stderr.bytes);
    }
    show(&ended.notices);
    telemetry::of_run(&session, env);
    Ok(code(&ended))
}

/// What the agent said on standard error, of a run that was no success.
fn said(stderr: &[u8]) {
    for line in String::from_utf8_lossy(stderr).lines() {
        ui::note("agent", line);
    }
}

/// 0 for a success and nothing else.
fn code(ended: &EventsEnded) -> u8 {
    let own = u8::try_from(ended.finished.outcome.code()).unwrap_or(1);
    match &ended.finished.end {
        End::Success(_) => 0,
        End::Denied { .. } => ExitKind::Denied.code(),
        End::Budget { .. } | End::Stalled { .. } => ExitKind::Budget.code(),
        _ if own == 0 => ExitKind::Failed.code(),
        _ => own,
    }
}
