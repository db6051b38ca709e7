//! Text behind `${`: the end of the name, and the operand that the operator there takes.

/// Bytes in which the end of a subscript is looked for.
const SUBSCRIPT: usize = 256;

/// Behind the name in `${name…`, with its subscript.
fn parameter_end(src: &[u8], from: usize) -> usize {
    let name = |at: usize| {
        at + src[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
    };
    let begin = from + usize::from(matches!(src.get(from), Some(b'!' | b'#')) && name(from + 1) > from + 1);
    let end = match name(begin) {
        end if end == begin => (begin + 1).min(src.len()),
        end => end,
    };
    match src.get(end) {
        Some(b'[') => {
            let subscript = &src[end..src.len().min(end + SUBSCRIPT)];
            end + subscript.iter().position(|byte| *byte == b']').map_or(0, |len| len + 1)
        }
        _ => end,
    }
}

/// Reports whether the operator in `${` (which ends at `from`) takes a pattern: `#`, `%`, `/`, `^`, `,`.
pub(super) fn is_pattern(src: &[u8], from: usize) -> bool {
    src.get(parameter_end(src, from)).is_some_and(|byte| b"#%/^,@~".contains(byte))
}

/// Reports whether `at` is behind the colon of `${name:offset:length}`.
pub(super) fn is_substring(src: &[u8], from: usize, at: usize) -> bool {
    let end = parameter_end(src, from);
    end < at && src.get(end) == Some(&b':') && !src.get(end + 1).is_some_and(|byte| b"-=?+".contains(byte))
}
