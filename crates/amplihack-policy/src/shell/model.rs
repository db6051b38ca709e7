//! What a script would run: simple commands with their words, assignments, redirections and surroundings.

use crate::decision::Span;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    /// Text as the command gets it, quotes and backslashes removed. `quoted`: globs and a leading `~` mean nothing in it.
    Literal {
        /// The text.
        text: String,
        /// Whether it stood in quotes or behind a backslash.
        quoted: bool,
    },
    /// `$NAME` or `${NAME}`, nothing else done to it.
    Variable(String),
    /// Any other expansion: a substitution, arithmetic, `${NAME…}`. What it gives is not known.
    Dynamic(String),
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Word {
    /// Its parts in order.
    pub pieces: Vec<Piece>,
    /// Where it stands in the outermost script.
    pub span: Span,
}

impl Word {
    /// A word that is plain text.
    pub fn plain(text: impl Into<String>, span: Span) -> Self {
        Self { pieces: vec![Piece::Literal { text: text.into(), quoted: true }], span }
    }

    /// Its text, if nothing in it is expanded at run time. Globs count as text.
    pub fn literal(&self) -> Option<String> {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal { text, .. } => Some(text.as_str()),
                Piece::Variable(_) | Piece::Dynamic(_) => None,
            })
            .collect()
    }
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>` `>|` `&>`
    Write,
    /// `>>` `&>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `>&2`, `<&-` and the like: no file.
    Duplicate,
    /// `<<`, `<<-`: the target word is the body.
    HereDocument,
    /// `<<<`
    HereString,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Redirect {
    /// What it does.
    pub kind: RedirectKind,
    /// The file, the descriptor or the body.
    pub target: Word,
}

/// Where the standard input of a command comes from, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fed {
    /// From the commands with these indices in [`Parsed::commands`], through a pipe or a process substitution.
    Commands(Vec<usize>),
    /// Text that is known: a here-document, a here-string, a literal `echo` or `printf` in front of the pipe.
    Text(String),
}

/// One simple command that a script may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Words; the first is the program. Aliases of case, path and quoting are not resolved here.
    pub words: Vec<Word>,
    /// `NAME=value` before the program, also those that `env` and `export` set.
    pub assignments: Vec<(String, Word)>,
    /// Redirections, also those of the group around it.
    pub redirects: Vec<Redirect>,
    /// Where its input comes from.
    pub fed: Option<Fed>,
    /// `cd`s that ran before it in the same shell, in order; a `cd` in a subshell is gone behind it.
    pub cds: Vec<Word>,
    /// Wrappers around it, outermost first: `sudo`, `env`, `xargs`, `sh -c` … Empty for a command that stands in the script itself.
    pub via: Vec<String>,
    /// Where it stands in the outermost script.
    pub span: Span,
}

impl Command {
    /// The program's name without directories, if it is known.
    pub fn program(&self) -> Option<String> {
        let name = self.words.first()?.literal()?;
        Some(name.rsplit('/').next().unwrap_or(&name).to_owned())
    }
}

/// A part of a script that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecided {
    /// What it is, a lower-case fragment: "the program's name is made at run time".
    pub why: String,
    /// Where it stands.
    pub span: Span,
}

/// Everything that a script may run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed {
    /// Commands that either parser found, wrappers and what is inside them, in the order of the script.
    pub commands: Vec<Command>,
    /// What neither parser could read, and dynamic programs. Not empty: the script must not be let through.
    pub undecided: Vec<Undecided>,
}

/// Why reading ended before the script did.
pub(crate) const LATE: &str = "reading the script takes too long";

impl Parsed {
    /// Whether the time was over before all was read.
    pub(crate) fn is_late(&self) -> bool {
        self.undecided.iter().any(|undecided| undecided.why == LATE)
    }
}
