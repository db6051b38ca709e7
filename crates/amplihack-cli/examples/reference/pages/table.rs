//! Markdown tables: text is escaped, code is not.

use std::fmt::Write as _;

/// A table that is being written.
pub(crate) struct Table(String);

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self(format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len())))
    }

    /// Adds a row of cells that are Markdown already.
    pub(crate) fn row(&mut self, cells: &[&str]) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "| {} |", cells.join(" | "));
    }

    /// The whole table.
    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// `text` as Markdown that shows it.
pub(crate) fn text(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<").replace('*', "\\*")
}

/// `text` as code; empty text stays empty.
pub(crate) fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|")) }
}

/// All of `words` as code, or that there is none.
pub(crate) fn codes(words: &[&str]) -> String {
    if words.is_empty() {
        return "none".to_owned();
    }
    words.iter().map(|word| code(word)).collect::<Vec<_>>().join(" ")
}
