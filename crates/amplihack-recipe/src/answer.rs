//! JSON in what a step has printed: the whole of it, a fenced block, or a part of the prose.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::value::{RecipeValue, RecipeValueKind};

/// A JSON value found in the output of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputJson {
    /// The value, its numbers and the order of its keys as they were printed.
    pub value: RecipeValue,
    /// The value on one line, as the step's output: zeros that end a fraction left out.
    pub output: String,
}

/// Looks for JSON, in this order: the whole text without blanks around it; the first fenced block (` ``` `) that is JSON; the first
/// object, or list that holds an object, in the text; the first list. Nothing is found in a text that ends in the middle of one.
pub fn parse_json(text: &str) -> Option<OutputJson> {
    let trimmed = text.trim();
    let found = RecipeValue::from_json(trimmed)
        .or_else(|| parse_fenced_json(trimmed))
        .or_else(|| find_json_in_prose(trimmed))?;
    let output = shorten_fractions(&found.json_text());
    Some(OutputJson { value: found, output })
}

/// The first fenced block that is JSON. One that does not say `json` has to be an object or a list.
fn parse_fenced_json(text: &str) -> Option<RecipeValue> {
    let mut block: Option<(bool, String)> = None;
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, &mut block) {
            (Some(tag), None) => {
                let tag = tag.trim_start_matches('`').trim().to_ascii_lowercase();
                block = Some((tag == "json" || tag == "jsonc" || tag == "json5", String::new()));
            }
            (Some(_), Some((json, body))) => {
                if let Some(value) =
                    RecipeValue::from_json(body.trim()).filter(|value| *json || is_collection(value))
                {
                    return Some(value);
                }
                block = None;
            }
            (None, Some((_, body))) => body.push_str(line),
            (None, None) => {}
        }
    }
    None
}

fn is_collection(value: &RecipeValue) -> bool {
    matches!(value.kind(), RecipeValueKind::Object(_) | RecipeValueKind::List(_))
}

fn find_json_in_prose(text: &str) -> Option<RecipeValue> {
    let mut list = None;
    let mut at = 0;
    // Each start is read up to its first mistake; together not more than this.
    let mut budget = text.len().saturating_mul(16).saturating_add(1 << 20);
    while let Some(start) = text[at..].find(['{', '[']).map(|found| at + found) {
        match scan_json_value(text, start) {
            OutputJsonScan::Value(range) => {
                let value = RecipeValue::from_json(&text[range.clone()])?;
                let rich = match value.kind() {
                    RecipeValueKind::Object(_) => true,
                    RecipeValueKind::List(items) => {
                        items.iter().any(|item| matches!(item.kind(), RecipeValueKind::Object(_)))
                    }
                    _ => false,
                };
                if rich {
                    return Some(value);
                }
                list = list.or(Some(value));
                at = range.end;
            }
            OutputJsonScan::Mistake(after) => {
                budget = budget.checked_sub(after)?;
                at = start + 1;
            }
            OutputJsonScan::End => return list,
        }
    }
    list
}

enum OutputJsonScan {
    Value(Range<usize>),
    /// Number of bytes between the start and the first mistake.
    Mistake(usize),
    /// The text ended inside.
    End,
}

fn scan_json_value(text: &str, start: usize) -> OutputJsonScan {
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(_)) => OutputJsonScan::Value(start..start + values.byte_offset()),
        Some(Err(error)) if error.is_eof() => OutputJsonScan::End,
        Some(Err(error)) => {
            let lines = text[start..].split_inclusive('\n').take(error.line() - 1).map(str::len);
            OutputJsonScan::Mistake(lines.sum::<usize>() + error.column())
        }
        None => OutputJsonScan::End,
    }
}

/// Compact JSON with fractions without the zeros at their end: `2.50` is `2.5`, `2.00` is `2.0`.
fn shorten_fractions(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'"' => string_end(bytes, at),
            b'-' | b'0'..=b'9' => {
                at + bytes[at..].iter().take_while(|byte| b"+-.eE0123456789".contains(byte)).count()
            }
            _ => at + 1,
        };
        let token = &json[at..end];
        match token.split_once('.') {
            Some((whole, fraction)) if !token.starts_with('"') => {
                let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
                let kept = fraction[..digits].trim_end_matches('0');
                out.push_str(whole);
                out.push('.');
                out.push_str(if kept.is_empty() { "0" } else { kept });
                out.push_str(&fraction[digits..]);
            }
            _ => out.push_str(token),
        }
        at = end;
    }
    out
}

fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> Option<String> {
        parse_json(text).map(|answer| answer.output)
    }

    #[test]
    fn where_json_is_found() {
        for (text, want) in [
            ("  {\"b\": 1, \"a\": 2.50} \n", "{\"b\":1,\"a\":2.5}"),
            ("42", "42"),
            ("\"x\"", "\"x\""),
            (
                "I say {\"a\": \"he said \\\"hi\\\" }\", \"n\": {\"m\": 1}} now",
                "{\"a\":\"he said \\\"hi\\\" }\",\"n\":{\"m\":1}}",
            ),
            ("Use {placeholder} and then {\"a\": \"real\"} ok", "{\"a\":\"real\"}"),
            ("```bash\necho {}\n```\nthen\n```json\n{\"a\": \"second\"}\n```\n", "{\"a\":\"second\"}"),
            ("```\n[1, 2]\n```", "[1,2]"),
            ("```JSON\n7\n```", "7"),
            ("all: [{\"a\": 1}, {\"a\": 2}] done", "[{\"a\":1},{\"a\":2}]"),
            ("see [1] and [2]: {\"a\": 1}", "{\"a\":1}"),
            ("the list [1, 2] only", "[1,2]"),
            ("- [ ] todo\n- [x] done\n{\"a\": 1}", "{\"a\":1}"),
            (
                "{\"v\": 1.0, \"w\": 1.10e5, \"s\": \"1.50\", \"big\": 123456789012345678901}",
                "{\"v\":1.0,\"w\":1.1e5,\"s\":\"1.50\",\"big\":123456789012345678901}",
            ),
            ("it's {\"a\": \"ü🦀\"}", "{\"a\":\"ü🦀\"}"),
        ] {
            assert_eq!(output(text).as_deref(), Some(want), "{text}");
        }
        let value = parse_json("{\"v\": 1.10}").unwrap().value;
        assert_eq!(value.value_at(&["v"]).unwrap().text(), "1.10");
    }

    #[test]
    fn where_none_is() {
        for text in [
            "",
            "  ",
            "no json at all",
            "{\"a\": \"x\", \"b\": [1, 2",
            "{\"a\": {\"b\": 1}, \"c",
            "{'a': 'x', 'b': True}",
            "```\n42\n```",
            "{",
            "[",
            "``` {",
            "{placeholder}",
        ] {
            assert_eq!(output(text), None, "{text}");
        }
    }

    /// Each bracket was a start that was read up to the end.
    #[test]
    fn many_brackets_take_linear_work() {
        for text in [
            "[".repeat(1 << 20),
            format!("{}x", "[".repeat(1 << 20)),
            "{".repeat(1 << 20),
            "[1,".repeat(1 << 18) + "x",
        ] {
            assert_eq!(output(&text), None);
        }
    }
}
