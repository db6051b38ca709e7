//! The evaluation of a condition in a context.

use std::cmp::Ordering;
use std::ops::Range;

use super::ConditionError;
use super::functions::{ConditionFunction, ConditionMethod};
use super::parser::{ConditionComparison, ConditionExpr};
use crate::context::RecipeContext;
use crate::value::{RecipeValue, RecipeValueKind};

/// Bytes of the longest text that a method may make.
const LARGEST: usize = 64 << 20;

pub(super) fn eval_expr(
    expr: &ConditionExpr,
    context: &RecipeContext,
) -> Result<RecipeValue, ConditionError> {
    Ok(match expr {
        ConditionExpr::Literal(value) => value.clone(),
        ConditionExpr::Name(path, keys) => eval_name(path, keys, context)?,
        ConditionExpr::Key(inner, key, span) => value_below(&eval_expr(inner, context)?, key, span)?,
        ConditionExpr::Index(inner, index) => match eval_expr(inner, context)?.kind() {
            RecipeValueKind::List(items) => items.get(*index).cloned().unwrap_or_else(RecipeValue::null),
            _ => RecipeValue::null(),
        },
        ConditionExpr::List(items) => RecipeValue::from_items(eval_all(items, context)?.iter()),
        ConditionExpr::Call(function, items, span) => {
            call_function(*function, &eval_all(items, context)?, span)?
        }
        ConditionExpr::Method(inner, method, items, span) => {
            call_method(&eval_expr(inner, context)?, *method, &eval_all(items, context)?, span)?
        }
        ConditionExpr::Not(inner) => boolean_value(!is_truthy(&eval_expr(inner, context)?)),
        ConditionExpr::And(items) => eval_until(items, context, false)?,
        ConditionExpr::Or(items) => eval_until(items, context, true)?,
        ConditionExpr::Compare(left, comparison, right) => boolean_value(compare_values(
            &eval_expr(left, context)?,
            *comparison,
            &eval_expr(right, context)?,
        )),
    })
}

fn eval_all(items: &[ConditionExpr], context: &RecipeContext) -> Result<Vec<RecipeValue>, ConditionError> {
    items.iter().map(|item| eval_expr(item, context)).collect()
}

/// The first of `items` that is (not) true, else the last: what comes behind it is not looked at.
fn eval_until(
    items: &[ConditionExpr],
    context: &RecipeContext,
    wanted: bool,
) -> Result<RecipeValue, ConditionError> {
    let mut value = RecipeValue::null();
    for item in items {
        value = eval_expr(item, context)?;
        if is_truthy(&value) == wanted {
            break;
        }
    }
    Ok(value)
}

fn eval_name(
    path: &str,
    keys: &[(String, Range<usize>)],
    context: &RecipeContext,
) -> Result<RecipeValue, ConditionError> {
    if let Some(value) = context.lookup_path(path) {
        return Ok(value);
    }
    let mut value =
        keys.first().and_then(|(root, _)| context.get(root)).cloned().unwrap_or_else(RecipeValue::null);
    for (key, span) in keys.iter().skip(1) {
        value = value_below(&value, key, span)?;
    }
    Ok(value)
}

/// Returns the value below `value` at `key`; null if there is none.
fn value_below(value: &RecipeValue, key: &str, span: &Range<usize>) -> Result<RecipeValue, ConditionError> {
    if !matches!(value.kind(), RecipeValueKind::Object(_) | RecipeValueKind::Null)
        && ConditionMethod::is_mistaken_key(key)
    {
        let error = ConditionError::new(format!("{} has no '{key}'", kind_noun(value)), span.clone());
        return Err(match key {
            "length" | "size" | "len" => error.with_help("the length is `len(name)`"),
            _ => error.with_help(format!("a method is called with brackets: `.{key}()`")),
        });
    }
    match value.kind() {
        RecipeValueKind::Object(_) => Ok(value.value_at(&[key]).unwrap_or_else(RecipeValue::null)),
        _ => Ok(RecipeValue::null()),
    }
}

fn kind_noun(value: &RecipeValue) -> &'static str {
    match value.kind() {
        RecipeValueKind::Null => "nothing",
        RecipeValueKind::Bool(_) => "a boolean",
        RecipeValueKind::Number(_) => "a number",
        RecipeValueKind::String(_) => "a string",
        RecipeValueKind::List(_) => "a list",
        RecipeValueKind::Object(_) => "an object",
    }
}

pub(super) fn is_truthy(value: &RecipeValue) -> bool {
    match value.kind() {
        RecipeValueKind::Null => false,
        RecipeValueKind::Bool(value) => value,
        RecipeValueKind::Number(text) => text.parse::<f64>().is_ok_and(|number| number != 0.0),
        RecipeValueKind::String(text) => !text.is_empty(),
        RecipeValueKind::List(items) => !items.is_empty(),
        RecipeValueKind::Object(entries) => !entries.is_empty(),
    }
}

fn boolean_value(value: bool) -> RecipeValue {
    RecipeValue::from_json_value(&value.into())
}

