//! A marked block in a text that people write too.

const START: &str = "<!-- AMPLIHACK_INSTRUCTIONS_START -->";
const END: &str = "<!-- AMPLIHACK_INSTRUCTIONS_END -->";

/// The range of the block, with marks and the line's end: an end mark and the nearest start mark before it. A start mark without an end is
/// text like any other, and what follows it is not ours.
fn block_range(text: &str) -> Option<std::ops::Range<usize>> {
    let (start, end) = text.match_indices(END).find_map(|(end, _)| Some((text[..end].rfind(START)?, end)))?;
    let end = end + END.len();
    let end = if text[end..].starts_with('\n') { end + 1 } else { end };
    Some(start..end)
}

pub(super) fn apply_block(current: Option<&str>, block: &str) -> String {
    let mut text = current.unwrap_or_default().to_owned();
    let block = format!("{START}\n{}\n{END}\n", block.trim_end());
    if let Some(range) = block_range(&text) {
        text.replace_range(range, &block);
        return text;
    }
    if !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(&block);
    text
}

pub(super) fn strip_block(current: &str) -> Option<String> {
    let mut text = current.to_owned();
    if let Some(range) = block_range(&text) {
        text.replace_range(range.clone(), "");
        // The blank line that was put before it.
        if text[..range.start].ends_with("\n\n") && range.start == text.len() {
            text.pop();
        }
    }
    (!text.is_empty()).then_some(text)
}
