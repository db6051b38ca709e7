//! Patches on a page: a file each, with lines that were put in and taken out.

use super::write::Html;
use crate::clean::{Clean, Cleaner};

/// The lines of a patch.
pub(super) fn patch(html: &mut Html, text: &Clean) {
    html.raw("<pre class=\"diff\">");
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
        html.raw(open).show(line).raw(close);
    }
    html.raw("</pre>\n");
}

/// A whole diff, a fold a file.
pub(super) fn files(html: &mut Html, diff: &str, cleaner: Cleaner) {
    for file in split(diff) {
        let name = file.lines().next().unwrap_or_default();
        let name = name.strip_prefix("diff --git ").unwrap_or(name);
        let count = |sign: &str, header: &str| {
            file.lines().filter(|line| line.starts_with(sign) && !line.starts_with(header)).count()
        };
        html.raw("<details open><summary><code>")
            .text(&cleaner.text(name))
            .raw("</code> <span class=\"much\">+");
        html.show(count("+", "+++ ")).raw(" \u{2212}").show(count("-", "--- ")).raw("</span></summary>\n");
        patch(html, &cleaner.text(file));
        html.raw("</details>\n");
    }
}

/// The parts of a diff that are about one file.
fn split(diff: &str) -> Vec<&str> {
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
            split(diff),
            ["diff --git a/x b/x\n+diff --git no\n context\n", "diff --git a/y b/y\n-z\n"]
        );
        assert_eq!(split("-a\n+b\n"), ["-a\n+b\n"]);
        assert_eq!(split(""), [""; 0]);
    }

    #[test]
    fn lines_are_marked_by_their_sign() {
        let mut html = Html::default();
        patch(&mut html, &Cleaner::new(true).text("--- a\n+++ b\n@@ -1 +1 @@\n-<old>\n+new\n same\n"));
        assert_eq!(
            html.into_string(),
            "<pre class=\"diff\"><span class=\"file\">--- a\n</span><span class=\"file\">+++ b\n</span>\
             <span class=\"hunk\">@@ -1 +1 @@\n</span><del>-&lt;old&gt;\n</del><ins>+new\n</ins><span> same\n</span></pre>\n"
        );
    }
}
