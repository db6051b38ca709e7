//! A headless run as events: `--output json`, `--output stream-json`, and text of a run whose end only the stream tells.

use amplihack_config::env::Env;
use amplihack_launcher::{EventOptions, LaunchHosting, LaunchPlan, LaunchStreams, start_events};
use amplihack_session::RunReport;

use super::{explain_end, show_notices};
use crate::cli::OutputFormat;
use crate::commands::{build_runtime, telemetry};
use crate::ui::{self, CommandFailure, json_line};

/// Runs `plan`, prints its events, and returns the exit code.
pub(super) fn run_events(
    plan: LaunchPlan,
    streams: LaunchStreams,
    wanted: EventOptions,
    output: OutputFormat,
    env: &Env,
) -> Result<u8, CommandFailure> {
    let (report, session, events) = build_runtime()?.block_on(async {
        let (mut launched, notices) = start_events(plan, LaunchHosting::Binary, streams, wanted).await?;
        show_notices(&notices);
        let session = launched.session().to_string();
        let mut events = Vec::new();
        while let Some(event) = launched.next().await? {
            match output {
                OutputFormat::StreamJson => ui::print_data(&json_line(&event)?)?,
                OutputFormat::Json => events.push(event),
                // Its text is in the end.
                OutputFormat::Text => {}
            }
        }
        Ok::<_, CommandFailure>((launched.finish_run().await?, session, events))
    })?;
    if let (OutputFormat::Text, Some(text)) = (output, &report.end.event.summary.text) {
        ui::print_data(&format!("{text}\n"))?;
    }
    if output == OutputFormat::Json {
        let whole = RunReport { session: &session, end: &report.end, events: &events };
        ui::print_data(&json_line(&whole)?)?;
    }
    if !report.end.is_success() {
        show_agent_stderr(&report.end.stderr.bytes);
    }
    show_notices(&report.notices);
    explain_end(&report.end, streams.deadlines);
    telemetry::report_run(&session, env);
    Ok(report.end.code())
}

/// Prints the standard error of the agent, of a run that was no success.
fn show_agent_stderr(stderr: &[u8]) {
    for line in String::from_utf8_lossy(stderr).lines() {
        ui::print_note("agent", line);
    }
}
