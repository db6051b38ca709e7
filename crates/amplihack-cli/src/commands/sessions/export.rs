//! `sessions export`: a run for people and programs elsewhere.

mod load;

pub(crate) use load::load_document;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_export::otel::{OtelSettings, OtelTraces, TraceCollector, document_traces};
use amplihack_export::{TextCleaner, html_page, markdown_document};
use amplihack_sys::fs::{WriteDurability, write_atomic};
use clap::Args;

use crate::ui::{self, CommandFailure, json_line};

// Options of `sessions export`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("form").required(true).multiple(false).args(["markdown", "html", "otel"])))]
pub(crate) struct SessionExportArgs {
    /// The id of a session or an unattended run, the beginning of it, or `latest`
    id: String,
    /// Markdown, for a pull request
    #[arg(long)]
    markdown: bool,
    /// A self-contained HTML page
    #[arg(long)]
    html: bool,
    /// OpenTelemetry traces, as OTLP JSON
    #[arg(long)]
    otel: bool,
    /// Write to this file, private to you; default: stdout
    #[arg(long, value_name = "FILE", conflicts_with = "otel_endpoint")]
    output: Option<PathBuf>,
    /// Do not redact what looks like a credential
    #[arg(long)]
    no_redact: bool,
    /// With --otel: include text, arguments and results of tools
    #[arg(long, conflicts_with_all = ["markdown", "html"])]
    otel_content: bool,
    /// With --otel: send the traces to this collector, such as http://127.0.0.1:4318; needs a build with the feature otel
    #[arg(long, value_name = "URL", conflicts_with_all = ["markdown", "html"])]
    otel_endpoint: Option<String>,
    /// With --otel: send the traces to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names
    #[arg(long, conflicts_with_all = ["markdown", "html", "output", "otel_endpoint"])]
    otel_send: bool,
}

/// Exports the run that is meant.
pub(super) fn export_session(home: &Path, args: &SessionExportArgs, env: &Env) -> Result<u8, CommandFailure> {
    let document = load_document(home, &args.id, env)?;
    let cleaner = TextCleaner::new(!args.no_redact);
    if !args.otel {
        let text =
            if args.html { html_page(&document, cleaner) } else { markdown_document(&document, cleaner) };
        return write_export(&text, args.output.as_deref());
    }
    let settings = OtelSettings::from_env(env)?;
    let traces = document_traces(&document, cleaner, args.otel_content, &settings);
    if let Some(endpoint) = &args.otel_endpoint {
        return send_traces(&traces, &settings.collector_at(endpoint));
    }
    if args.otel_send {
        let collector = settings.collector.ok_or_else(|| {
            CommandFailure::bad_usage(
                "--otel-send: the environment names no collector",
                "set OTEL_EXPORTER_OTLP_ENDPOINT, as http://127.0.0.1:4318, or use --otel-endpoint URL",
            )
        })?;
        return send_traces(&traces, &collector);
    }
    write_export(&json_line(&traces)?, args.output.as_deref())
}

fn write_export(text: &str, output: Option<&Path>) -> Result<u8, CommandFailure> {
    match output {
        None => ui::print_data(text)?,
        Some(path) => {
            // `/dev/stdout`, a pipe: written to, as everybody does. Also where a link leads to one, the link stays.
            let stream = path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
            let written = if stream {
                File::options().write(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()))
            } else {
                write_atomic(&behind_links(path), text.as_bytes(), 0o600, WriteDurability::Process)
            };
            written.map_err(|error| {
                CommandFailure::from_io_error(&format!("{} cannot be written", path.display()), &error)
            })?;
        }
    }
    Ok(0)
}

/// The file that is replaced when `path` is written: a link stays, also one to a file that is not there yet.
fn behind_links(path: &Path) -> PathBuf {
    let mut file = path.to_owned();
    // As many as Linux follows; the writing tells what is wrong with more.
    for _ in 0..40 {
        let Ok(target) = file.read_link() else { break };
        file = file.parent().unwrap_or(Path::new("")).join(target);
    }
    file
}

#[cfg(feature = "otel")]
fn send_traces(traces: &OtelTraces, collector: &TraceCollector) -> Result<u8, CommandFailure> {
    amplihack_export::otel::send_traces(traces, collector)?;
    Ok(0)
}

#[cfg(not(feature = "otel"))]
fn send_traces(_: &OtelTraces, _: &TraceCollector) -> Result<u8, CommandFailure> {
    Err(CommandFailure::bad_usage(
        "this amplihack was built without the feature otel, so it sends nothing",
        "build it with `--features otel`, or pipe --otel to `curl --json @- URL/v1/traces`",
    ))
}
