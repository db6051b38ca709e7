//! The only place that prints. Stdout carries data, stderr what a person should know.

use std::collections::BTreeMap;
use std::io::{self, Write};

use amplihack_export::visible;
use amplihack_utils::error::{ExitKind, Explain};
use serde::Serialize;
use serde_json::json;

/// The kind of a failure that only says that nobody reads stdout any more.
const CLOSED_PIPE: &str = "closed_pipe";

/// How errors are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `error: …`, then `hint: …`, on stderr.
    Text,
    /// One JSON object on stdout.
    Json,
}

/// Anything that ends a command, flattened to what is shown of it.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: &'static str,
    message: String,
    hint: Option<String>,
    facts: BTreeMap<String, String>,
    exit: ExitKind,
}

impl<E: Explain> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
            hint: error.hint(),
            facts: error.facts(),
            exit: error.exit(),
        }
    }
}

impl Failure {
    /// A command line that cannot be read.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: "usage",
            message: message.into(),
            hint: Some(hint.into()),
            facts: BTreeMap::new(),
            exit: ExitKind::Usage,
        }
    }

    /// A failure of `kind` that ends with `exit`.
    pub(crate) fn of(kind: &'static str, message: impl Into<String>, hint: &str, exit: ExitKind) -> Self {
        Self { kind, message: message.into(), hint: Some(hint.to_owned()), facts: BTreeMap::new(), exit }
    }

    /// Something that only somebody else may do.
    pub(crate) fn denied(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: "denied",
            message: message.into(),
            hint: Some(hint.into()),
            facts: BTreeMap::new(),
            exit: ExitKind::Denied,
        }
    }

    /// Input that cannot be read.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self {
            kind: "input",
            message: message.into(),
            hint: None,
            facts: BTreeMap::new(),
            exit: ExitKind::Failed,
        }
    }

    /// A failure of the machine: a file, a pipe, a runtime.
    pub(crate) fn system(what: &str, error: &io::Error) -> Self {
        Self {
            kind: "system",
            message: format!("{what}: {error}"),
            hint: None,
            facts: BTreeMap::new(),
            exit: ExitKind::Failed,
        }
    }

    /// The kind of the failure.
    pub(crate) const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Stdout that did not take everything.
    fn stdout(error: &io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe { CLOSED_PIPE } else { "system" };
        Self { kind, ..Self::system("stdout could not be written", error) }
    }

    /// Whether nobody reads stdout any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.kind == CLOSED_PIPE
    }

    /// What failed, in words.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Shows the failure and returns the exit code.
    pub(crate) fn show(&self, format: Format) -> u8 {
        match format {
            Format::Text => {
                note("error", &self.message);
                if let Some(hint) = &self.hint {
                    note("hint", hint);
                }
            }
            Format::Json => {
                let error = json!({ "kind": self.kind, "message": self.message, "hint": self.hint, "context": self.facts });
                if let Err(failure) = data(&format!("{}\n", json!({ "error": error }))) {
                    note("error", &failure.message);
                }
            }
        }
        self.exit.code()
    }
}

/// One line for a person: `label: text`. What a terminal would obey is shown.
pub(crate) fn note(label: &str, text: impl std::fmt::Display) {
    progress(&format!("{label}: {text}\n"));
}

/// One line for a person, without a label.
pub(crate) fn plain(text: &str) {
    progress(&format!("{text}\n"));
}

/// Writes to stdout what `write` writes, without having all of it at once.
pub(crate) fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(|error| Failure::stdout(&error))
}

/// Writes `text` to stderr: progress for a person. Agents, machines and repositories have a say in it, so what a terminal would obey is
/// shown.
pub(crate) fn progress(text: &str) {
    draw(&visible(text));
}

/// Writes `text` to stderr as it is, for who draws on the terminal.
pub(crate) fn draw(text: &str) {
    // A closed stderr must not end the run.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes `text` to stdout for people: what a terminal would obey is shown.
pub(crate) fn shown(text: &str) -> Result<(), Failure> {
    data(&visible(text))
}

/// `value` as one line of JSON.
pub(crate) fn line(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map(|text| text + "\n")
        .map_err(|error| Failure::input(format!("a value has no JSON form: {error}")))
}

/// Writes `text` to stdout, whole, or says that stdout took it not.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::stdout(&error))
}
