//! Restoration of what the editor of TOML takes out of a text that a user wrote.

/// `changed` with the mark at the beginning and the line ends that `before` had: the editor knows neither. A text with both kinds of line
/// ends gets the plain one.
pub fn as_before(changed: String, before: &str) -> String {
    const MARK: char = '\u{feff}';
    let ends = before.matches('\n').count();
    let dos = ends > 0 && before.matches("\r\n").count() == ends;
    let mut changed = if dos { changed.replace("\r\n", "\n").replace('\n', "\r\n") } else { changed };
    if before.starts_with(MARK) && !changed.starts_with(MARK) {
        changed.insert(0, MARK);
    }
    changed
}
