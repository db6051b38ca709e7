//! The names that a run knows and their values.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::value::{RecipeValue, RecipeValueKind};

/// Names and their values, in the order of names. A clone is a snapshot and costs nothing until one of the two is changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecipeContext(Arc<BTreeMap<String, RecipeValue>>);

impl RecipeContext {
    /// Without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a top-level name.
    pub fn get(&self, name: &str) -> Option<&RecipeValue> {
        self.0.get(name)
    }

    /// The value that a template names: `a`, `a.b-c`, `a.0.b`. A name that itself holds a dot wins over a path.
    pub fn lookup_path(&self, path: &str) -> Option<RecipeValue> {
        if let Some(value) = self.get(path) {
            return Some(value.clone());
        }
        let mut end = path.len();
        while let Some(dot) = path[..end].rfind('.') {
            if let Some(value) = self.get(&path[..dot]) {
                let keys: Vec<&str> = path[dot + 1..].split('.').collect();
                if let Some(found) = value.value_at(&keys) {
                    return Some(found);
                }
            }
            end = dot;
        }
        None
    }

    /// Gives `name` a value.
    pub fn set_value(&mut self, name: impl Into<String>, value: RecipeValue) {
        Arc::make_mut(&mut self.0).insert(name.into(), value);
    }

    /// Gives the value of the command line for `a.b` its place: in the object `a`, if there is one, else under the name `a.b`.
    pub(crate) fn set_path(&mut self, path: &str, value: RecipeValue) {
        if let Some((root, rest)) = path.split_once('.')
            && let Some(whole) = self.get(root)
            && matches!(whole.kind(), RecipeValueKind::Object(_) | RecipeValueKind::List(_))
        {
            let keys: Vec<&str> = rest.split('.').take(crate::template::SEGMENTS).collect();
            if let Some(changed) = whole.with_value(&keys, &value) {
                return self.set_value(root, changed);
            }
        }
        self.set_value(path, value);
    }

    /// Takes over all names of `other`.
    pub fn overlay_with(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0 = Arc::clone(&other.0);
        } else if !other.0.is_empty() {
            let own = Arc::make_mut(&mut self.0);
            own.extend(other.0.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RecipeValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reports whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a JSON object.
    pub fn to_json(&self) -> serde_json::Value {
        self.iter().map(|(name, value)| (name.to_owned(), value.to_json())).collect()
    }
}

impl FromIterator<(String, RecipeValue)> for RecipeContext {
    fn from_iter<I: IntoIterator<Item = (String, RecipeValue)>>(entries: I) -> Self {
        Self(Arc::new(entries.into_iter().collect()))
    }
}

impl Serialize for RecipeContext {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let mut context = RecipeContext::new();
        context.set_value("a", RecipeValue::from_output("{\"b\": {\"c-d\": 1}, \"l\": [{\"x\": \"y\"}]}"));
        context.set_value("a.q", RecipeValue::from_string("dotted"));
        let text = |path: &str| context.lookup_path(path).map(|value| value.text().to_owned());
        assert_eq!(text("a.b.c-d").as_deref(), Some("1"));
        assert_eq!(text("a.l.0.x").as_deref(), Some("y"));
        assert_eq!(text("a.q").as_deref(), Some("dotted"));
        assert_eq!(
            (text("a.b.z"), text("z"), text(""), text("."), text("a.")),
            (None, None, None, None, None)
        );
    }

    #[test]
    fn a_path_of_the_command_line_changes_an_object() {
        let mut context = RecipeContext::new();
        context.set_value("a", RecipeValue::from_output("{\"b\":1,\"c\":2}"));
        context.set_path("a.b", RecipeValue::from_argument("9"));
        context.set_path("x.y", RecipeValue::from_argument("3"));
        assert_eq!(serde_json::to_string(&context).unwrap(), "{\"a\":{\"b\":9,\"c\":2},\"x.y\":3}");
        assert_eq!(context.lookup_path("x.y").unwrap().text(), "3");
    }

    #[test]
    fn a_clone_is_a_snapshot() {
        let mut context = RecipeContext::new();
        context.set_value("a", RecipeValue::from_string("1"));
        let before = context.clone();
        context.set_value("a", RecipeValue::from_string("2"));
        assert_eq!(before.get("a").unwrap().text(), "1");
        let mut child = before.clone();
        child.overlay_with(&context);
        assert_eq!(child.get("a").unwrap().text(), "2");
    }
}
