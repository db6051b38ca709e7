//! What a condition gives for a context.

use std::cmp::Ordering;
use std::ops::Range;

use super::ConditionError;
use super::functions::{Function, Method};
use super::parser::{Comparison, Expr};
use crate::context::Context;
use crate::value::{Kind, Value};

/// Bytes of the longest text that a method may make.
const LARGEST: usize = 64 << 20;

pub(super) fn eval(expr: &Expr, context: &Context) -> Result<Value, ConditionError> {
    Ok(match expr {
        Expr::Literal(value) => value.clone(),
        Expr::Name(path, keys) => name(path, keys, context)?,
        Expr::Key(inner, key, span) => below(&eval(inner, context)?, key, span)?,
        Expr::Index(inner, index) => match eval(inner, context)?.kind() {
            Kind::List(items) => items.get(*index).cloned().unwrap_or_else(Value::null),
            _ => Value::null(),
        },
        Expr::List(items) => Value::list(all(items, context)?.iter()),
        Expr::Call(function, items, span) => call(*function, &all(items, context)?, span)?,
        Expr::Method(inner, method, items, span) => {
            call_method(&eval(inner, context)?, *method, &all(items, context)?, span)?
        }
        Expr::Not(inner) => boolean(!truthy(&eval(inner, context)?)),
        Expr::And(items) => first(items, context, false)?,
        Expr::Or(items) => first(items, context, true)?,
        Expr::Compare(left, comparison, right) => {
            boolean(compare(&eval(left, context)?, *comparison, &eval(right, context)?))
        }
    })
}

fn all(items: &[Expr], context: &Context) -> Result<Vec<Value>, ConditionError> {
    items.iter().map(|item| eval(item, context)).collect()
}

/// The first of `items` that is (not) true, else the last: what comes behind it is not looked at.
fn first(items: &[Expr], context: &Context, wanted: bool) -> Result<Value, ConditionError> {
    let mut value = Value::null();
    for item in items {
        value = eval(item, context)?;
        if truthy(&value) == wanted {
            break;
        }
    }
    Ok(value)
}

fn name(path: &str, keys: &[(String, Range<usize>)], context: &Context) -> Result<Value, ConditionError> {
    if let Some(value) = context.lookup(path) {
        return Ok(value);
    }
    let mut value = keys.first().and_then(|(root, _)| context.get(root)).cloned().unwrap_or_else(Value::null);
    for (key, span) in keys.iter().skip(1) {
        value = below(&value, key, span)?;
    }
    Ok(value)
}

/// What is below `value` at `key`; nothing if there is nothing.
fn below(value: &Value, key: &str, span: &Range<usize>) -> Result<Value, ConditionError> {
    if !matches!(value.kind(), Kind::Object(_) | Kind::Null) && Method::mistaken(key) {
        let error = ConditionError::new(format!("{} has no '{key}'", noun(value)), span.clone());
        return Err(match key {
            "length" | "size" | "len" => error.help("the length is `len(name)`"),
            _ => error.help(format!("a method is called with brackets: `.{key}()`")),
        });
    }
    match value.kind() {
        Kind::Object(_) => Ok(value.at(&[key]).unwrap_or_else(Value::null)),
        _ => Ok(Value::null()),
    }
}

fn noun(value: &Value) -> &'static str {
    match value.kind() {
        Kind::Null => "nothing",
        Kind::Bool(_) => "a boolean",
        Kind::Number(_) => "a number",
        Kind::String(_) => "a string",
        Kind::List(_) => "a list",
        Kind::Object(_) => "an object",
    }
}

pub(super) fn truthy(value: &Value) -> bool {
    match value.kind() {
        Kind::Null => false,
        Kind::Bool(value) => value,
        Kind::Number(text) => text.parse::<f64>().is_ok_and(|number| number != 0.0),
        Kind::String(text) => !text.is_empty(),
        Kind::List(items) => !items.is_empty(),
        Kind::Object(entries) => !entries.is_empty(),
    }
}

