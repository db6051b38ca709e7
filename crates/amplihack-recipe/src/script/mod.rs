//! Scripts with placeholders: a value never becomes a part of the script's text.
//!
//! A placeholder becomes a reference to a variable, written as the quotes around it want it; the variables come by the environment,
//! large ones by a file that the script reads first.

mod deliver;
mod names;
mod render;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use amplihack_shell::{Quoting, find_quoting};

pub use deliver::{PreparedRecipeScript, VALUES};

use crate::context::RecipeContext;
use crate::template::{collect_missing, find_placeholders};

/// A script for bash, with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeScript {
    source: String,
    /// The script for bash to run.
    text: String,
    uses: Vec<PlaceholderUse>,
    /// Words of the script that may be names of variables with values of the context.
    mentions: BTreeSet<String>,
}

/// A placeholder that became a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PlaceholderUse {
    /// The name in the placeholder, in the spelling of [`RecipeContext::lookup_path`].
    name: String,
    /// The variable's name without `RECIPE_VAR_`, `RECIPE_NUMBER_`.
    suffix: String,
    /// Bash calculates with it: only a number is delivered.
    number: bool,
}

impl RecipeScript {
    /// Reads a script. In comments, in delimiters of here-documents, and where brackets are nested too deeply to be read,
    /// placeholders stay as they are.
    pub fn parse(source: &str) -> Self {
        let found = find_placeholders(source);
        let ranges: Vec<_> = found.iter().map(|place| place.range.clone()).collect();
        let places = find_quoting(source, &ranges);
        let suffixes = names::assign_suffixes(found.iter().map(|place| place.name.as_str()));
        let mut uses = Vec::new();
        let mut edits = Vec::new();
        for (placeholder, place) in found.iter().zip(&places.places) {
            if matches!(place.quoting, Quoting::Comment | Quoting::Delimiter | Quoting::Unknown) {
                continue;
            }
            let number = place.number || place.quoting == Quoting::Arithmetic;
            let suffix = suffixes[&placeholder.name].clone();
            edits.push(render::placeholder_edit(placeholder, place, &suffix, number));
            uses.push(PlaceholderUse { name: placeholder.name.clone(), suffix, number });
        }
        let text = render::apply_edits(source, edits, &places);
        let mentions = names::find_mentions(source);
        Self { source: source.to_owned(), text, uses, mentions }
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The names in the placeholders, in order, each as often as it occurs.
    pub fn placeholder_names(&self) -> impl Iterator<Item = &str> {
        self.uses.iter().map(|found| found.name.as_str())
    }

    /// The script with the values of `context`. Values that it does not ask for are not looked at.
    pub fn prepare_with(&self, context: &RecipeContext) -> PreparedRecipeScript {
        let mut delivery = deliver::RecipeScriptDelivery::default();
        for found in &self.uses {
            delivery.add_use(found, context.lookup_path(&found.name).as_ref());
        }
        for mention in &self.mentions {
            if let Some(suffix) = mention.strip_prefix(names::VARIABLE) {
                delivery.add_value(mention, names::value_by_suffix(context, suffix).as_ref());
            }
        }
        for (alias, value) in names::capital_aliases(context, &self.mentions) {
            delivery.add_value(&alias, Some(value));
        }
        delivery.prepare_script(&self.text, collect_missing(self.placeholder_names(), context))
    }
}
