//! Copilot's list of installed plugins, in which ours has one entry.

use serde_json::Value;

use super::EditError;
use super::json::{list_or_create, parse_tree, parse_value, root_object, to_cst_input, without_empty};

/// The setting.
const NAME: &str = "installed_plugins";

fn is_ours(entry: &Value) -> bool {
    entry["name"] == "amplihack" && entry["marketplace"] == "local"
}

pub(super) fn apply_plugin(current: Option<&str>, entry: &Value) -> Result<String, EditError> {
    let text = current.unwrap_or_default();
    let before = parse_value(text)?;
    let same = |there: &Value| {
        let mut there = there.clone();
        // When it was installed is no difference.
        there["installed_at"] = entry["installed_at"].clone();
        there == *entry
    };
    let ours: Vec<&Value> =
        before[NAME].as_array().into_iter().flatten().filter(|there| is_ours(there)).collect();
    if matches!(ours[..], [one] if same(one)) {
        return Ok(text.to_owned());
    }
    let root = parse_tree(text)?;
    let list = list_or_create(&root_object(&root)?, NAME)?;
    list.ensure_multiline();
    remove_own_entry(&list);
    list.append(to_cst_input(entry));
    let mut changed = root.to_string();
    if text.trim().is_empty() && !changed.ends_with('\n') {
        changed.push('\n');
    }
    Ok(changed)
}

/// Removes our entry and reports whether there was any.
fn remove_own_entry(list: &jsonc_parser::cst::CstArray) -> bool {
    let ours = |node: &jsonc_parser::cst::CstNode| {
        parse_value(&format!("{{\"x\":{node}}}")).is_ok_and(|value| is_ours(&value["x"]))
    };
    let ours: Vec<_> = list.elements().into_iter().filter(ours).collect();
    let any = !ours.is_empty();
    ours.into_iter().for_each(jsonc_parser::cst::CstNode::remove);
    any
}

pub(super) fn strip_plugin(current: &str) -> Result<Option<String>, EditError> {
    let root = parse_tree(current)?;
    let object = root_object(&root)?;
    let Some(list) = object.array_value(NAME) else { return Ok(Some(current.to_owned())) };
    if !remove_own_entry(&list) {
        return Ok(Some(current.to_owned()));
    }
    Ok(without_empty(&root, &object, NAME))
}