fn boolean(value: bool) -> Value {
    Value::json(&value.into())
}

fn compare(left: &Value, comparison: Comparison, right: &Value) -> bool {
    let order = || order(left, right);
    match comparison {
        Comparison::Equal => equal(left, right),
        Comparison::Unequal => !equal(left, right),
        Comparison::Less => order() == Some(Ordering::Less),
        Comparison::LessOrEqual => order().is_some_and(Ordering::is_le),
        Comparison::Greater => order() == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => order().is_some_and(Ordering::is_ge),
        Comparison::In => contains(right, left),
        Comparison::NotIn => !contains(right, left),
    }
}

/// One rule: numbers and texts that are numbers compare as numbers, booleans and their names as booleans, nothing equals only
/// nothing; else both have to be of one kind.
fn equal(left: &Value, right: &Value) -> bool {
    match (left.kind(), right.kind()) {
        (Kind::Null, Kind::Null) => true,
        (Kind::Bool(left), Kind::Bool(right)) => left == right,
        (Kind::Bool(value), Kind::String(text)) | (Kind::String(text), Kind::Bool(value)) => match text {
            "true" | "True" => value,
            "false" | "False" => !value,
            _ => false,
        },
        (Kind::String(left), Kind::String(right)) => left == right,
        (Kind::Number(left), Kind::Number(right) | Kind::String(right))
        | (Kind::String(left), Kind::Number(right)) => {
            left == right || numbers(left, right) == Some(Ordering::Equal)
        }
        (Kind::List(_), Kind::List(_)) | (Kind::Object(_), Kind::Object(_)) => {
            left.to_json() == right.to_json()
        }
        _ => false,
    }
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left.kind(), right.kind()) {
        (Kind::Bool(left), Kind::Bool(right)) => Some(left.cmp(&right)),
        (Kind::String(left), Kind::String(right)) => Some(left.cmp(right)),
        (Kind::Number(left), Kind::Number(right) | Kind::String(right))
        | (Kind::String(left), Kind::Number(right)) => numbers(left, right),
        _ => None,
    }
}

/// Compares two numbers: exactly, if both are whole.
fn numbers(left: &str, right: &str) -> Option<Ordering> {
    let (left, right) = (left.trim(), right.trim());
    if let (Ok(left), Ok(right)) = (left.parse::<i128>(), right.parse::<i128>()) {
        return Some(left.cmp(&right));
    }
    decimal(left)?.partial_cmp(&decimal(right)?)
}

/// A number that is written with digits: `inf` and `nan` are words.
fn decimal(text: &str) -> Option<f64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if digits { text.parse().ok() } else { None }
}

fn contains(whole: &Value, part: &Value) -> bool {
    match whole.kind() {
        Kind::String(text) => !part.is_null() && text.contains(part.text()),
        Kind::List(items) => items.iter().any(|item| equal(item, part)),
        Kind::Object(entries) => entries.iter().any(|(key, _)| **key == *part.text()),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => false,
    }
}

fn call(function: Function, items: &[Value], span: &Range<usize>) -> Result<Value, ConditionError> {
    let (Some(first), rest) = (items.first(), items.get(1..).unwrap_or_default()) else {
        return Ok(Value::null());
    };
    let fail = |what: String| Err(ConditionError::new(what, span.clone()));
    match function {
        Function::Str => Ok(Value::string(first.text())),
        Function::Bool => Ok(boolean(truthy(first))),
        Function::Len => Ok(whole(match first.kind() {
            Kind::List(items) => items.len(),
            Kind::Object(entries) => entries.len(),
            _ => first.text().chars().count(),
        })),
        Function::Int => match number(first) {
            Some(number) => Ok(integer(number)),
            None => fail(format!("int(): {} is not a number", shown(first))),
        },
        Function::Float => match number(first) {
            Some(number) => Ok(first_number(&number)),
            None => fail(format!("float(): {} is not a number", shown(first))),
        },
        Function::Min | Function::Max => {
            let wanted = if function == Function::Min { Ordering::Less } else { Ordering::Greater };
            let mut best = first;
            for item in rest {
                match order(item, best) {
                    Some(order) if order == wanted => best = item,
                    Some(_) => {}
                    None => {
                        let what = format!("cannot compare {} with {}", shown(item), shown(best));
                        return fail(what);
                    }
                }
            }
            Ok(best.clone())
        }
    }
}

