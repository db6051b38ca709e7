//! One command as rules see it: variables put in, the program's name without its directory, the directory where it runs.

use std::cell::OnceCell;
use std::path::PathBuf;

use super::change::Change;
use super::credential::Use;
use super::git::Git;
use super::marks::{self, UNKNOWN, is_plain};
use crate::decision::Span;
use crate::shell::{Command, Piece, RedirectKind, Word};

/// A word of a command.
#[derive(Debug, Clone)]
pub(crate) struct Arg {
    marked: String,
    /// The same without marks; `None` if there are none.
    plain: Option<String>,
    /// Where it stands.
    pub(crate) span: Span,
    /// Whether something in it is made at run time.
    pub(crate) dynamic: bool,
}

impl Arg {
    /// Reads a word, with variables from `lookup`.
    pub(crate) fn read(word: &Word, lookup: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut marked = String::new();
        let mut dynamic = false;
        for (at, piece) in word.pieces.iter().enumerate() {
            match piece {
                Piece::Literal { text, quoted: true } => marked.push_str(text),
                Piece::Literal { text, quoted: false } => marks::mark(text, at == 0, &mut marked),
                Piece::Variable(name) => {
                    if let Some(value) = lookup(name) {
                        dynamic |= value.contains(UNKNOWN);
                        marked.push_str(&value);
                    } else {
                        dynamic = true;
                        marked.push(UNKNOWN);
                    }
                }
                Piece::Dynamic(_) => {
                    dynamic = true;
                    marked.push(UNKNOWN);
                }
            }
        }
        Self::new(marked, word.span, dynamic)
    }

    fn new(marked: String, span: Span, dynamic: bool) -> Self {
        let plain = (!is_plain(&marked)).then(|| marks::plain(&marked));
        Self { marked, plain, span, dynamic }
    }

    /// A word that is only text.
    pub(crate) fn of(text: &str) -> Self {
        Self::new(text.to_owned(), Span::default(), false)
    }

    /// Text that stands where this word stands.
    pub(crate) fn with_text(&self, text: &str) -> Self {
        Self::new(text.to_owned(), self.span, self.dynamic)
    }

    /// Its text; what is not known is [`UNKNOWN`].
    pub(crate) fn text(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.marked)
    }

    /// Its text with marks.
    pub(crate) fn marked(&self) -> &str {
        &self.marked
    }

    /// The words that an unquoted variable of this value would become.
    fn split(&self) -> impl Iterator<Item = Self> {
        self.marked.split_whitespace().map(|part| Self::new(part.to_owned(), self.span, self.dynamic))
    }
}

/// One command, with one choice of values for its variables.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The command as it was parsed.
    pub(crate) command: &'a Command,
    /// Its place in the list of commands.
    pub(crate) index: usize,
    /// The program's name without directories; empty for a bare assignment and for a program that is not known.
    pub(crate) program: String,
    /// The program as it was written.
    pub(crate) path: Arg,
    /// What follows the program.
    pub(crate) args: Vec<Arg>,
    /// `NAME=value` before it.
    pub(crate) assigns: Vec<(&'a str, Arg)>,
    /// Its redirections.
    pub(crate) redirects: Vec<(RedirectKind, Arg)>,
    /// Where it runs, if that is known.
    pub(crate) dir: Option<PathBuf>,
    pub(super) changes: OnceCell<Vec<Change>>,
    pub(super) uses: OnceCell<Vec<Use>>,
    pub(super) git: OnceCell<Option<Git>>,
}

impl<'a> Call<'a> {
    /// Reads a command. With `split`, a word that is only a variable becomes as many words as its value has.
    pub(crate) fn read(
        command: &'a Command,
        index: usize,
        dir: Option<PathBuf>,
        split: bool,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let mut args = Vec::with_capacity(command.words.len());
        for word in &command.words {
            let arg = Arg::read(word, lookup);
            match word.pieces.as_slice() {
                [Piece::Variable(_)] if split => args.extend(arg.split()),
                _ => args.push(arg),
            }
        }
        let mut path = if args.is_empty() { Arg::of("") } else { args.remove(0) };
        // One program that is many: what counts is the name behind it.
        if matches!(base(path.text()), "busybox" | "toybox")
            && args.first().is_some_and(|arg| !arg.text().starts_with('-'))
        {
            path = args.remove(0);
        }
        let program = if path.dynamic { String::new() } else { base(path.text()).to_owned() };
        Self {
            command,
            index,
            program,
            path,
            args,
            assigns: command
                .assignments
                .iter()
                .map(|(name, word)| (name.as_str(), Arg::read(word, lookup)))
                .collect(),
            redirects: command
                .redirects
                .iter()
                .map(|redirect| (redirect.kind, Arg::read(&redirect.target, lookup)))
                .collect(),
            dir,
            changes: OnceCell::new(),
            uses: OnceCell::new(),
            git: OnceCell::new(),
        }
    }

    /// How much text it has.
    pub(crate) fn bytes(&self) -> usize {
        let assigned = self.assigns.iter().map(|(_, arg)| arg);
        self.args.iter().chain(assigned).map(|arg| arg.marked.len()).sum()
    }

    /// Whether rules may take long over it.
    pub(crate) fn is_long(&self) -> bool {
        self.args.len() + self.assigns.len() + self.redirects.len() > 256 || self.bytes() > 4096
    }

    /// Whether the program is one of these.
    pub(crate) fn is(&self, programs: &[&str]) -> bool {
        programs.contains(&self.program.as_str())
    }

    /// The text of the argument at a place.
    pub(crate) fn arg(&self, at: usize) -> Option<&str> {
        self.args.get(at).map(Arg::text)
    }

    /// Whether an argument is one of these, literally.
    pub(crate) fn has(&self, texts: &[&str]) -> bool {
        self.args.iter().any(|arg| texts.contains(&arg.text()))
    }

    /// Arguments that are no options.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|arg| !arg.text().starts_with('-'))
    }

    /// Where it stands in the script.
    pub(crate) fn span(&self) -> Span {
        self.command.span
    }

    /// `NAME=value` before it, and what `export`, `declare` and the like set by their arguments.
    pub(crate) fn sets(&self) -> impl Iterator<Item = (&str, Arg)> {
        let by_argument = self.is(&DECLARE).then_some(&self.args).into_iter().flatten().filter_map(|arg| {
            let (name, value) = arg.marked().split_once('=')?;
            let name = name.trim_end_matches('+');
            (!self.assigns.iter().any(|(known, _)| *known == name)).then(|| (name, arg.with_text(value)))
        });
        self.assigns.iter().map(|(name, value)| (*name, value.clone())).chain(by_argument)
    }
}

/// Builtins that set variables by their arguments.
pub(crate) const DECLARE: [&str; 6] = ["export", "declare", "typeset", "readonly", "local", "setenv"];

/// A program's name without its directory.
pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
