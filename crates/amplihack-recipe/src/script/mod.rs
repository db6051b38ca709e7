//! Scripts with placeholders: a value never becomes a part of the script's text.

use crate::context::Context;
use crate::template::{Placeholder, missing, placeholders};

/// A script for bash, with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    text: String,
    places: Vec<Placeholder>,
}

/// A script with what it needs to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prepared {
    /// What bash is to run.
    pub text: String,
    /// Variables of its environment. What the runner's own environment has of `RECIPE_VAR_*` and `RECIPE_NUMBER_*` is not to be
    /// passed on.
    pub env: Vec<(String, String)>,
    /// Assignments of values that are too large for an environment. They are to be written to a file that only its owner can read,
    /// whose absolute path is the value of [`VALUES`]; the script reads it first.
    pub sourced: Option<Vec<u8>>,
    /// Names of placeholders that have no value.
    pub missing: Vec<String>,
}

/// The variable that names the file of large values.
pub const VALUES: &str = "RECIPE_VALUES_FILE";

impl Script {
    /// Reads a script.
    pub fn parse(text: &str) -> Self {
        Self { text: text.to_owned(), places: placeholders(text) }
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.text
    }

    /// What is named, in order, each as often as it is.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| place.name.as_str())
    }

    /// The script with the values of `context`.
    pub fn prepare(&self, context: &Context) -> Prepared {
        let mut prepared = Prepared { missing: missing(self.names(), context), ..Prepared::default() };
        let mut at = 0;
        for place in &self.places {
            prepared.text.push_str(&self.text[at..place.range.start]);
            let name = format!("RECIPE_VAR_{}", place.name.replace('.', "__").replace('-', "_"));
            prepared.text.push_str(&format!("\"${{{name}}}\""));
            if let Some(value) = context.lookup(&place.name) {
                prepared.env.push((name, value.text().to_owned()));
            }
            at = place.range.end;
        }
        prepared.text.push_str(&self.text[at..]);
        prepared
    }
}
