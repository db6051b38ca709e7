//! Conditions against values: what holds, what does not, what is an error.

use super::*;
use crate::value::RecipeValue;

fn context() -> RecipeContext {
    [
        ("s", RecipeValue::from_string("  Hello World  ")),
        ("abc", RecipeValue::from_string("abc")),
        ("csv", RecipeValue::from_string("a,b,c")),
        ("e", RecipeValue::from_string("")),
        ("n", RecipeValue::from_output("12")),
        ("ns", RecipeValue::from_string("42")),
        ("big", RecipeValue::from_output("123456789012345678901234567891")),
        ("sha", RecipeValue::from_output("12345e67")),
        ("t", RecipeValue::from_output("true")),
        ("f", RecipeValue::from_output("false")),
        ("l", RecipeValue::from_output("[\"a\", {\"x\": \"y\"}, 2, \"3\"]")),
        ("o", RecipeValue::from_output("{\"k\": \"v\", \"d-k\": \"w\", \"length\": 1}")),
        ("a-b", RecipeValue::from_string("x")),
        ("dotted.name", RecipeValue::from_string("d")),
        ("nothing", RecipeValue::null()),
        ("u", RecipeValue::from_string("äöü🦀")),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn judge(text: &str) -> Result<bool, ConditionError> {
    StepCondition::parse(text)?.is_met(&context())
}

#[test]
fn what_holds() {
    for text in [
        "t and not f",
        "f or t",
        "not (t and f)",
        "f || abc",
        "t && abc == 'abc'",
        "not not abc",
        "not missing",
        "'Hello' in s",
        "'x' not in s",
        "'' in s",
        "'a' in l",
        "2 in l",
        "'2' in l",
        "3 in l",
        "'k' in o",
        "'z' not in o",
        "'a' not in missing",
        "abc in ['abc', 'b',]",
        "n in [1, 12]",
        "len(l) == 4",
        "len(o) == 3",
        "len(missing) == 0",
        "int(ns) == 42",
        "int(n) >= 5",
        "int(' 7 ') == 7",
        "int(5) == 5",
        "int(2.9) == 2",
        "int('-2.9') == -2",
        "float('2.5') > 2",
        "str(n) == '12'",
        "str(5) == '5'",
        "bool(l)",
        "min(1, 2, 3) == 1",
        "max(n, 99) == 99",
        "max('a', 'b') == 'b'",
        "len(s.strip()) == 11",
        "len(u) == 4",
        "u.find('🦀') == 3",
        "s.lstrip().startswith('Hello')",
        "s.rstrip().endswith('World')",
        "s.upper().count('L') == 3",
        "s.lower().strip().title() == 'Hello World'",
        "csv.replace(',', '-') == 'a-b-c'",
        "len(csv.split(',')) == 3",
        "csv.split(',')[1] == 'b'",
        "csv.find('z') == -1",
        "'-'.join(csv.split(',')) == 'a-b-c'",
        "n.strip() == '12'",
        "t.upper() == 'TRUE'",
        "missing.strip() == ''",
        "o['k'] == 'v'",
        "o[\"d-k\"] == 'w'",
        "o.d-k == 'w'",
        "l[1].x == 'y'",
        "l[1]['x'] == 'y'",
        "o.length == 1",
        "(l)[0] == 'a'",
        "(o).k == 'v'",
        "missing == null",
        "missing == None",
        "nothing == missing",
        "missing != ''",
        "a-b == 'x'",
        "n == '12'",
        "n == 12.0",
        "t == 'true'",
        "f == 'False'",
        "sha == '12345e67'",
        "dotted.name == 'd'",
        "big == '123456789012345678901234567891'",
        "big != '123456789012345678901234567890'",
        "'10' < '9'",
        "ns > 5",
        "10 > 9",
        "'a\\nb' != 'anb'",
        "len('a\\nb') == 3",
        "'it\\'s' == \"it's\"",
        "(missing or 'x') == 'x'",
        "t or int('x')",
        "[1, [2]] == [1, [2]]",
        "True",
        "\n t \r\n\tand\nt ",
        "abc.length2 == null",
    ] {
        assert_eq!(judge(text), Ok(true), "{text}");
    }
}

#[test]
fn what_does_not_hold() {
    for text in [
        "e",
        "f",
        "missing",
        "not t",
        "'x' in s",
        "'a' in missing",
        "'a' in []",
        "missing == ''",
        "t == 1",
        "abc == 0",
        "l[9] == ''",
        "abc[0] == 'a'",
        "o[0] == 'v'",
        "o.missing.deep",
        "'a' < 1",
        "missing < 1",
        "l < l",
        "n != '12'",
        "0",
        "0.0",
        "''",
        "[]",
        "bool(e)",
        "missing in 'nothing'",
        "False",
        "o == l",
        "'nan' == 0",
    ] {
        assert_eq!(judge(text), Ok(false), "{text}");
    }
}

#[test]
fn what_is_an_error() {
    for (text, at) in [
        ("abc == 'x' zzz", 11..14),
        ("abc abc", 4..7),
        ("1 < n < 2", 6..7),
        ("abc == 'abc') or (", 12..13),
        ("n + 1 == 3", 2..3),
        ("n - 1 == 1", 2..3),
        ("n -1 == 1", 2..4),
        ("exists(abc)", 0..11),
        ("upper(abc) == 'ABC'", 0..10),
        ("abc.length > 2", 3..10),
        ("abc.upper == 'ABC'", 3..9),
        ("abc.nope()", 3..10),
        ("min(1) == 1", 0..6),
        ("len()", 0..5),
        ("abc.replace('a')", 3..16),
        ("s == 'unterminated", 5..18),
        ("s = 'abc'", 2..3),
        ("s ==", 4..4),
        ("(s", 2..2),
        ("", 0..0),
        ("  ", 2..2),
        ("s and", 5..5),
        ("{{s}} == 'abc'", 0..1),
        ("s == 'a' and and s", 13..16),
        ("s @ 1", 2..3),
        ("s..x", 2..3),
        ("s[", 2..2),
        ("s['k'", 5..5),
        ("s[x]", 2..3),
        ("1.2.3 == 1", 0..5),
        ("l[-1] == 'a'", 2..4),
        ("é == 1", 0..2),
        ("t && !f", 5..6),
        ("a__b", 0..4),
        ("o['a__b']", 2..8),
        ("l.strip()", 1..9),
        ("int('x')", 0..8),
        ("csv.split('')", 3..13),
        ("','.join('x')", 3..13),
        ("max(1, 'a')", 0..11),
        ("1a == 1", 0..1),
    ] {
        let error = judge(text).expect_err(text);
        assert_eq!(error.span, at, "{text}: {error}");
    }
}

#[test]
fn limits() {
    let open = |depth: usize| format!("{}true{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(judge(&open(32)), Ok(true));
    assert!(judge(&open(33)).unwrap_err().text.contains("too deeply nested"));
    assert!(judge(&format!("{}1", "[".repeat(4000))).unwrap_err().text.contains("too deeply nested"));
    assert!(judge(&"x".repeat(8193)).unwrap_err().text.contains("too long (8193 bytes, max 8192)"));
    assert_eq!(judge(&format!("{}t", "not ".repeat(2000))), Ok(true));
    let grows = format!("'a'{}", ".replace('a', 'aaaaaaaaaaaaaaaa')".repeat(100));
    assert!(judge(&grows).unwrap_err().text.contains("too large"));
}

#[test]
fn the_names_that_are_asked_for() {
    let condition = StepCondition::parse("a.b == 1 and not (len(c) > d[0].e or 'x' in f.split(g))").unwrap();
    assert_eq!(condition.referenced_names(), ["a.b", "c", "d", "f", "g"]);
}

proptest::proptest! {
    /// Whatever can be read can be judged; an error's place is in the text.
    #[test]
    fn any_condition_is_read_and_judged(parts in proptest::collection::vec(proptest::sample::select(vec![
        "abc", "n", "l", "o", "missing", "'x'", "\"y\"", "1", "-2.5", "true", "(", ")", "[", "]", ",", ".", "==", "!=", "<", ">=", " in ", " not ", " and ", " or ", "&&",
        "len(", "int(", "max(", ".split(", ".replace(", ".upper()", "[0]", "['k']", "é", "=", "\\", "'",
    ]), 0..20)) {
        let text = parts.concat();
        match StepCondition::parse(&text) {
            Ok(condition) => {
                let _ = condition.is_met(&context());
            }
            Err(error) => proptest::prop_assert!(text.get(error.span.clone()).is_some(), "{} {:?}", text, error),
        }
    }
}
