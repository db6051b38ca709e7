//! Patches in git's form, cut into files.

/// The files of `patch` with their hunks, which begin at the first `@@`; a file without hunks has an empty text.
pub(crate) fn split_patch(patch: &str) -> Vec<(&str, &str)> {
    const FILE: &str = "diff --git a/";
    let mut files = Vec::new();
    let mut rest = patch;
    while let Some(begin) = find_line(rest, FILE) {
        rest = &rest[begin + FILE.len()..];
        let end = find_line(rest, FILE).unwrap_or(rest.len());
        let (file, behind) = rest.split_at(end);
        let header = file.lines().next().unwrap_or_default();
        // The name is there twice, and may have blanks.
        let name = header.get(..header.len().saturating_sub(3) / 2).unwrap_or_default();
        let hunks = find_line(file, "@@").map_or("", |at| &file[at..]);
        files.push((name, hunks));
        rest = behind;
    }
    files
}

/// The place of the first line that begins with `words`.
fn find_line(text: &str, words: &str) -> Option<usize> {
    if text.starts_with(words) {
        return Some(0);
    }
    let mut from = 0;
    loop {
        from += text.get(from..)?.find('\n')? + 1;
        if text.get(from..)?.starts_with(words) {
            return Some(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_patch;

    #[test]
    fn a_patch_is_cut_into_files_and_hunks() {
        let patch = "\ndiff --git a/w/a b.txt b/w/a b.txt\nindex 0..0 100644\n--- a/w/a b.txt\n+++ b/w/a b.txt\n@@ -1 +1 @@\n-a\n+b diff --git a/\ndiff --git a/é b/é\ndeleted file mode 100644\ndiff --git a/c b/c\n@@ -0,0 +1 @@\n+c\n";
        assert_eq!(
            split_patch(patch),
            [("w/a b.txt", "@@ -1 +1 @@\n-a\n+b diff --git a/\n"), ("é", ""), ("c", "@@ -0,0 +1 @@\n+c\n"),]
        );
        for none in ["", "@@ -1 +1 @@\n", "diff --git", "diff --git a/", "diff --git a/x"] {
            assert!(split_patch(none).iter().all(|(_, hunks)| hunks.is_empty()), "{none}");
        }
    }
}
