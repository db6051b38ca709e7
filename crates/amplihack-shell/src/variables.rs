//! Variables as far as a script's own assignments determine them.

use std::collections::{HashMap, HashSet};

use amplihack_sys::WorkLimit;
use amplihack_verdict::Span;

use super::model::{ShellWord, WordPiece};
use super::word::WordPart;

/// Values that one variable, and wordings that one command may have.
const CHOICES: usize = 16;

/// Variables that a value may name: what they hold is known later, from the machine.
pub(super) const STANDING: [&str; 2] = ["HOME", "PWD"];

/// Bytes of a value that are followed; a longer one may be anything.
const LONGEST: usize = 64 * 1024;

/// Bytes that a field costs beside its text.
const FIELD: usize = 16;

/// Value that a variable may hold: one of `choices`, each a list of fields, or, if `unknown`, anything else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct VariableValue {
    pub(super) choices: Vec<Vec<String>>,
    pub(super) unknown: bool,
}

impl VariableValue {
    /// Anything.
    pub(super) fn new_unknown() -> Self {
        Self { choices: Vec::new(), unknown: true }
    }

    /// A value that is a single known text.
    pub(super) fn from_text(text: impl Into<String>) -> Self {
        Self { choices: vec![vec![text.into()]], unknown: false }
    }

    fn merge_value(&mut self, other: &Self) {
        for choice in &other.choices {
            if !self.choices.contains(choice) {
                self.choices.push(choice.clone());
            }
        }
        self.unknown |= other.unknown;
        if self.choices.len() > CHOICES {
            self.choices.truncate(CHOICES);
            self.unknown = true;
        }
    }
}

/// All variables.
#[derive(Debug, Default)]
pub(super) struct ShellVariables {
    now: HashMap<String, VariableValue>,
    /// All values that each ever has; the base for loops and functions when the script is gone through once more.
    ever: HashMap<String, VariableValue>,
    again: bool,
    /// Deadline after which variables are no longer put into words.
    deadline: Option<WorkLimit>,
    /// A value was asked for where an assignment further down may have come first.
    pub(super) asked_in_loop: bool,
}

impl ShellVariables {
    /// None yet; after `deadline` commands get no wordings any more.
    pub(super) fn with_deadline(deadline: WorkLimit) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Notes an assignment. `maybe`: it may not happen, or happen in a loop.
    pub(super) fn set_value(&mut self, name: &str, value: VariableValue, maybe: bool) {
        // A field counts as much as the room that it takes.
        let long = value
            .choices
            .iter()
            .any(|fields| fields.iter().map(|field| FIELD + field.len()).sum::<usize>() > LONGEST);
        let value = if long { VariableValue::new_unknown() } else { value };
        self.ever.entry(name.to_owned()).or_default().merge_value(&value);
        if maybe {
            self.now.entry(name.to_owned()).or_default().merge_value(&value);
        } else {
            self.now.insert(name.to_owned(), value);
        }
    }

    /// The value that `name` may hold.
    pub(super) fn get(&mut self, name: &str, maybe: bool) -> Option<&VariableValue> {
        self.asked_in_loop |= maybe;
        if maybe && self.again { self.ever.get(name) } else { self.now.get(name) }
    }

    /// Starts over, with the values that were seen.
    pub(super) fn start_over(&mut self) {
        self.now.clear();
        (self.again, self.asked_in_loop) = (true, false);
    }

