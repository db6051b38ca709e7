//! The fields of a map: taken one by one with the type that they are to have; what is left over is unknown.

use std::rc::Rc;

use super::Reader;
use super::scalar::{Plain, plain};
use super::tree::{Entry, Kind, Node};
use crate::diagnostic::Span;
use crate::model::Spanned;

/// Fields that are not taken yet.
pub(super) struct Fields {
    /// What the map is, for texts: `a recipe`, `a step`.
    what: &'static str,
    pub(super) span: Span,
    entries: Vec<Entry>,
    /// Every name that was asked for.
    known: Vec<&'static str>,
}

impl Fields {
    /// The fields of `node`, which is to be a map.
    pub(super) fn of(reader: &mut Reader, node: &Node, what: &'static str) -> Option<Self> {
        let Kind::Map(entries) = &node.kind else {
            reader.error(node.span, format!("{what} has to be a map of fields"));
            return None;
        };
        Some(Self { what, span: node.span, entries: entries.clone(), known: Vec::new() })
    }

    /// Takes a field; one without a value counts as absent.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Entry> {
        self.known.push(name);
        let at = self.entries.iter().position(|entry| entry.key == name)?;
        let entry = self.entries.remove(at);
        (!absent(&entry.value)).then_some(entry)
    }

    /// Takes a field that has two names, only one of which may be there.
    pub(super) fn take_either(
        &mut self,
        reader: &mut Reader,
        name: &'static str,
        alias: &'static str,
    ) -> Option<Entry> {
        let (first, second) = (self.take(name), self.take(alias));
        if let (Some(_), Some(second)) = (&first, &second) {
            reader.error(second.key_span, format!("duplicate field: `{alias}` is another name of `{name}`"));
        }
        first.or(second)
    }

    /// Text. A scalar without quotes is the text that it is written as.
    pub(super) fn text(&mut self, reader: &mut Reader, name: &'static str) -> Option<Spanned<String>> {
        let entry = self.take(name)?;
        text(reader, &entry.value, &format!("`{name}`"))
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, reader: &mut Reader, name: &'static str) -> Option<bool> {
        let entry = self.take(name)?;
        flag(reader, &entry, name)
    }

    /// A whole number of seconds, steps, levels.
    pub(super) fn number(&mut self, reader: &mut Reader, name: &'static str, most: u64) -> Option<u64> {
        let entry = self.take(name)?;
        let number = match &entry.value.kind {
            Kind::Scalar { text, plain: true } => match plain(text) {
                Plain::Number(json) => json.parse::<u64>().ok().filter(|number| *number <= most),
                _ => None,
            },
            _ => None,
        };
        if number.is_none() {
            reader.error(entry.value.span, format!("`{name}` has to be a whole number up to {most}"));
        }
        number
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, reader: &mut Reader, name: &'static str) -> Vec<String> {
        let Some(entry) = self.take(name) else { return Vec::new() };
        let Kind::List(items) = &entry.value.kind else {
            let help = "write it as a list: [one, two]";
            reader.error_with_help(entry.value.span, format!("`{name}` has to be a list"), help);
            return Vec::new();
        };
        items
            .iter()
            .filter_map(|item| text(reader, item, &format!("an item of `{name}`")))
            .map(|item| item.value)
            .collect()
    }

    /// The entries of a field that is a map.
    pub(super) fn map(&mut self, reader: &mut Reader, name: &'static str) -> Vec<Entry> {
        let Some(entry) = self.take(name) else { return Vec::new() };
        entries(reader, &entry.value, name)
    }

    /// Passes over fields that say something to others.
    pub(super) fn tolerate(&mut self, names: &[&'static str]) {
        for name in names {
            self.take(name);
        }
    }

    /// Warns about what is left.
    pub(super) fn finish(self, reader: &mut Reader) {
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
                Some((_, known)) => Some(format!("did you mean `{known}`?")),
                None if entry.key == "depends_on" => {
                    Some("steps run in their order; it is ignored".to_owned())
                }
                None => Some("it is ignored; fields for others begin with `x-`".to_owned()),
            };
            reader.warning(
                entry.key_span,
                format!("unrecognized field `{}` in {}", entry.key, self.what),
                help,
            );
        }
    }
}

/// The entries of a node that is to be a map.
pub(super) fn entries(reader: &mut Reader, node: &Rc<Node>, name: &str) -> Vec<Entry> {
    let Kind::Map(entries) = &node.kind else {
        reader.error(node.span, format!("`{name}` has to be a map"));
        return Vec::new();
    };
    entries.clone()
}

/// A node that is to be text.
pub(super) fn text(reader: &mut Reader, node: &Node, what: &str) -> Option<Spanned<String>> {
    let Kind::Scalar { text, .. } = &node.kind else {
        reader.error(node.span, format!("{what} has to be text"));
        return None;
    };
    Some(Spanned { value: text.clone(), span: node.span })
}

/// An entry that is to be `true` or `false`.
pub(super) fn flag(reader: &mut Reader, entry: &Entry, name: &str) -> Option<bool> {
    let found = match &entry.value.kind {
        Kind::Scalar { text, plain: true } => match plain(text) {
            Plain::Bool(value) => Some(value),
            _ => None,
        },
        _ => None,
    };
    if found.is_none() {
        let help = "without quotes";
        reader.error_with_help(entry.value.span, format!("`{name}` has to be true or false"), help);
    }
    found
}

/// Whether a field has no value.
fn absent(node: &Node) -> bool {
    matches!(&node.kind, Kind::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
}
