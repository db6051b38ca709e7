//! Commands that a script would run: simple commands with their words, assignments, redirections and surroundings.

use amplihack_verdict::Span;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WordPiece {
    /// Text as the command gets it, quotes and backslashes removed. `quoted`: globs and a leading `~` mean nothing in it.
    Literal {
        /// The text.
        text: String,
        /// True if the text stood in quotes or behind a backslash.
        quoted: bool,
    },
    /// `$NAME` or `${NAME}`, nothing else done to it.
    Variable(String),
    /// Any other expansion: a substitution, arithmetic, `${NAME…}`. What it gives is not known.
    Dynamic(String),
}

/// A single word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShellWord {
    /// Parts of the word in order.
    pub pieces: Vec<WordPiece>,
    /// Span of the word in the outermost script.
    pub span: Span,
}

impl ShellWord {
    /// A word that is plain text.
    pub fn from_plain(text: impl Into<String>, span: Span) -> Self {
        Self { pieces: vec![WordPiece::Literal { text: text.into(), quoted: true }], span }
    }

    /// Text of the word, if nothing in it is expanded at run time. Globs count as text.
    pub fn literal_text(&self) -> Option<String> {
        self.pieces
            .iter()
            .map(|piece| match piece {
                WordPiece::Literal { text, .. } => Some(text.as_str()),
                WordPiece::Variable(_) | WordPiece::Dynamic(_) => None,
            })
            .collect()
    }
}

/// Kind of a redirection.
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

/// A redirection of a command or of the group around it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShellRedirect {
    /// Kind of the redirection.
    pub kind: RedirectKind,
    /// The file, the descriptor or the body.
    pub target: ShellWord,
}

/// Source of a command's standard input, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CommandInput {
    /// From the commands with these indices in [`Parsed::commands`], through a pipe or a process substitution.
    Commands(Vec<usize>),
    /// Text that is known: a here-document, a here-string, a literal `echo` or `printf` in front of the pipe.
    Text(String),
}

/// A simple command that a script may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// Words; the first is the program. Aliases of case, path and quoting are not resolved here.
    pub words: Vec<ShellWord>,
    /// `NAME=value` before the program, also those that `env` and `export` set.
    pub assignments: Vec<(String, ShellWord)>,
    /// Redirections, also those of the group around it.
    pub redirects: Vec<ShellRedirect>,
    /// Source of the command's standard input, if it matters.
    pub fed: Option<CommandInput>,
    /// `cd`s that ran before it in the same shell, in order; a `cd` in a subshell is gone behind it.
    pub cds: Vec<ShellWord>,
    /// Wrappers around it, outermost first: `sudo`, `env`, `xargs`, `sh -c` … Empty for a command that stands in the script itself.
    pub via: Vec<String>,
    /// Span of the command in the outermost script.
    pub span: Span,
}

impl ShellCommand {
    /// The program's name without directories, if it is known.
    pub fn program_name(&self) -> Option<String> {
        let name = self.words.first()?.literal_text()?;
        Some(name.rsplit('/').next().unwrap_or(&name).to_owned())
    }
}

/// A part of a script that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndecidedPart {
    /// Reason, a lower-case fragment: "the program's name is made at run time".
    pub why: String,
    /// Span of the part in the outermost script.
    pub span: Span,
}

/// Everything that a script may run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed {
    /// Commands that were found, wrappers and what is inside them, in the order of the script.
    pub commands: Vec<ShellCommand>,
    /// Parts that could not be read, and dynamic programs. Not empty: the script must not be let through.
    pub undecided: Vec<UndecidedPart>,
}

/// Reason for undecided parts where reading ended before the script did.
pub const OUT_OF_TIME: &str = "reading the script takes too long";

impl Parsed {
    /// Reports whether the time was over before all was read.
    pub fn is_late(&self) -> bool {
        self.undecided.iter().any(|undecided| undecided.why == OUT_OF_TIME)
    }
}
