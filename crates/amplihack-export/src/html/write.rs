//! A page being written: fixed markup, and escaped text. There is no way to write anything else.

use std::fmt::{self, Display, Write as _};

use crate::clean::Clean;

/// Lines from which a text is folded.
const FOLD_LINES: usize = 14;
/// Bytes from which a text is folded.
const FOLD_BYTES: usize = 1600;

/// A page.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Fixed markup.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text of somebody else.
    pub(super) fn text(&mut self, text: &Clean) -> &mut Self {
        self.show(text.as_str())
    }

    /// A value of our own; escaped all the same.
    pub(super) fn show(&mut self, value: impl Display) -> &mut Self {
        // Writing to a string does not fail.
        let _ = write!(Escaping(&mut self.0), "{value}");
        self
    }

    /// A text as it is laid out.
    pub(super) fn block(&mut self, text: &Clean) -> &mut Self {
        self.raw("<pre dir=\"auto\">").text(text).raw("</pre>\n")
    }

    /// A text below its name; folded if it is long.
    pub(super) fn named(&mut self, name: &Clean, text: &Clean) -> &mut Self {
        if text.lines() <= 1 && text.as_str().len() <= 100 {
            return self
                .raw("<p class=\"arg\"><span>")
                .text(name)
                .raw("</span> <code dir=\"auto\">")
                .text(text)
                .raw("</code></p>\n");
        }
        self.folding(name, text, |html| {
            html.block(text);
        })
    }

    /// What `write` writes of `text`, below a name; folded if it is long.
    pub(super) fn folding(&mut self, name: &Clean, text: &Clean, write: impl FnOnce(&mut Self)) -> &mut Self {
        let lines = text.lines();
        if lines > FOLD_LINES || text.as_str().len() > FOLD_BYTES {
            self.raw("<details><summary>").text(name).raw(" <span class=\"much\">").show(lines);
            self.raw(if lines == 1 { " line" } else { " lines" }).raw("</span></summary>\n");
            write(self);
            self.raw("</details>\n")
        } else {
            self.raw("<p class=\"arg\"><span>").text(name).raw("</span></p>\n");
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
struct Escaping<'a>(&'a mut String);

impl fmt::Write for Escaping<'_> {
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
