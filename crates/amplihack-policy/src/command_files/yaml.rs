//! Keys and values of a YAML text, read line by line: enough to find commands, also in a text that a strict reader would refuse.

/// A key with one of its values: a scalar, or one item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlKeyValue {
    pub(super) key: String,
    pub(super) value: String,
    /// Indentation of the key, in characters.
    pub(super) indent: usize,
}

/// Every key with a value that is text, in order.
pub(super) fn parse_entries(text: &str) -> Vec<YamlKeyValue> {
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    // The keys that the line stands below, with their indents.
    let mut above: Vec<(usize, String)> = Vec::new();
    while let Some(line) = lines.next() {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let mut indent = line.len() - content.len();
        let mut rest = content;
        let mut is_item = false;
        while let Some(item) = rest.strip_prefix("- ").or_else(|| (rest == "-").then_some("")) {
            indent += rest.len() - item.trim_start().len();
            rest = item.trim_start();
            is_item = true;
        }
        let (key, value) = match split_key(rest) {
            Some((key, value)) => {
                above.retain(|(at, _)| *at < indent);
                above.push((indent, key.to_owned()));
                (key.to_owned(), value)
            }
            None if is_item => {
                above.retain(|(at, _)| *at < indent);
                let Some((_, key)) = above.last() else { continue };
                (key.clone(), rest)
            }
            None => continue,
        };
        let outer = line.len() - content.len();
        let is_below = |line: &&str| line.trim().is_empty() || line.len() - line.trim_start().len() > outer;
        let mut add = |value: String| found.push(YamlKeyValue { key: key.clone(), value, indent });
        if value.starts_with(['|', '>']) {
            let mut block = Vec::new();
            while let Some(line) = lines.next_if(is_below) {
                block.push(line);
            }
            add(dedent_lines(&block, value.starts_with('>')));
        } else if let Some(items) = value.strip_prefix('[') {
            items
                .trim_end()
                .trim_end_matches(']')
                .split(',')
                .map(unquote_scalar)
                .filter(|item| !item.is_empty())
                .for_each(add);
        } else if !value.is_empty() {
            let mut value = unquote_scalar(value);
            // A plain text goes on in deeper lines.
            while let Some(line) = lines.next_if(|line| {
                is_below(line)
                    && !line.trim().is_empty()
                    && split_key(line.trim()).is_none()
                    && !line.trim().starts_with("- ")
            }) {
                value.push(' ');
                value.push_str(line.trim());
            }
            add(value);
        }
    }
    found
}

/// `key: value`, where the key is a plain or quoted word.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let at = text.find(": ").or_else(|| text.strip_suffix(':').map(str::len))?;
    let key = text[..at].trim().trim_matches(['"', '\'']);
    let plain = !key.is_empty() && key.chars().all(|ch| ch.is_alphanumeric() || "_-.@/ ".contains(ch));
    (plain && !text.starts_with(['|', '>', '[', '{'])).then(|| (key, text[at + 1..].trim()))
}

/// A scalar without its quotes or the comment behind it.
fn unquote_scalar(text: &str) -> String {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('"') {
        let inner = inner.rsplit_once('"').map_or(inner, |(inner, _)| inner);
        return serde_json::from_str(&format!("\"{inner}\"")).unwrap_or_else(|_| inner.replace("\\\"", "\""));
    }
    if let Some(inner) = text.strip_prefix('\'') {
        return inner.rsplit_once('\'').map_or(inner, |(inner, _)| inner).replace("''", "'");
    }
    text.split_once(" #").map_or(text, |(text, _)| text).trim().to_owned()
}

fn dedent_lines(lines: &[&str], folded: bool) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(least..).unwrap_or_default()).collect();
    lines.join(if folded { " " } else { "\n" }).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::parse_entries;

    #[test]
    fn keys_lists_and_blocks_are_read() {
        let text = "a: 1 # c\nsteps:\n  - name: x\n    run: |\n      one\n        two\n\n      three\n  - run: 'it''s'\nscript:\n  - \"a \\\"b\\\"\"\n  - c d\nf: >-\n  g\n  h\nl: [x, \"y z\"]\np: one\n  two\n";
        let found: Vec<_> = parse_entries(text).into_iter().map(|entry| (entry.key, entry.value)).collect();
        let expected = [
            ("a", "1"),
            ("name", "x"),
            ("run", "one\n  two\n\nthree"),
            ("run", "it's"),
            ("script", "a \"b\""),
            ("script", "c d"),
            ("f", "g h"),
            ("l", "x"),
            ("l", "y z"),
            ("p", "one two"),
        ];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
}
