//! `sessions export`: a run for people and programs elsewhere.

mod load;

use std::path::{Path, PathBuf};

use amplihack_export::otel::traces;
use amplihack_export::{Cleaner, Document, markdown, page};
use amplihack_utils::env::Env;
use amplihack_utils::fs::{Durability, write_atomic};
use clap::Args;

use crate::ui::{self, Failure, line};

// Options of `sessions export`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("form").required(true).multiple(false).args(["markdown", "html", "otel"])))]
pub(crate) struct ExportArgs {
    /// The session or the unattended run, the beginning of its id, or `latest`
    id: String,
    /// Markdown, for a pull request
    #[arg(long)]
    markdown: bool,
    /// One HTML page that needs nothing else
    #[arg(long)]
    html: bool,
    /// OpenTelemetry traces, as OTLP's JSON
    #[arg(long)]
    otel: bool,
    /// Write to this file, for this user alone; default: stdout
    #[arg(long, value_name = "FILE", conflicts_with = "otel_endpoint")]
    output: Option<PathBuf>,
    /// Leave what looks like a credential as it is
    #[arg(long)]
    no_redact: bool,
    /// With --otel: also what was said, asked for and given back
    #[arg(long, conflicts_with_all = ["markdown", "html"])]
    otel_content: bool,
    /// With --otel: send the traces to this collector, as http://127.0.0.1:4318; needs a build with the feature otel
    #[arg(long, value_name = "URL", conflicts_with_all = ["markdown", "html"])]
    otel_endpoint: Option<String>,
}

/// Exports the run that is meant.
pub(super) fn run(home: &Path, args: &ExportArgs, env: &Env) -> Result<u8, Failure> {
    let document = load::document(home, &args.id, env)?;
    let cleaner = Cleaner::new(!args.no_redact);
    if let Some(endpoint) = &args.otel_endpoint {
        return send(&document, cleaner, args.otel_content, endpoint, env);
    }
    let text = if args.html {
        page(&document, cleaner)
    } else if args.markdown {
        markdown(&document, cleaner)
    } else {
        line(&traces(&document, cleaner, args.otel_content))?
    };
    match &args.output {
        None => ui::data(&text)?,
        Some(path) => write_atomic(path, text.as_bytes(), 0o600, Durability::Process)
            .map_err(|error| Failure::system(&format!("{} cannot be written", path.display()), &error))?,
    }
    Ok(0)
}

#[cfg(feature = "otel")]
fn send(
    document: &Document,
    cleaner: Cleaner,
    content: bool,
    endpoint: &str,
    env: &Env,
) -> Result<u8, Failure> {
    let headers = headers(env.text("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default())?;
    amplihack_export::otel::send(&traces(document, cleaner, content), endpoint, &headers)?;
    Ok(0)
}

#[cfg(not(feature = "otel"))]
fn send(_: &Document, _: Cleaner, _: bool, _: &str, _: &Env) -> Result<u8, Failure> {
    Err(Failure::usage(
        "--otel-endpoint: this amplihack was built without the feature otel, so it sends nothing",
        "build it with `--features otel`, or pipe --otel to `curl --json @- URL/v1/traces`",
    ))
}

/// `name=value` with commas between; values are percent-encoded, as OpenTelemetry has it.
#[cfg(feature = "otel")]
fn headers(text: &str) -> Result<Vec<(String, amplihack_utils::secret::Secret)>, Failure> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair
                .split_once('=')
                .and_then(|(name, value)| Some((name, decoded(value.trim())?)))
                .ok_or_else(|| {
                    // What it holds may be a credential.
                    Failure::usage(
                        "OTEL_EXPORTER_OTLP_HEADERS cannot be read",
                        "write it as name=value, with commas between",
                    )
                })?;
            Ok((name.trim().to_owned(), amplihack_utils::secret::Secret::new(value)))
        })
        .collect()
}

#[cfg(feature = "otel")]
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(all(test, feature = "otel"))]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_opentelemetry_has_them() {
        let read = |text| {
            let read = headers(text).unwrap();
            read.into_iter().map(|(name, value)| format!("{name}: {}", value.expose())).collect::<Vec<_>>()
        };
        assert_eq!(read("a=b, c = d%20e=f%2C ,"), ["a: b", "c: d e=f,"]);
        assert_eq!(read(""), [""; 0]);
        for wrong in ["a", "a=%", "a=%zz", "a=%ff"] {
            let failure = format!("{:?}", headers(wrong).unwrap_err());
            assert!(!failure.contains("%"), "{failure}");
        }
    }
}
