//! Patches on a page: a file each, with lines that were put in and taken out.

use super::write::HtmlPage;
use crate::clean::{CleanText, TextCleaner};

/// The lines of a patch.
pub(super) fn write_patch(html: &mut HtmlPage, text: &CleanText) {
    html.push_markup("<pre class=\"diff\">");
    for line in text.as_str().lines() {
        let (open, close) = match line.as_bytes() {
            // The file's own header is neither.
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => {
                ("<span class=\"file\">", "\n</span>")
            }
            [b'+', ..] => ("<ins>", "\n</ins>"),
            [b'-', ..] => ("<del>", "\n</del>"),
            [b'@', b'@', ..] => ("<span class=\"hunk\">", "\n</span>"),
            _ => ("<span>", "\n</span>"),
        };
        html.push_markup(open).push_value(line).push_markup(close);
    }
    html.push_markup("</pre>\n");
}

/// A whole diff, a fold a file.
pub(super) fn write_files(html: &mut HtmlPage, diff: &str, cleaner: TextCleaner) {
    for file in split_files(diff) {
        let name = file.lines().next().unwrap_or_default();
        let name = name.strip_prefix("diff --git ").unwrap_or(name);
        let count = |sign: &str, header: &str| {
            file.lines().filter(|line| line.starts_with(sign) && !line.starts_with(header)).count()
        };
        html.push_markup("<details open><summary><code>")
            .push_text(&cleaner.clean_text(name))
            .push_markup("</code> <span class=\"much\">+");
        html.push_value(count("+", "+++ "))
            .push_markup(" \u{2212}")
            .push_value(count("-", "--- "))
            .push_markup("</span></summary>\n");
        write_patch(html, &cleaner.clean_text(file));
        html.push_markup("</details>\n");
    }
}

/// The parts of a diff that are about one file.
fn split_files(diff: &str) -> Vec<&str> {
    let starts = diff.match_indices("diff --git ").map(|(at, _)| at);
    let starts = starts.filter(|at| *at == 0 || diff[..*at].ends_with('\n'));
    let mut from: Vec<usize> = starts.collect();
    if from.first() != Some(&0) && !diff.is_empty() {
        from.insert(0, 0);
    }
    let ends = from.iter().skip(1).copied().chain([diff.len()]);
    from.iter().zip(ends).map(|(from, to)| &diff[*from..to]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_cut_where_a_file_begins() {
        let diff = "diff --git a/x b/x\n+diff --git no\n context\ndiff --git a/y b/y\n-z\n";
        assert_eq!(
            split_files(diff),
            ["diff --git a/x b/x\n+diff --git no\n context\n", "diff --git a/y b/y\n-z\n"]
        );
        assert_eq!(split_files("-a\n+b\n"), ["-a\n+b\n"]);
        assert_eq!(split_files(""), [""; 0]);
    }

    #[test]
    fn lines_are_marked_by_their_sign() {
        let mut html = HtmlPage::default();
        write_patch(
            &mut html,
            &TextCleaner::new(true).clean_text("--- a\n+++ b\n@@ -1 +1 @@\n-<old>\n+new\n same\n"),
        );
        assert_eq!(
            html.into_string(),
            "<pre class=\"diff\"><span class=\"file\">--- a\n</span><span class=\"file\">+++ b\n</span>\
             <span class=\"hunk\">@@ -1 +1 @@\n</span><del>-&lt;old&gt;\n</del><ins>+new\n</ins><span> same\n</span></pre>\n"
        );
    }
}
