//! The only place that prints. Stdout carries data, stderr what a person should know.

mod report;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) use amplihack_export::make_visible;
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Serialize;
use serde_json::json;

pub(crate) use report::{
    TonedPart, WordTone, color_line, decision_tone, diff_tone, print_report, shows_color, stdout_width,
};

/// The kind of a failure that only says that nobody reads stdout any more.
const CLOSED_PIPE: &str = "closed_pipe";

/// The form in which errors are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorFormat {
    /// `error: …`, then `hint: …`, on stderr.
    Text,
    /// A JSON object on stdout.
    Json,
}

/// Anything that ends a command, flattened to what is shown of it.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    kind: &'static str,
    message: String,
    hint: Option<String>,
    facts: BTreeMap<String, String>,
    exit: ExitKind,
}

impl<E: ErrorExplanation> From<E> for CommandFailure {
    fn from(error: E) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
            hint: error.hint(),
            facts: error.facts(),
            exit: error.exit_kind(),
        }
    }
}

impl CommandFailure {
    /// A command line that cannot be read.
    pub(crate) fn bad_usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: "usage",
            message: message.into(),
            hint: Some(hint.into()),
            facts: BTreeMap::new(),
            exit: ExitKind::Usage,
        }
    }

    /// A failure of `kind` that ends with `exit`.
    pub(crate) fn new(kind: &'static str, message: impl Into<String>, hint: &str, exit: ExitKind) -> Self {
        Self { kind, message: message.into(), hint: Some(hint.to_owned()), facts: BTreeMap::new(), exit }
    }

    /// Something that only somebody else may do.
    pub(crate) fn permission_denied(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: "denied",
            message: message.into(),
            hint: Some(hint.into()),
            facts: BTreeMap::new(),
            exit: ExitKind::Denied,
        }
    }

    /// Input that cannot be read.
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self {
            kind: "input",
            message: message.into(),
            hint: None,
            facts: BTreeMap::new(),
            exit: ExitKind::Failed,
        }
    }

    /// A failure of the machine: a file, a pipe, a runtime.
    pub(crate) fn from_io_error(what: &str, error: &io::Error) -> Self {
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
    fn from_stdout_error(error: &io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe { CLOSED_PIPE } else { "system" };
        Self { kind, ..Self::from_io_error("stdout could not be written", error) }
    }

    /// Reports whether nobody reads stdout any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.kind == CLOSED_PIPE
    }

    /// Returns the description of the failure, in words.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Shows the failure and returns the exit code.
    pub(crate) fn show_failure(&self, format: ErrorFormat) -> u8 {
        match format {
            ErrorFormat::Text => {
                print_note("error", &self.message);
                if let Some(hint) = &self.hint {
                    print_note("hint", hint);
                }
            }
            ErrorFormat::Json => {
                let error = json!({ "kind": self.kind, "message": self.message, "hint": self.hint, "context": self.facts });
                if let Err(failure) = print_data(&format!("{}\n", json!({ "error": error }))) {
                    print_note("error", &failure.message);
                }
            }
        }
        self.exit.code()
    }
}

/// Prints a line for a person: `label: text`. Controls that a terminal would obey are shown.
pub(crate) fn print_note(label: &str, text: impl std::fmt::Display) {
    let tone = match label {
        "error" => WordTone::Bad,
        "warning" => WordTone::Doubtful,
        _ => WordTone::Title,
    };
    let shown = make_visible(&format!("{text}\n"));
    if shows_color(&io::stderr()) {
        write_stderr(&format!("{} {shown}", tone.paint(&format!("{label}:"))));
    } else {
        write_stderr(&format!("{label}: {shown}"));
    }
}

/// Prints a line for a person, without a label.
pub(crate) fn print_line(text: &str) {
    print_progress(&format!("{text}\n"));
}

/// Writes to stdout what `write` writes, without having all of it at once.
pub(crate) fn stream_stdout(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CommandFailure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(|error| CommandFailure::from_stdout_error(&error))
}

/// Writes `text` to stderr: progress for a person. Agents, machines and repositories have a say in it, so what a terminal would obey is
/// shown.
pub(crate) fn print_progress(text: &str) {
    write_stderr(&make_visible(text));
}

/// Writes `text` to stderr as it is, for who draws on the terminal.
pub(crate) fn write_stderr(text: &str) {
    // A closed stderr must not end the run.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes what an agent printed to stdout as it is, on a thread of its own: a reader who stands still must not stop the clock of the run.
pub(crate) struct AgentPrinter {
    chunks: SyncSender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl AgentPrinter {
    /// Chunks that wait for the reader before the agent has to.
    const WAITING: usize = 1024;

    pub(crate) fn start() -> Self {
        let (chunks, taken) = std::sync::mpsc::sync_channel::<Vec<u8>>(Self::WAITING);
        let writer = std::thread::spawn(move || {
            for chunk in taken {
                let mut out = io::stdout().lock();
                out.write_all(&chunk).and_then(|()| out.flush())?;
            }
            Ok(())
        });
        Self { chunks, writer }
    }

    /// Takes a chunk.
    pub(crate) fn print(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            // Output after a failure is nobody's any more.
            let _ = self.chunks.send(bytes.to_vec());
        }
    }

    /// Waits until all is written. A reader who has gone has read enough.
    pub(crate) fn finish(self) -> Result<(), CommandFailure> {
        drop(self.chunks);
        match self.writer.join() {
            Ok(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(CommandFailure::from_stdout_error(&error))
            }
            _ => Ok(()),
        }
    }
}

/// Writes `text` to stdout for people: what a terminal would obey is shown.
pub(crate) fn print_visible(text: &str) -> Result<(), CommandFailure> {
    print_data(&make_visible(text))
}

/// `value` as one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String, CommandFailure> {
    serde_json::to_string(value)
        .map(|text| text + "\n")
        .map_err(|error| CommandFailure::bad_input(format!("a value has no JSON form: {error}")))
}

/// Waits for `pause`, or until nobody reads stdout any more, which is a failure.
pub(crate) fn wait_while_read(pause: Duration) -> Result<(), CommandFailure> {
    let stdout = io::stdout();
    // The kernel reports a closed reader although no event is asked for.
    let mut events = [PollFd::new(&stdout, PollFlags::empty())];
    let limit = Timespec::try_from(pause).unwrap_or_default();
    match poll(&mut events, Some(&limit)) {
        Ok(1..) => Err(CommandFailure::from_stdout_error(&io::ErrorKind::BrokenPipe.into())),
        Ok(0) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(CommandFailure::from_io_error("stdout could not be watched", &error.into())),
    }
}

/// Writes `text` to stdout, whole, or says that stdout took it not.
pub(crate) fn print_data(text: &str) -> Result<(), CommandFailure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| CommandFailure::from_stdout_error(&error))
}
