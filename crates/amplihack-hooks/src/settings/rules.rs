//! Amp's permissions: the first rule that matches decides, so ours stand in front.

use jsonc_parser::cst::CstNode;
use serde_json::Value;

use super::EditError;
use super::json::{list_or_create, parse_tree, parse_value, root_object, to_cst_input, without_empty};

/// The setting.
const NAME: &str = "amp.permissions";

pub(super) fn apply_rules(current: Option<&str>, rules: &[Value]) -> Result<String, EditError> {
    let text = current.unwrap_or_default();
    let before = parse_value(text)?;
    let empty = Vec::new();
    let there = before[NAME].as_array().unwrap_or(&empty);
    if rules.is_empty() || there.get(..rules.len()) == Some(rules) {
        return Ok(text.to_owned());
    }
    let root = parse_tree(text)?;
    let list = list_or_create(&root_object(&root)?, NAME)?;
    list.ensure_multiline();
    for (index, rule) in rules.iter().enumerate() {
        list.insert(index, to_cst_input(rule));
    }
    let mut changed = root.to_string();
    if text.trim().is_empty() && !changed.ends_with('\n') {
        changed.push('\n');
    }
    if parse_value(&changed)?[NAME].as_array().and_then(|list| list.get(..rules.len())) != Some(rules) {
        return Err(EditError::Shape { what: format!("{NAME} twice") });
    }
    Ok(changed)
}

pub(super) fn strip_rules(current: &str, rules: &[Value]) -> Result<Option<String>, EditError> {
    let root = parse_tree(current)?;
    let object = root_object(&root)?;
    let Some(list) = object.array_value(NAME) else { return Ok(Some(current.to_owned())) };
    let mut left = rules.to_vec();
    let mut removed = false;
    // Each of ours once: a rule of the user's that says the same stays.
    for element in list.elements() {
        let same = |rule: &Value| as_value(&element).as_ref() == Some(rule);
        if let Some(index) = left.iter().position(same) {
            left.remove(index);
            element.remove();
            removed = true;
        }
    }
    if !removed {
        return Ok(Some(current.to_owned()));
    }
    Ok(without_empty(&root, &object, NAME))
}

fn as_value(node: &CstNode) -> Option<Value> {
    parse_value(&format!("{{\"x\":{node}}}")).ok().map(|mut value| value["x"].take())
}