    /// The wordings that a command's words may have. None if the time is over.
    pub(super) fn expand_wordings(
        &mut self,
        words: &[(Vec<WordPart>, Span)],
        maybe: bool,
    ) -> Vec<Vec<ShellWord>> {
        let mut environments: Vec<HashMap<String, Vec<String>>> = vec![HashMap::new()];
        let mut seen: HashSet<&str> = HashSet::new();
        for (index, (parts, _)) in words.iter().enumerate() {
            for part in parts {
                let WordPart::Variable { name, .. } = part else { continue };
                if !seen.insert(name) {
                    continue;
                }
                // Of a value that may be anything, what is known matters in the first word alone: there it tells which program may run.
                let Some(value) = self.get(name, maybe).filter(|value| !value.unknown || index == 0) else {
                    continue;
                };
                let choices = value.choices.len() + usize::from(value.unknown);
                // Wordings multiply with each variable: past the limit it stays in the words by its name.
                if value.choices.is_empty() || environments.len() * choices > CHOICES {
                    continue;
                }
                let old = environments.clone();
                environments = Vec::with_capacity(old.len() * choices);
                for choice in &value.choices {
                    for environment in &old {
                        let mut environment = environment.clone();
                        environment.insert(name.clone(), choice.clone());
                        environments.push(environment);
                    }
                }
                if value.unknown {
                    environments.extend(old.iter().cloned());
                }
            }
        }
        let separators = self
            .now
            .get("IFS")
            .and_then(|value| value.choices.last())
            .and_then(|fields| fields.first().cloned());
        let separators = separators.unwrap_or_else(|| " \t\n".to_owned());
        let mut wordings = Vec::with_capacity(environments.len());
        for environment in &environments {
            let mut wording = Vec::with_capacity(words.len());
            for (parts, span) in words {
                if self.deadline.is_some_and(WorkLimit::is_over) {
                    return Vec::new();
                }
                wording.extend(expand_fields(parts, *span, environment, &separators));
            }
            wordings.push(wording);
        }
        wordings
    }
}

/// A value's text, with what it names of [`STANDING`] as variables again.
pub(super) fn push_literal(text: &str, quoted: bool, pieces: &mut Vec<WordPiece>) {
    for name in STANDING {
        let Some((before, behind)) = text.split_once(&format!("${{{name}}}")) else { continue };
        pieces.push(WordPiece::Literal { text: before.to_owned(), quoted });
        pieces.push(WordPiece::Variable(name.to_owned()));
        pieces.push(WordPiece::Literal { text: behind.to_owned(), quoted });
        return;
    }
    pieces.push(WordPiece::Literal { text: text.to_owned(), quoted });
}

/// The words that one word becomes when its variables are put in.
fn expand_fields(
    parts: &[WordPart],
    span: Span,
    environment: &HashMap<String, Vec<String>>,
    separators: &str,
) -> Vec<ShellWord> {
    let mut done = Vec::new();
    let mut pieces: Vec<WordPiece> = Vec::new();
    for part in parts {
        match part {
            WordPart::Text { text, quoted } => {
                pieces.push(WordPiece::Literal { text: text.clone(), quoted: *quoted });
            }
            WordPart::Dynamic { source, .. } => pieces.push(WordPiece::Dynamic(source.clone())),
            WordPart::Variable { name, quoted } => match environment.get(name) {
                None if name.contains('[') => pieces.push(WordPiece::Dynamic(format!("${{{name}}}"))),
                None => pieces.push(WordPiece::Variable(name.clone())),
                // Quotes hold fields together, except in `"$@"` and `"${a[@]}"`.
                Some(values) if *quoted && !(name == "@" || name.ends_with("[@]")) => {
                    push_literal(&values.join(" "), true, &mut pieces);
                }
                Some(values) => {
                    let split = |text: &String| -> Vec<String> {
                        if *quoted {
                            return vec![text.clone()];
                        }
                        text.split(|c| separators.contains(c)).map(str::to_owned).collect()
                    };
                    let texts: Vec<String> = values.iter().flat_map(split).collect();
                    for (index, text) in texts.iter().enumerate() {
                        if index > 0 && !pieces.is_empty() {
                            done.push(ShellWord { pieces: std::mem::take(&mut pieces), span });
                        }
                        if !text.is_empty() || *quoted {
                            push_literal(text, *quoted, &mut pieces);
                        }
                    }
                }
            },
        }
    }
    if !pieces.is_empty() {
        done.push(ShellWord { pieces, span });
    }
    done
}
