//! Markdown being written: fixed markup, and texts of others in code, in table cells or escaped.

use std::fmt::Display;

use amplihack_sys::push_text;

use crate::clean::CleanText;

/// A text in Markdown.
#[derive(Debug, Default)]
pub(super) struct MarkdownText(String);

impl MarkdownText {
    /// Fixed markup.
    pub(super) fn push_markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A number, a time or a word of our own.
    pub(super) fn push_value(&mut self, value: impl Display) -> &mut Self {
        push_text!(self.0, "{value}");
        self
    }

    /// A text in a fence that none of its lines ends. Lists before it are ended by the empty line.
    pub(super) fn push_fence(&mut self, language: &'static str, text: &CleanText) -> &mut Self {
        let fence = "`".repeat(longest_run(text.as_str()).max(2) + 1);
        push_text!(self.0, "\n{fence}{language}\n{}\n{fence}\n", text.as_str().trim_end_matches('\n'));
        self
    }

    /// A text as code within a line.
    pub(super) fn push_code(&mut self, text: &CleanText) -> &mut Self {
        let code = inline_code(text.as_str());
        self.0.push_str(&code);
        self
    }

    /// A text as code within a cell of a table.
    pub(super) fn push_cell(&mut self, text: &CleanText) -> &mut Self {
        // A bar ends a cell even within code.
        let code = inline_code(text.as_str()).replace('|', "\\|");
        self.0.push_str(&code);
        self
    }

    /// A text as code within HTML, as in a summary.
    pub(super) fn push_html(&mut self, text: &CleanText) -> &mut Self {
        self.0.push_str("<code>");
        for c in text.as_str().chars() {
            match c {
                '\n' | '\t' => self.0.push(' '),
                // Markdown is read within HTML's lines too.
                c if c.is_ascii_punctuation() => push_text!(self.0, "&#{};", u32::from(c)),
                c => self.0.push(c),
            }
        }
        self.0.push_str("</code>");
        self
    }

    /// A text of a heading, to its line's end.
    pub(super) fn push_line(&mut self, text: &CleanText) -> &mut Self {
        for c in text.as_str().chars() {
            match c {
                '\n' => self.0.push(' '),
                ':' | ' ' => self.0.push(c),
                c if c.is_ascii_punctuation() => {
                    self.0.push('\\');
                    self.0.push(c);
                }
                c => self.0.push(c),
            }
        }
        self.push_markup("\n")
    }

    /// All of it.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// Code within a line.
fn inline_code(text: &str) -> String {
    let text = text.split(['\n', '\t']).collect::<Vec<_>>().join(" ");
    if text.trim().is_empty() {
        return String::new();
    }
    let ticks = "`".repeat(longest_run(&text) + 1);
    // A backtick at its end would belong to the fence; one blank on each side is taken off again.
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean::TextCleaner;

    fn written(
        write: for<'a, 'b> fn(&'a mut MarkdownText, &'b CleanText) -> &'a mut MarkdownText,
        text: &str,
    ) -> String {
        let mut out = MarkdownText::default();
        write(&mut out, &TextCleaner::new(true).clean_text(text));
        out.into_string()
    }

    #[test]
    fn no_text_ends_the_code_that_it_stands_in() {
        let fence = |text: &str| written(|out, text| out.push_fence("text", text), text);
        assert_eq!(fence("a\n"), "\n```text\na\n```\n");
        assert_eq!(fence("````\n<b>"), "\n`````text\n````\n<b>\n`````\n");
        let code = |text: &str| written(MarkdownText::push_code, text);
        assert_eq!(code("a`b\n``c"), "```a`b ``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(" \n"), "");
        assert_eq!(written(MarkdownText::push_cell, "a | b"), "`a \\| b`");
    }

    #[test]
    fn no_text_is_markup_within_html_or_a_heading() {
        assert_eq!(
            written(MarkdownText::push_html, "</code><b>*x*\n\n# y"),
            "<code>&#60;&#47;code&#62;&#60;b&#62;&#42;x&#42;  &#35; y</code>"
        );
        assert_eq!(
            written(MarkdownText::push_line, "a: <b> [x](y)\n@me"),
            "a: \\<b\\> \\[x\\]\\(y\\) \\@me\n"
        );
    }
}