fn compare_values(left: &RecipeValue, comparison: ConditionComparison, right: &RecipeValue) -> bool {
    let order = || order_values(left, right);
    match comparison {
        ConditionComparison::Equal => is_equal(left, right),
        ConditionComparison::Unequal => !is_equal(left, right),
        ConditionComparison::Less => order() == Some(Ordering::Less),
        ConditionComparison::LessOrEqual => order().is_some_and(Ordering::is_le),
        ConditionComparison::Greater => order() == Some(Ordering::Greater),
        ConditionComparison::GreaterOrEqual => order().is_some_and(Ordering::is_ge),
        ConditionComparison::In => contains_value(right, left),
        ConditionComparison::NotIn => !contains_value(right, left),
    }
}

/// Compares by a single rule: numbers and numeric texts as numbers, booleans and their names as booleans, null equals only
/// nothing; else both have to be of one kind.
fn is_equal(left: &RecipeValue, right: &RecipeValue) -> bool {
    match (left.kind(), right.kind()) {
        (RecipeValueKind::Null, RecipeValueKind::Null) => true,
        (RecipeValueKind::Bool(left), RecipeValueKind::Bool(right)) => left == right,
        (RecipeValueKind::Bool(value), RecipeValueKind::String(text))
        | (RecipeValueKind::String(text), RecipeValueKind::Bool(value)) => match text {
            "true" | "True" => value,
            "false" | "False" => !value,
            _ => false,
        },
        (RecipeValueKind::String(left), RecipeValueKind::String(right)) => left == right,
        (RecipeValueKind::Number(left), RecipeValueKind::Number(right) | RecipeValueKind::String(right))
        | (RecipeValueKind::String(left), RecipeValueKind::Number(right)) => {
            left == right || compare_numbers(left, right) == Some(Ordering::Equal)
        }
        (RecipeValueKind::List(_), RecipeValueKind::List(_))
        | (RecipeValueKind::Object(_), RecipeValueKind::Object(_)) => left.to_json() == right.to_json(),
        _ => false,
    }
}

fn order_values(left: &RecipeValue, right: &RecipeValue) -> Option<Ordering> {
    match (left.kind(), right.kind()) {
        (RecipeValueKind::Bool(left), RecipeValueKind::Bool(right)) => Some(left.cmp(&right)),
        (RecipeValueKind::String(left), RecipeValueKind::String(right)) => Some(left.cmp(right)),
        (RecipeValueKind::Number(left), RecipeValueKind::Number(right) | RecipeValueKind::String(right))
        | (RecipeValueKind::String(left), RecipeValueKind::Number(right)) => compare_numbers(left, right),
        _ => None,
    }
}

/// Compares two numbers: exactly, if both are whole.
fn compare_numbers(left: &str, right: &str) -> Option<Ordering> {
    let (left, right) = (left.trim(), right.trim());
    if let (Ok(left), Ok(right)) = (left.parse::<i128>(), right.parse::<i128>()) {
        return Some(left.cmp(&right));
    }
    parse_decimal(left)?.partial_cmp(&parse_decimal(right)?)
}

/// A number that is written with digits: `inf` and `nan` are words.
fn parse_decimal(text: &str) -> Option<f64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if digits { text.parse().ok() } else { None }
}

fn contains_value(whole: &RecipeValue, part: &RecipeValue) -> bool {
    match whole.kind() {
        RecipeValueKind::String(text) => !part.is_null() && text.contains(part.text()),
        RecipeValueKind::List(items) => items.iter().any(|item| is_equal(item, part)),
        RecipeValueKind::Object(entries) => entries.iter().any(|(key, _)| **key == *part.text()),
        RecipeValueKind::Null | RecipeValueKind::Bool(_) | RecipeValueKind::Number(_) => false,
    }
}

fn call_function(
    function: ConditionFunction,
    items: &[RecipeValue],
    span: &Range<usize>,
) -> Result<RecipeValue, ConditionError> {
    let (Some(first), rest) = (items.first(), items.get(1..).unwrap_or_default()) else {
        return Ok(RecipeValue::null());
    };
    let fail = |what: String| Err(ConditionError::new(what, span.clone()));
    match function {
        ConditionFunction::Str => Ok(RecipeValue::from_string(first.text())),
        ConditionFunction::Bool => Ok(boolean_value(is_truthy(first))),
        ConditionFunction::Len => Ok(count_value(match first.kind() {
            RecipeValueKind::List(items) => items.len(),
            RecipeValueKind::Object(entries) => entries.len(),
            _ => first.text().chars().count(),
        })),
        ConditionFunction::Int => match number_text(first) {
            Some(number) => Ok(truncate_number(number)),
            None => fail(format!("int(): {} is not a number", shorten_value(first))),
        },
        ConditionFunction::Float => match number_text(first) {
            Some(number) => Ok(number_value(&number)),
            None => fail(format!("float(): {} is not a number", shorten_value(first))),
        },
        ConditionFunction::Min | ConditionFunction::Max => {
            let wanted = if function == ConditionFunction::Min { Ordering::Less } else { Ordering::Greater };
            let mut best = first;
            for item in rest {
                match order_values(item, best) {
                    Some(order) if order == wanted => best = item,
                    Some(_) => {}
                    // Not passed over: the result would depend on the order of the arguments.
                    None => {
                        let what =
                            format!("cannot compare {} with {}", shorten_value(item), shorten_value(best));
                        return fail(what);
                    }
                }
            }
            Ok(best.clone())
        }
    }
}

