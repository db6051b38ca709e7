//! What both parsers are brought down to: commands as source text, with the structure around them.

use super::model::RedirectKind;

/// Source text and where it begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Raw {
    pub(super) start: usize,
    pub(super) text: String,
}

impl Raw {
    /// Behind its last byte.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawRedirect {
    pub(super) kind: RedirectKind,
    pub(super) target: Raw,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) assignments: Vec<Raw>,
    pub(super) words: Vec<Raw>,
    pub(super) redirects: Vec<RawRedirect>,
}

impl Simple {
    pub(super) fn start(&self) -> usize {
        self.raws().map(|raw| raw.start).min().unwrap_or(0)
    }

    pub(super) fn end(&self) -> usize {
        self.raws().map(Raw::end).max().unwrap_or(0)
    }

    fn raws(&self) -> impl Iterator<Item = &Raw> {
        self.assignments
            .iter()
            .chain(&self.words)
            .chain(self.redirects.iter().map(|redirect| &redirect.target))
    }
}

/// Something that a shell runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A command.
    Simple(Simple),
    /// A list with redirections around it. `subshell`: its `cd`s end with it. `maybe`: it runs never, once or often.
    Group { items: Vec<Item>, redirects: Vec<RawRedirect>, subshell: bool, maybe: bool },
    /// A pipeline.
    Pipe(Vec<Item>),
    /// A function.
    Function { name: String, body: Vec<Item> },
    /// `for` and `select`.
    For { variable: String, values: Vec<Raw>, body: Vec<Item> },
    /// Text in which scripts may be embedded: arithmetic, `[[ … ]]`, the words of `case`.
    Text(Raw),
}

/// Every simple command in order, to compare what two parsers found.
pub(super) fn simples<'a>(items: &'a [Item], out: &mut Vec<&'a Simple>) {
    for item in items {
        match item {
            Item::Simple(simple) => out.push(simple),
            Item::Group { items, .. }
            | Item::Pipe(items)
            | Item::Function { body: items, .. }
            | Item::For { body: items, .. } => {
                simples(items, out);
            }
            Item::Text(_) => {}
        }
    }
}
