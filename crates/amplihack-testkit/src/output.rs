//! What a program left when it ended, and claims about it that show everything when they fail.

use std::time::Duration;

use crate::compare::difference;

/// A program's end.
#[derive(Debug, Clone)]
pub struct Output {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// All of stdout.
    pub stdout: Vec<u8>,
    /// All of stderr.
    pub stderr: Vec<u8>,
    /// From start to end.
    pub took: Duration,
    /// Whether some other process held stdout or stderr open after the program's end.
    pub held_open: bool,
    /// The command line, for messages.
    pub what: String,
}

impl Output {
    /// Stdout as text, what is not UTF-8 replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Stderr as text, what is not UTF-8 replaced.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Stdout as one JSON value, in which no object names a key twice.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        crate::json::parse(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not one JSON document: {error}\n{self}"))
    }

    /// Stdout as JSON values, one after another, in which no object names a key twice.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<serde_json::Value> {
        crate::json::documents(&self.stdout)
            .unwrap_or_else(|(_, error)| panic!("stdout is not JSON lines: {error}\n{self}"))
    }

    /// Claims that the program exited with `code`.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert!(self.code == Some(code), "expected exit code {code}\n{self}");
        self
    }

    /// Claims that `signal` ended the program.
    #[track_caller]
    pub fn assert_signal(&self, signal: i32) -> &Self {
        assert!(self.signal == Some(signal), "expected an end by signal {signal}\n{self}");
        self
    }

    /// Claims that stdout is exactly `expected`.
    #[track_caller]
    pub fn assert_stdout(&self, expected: impl AsRef<[u8]>) -> &Self {
        if let Some(text) = difference(&self.stdout, expected.as_ref()) {
            panic!("stdout differs: {text}{self}");
        }
        self
    }

    /// Claims that stderr is exactly `expected`.
    #[track_caller]
    pub fn assert_stderr(&self, expected: impl AsRef<[u8]>) -> &Self {
        if let Some(text) = difference(&self.stderr, expected.as_ref()) {
            panic!("stderr differs: {text}{self}");
        }
        self
    }

    /// Claims that stdout contains `part`.
    #[track_caller]
    pub fn assert_stdout_has(&self, part: &str) -> &Self {
        assert!(self.stdout_text().contains(part), "stdout lacks {part:?}\n{self}");
        self
    }

    /// Claims that stderr contains `part`.
    #[track_caller]
    pub fn assert_stderr_has(&self, part: &str) -> &Self {
        assert!(self.stderr_text().contains(part), "stderr lacks {part:?}\n{self}");
        self
    }

    /// Claims that neither stream contains `part`.
    #[track_caller]
    pub fn assert_nowhere(&self, part: &str) -> &Self {
        let found = self.stdout_text().contains(part) || self.stderr_text().contains(part);
        assert!(!found, "output must not contain {part:?}\n{self}");
        self
    }
}

impl std::fmt::Display for Output {
    /// Everything about the end, long streams cut in their middle.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "--- {}\n--- ", self.what)?;
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}")?,
            (None, Some(signal)) => write!(f, "ended by signal {signal}")?,
            (None, None) => write!(f, "not ended")?,
        }
        let held = if self.held_open { ", output still held open" } else { "" };
        writeln!(f, " after {:?}{held}", self.took)?;
        for (name, bytes) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            writeln!(f, "--- {name} ({} bytes)\n{}", bytes.len(), shortened(bytes))?;
        }
        Ok(())
    }
}

fn shortened(bytes: &[u8]) -> String {
    const SHOWN: usize = 4000;
    if bytes.len() <= 2 * SHOWN {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let (head, tail) = (&bytes[..SHOWN], &bytes[bytes.len() - SHOWN..]);
    format!("{}\n[…]\n{}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail))
}