/// A value as a number's text; nothing counts as 0.
fn number_text(value: &RecipeValue) -> Option<String> {
    match value.kind() {
        RecipeValueKind::Null => Some("0".to_owned()),
        RecipeValueKind::Bool(value) => Some(u8::from(value).to_string()),
        RecipeValueKind::Number(text) | RecipeValueKind::String(text) => {
            parse_decimal(text.trim()).filter(|number| number.is_finite()).map(|_| text.trim().to_owned())
        }
        RecipeValueKind::List(_) | RecipeValueKind::Object(_) => None,
    }
}

/// The whole part of a number.
fn truncate_number(text: String) -> RecipeValue {
    match text.parse::<i128>() {
        Ok(whole) => RecipeValue::from_typed(text, whole.to_string()),
        Err(_) => number_value(&text.parse::<f64>().map_or(text, |number| format!("{:.0}", number.trunc()))),
    }
}

fn number_value(text: &str) -> RecipeValue {
    RecipeValue::from_json(text).unwrap_or_else(|| RecipeValue::from_argument(text))
}

fn count_value(number: usize) -> RecipeValue {
    RecipeValue::from_json_value(&number.into())
}

fn shorten_value(value: &RecipeValue) -> String {
    let text = value.json_text();
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

fn call_method(
    value: &RecipeValue,
    method: ConditionMethod,
    items: &[RecipeValue],
    span: &Range<usize>,
) -> Result<RecipeValue, ConditionError> {
    if matches!(value.kind(), RecipeValueKind::List(_) | RecipeValueKind::Object(_)) {
        return Err(ConditionError::new(format!("{} has no text methods", kind_noun(value)), span.clone()));
    }
    let text = value.text();
    let argument = |number: usize| items.get(number).map(RecipeValue::text);
    let first = argument(0).unwrap_or_default();
    let in_set = |char: char| match argument(0) {
        Some(set) => set.contains(char),
        None => char.is_whitespace(),
    };
    // Counted before the text is made: `replace` and `join` multiply, and a condition must not use up the memory.
    let fits = |bytes: usize| {
        if bytes <= LARGEST {
            Ok(())
        } else {
            Err(ConditionError::new("the result is too large", span.clone()))
        }
    };
    Ok(match method {
        ConditionMethod::Strip => RecipeValue::from_string(text.trim_matches(in_set)),
        ConditionMethod::StripLeft => RecipeValue::from_string(text.trim_start_matches(in_set)),
        ConditionMethod::StripRight => RecipeValue::from_string(text.trim_end_matches(in_set)),
        ConditionMethod::Lower => RecipeValue::from_string(text.to_lowercase()),
        ConditionMethod::Upper => RecipeValue::from_string(text.to_uppercase()),
        ConditionMethod::Title => RecipeValue::from_string(title_case(text)),
        ConditionMethod::StartsWith => boolean_value(text.starts_with(first)),
        ConditionMethod::EndsWith => boolean_value(text.ends_with(first)),
        ConditionMethod::Replace => {
            let new = argument(1).unwrap_or_default();
            fits(text.len().saturating_add(text.matches(first).count().saturating_mul(new.len())))?;
            RecipeValue::from_string(text.replace(first, new))
        }
        ConditionMethod::Split => {
            let parts: Vec<RecipeValue> = match argument(0) {
                Some("") => return Err(ConditionError::new("split(): empty separator", span.clone())),
                Some(separator) => text.split(separator).map(RecipeValue::from_string).collect(),
                None => text.split_whitespace().map(RecipeValue::from_string).collect(),
            };
            RecipeValue::from_items(parts.iter())
        }
        ConditionMethod::Join => {
            let Some(RecipeValueKind::List(parts)) = items.first().map(RecipeValue::kind) else {
                return Err(ConditionError::new("join() takes a list", span.clone()));
            };
            let parts: Vec<&str> = parts.iter().map(RecipeValue::text).collect();
            fits(parts.iter().map(|part| part.len() + text.len()).fold(0, usize::saturating_add))?;
            RecipeValue::from_string(parts.join(text))
        }
        ConditionMethod::Count => count_value(text.matches(first).count()),
        ConditionMethod::Find => match text.find(first) {
            Some(at) => count_value(text[..at].chars().count()),
            None => RecipeValue::from_json_value(&(-1).into()),
        },
    })
}

/// A capital at the start of each word, small letters in it.
fn title_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for char in text.chars() {
        if inside {
            out.extend(char.to_lowercase());
        } else {
            out.extend(char.to_uppercase());
        }
        inside = char.is_alphabetic();
    }
    out
}
