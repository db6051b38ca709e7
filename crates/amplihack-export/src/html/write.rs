//! A page being written: fixed markup, and escaped text. There is no way to write anything else.

use std::fmt::{self, Display, Write as _};

use crate::clean::CleanText;

/// Lines from which a text is folded.
const FOLD_LINES: usize = 14;
/// Bytes from which a text is folded.
const FOLD_BYTES: usize = 1600;

/// A page.
#[derive(Debug, Default)]
pub(super) struct HtmlPage(String);

impl HtmlPage {
    /// Fixed markup.
    pub(super) fn push_markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text of somebody else.
    pub(super) fn push_text(&mut self, text: &CleanText) -> &mut Self {
        self.push_value(text.as_str())
    }

    /// A value of our own; escaped all the same.
    pub(super) fn push_value(&mut self, value: impl Display) -> &mut Self {
        // Writing to a string does not fail.
        let _ = write!(HtmlEscaper(&mut self.0), "{value}");
        self
    }

    /// A text as it is laid out.
    pub(super) fn push_block(&mut self, text: &CleanText) -> &mut Self {
        self.push_markup("<pre dir=\"auto\">").push_text(text).push_markup("</pre>\n")
    }

    /// A text below its name; folded if it is long.
    pub(super) fn push_named(&mut self, name: &CleanText, text: &CleanText) -> &mut Self {
        if text.line_count() <= 1 && text.as_str().len() <= 100 {
            return self
                .push_markup("<p class=\"arg\"><span>")
                .push_text(name)
                .push_markup("</span> <code dir=\"auto\">")
                .push_text(text)
                .push_markup("</code></p>\n");
        }
        self.push_folded(name, text, |html| {
            html.push_block(text);
        })
    }

    /// Appends the output of `write` for `text`, below a name; folded if it is long.
    pub(super) fn push_folded(
        &mut self,
        name: &CleanText,
        text: &CleanText,
        write: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let lines = text.line_count();
        if lines > FOLD_LINES || text.as_str().len() > FOLD_BYTES {
            self.push_markup("<details><summary>")
                .push_text(name)
                .push_markup(" <span class=\"much\">")
                .push_value(lines);
            self.push_markup(if lines == 1 { " line" } else { " lines" }).push_markup("</span></summary>\n");
            write(self);
            self.push_markup("</details>\n")
        } else {
            self.push_markup("<p class=\"arg\"><span>").push_text(name).push_markup("</span></p>\n");
            write(self);
            self
        }
    }

    /// The page.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Replaces what means something in markup.
struct HtmlEscaper<'a>(&'a mut String);

impl fmt::Write for HtmlEscaper<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                _ => self.0.push(c),
            }
        }
        Ok(())
    }
}
