//! A writer that replaces secrets, for diagnostics on a terminal.

use std::io::{self, Write};

use amplihack_secrets::redact_credentials;

/// Writes text with its secrets replaced. A line of diagnostics is one write.
pub(crate) struct RedactingWriter<W>(pub(crate) W);

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(redact_credentials(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_replaced_on_its_way() {
        let mut out = RedactingWriter(Vec::new());
        out.write_all(b"WARN sent ghp_R4nd0mQ9xZ7bL2vK8mN3pT6wY1cF5hJ0sDqE\n").unwrap();
        let text = String::from_utf8(out.0).unwrap();
        assert!(text.starts_with("WARN sent [redacted:") && text.ends_with("]\n"), "{text}");
    }
}
