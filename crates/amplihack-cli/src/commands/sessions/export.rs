//! `sessions export`: a run for people and programs elsewhere.

mod load;

pub(crate) use load::document;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use amplihack_export::otel::{Collector, Settings, Traces, traces};
use amplihack_export::{Cleaner, markdown, page};
use amplihack_utils::env::Env;
use amplihack_utils::fs::{Durability, write_atomic};
use clap::Args;

use crate::ui::{self, Failure, line};

// Options of `sessions export`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("form").required(true).multiple(false).args(["markdown", "html", "otel"])))]
pub(crate) struct ExportArgs {
    /// The id of a session or an unattended run, the beginning of it, or `latest`
    id: String,
    /// Markdown, for a pull request
    #[arg(long)]
    markdown: bool,
    /// One self-contained HTML page
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
pub(super) fn run(home: &Path, args: &ExportArgs, env: &Env) -> Result<u8, Failure> {
    let document = document(home, &args.id, env)?;
    let cleaner = Cleaner::new(!args.no_redact);
    if !args.otel {
        let text = if args.html { page(&document, cleaner) } else { markdown(&document, cleaner) };
        return write(&text, args.output.as_deref());
    }
    let settings = Settings::of(env)?;
    let traces = traces(&document, cleaner, args.otel_content, &settings);
    if let Some(endpoint) = &args.otel_endpoint {
        return send(&traces, &settings.collector_at(endpoint));
    }
    if args.otel_send {
        let collector = settings.collector.ok_or_else(|| {
            Failure::usage(
                "--otel-send: the environment names no collector",
                "set OTEL_EXPORTER_OTLP_ENDPOINT, as http://127.0.0.1:4318, or use --otel-endpoint URL",
            )
        })?;
        return send(&traces, &collector);
    }
    write(&line(&traces)?, args.output.as_deref())
}

fn write(text: &str, output: Option<&Path>) -> Result<u8, Failure> {
    match output {
        None => ui::data(text)?,
        Some(path) => {
            // `/dev/stdout`, a pipe: written to, as everybody does. Also where a link leads to one, the link stays.
            let stream = path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
            let written = if stream {
                File::options().write(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()))
            } else {
                write_atomic(path, text.as_bytes(), 0o600, Durability::Process)
            };
            written
                .map_err(|error| Failure::system(&format!("{} cannot be written", path.display()), &error))?;
        }
    }
    Ok(0)
}

#[cfg(feature = "otel")]
fn send(traces: &Traces, collector: &Collector) -> Result<u8, Failure> {
    amplihack_export::otel::send(traces, collector)?;
    Ok(0)
}

#[cfg(not(feature = "otel"))]
fn send(_: &Traces, _: &Collector) -> Result<u8, Failure> {
    Err(Failure::usage(
        "this amplihack was built without the feature otel, so it sends nothing",
        "build it with `--features otel`, or pipe --otel to `curl --json @- URL/v1/traces`",
    ))
}
