//! The delivery of values to a script: small ones in its environment, large ones in a file that it reads.

use std::collections::BTreeMap;
use std::io::{self, Write};

use amplihack_sys::push_text;

use super::PlaceholderUse;
use super::names::{NUMBER, VARIABLE};
use crate::value::RecipeValue;

/// The variable that names the file of large values.
pub const VALUES: &str = "RECIPE_VALUES_FILE";

/// Bytes up to which a value goes into the environment. The kernel takes 128 KiB with the name.
const LARGEST: usize = 96 << 10;

/// Bytes of all values in the environment: a quarter of what is often left for it and the arguments.
const TOTAL: usize = 256 << 10;

/// A script with what it needs to run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PreparedRecipeScript {
    /// The script for bash to run.
    pub text: String,
    /// Variables of its environment. What the runner's own environment has of `RECIPE_VAR_*` and `RECIPE_NUMBER_*` is not to be
    /// passed on: a name that has no value is to be unset.
    pub env: Vec<(String, String)>,
    /// Values that are too large for an environment. They are to be [written](Self::write_large) to a file that only its owner can
    /// read, whose absolute path is the value of [`VALUES`]; the script reads it first, and ends with 1 if it cannot.
    pub large: Vec<RecipeValue>,
    /// Names of placeholders that have no value.
    pub missing: Vec<String>,
}

impl PreparedRecipeScript {
    /// Writes the large values as the script reads them: each with a NUL behind it, which no variable holds.
    pub fn write_large(&self, out: &mut impl Write) -> io::Result<()> {
        for value in &self.large {
            for part in value.text().split('\0') {
                out.write_all(part.as_bytes())?;
            }
            out.write_all(b"\0")?;
        }
        Ok(())
    }
}

/// Values under the names of their variables.
#[derive(Default)]
pub(super) struct RecipeScriptDelivery(BTreeMap<String, RecipeValue>);

impl RecipeScriptDelivery {
    /// A placeholder's value.
    pub(super) fn add_use(&mut self, found: &PlaceholderUse, value: Option<&RecipeValue>) {
        if !found.number {
            return self.add_value(&format!("{VARIABLE}{}", found.suffix), value);
        }
        let number = format!("{NUMBER}{}", found.suffix);
        match value {
            None => self.add_value(&number, Some(&RecipeValue::from_string(""))),
            Some(value) if is_calculation(value.text()) => self.add_value(&number, Some(value)),
            Some(_) => {}
        }
    }

    /// A value under a variable's name, unless it has one.
    pub(super) fn add_value(&mut self, variable: &str, value: Option<&RecipeValue>) {
        if let Some(value) = value {
            self.0.entry(variable.to_owned()).or_insert_with(|| value.clone());
        }
    }

    /// The script that runs with these values.
    pub(super) fn prepare_script(self, script: &str, missing: Vec<String>) -> PreparedRecipeScript {
        let mut prepared = PreparedRecipeScript { missing, ..PreparedRecipeScript::default() };
        let mut names = Vec::new();
        let mut total = 0;
        for (name, value) in self.0 {
            let text = value.text();
            let size = name.len() + text.len() + 2;
            if text.len() <= LARGEST && total + size <= TOTAL {
                total += size;
                prepared.env.push((name, without_nul(text)));
            } else {
                names.push(name);
                prepared.large.push(value);
            }
        }
        if names.is_empty() {
            script.clone_into(&mut prepared.text);
            return prepared;
        }
        // On the script's first line, so that the numbers of its lines stay. A variable that was in the environment would be handed
        // on to programs.
        let mut text = format!("unset -v {};{{ ", names.join(" "));
        for (number, name) in names.iter().enumerate() {
            let and = if number == 0 { "" } else { " && " };
            push_text!(text, "{and}IFS= read -r -d '' {name}");
        }
        prepared.text = format!("{text}; }} <\"${{{VALUES}}}\" || exit 1;unset -v {VALUES};{script}");
        prepared
    }
}

/// No variable holds a NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

/// Reports whether `text` is a calculation without names: numbers, operators, brackets. A name could hold a subscript with a
/// command in it.
fn is_calculation(text: &str) -> bool {
    let operator = |char: char| char.is_ascii_whitespace() || "+-*/%()<>=!&|^~,?:".contains(char);
    text.len() < 4096
        && text.split(operator).all(|word| {
            word.is_empty()
                || (word.starts_with(|char: char| char.is_ascii_digit())
                    && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_calculated() {
        for text in ["", "0", "-5", "16#ff", "0x1F", "1 + 2*(3)", " 7\n", "1<<2", "1?2:3"] {
            assert!(is_calculation(text), "{text}");
        }
        for text in
            ["x", "a[$(id)]", "1 + x", "$(id)", "`id`", "1;2", "1.5", "'1'", "{1}", "x=1", "1[0]", "٣"]
        {
            assert!(!is_calculation(text), "{text}");
        }
    }
}
