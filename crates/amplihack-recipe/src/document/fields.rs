//! The fields of a map: taken one by one with the type that they are to have; what is left over is unknown.

use std::rc::Rc;

use super::DocumentReader;
use super::scalar::{PlainScalar, classify_plain};
use super::tree::{YamlMapEntry, YamlNode, YamlNodeKind};
use crate::diagnostic::RecipeSourceSpan;
use crate::model::SpannedField;

/// The kind of the outermost map, for messages.
pub(super) const RECIPE: &str = "a recipe";

/// Fields that are not taken yet.
pub(super) struct DocumentFields {
    /// The kind of map, for messages: `a recipe`, `a step`.
    what: &'static str,
    pub(super) span: RecipeSourceSpan,
    entries: Vec<YamlMapEntry>,
    /// Every name that was asked for.
    known: Vec<&'static str>,
}

impl DocumentFields {
    /// The fields of `node`, which is to be a map.
    pub(super) fn from_node(
        reader: &mut DocumentReader,
        node: &YamlNode,
        what: &'static str,
    ) -> Option<Self> {
        let YamlNodeKind::Map(entries) = &node.kind else {
            reader.add_error(node.span, format!("{what} must be a map of fields"));
            return None;
        };
        Some(Self { what, span: node.span, entries: entries.clone(), known: Vec::new() })
    }

    /// Takes a field; one without a value counts as absent.
    pub(super) fn take_field(&mut self, name: &'static str) -> Option<YamlMapEntry> {
        self.known.push(name);
        let at = self.entries.iter().position(|entry| entry.key == name)?;
        let entry = self.entries.remove(at);
        (!is_absent(&entry.value)).then_some(entry)
    }

    /// Takes a field that has two names, only one of which may be there.
    pub(super) fn take_either(
        &mut self,
        reader: &mut DocumentReader,
        name: &'static str,
        alias: &'static str,
    ) -> Option<YamlMapEntry> {
        let (first, second) = (self.take_field(name), self.take_field(alias));
        if let (Some(_), Some(second)) = (&first, &second) {
            reader.add_error(
                second.key_span,
                format!("duplicate field: `{alias}` is another name of `{name}`"),
            );
        }
        first.or(second)
    }

    /// Text. A scalar without quotes is the text that it is written as.
    pub(super) fn take_text(
        &mut self,
        reader: &mut DocumentReader,
        name: &'static str,
    ) -> Option<SpannedField<String>> {
        let entry = self.take_field(name)?;
        node_text(reader, &entry.value, &format!("`{name}`"))
    }

    /// `true` or `false`.
    pub(super) fn take_flag(&mut self, reader: &mut DocumentReader, name: &'static str) -> Option<bool> {
        let entry = self.take_field(name)?;
        entry_flag(reader, &entry, name)
    }

    /// A whole number of seconds, steps, levels.
    pub(super) fn take_number(
        &mut self,
        reader: &mut DocumentReader,
        name: &'static str,
        most: u64,
    ) -> Option<u64> {
        let entry = self.take_field(name)?;
        let number = match &entry.value.kind {
            YamlNodeKind::Scalar { text, plain: true } => match classify_plain(text) {
                PlainScalar::Number(json) => json.parse::<u64>().ok().filter(|number| *number <= most),
                _ => None,
            },
            _ => None,
        };
        if number.is_none() {
            reader.add_error(entry.value.span, format!("`{name}` must be an integer from 0 to {most}"));
        }
        number
    }

    /// A list of texts.
    pub(super) fn take_texts(&mut self, reader: &mut DocumentReader, name: &'static str) -> Vec<String> {
        let Some(entry) = self.take_field(name) else { return Vec::new() };
        let YamlNodeKind::List(items) = &entry.value.kind else {
            let help = "write it as a list: [one, two]";
            reader.add_error_with_help(entry.value.span, format!("`{name}` has to be a list"), help);
            return Vec::new();
        };
        items
            .iter()
            .filter_map(|item| node_text(reader, item, &format!("an item of `{name}`")))
            .map(|item| item.value)
            .collect()
    }

    /// The entries of a field that is a map.
    pub(super) fn take_map(&mut self, reader: &mut DocumentReader, name: &'static str) -> Vec<YamlMapEntry> {
        let Some(entry) = self.take_field(name) else { return Vec::new() };
        map_entries(reader, &entry.value, name)
    }

    /// Passes over fields that say something to others.
    pub(super) fn tolerate_fields(&mut self, names: &[&'static str]) {
        for name in names {
            self.take_field(name);
        }
    }

    /// Warns about what is left.
    pub(super) fn warn_unknown(self, reader: &mut DocumentReader) {
        for entry in &self.entries {
            if entry.key.starts_with("x-") {
                continue;
            }
            let near = self
                .known
                .iter()
                .map(|known| (strsim::damerau_levenshtein(known, &entry.key.to_lowercase()), known))
                .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
                .min();
            let help = match near {
                Some((_, known)) => format!("did you mean `{known}`?"),
                None if entry.key == "depends_on" => "steps run in order, so remove it".to_owned(),
                None => "remove it, or let its name begin with `x-` if another program reads it".to_owned(),
            };
            let what = format!("unrecognized field `{}` in {}", entry.key, self.what);
            // A recipe's head has fields for readers; below it every field decides what runs.
            if near.is_some() || self.what != RECIPE {
                reader.add_control_warning(entry.key_span, what, Some(help));
            } else {
                reader.add_warning(entry.key_span, what, Some(help));
            }
        }
    }
}

/// The entries of a node that is to be a map.
pub(super) fn map_entries(reader: &mut DocumentReader, node: &Rc<YamlNode>, name: &str) -> Vec<YamlMapEntry> {
    let YamlNodeKind::Map(entries) = &node.kind else {
        reader.add_error(node.span, format!("`{name}` has to be a map"));
        return Vec::new();
    };
    entries.clone()
}

/// A node that is to be text.
pub(super) fn node_text(
    reader: &mut DocumentReader,
    node: &YamlNode,
    what: &str,
) -> Option<SpannedField<String>> {
    let YamlNodeKind::Scalar { text, .. } = &node.kind else {
        reader.add_error(node.span, format!("{what} has to be text"));
        return None;
    };
    Some(SpannedField { value: text.clone(), span: node.span })
}

/// An entry that is to be `true` or `false`.
pub(super) fn entry_flag(reader: &mut DocumentReader, entry: &YamlMapEntry, name: &str) -> Option<bool> {
    let found = match &entry.value.kind {
        YamlNodeKind::Scalar { text, plain: true } => match classify_plain(text) {
            PlainScalar::Bool(value) => Some(value),
            _ => None,
        },
        _ => None,
    };
    if found.is_none() {
        let help = "without quotes";
        reader.add_error_with_help(entry.value.span, format!("`{name}` must be true or false"), help);
    }
    found
}

/// Reports whether a field has no value.
fn is_absent(node: &YamlNode) -> bool {
    matches!(&node.kind, YamlNodeKind::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
}
