//! Commands as JSON lines, read and answered one by one.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use amplihack_sys::error::ExitKind;
use amplihack_verdict::Decision;
use serde_json::{Map, Value, json};

use super::args::ShellContextArgs;
use super::check::decision_exit_code;
use super::policies::{DirectoryPolicies, as_json};
use crate::ui::{self, CommandFailure};

/// Bytes of one line. A command of a megabyte, every byte escaped, fits.
const MAX_LINE: u64 = 8 * 1024 * 1024;

/// A row of a batch or of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BatchRow {
    pub(super) command: String,
    pub(super) cwd: Option<PathBuf>,
    pub(super) branch: Option<String>,
    /// Other fields of the row, by name.
    pub(super) fields: Map<String, Value>,
}

impl BatchRow {
    /// Reads a line; the error says what is wrong with it.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let mut fields: Map<String, Value> = serde_json::from_slice(line)
            .map_err(|error| format!("the line is not a JSON object: {error}"))?;
        let mut text = |key: &str| match fields.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` must be text")),
        };
        let command = text("command")?.ok_or("there is no `command`; write {\"command\":\"…\"}")?;
        let (cwd, branch) = (text("cwd")?.map(PathBuf::from), text("branch")?);
        Ok(Self { command, cwd, branch, fields })
    }
}

/// A line's number, and the line or what is wrong with it.
pub(super) type BatchLine = (usize, Result<Vec<u8>, String>);

/// Lines of a file or of stdin, with their numbers from 1; blank ones are passed over, one that is too long is an error.
pub(super) struct BatchLines {
    from: Box<dyn BufRead>,
    name: String,
    number: usize,
}

impl BatchLines {
    /// Opens `file`; `-` is stdin.
    pub(super) fn open(file: &Path) -> Result<Self, CommandFailure> {
        if file.as_os_str() == "-" {
            return Ok(Self { from: Box::new(io::stdin().lock()), name: "stdin".to_owned(), number: 0 });
        }
        let name = file.display().to_string();
        let opened = File::open(file).map_err(|error| CommandFailure::from_io_error(&name, &error))?;
        Ok(Self { from: Box::new(BufReader::new(opened)), name, number: 0 })
    }

    /// Returns the name of the source: the path of the file, or `stdin`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The next line; an error is that of the file.
    pub(super) fn next(&mut self) -> Option<Result<BatchLine, CommandFailure>> {
        loop {
            let mut line = Vec::new();
            let read = self.from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            match read.and_then(|count| self.skip_rest(&line, count)) {
                Err(error) => return Some(Err(CommandFailure::from_io_error(&self.name, &error))),
                Ok(None) => return None,
                Ok(Some(whole)) => {
                    self.number += 1;
                    if !whole {
                        let why = format!("the line exceeds {MAX_LINE} bytes");
                        return Some(Ok((self.number, Err(why))));
                    }
                    if !line.trim_ascii().is_empty() {
                        return Some(Ok((self.number, Ok(line))));
                    }
                }
            }
        }
    }

    /// Reports whether there was a line, and whether it is whole; reads away the rest of one that is not.
    fn skip_rest(&mut self, line: &[u8], count: usize) -> io::Result<Option<bool>> {
        if count == 0 {
            return Ok(None);
        }
        if line.ends_with(b"\n") || (count as u64) < MAX_LINE {
            return Ok(Some(true));
        }
        loop {
            let mut rest = Vec::new();
            let more = self.from.by_ref().take(MAX_LINE).read_until(b'\n', &mut rest)?;
            if more == 0 || rest.ends_with(b"\n") {
                return Ok(Some(false));
            }
        }
    }
}

/// Answers every line as it comes.
pub(super) fn answer_batch(
    file: &Path,
    place: &ShellContextArgs,
    policies: &mut DirectoryPolicies<'_>,
) -> Result<u8, CommandFailure> {
    let mut lines = BatchLines::open(file)?;
    let mut strictest = Decision::None;
    let mut bad = false;
    while let Some(next) = lines.next() {
        let (number, line) = next?;
        let answer = match line.and_then(|line| BatchRow::parse(&line)) {
            Ok(row) => {
                let cwd = row.cwd.as_deref().or(place.cwd.as_deref());
                let branch = row.branch.as_deref().or(place.branch.as_deref());
                let explanation = policies.explain_script(row.command.as_bytes(), cwd, branch)?;
                strictest = strictest.max(explanation.verdict.decision);
                as_json(&explanation)
            }
            Err(why) => {
                bad = true;
                json!({ "error": why, "line": number })
            }
        };
        ui::print_data(&format!("{answer}\n"))?;
    }
    Ok(if bad { ExitKind::Usage.code() } else { decision_exit_code(strictest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_objects_with_a_command() {
        let row = BatchRow::parse(br#"{"command":"ls","cwd":"/w","branch":"b","name":"n"}"#).unwrap();
        assert_eq!((row.command.as_str(), row.cwd.as_deref()), ("ls", Some(Path::new("/w"))));
        assert_eq!((row.branch.as_deref(), row.fields["name"].as_str()), (Some("b"), Some("n")));
        for (line, why) in [
            (&b"[]"[..], "is not a JSON object"),
            (b"{}", "no `command`"),
            (br#"{"command":1}"#, "`command` must be text"),
            (br#"{"command":"x","cwd":[]}"#, "`cwd` must be text"),
            (b"{\"command\":\"\xff\"}", "is not a JSON object"),
        ] {
            let error = BatchRow::parse(line).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_costs_only_itself() {
        let mut text = vec![b'x'; usize::try_from(MAX_LINE).unwrap() * 2 + 7];
        text.extend(b"\n\n{}\nlast");
        let mut lines = BatchLines { from: Box::new(io::Cursor::new(text)), name: "t".to_owned(), number: 0 };
        let mut next = || lines.next().map(|line| line.unwrap());
        assert!(matches!(next(), Some((1, Err(_)))));
        assert_eq!(next(), Some((3, Ok(b"{}\n".to_vec()))));
        assert_eq!(next(), Some((4, Ok(b"last".to_vec()))));
        assert_eq!(next(), None);
    }
}
