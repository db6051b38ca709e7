//! The form of a reader's results: commands as source text, with the structure around them.

use super::model::RedirectKind;

/// Source text and where it begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RawShellText {
    pub(super) start: usize,
    pub(super) text: String,
}

impl RawShellText {
    /// Behind its last byte.
    pub(super) fn end_offset(&self) -> usize {
        self.start + self.text.len()
    }
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawRedirect {
    pub(super) kind: RedirectKind,
    pub(super) target: RawShellText,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RawCommand {
    pub(super) assignments: Vec<RawShellText>,
    pub(super) words: Vec<RawShellText>,
    pub(super) redirects: Vec<RawRedirect>,
}

impl RawCommand {
    pub(super) fn start_offset(&self) -> usize {
        self.raw_texts().map(|raw| raw.start).min().unwrap_or(0)
    }

    pub(super) fn end_offset(&self) -> usize {
        self.raw_texts().map(RawShellText::end_offset).max().unwrap_or(0)
    }

    fn raw_texts(&self) -> impl Iterator<Item = &RawShellText> {
        self.assignments
            .iter()
            .chain(&self.words)
            .chain(self.redirects.iter().map(|redirect| &redirect.target))
    }
}

/// Something that a shell runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellItem {
    /// A command.
    Simple(RawCommand),
    /// A list with redirections around it. `subshell`: its `cd`s end with it. `maybe`: it runs never, once or often.
    Group { items: Vec<ShellItem>, redirects: Vec<RawRedirect>, subshell: bool, maybe: bool },
    /// A pipeline.
    Pipe(Vec<ShellItem>),
    /// A function.
    Function { name: String, body: Vec<ShellItem> },
    /// `for` and `select`.
    For { variable: String, values: Vec<RawShellText>, body: Vec<ShellItem> },
    /// Text in which scripts may be embedded: arithmetic, `[[ … ]]`, the words of `case`.
    Text(RawShellText),
}

/// Every simple command in order, to compare what two readers found.
pub(super) fn collect_commands<'a>(items: &'a [ShellItem], out: &mut Vec<&'a RawCommand>) {
    for item in items {
        match item {
            ShellItem::Simple(simple) => out.push(simple),
            ShellItem::Group { items, .. }
            | ShellItem::Pipe(items)
            | ShellItem::Function { body: items, .. }
            | ShellItem::For { body: items, .. } => {
                collect_commands(items, out);
            }
            ShellItem::Text(_) => {}
        }
    }
}

/// Words that bash reserves: where a command begins, none is a program's name unless a part of it is quoted.
///
/// `time` is left out, since it is also a program's name.
const RESERVED: [&str; 21] = [
    "!", "{", "}", "[[", "]]", "coproc", "if", "then", "elif", "else", "fi", "for", "while", "until", "do",
    "done", "case", "esac", "select", "function", "in",
];

/// Reports whether bash reserves `word`.
pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// The start of the first command whose program's name is a reserved word: the parser has misread the script around it.
pub(super) fn find_misread(items: &[ShellItem]) -> Option<usize> {
    let mut found = Vec::new();
    collect_commands(items, &mut found);
    let wrong = |simple: &&&RawCommand| simple.words.first().is_some_and(|word| is_reserved(&word.text));
    found.iter().find(wrong).map(|simple| simple.start_offset())
}
