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

use amplihack_policy::shell::{Quoting, places};

pub use deliver::{Prepared, VALUES};

use crate::context::Context;
use crate::template::{missing, placeholders};

/// A script for bash, with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    source: String,
    /// What bash is to run.
    text: String,
    uses: Vec<Use>,
    /// Words of the script that may be names of variables with values of the context.
    mentions: BTreeSet<String>,
}

/// A placeholder that became a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Use {
    /// What it names, in the spelling of [`Context::lookup`].
    name: String,
    /// The variable's name without `RECIPE_VAR_`, `RECIPE_NUMBER_`.
    suffix: String,
    /// Bash calculates with it: only a number is delivered.
    number: bool,
}

impl Script {
    /// Reads a script. In comments, in delimiters of here-documents, and where brackets are nested too deeply to be read,
    /// placeholders stay as they are.
    pub fn parse(source: &str) -> Self {
        let found = placeholders(source);
        let ranges: Vec<_> = found.iter().map(|place| place.range.clone()).collect();
        let places = places(source, &ranges);
        let suffixes = names::suffixes(found.iter().map(|place| place.name.as_str()));
        let mut uses = Vec::new();
        let mut edits = Vec::new();
        for (placeholder, place) in found.iter().zip(&places.places) {
            if matches!(place.quoting, Quoting::Comment | Quoting::Delimiter | Quoting::Unknown) {
                continue;
            }
            let number = place.number || place.quoting == Quoting::Arithmetic;
            let suffix = suffixes[&placeholder.name].clone();
            edits.push(render::reference(placeholder, place, &suffix, number));
            uses.push(Use { name: placeholder.name.clone(), suffix, number });
        }
        let text = render::rendered(source, edits, &places);
        let mentions = names::mentions(source);
        Self { source: source.to_owned(), text, uses, mentions }
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What is named, in order, each as often as it is.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.uses.iter().map(|found| found.name.as_str())
    }

    /// The script with the values of `context`. Values that it does not ask for are not looked at.
    pub fn prepare(&self, context: &Context) -> Prepared {
        let mut delivery = deliver::Delivery::default();
        for found in &self.uses {
            delivery.add_use(found, context.lookup(&found.name).as_ref());
        }
        for mention in &self.mentions {
            if let Some(suffix) = mention.strip_prefix(names::VARIABLE) {
                delivery.add(mention, names::by_suffix(context, suffix).as_ref());
            }
        }
        for (alias, value) in names::aliases(context, &self.mentions) {
            delivery.add(&alias, Some(value));
        }
        delivery.finish(&self.text, missing(self.names(), context))
    }
}
