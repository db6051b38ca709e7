//! Functions that are longer than a screen: each tells why it is as it is where a stranger would ask.

use crate::source::Source;
use crate::{none, sources};

/// Lines of a function up to which its name and its documentation are enough.
const LONGEST: usize = 40;

/// Files that do not ship: modules that are compiled for tests only, and examples.
const ASIDE: &[&str] = &["src/testing.rs", "pool/properties.rs", "_tests.rs", "/examples/"];

/// A long function of a source.
struct LongFunction {
    /// File, line and name.
    name: String,
    has_comment: bool,
}

/// The long functions of `source`, without tables. Where a body ends is known by rustfmt's indentation.
fn long_functions(source: &Source) -> Vec<LongFunction> {
    let code: Vec<&str> = source.code.lines().map(str::trim_end).collect();
    // A comment is blank where strings stay.
    let pairs = source.text.lines().map(str::trim_end).zip(source.quoting.lines().map(str::trim_end));
    let has_comment: Vec<bool> =
        pairs.map(|(line, kept)| line.len() > kept.len() && !line.trim_start().starts_with("///")).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (start, line) in code.iter().enumerate() {
        let Some((before, behind)) = line.split_once("fn ") else { continue };
        let depth = indent(line);
        let is_level = |at: &usize| !code[*at].is_empty() && indent(code[*at]) == depth;
        let opens = |at: &usize| is_level(at) && code[*at].ends_with(['{', '}', ';']);
        let Some(open) = (start..code.len()).find(opens) else { continue };
        let Some(close) = (open + 1..code.len()).find(is_level) else { continue };
        let is_function = (before.is_empty() || before.ends_with(' ')) && code[open].ends_with('{');
        // One `match` or one literal of a type is a table, whose lines stand each for itself.
        let body = code[open + 1..close].iter().filter(|line| indent(line) == depth + 4);
        let top: Vec<&str> = body.map(|line| line.trim_start()).filter(|line| !line.is_empty()).collect();
        let is_table = top.len() == 2
            && (top[0].starts_with("match ") || top[0].starts_with(|first: char| first.is_ascii_uppercase()))
            && (top[0].ends_with('{') && top[1] == "}");
        let is_long = is_function && close - start >= LONGEST;
        if is_long && !is_table {
            let name = behind.split(['(', '<']).next().unwrap_or(behind);
            let name = format!("{}:{}: {name}", source.path.display(), start + 1);
            found.push(LongFunction { name, has_comment: has_comment[open..close].contains(&true) });
        }
    }
    found
}

#[test]
fn every_long_function_has_a_comment() {
    let sources = sources();
    let is_aside = |source: &Source| ASIDE.iter().any(|part| source.path.to_string_lossy().contains(part));
    let shipped = sources.iter().filter(|source| source.ships() && !is_aside(source));
    let found: Vec<LongFunction> = shipped.flat_map(long_functions).collect();
    assert!(found.len() > 100, "only {} were found", found.len());
    none(
        "a function of more than 40 lines has no comment on what a stranger would ask about",
        found.into_iter().filter(|function| !function.has_comment).map(|function| function.name),
    );
}