/// A value as a number's text; nothing counts as 0.
fn number(value: &Value) -> Option<String> {
    match value.kind() {
        Kind::Null => Some("0".to_owned()),
        Kind::Bool(value) => Some(u8::from(value).to_string()),
        Kind::Number(text) | Kind::String(text) => {
            decimal(text.trim()).filter(|number| number.is_finite()).map(|_| text.trim().to_owned())
        }
        Kind::List(_) | Kind::Object(_) => None,
    }
}

/// The whole part of a number.
fn integer(text: String) -> Value {
    match text.parse::<i128>() {
        Ok(whole) => Value::typed(text, whole.to_string()),
        Err(_) => first_number(&text.parse::<f64>().map_or(text, |number| format!("{:.0}", number.trunc()))),
    }
}

fn first_number(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|| Value::argument(text))
}

fn whole(number: usize) -> Value {
    Value::json(&number.into())
}

fn shown(value: &Value) -> String {
    let text = value.json_text();
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

fn call_method(
    value: &Value,
    method: Method,
    items: &[Value],
    span: &Range<usize>,
) -> Result<Value, ConditionError> {
    if matches!(value.kind(), Kind::List(_) | Kind::Object(_)) {
        return Err(ConditionError::new(format!("{} has no text methods", noun(value)), span.clone()));
    }
    let text = value.text();
    let argument = |number: usize| items.get(number).map(Value::text);
    let first = argument(0).unwrap_or_default();
    let in_set = |char: char| match argument(0) {
        Some(set) => set.contains(char),
        None => char.is_whitespace(),
    };
    let fits = |bytes: usize| {
        if bytes <= LARGEST {
            Ok(())
        } else {
            Err(ConditionError::new("the result is too large", span.clone()))
        }
    };
    Ok(match method {
        Method::Strip => Value::string(text.trim_matches(in_set)),
        Method::StripLeft => Value::string(text.trim_start_matches(in_set)),
        Method::StripRight => Value::string(text.trim_end_matches(in_set)),
        Method::Lower => Value::string(text.to_lowercase()),
        Method::Upper => Value::string(text.to_uppercase()),
        Method::Title => Value::string(title(text)),
        Method::StartsWith => boolean(text.starts_with(first)),
        Method::EndsWith => boolean(text.ends_with(first)),
        Method::Replace => {
            let new = argument(1).unwrap_or_default();
            fits(text.len().saturating_add(text.matches(first).count().saturating_mul(new.len())))?;
            Value::string(text.replace(first, new))
        }
        Method::Split => {
            let parts: Vec<Value> = match argument(0) {
                Some("") => return Err(ConditionError::new("split(): empty separator", span.clone())),
                Some(separator) => text.split(separator).map(Value::string).collect(),
                None => text.split_whitespace().map(Value::string).collect(),
            };
            Value::list(parts.iter())
        }
        Method::Join => {
            let Some(Kind::List(parts)) = items.first().map(Value::kind) else {
                return Err(ConditionError::new("join() takes a list", span.clone()));
            };
            let parts: Vec<&str> = parts.iter().map(Value::text).collect();
            fits(parts.iter().map(|part| part.len() + text.len()).fold(0, usize::saturating_add))?;
            Value::string(parts.join(text))
        }
        Method::Count => whole(text.matches(first).count()),
        Method::Find => match text.find(first) {
            Some(at) => whole(text[..at].chars().count()),
            None => Value::json(&(-1).into()),
        },
    })
}

/// A capital at the start of each word, small letters in it.
fn title(text: &str) -> String {
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
