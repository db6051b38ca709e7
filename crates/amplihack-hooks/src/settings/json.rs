//! JSON with comments, as users write it, edited in place.

use amplihack_agent::jsonc::OPTIONS;
pub(super) use amplihack_agent::jsonc::to_cst_input;
use jsonc_parser::cst::{CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::EditError;

/// The tree of a text, whose root is an object or nothing at all.
pub(super) fn parse_tree(text: &str) -> Result<CstRootNode, EditError> {
    let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| EditError::Syntax {
        line: error.line_display(),
        why: error.kind().to_string().to_lowercase(),
    })?;
    match root.value() {
        None | Some(CstNode::Container(jsonc_parser::cst::CstContainerNode::Object(_))) => Ok(root),
        Some(_) => Err(EditError::Shape { what: "something else than an object".to_owned() }),
    }
}

/// The value of a text as a host reads it: of a repeated key the last counts.
pub fn parse_value(text: &str) -> Result<Value, EditError> {
    fn node_value(node: &CstNode) -> Option<Value> {
        if let Some(object) = node.as_object() {
            let pairs = object.properties().into_iter();
            return pairs.map(|prop| Some((prop.decoded_name()?, node_value(&prop.value()?)?))).collect();
        }
        if let Some(array) = node.as_array() {
            return array.elements().iter().map(node_value).collect();
        }
        serde_json::from_str(&node.to_string()).ok()
    }
    let root = parse_tree(text)?;
    let empty = || Value::Object(serde_json::Map::new());
    let Some(node) = root.value() else { return Ok(empty()) };
    node_value(&node).ok_or_else(|| EditError::Shape { what: "a value that is not JSON".to_owned() })
}

/// The object at the root, made where there is none.
pub(super) fn root_object(root: &CstRootNode) -> Result<CstObject, EditError> {
    root.object_value_or_create().ok_or_else(|| EditError::Shape { what: "no object".to_owned() })
}

/// The array `name` of `object`, made where there is none.
pub(super) fn list_or_create(
    object: &CstObject,
    name: &str,
) -> Result<jsonc_parser::cst::CstArray, EditError> {
    object.array_value_or_create(name).ok_or_else(|| EditError::Shape { what: format!("no list as {name}") })
}

/// The text of `root` when the list `name` of `object` goes too if nothing is left in it; `None` if nothing is left at all.
pub(super) fn without_empty(root: &CstRootNode, object: &CstObject, name: &str) -> Option<String> {
    if object.array_value(name).is_some_and(|list| list.elements().is_empty())
        && let Some(setting) = object.get(name)
    {
        setting.remove();
    }
    let text = root.to_string();
    (!is_bare(&text)).then_some(text)
}

/// Reports whether nothing is left in the text, not even a comment.
pub(super) fn is_bare(text: &str) -> bool {
    matches!(text.split_whitespace().collect::<String>().as_str(), "" | "{}")
}
