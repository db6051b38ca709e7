//! Backslash escapes: `$'…'`, `echo -e`, `printf`.

/// `text` with its escapes carried out. A NUL ends it, as in bash.
pub(super) fn unescape_backslashes(text: &str) -> String {
    let src = text.as_bytes();
    let mut out = Vec::with_capacity(src.len());
    let mut at = 0;
    while at < src.len() {
        if src[at] != b'\\' || at + 1 == src.len() {
            out.push(src[at]);
            at += 1;
            continue;
        }
        let code = src[at + 1];
        at += 2;
        match code {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'e' | b'E' => out.push(27),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'\\' | b'\'' | b'"' | b'?' => out.push(code),
            b'c' if at < src.len() => {
                out.push(src[at] & 0x1f);
                at += 1;
            }
            b'0'..=b'7' => {
                // `\0nnn` of echo and `\nnn` of the others.
                let most = if code == b'0' { 4 } else { 3 };
                let value = read_digits(src, &mut at, 8, most, Some(code));
                match (value & 0xff) as u8 {
                    0 => break,
                    byte => out.push(byte),
                }
            }
            b'x' | b'u' | b'U' => {
                let most = match code {
                    b'x' => 2,
                    b'u' => 4,
                    _ => 8,
                };
                let braced = code == b'x' && src.get(at) == Some(&b'{');
                at += usize::from(braced);
                let begin = at;
                let value = read_digits(src, &mut at, 16, if braced { 8 } else { most }, None);
                if at == begin {
                    out.extend_from_slice(&[b'\\', code]);
                    continue;
                }
                at += usize::from(braced && src.get(at) == Some(&b'}'));
                if value == 0 {
                    break;
                }
                if code == b'x' {
                    out.push((value & 0xff) as u8);
                } else {
                    let mut buffer = [0; 4];
                    let c = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
                    out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                }
            }
            _ => out.extend_from_slice(&[b'\\', code]),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn read_digits(src: &[u8], at: &mut usize, radix: u32, most: usize, first: Option<u8>) -> u32 {
    let mut value = first.map_or(0, |byte| u32::from(byte - b'0'));
    let mut left = most - usize::from(first.is_some());
    while let (Some(digit), true) =
        (src.get(*at).and_then(|byte| char::from(*byte).to_digit(radix)), left > 0)
    {
        value = value.wrapping_mul(radix).wrapping_add(digit);
        (*at, left) = (*at + 1, left - 1);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::unescape_backslashes;

    #[test]
    fn escapes() {
        for (text, want) in [
            (r"\x72\155", "rm"),
            (r"\u0072\U0000006d", "rm"),
            (r"\n\t\\\'", "\n\t\\'"),
            (r"rm\0 x", "rm"),
            (r"\q\xzz", r"\q\xzz"),
            (r"\0162m", "rm"),
            (r"\cA", "\u{1}"),
            ("\\", "\\"),
            (r"\xc3\xa9", "é"),
            (r"\x{72}m", "rm"),
        ] {
            assert_eq!(unescape_backslashes(text), want, "{text}");
        }
    }
}
