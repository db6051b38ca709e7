//! A command as rules see it: variables put in, the program's name without its directory, the directory where it runs.

use std::cell::OnceCell;
use std::path::PathBuf;

use amplihack_shell::{RedirectKind, ShellCommand, ShellWord, WordPiece};
use amplihack_verdict::Span;

use super::change::PathChange;
use super::credential::SecretUse;
use super::git::GitCall;
use super::marks::{self, UNKNOWN, is_plain};

/// A word of a command.
#[derive(Debug, Clone)]
pub(crate) struct CallArg {
    marked: String,
    /// The text without marks; `None` if it has no marks.
    plain: Option<String>,
    /// The argument's place in the script.
    pub(crate) span: Span,
    /// True if something in it is made at run time.
    pub(crate) dynamic: bool,
}

impl CallArg {
    /// Reads a word, with variables from `lookup`.
    pub(crate) fn read(word: &ShellWord, lookup: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut marked = String::new();
        let mut dynamic = false;
        for (at, piece) in word.pieces.iter().enumerate() {
            match piece {
                WordPiece::Literal { text, quoted: true } => marked.push_str(text),
                WordPiece::Literal { text, quoted: false } => marks::mark_text(text, at == 0, &mut marked),
                WordPiece::Variable(name) => {
                    if let Some(value) = lookup(name) {
                        dynamic |= value.contains(UNKNOWN);
                        marked.push_str(&value);
                    } else {
                        dynamic = true;
                        marked.push(UNKNOWN);
                    }
                }
                WordPiece::Dynamic(source) => match set_anyway(source).and_then(&lookup) {
                    Some(value) if !value.contains(UNKNOWN) => marked.push_str(&value),
                    _ => {
                        dynamic = true;
                        marked.push(UNKNOWN);
                    }
                },
            }
        }
        Self::new(marked, word.span, dynamic)
    }

    fn new(marked: String, span: Span, dynamic: bool) -> Self {
        let plain = (!is_plain(&marked)).then(|| marks::unmark_text(&marked));
        Self { marked, plain, span, dynamic }
    }

    /// A word that is only text.
    pub(crate) fn from_text(text: &str) -> Self {
        Self::new(text.to_owned(), Span::default(), false)
    }

    /// Text that stands where this word stands.
    pub(crate) fn with_text(&self, text: &str) -> Self {
        Self::new(text.to_owned(), self.span, self.dynamic)
    }

    /// The argument's text; unknown parts are [`UNKNOWN`].
    pub(crate) fn text(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.marked)
    }

    /// The argument's text with marks.
    pub(crate) fn marked_text(&self) -> &str {
        &self.marked
    }

    /// The words that an unquoted variable of this value would become.
    fn split_words(&self) -> impl Iterator<Item = Self> {
        self.marked.split_whitespace().map(|part| Self::new(part.to_owned(), self.span, self.dynamic))
    }
}

/// A command, with one choice of values for its variables.
#[derive(Debug)]
pub(crate) struct CommandCall<'a> {
    /// The command as it was parsed.
    pub(crate) command: &'a ShellCommand,
    /// The command's index in the list of commands.
    pub(crate) index: usize,
    /// The program's name without directories; empty for a bare assignment and for a program that is not known.
    pub(crate) program: String,
    /// The program as it was written.
    pub(crate) path: CallArg,
    /// The arguments that follow the program.
    pub(crate) args: Vec<CallArg>,
    /// `NAME=value` before it.
    pub(crate) assigns: Vec<(&'a str, CallArg)>,
    /// The command's redirections.
    pub(crate) redirects: Vec<(RedirectKind, CallArg)>,
    /// The directory where it runs; `None` if that is not known.
    pub(crate) dir: Option<PathBuf>,
    pub(super) changes: OnceCell<Vec<PathChange>>,
    pub(super) uses: OnceCell<Vec<SecretUse>>,
    pub(super) git: OnceCell<Option<GitCall>>,
}

impl<'a> CommandCall<'a> {
    /// Reads a command. With `split`, a word that is only a variable becomes as many words as its value has.
    pub(crate) fn read(
        command: &'a ShellCommand,
        index: usize,
        dir: Option<PathBuf>,
        split: bool,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let mut args = Vec::with_capacity(command.words.len());
        for word in &command.words {
            let arg = CallArg::read(word, lookup);
            match word.pieces.as_slice() {
                [WordPiece::Variable(_)] if split => args.extend(arg.split_words()),
                _ => args.push(arg),
            }
        }
        let mut path = if args.is_empty() { CallArg::from_text("") } else { args.remove(0) };
        // One program that is many: what counts is the name behind it.
        if matches!(base_name(path.text()), "busybox" | "toybox")
            && args.first().is_some_and(|arg| !arg.text().starts_with('-'))
        {
            path = args.remove(0);
        }
        let program = if path.dynamic { String::new() } else { base_name(path.text()).to_owned() };
        Self {
            command,
            index,
            program,
            path,
            args,
            assigns: command
                .assignments
                .iter()
                .map(|(name, word)| (name.as_str(), CallArg::read(word, lookup)))
                .collect(),
            redirects: command
                .redirects
                .iter()
                .map(|redirect| (redirect.kind, CallArg::read(&redirect.target, lookup)))
                .collect(),
            dir,
            changes: OnceCell::new(),
            uses: OnceCell::new(),
            git: OnceCell::new(),
        }
    }

    /// Bytes of text in the arguments and assignments.
    pub(crate) fn text_len(&self) -> usize {
        let assigned = self.assigns.iter().map(|(_, arg)| arg);
        self.args.iter().chain(assigned).map(|arg| arg.marked.len()).sum()
    }

    /// Reports whether rules may take long over the command.
    pub(crate) fn is_long(&self) -> bool {
        self.args.len() + self.assigns.len() + self.redirects.len() > 256 || self.text_len() > 4096
    }

    /// Reports whether the program is one of these.
    pub(crate) fn is_any_of(&self, programs: &[&str]) -> bool {
        programs.contains(&self.program.as_str())
    }

    /// The text of the argument at a place.
    pub(crate) fn arg_text(&self, at: usize) -> Option<&str> {
        self.args.get(at).map(CallArg::text)
    }

    /// Reports whether an argument is one of these, literally.
    pub(crate) fn has_any(&self, texts: &[&str]) -> bool {
        self.args.iter().any(|arg| texts.contains(&arg.text()))
    }

    /// Arguments that are no options.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &CallArg> {
        self.args.iter().filter(|arg| !arg.text().starts_with('-'))
    }

    /// The command's place in the script.
    pub(crate) fn span(&self) -> Span {
        self.command.span
    }

    /// `NAME=value` before it, and what `export`, `declare` and the like set by their arguments.
    pub(crate) fn set_variables(&self) -> impl Iterator<Item = (&str, CallArg)> {
        let by_argument =
            self.is_any_of(&DECLARE).then_some(&self.args).into_iter().flatten().filter_map(|arg| {
                let (name, value) = arg.marked_text().split_once('=')?;
                let name = name.trim_end_matches('+');
                (!self.assigns.iter().any(|(known, _)| *known == name)).then(|| (name, arg.with_text(value)))
            });
        self.assigns.iter().map(|(name, value)| (*name, value.clone())).chain(by_argument)
    }
}

/// The variable of `${NAME:-…}` and its kin, whose value counts where it has one.
fn set_anyway(source: &str) -> Option<&str> {
    let inner = source.strip_prefix("${")?.strip_suffix('}')?;
    let end = inner.find(|ch: char| !ch.is_ascii_alphanumeric() && ch != '_')?;
    let (name, rest) = inner.split_at(end);
    // Only names of places: what others stand for is left to the rules for what is not known.
    let place = name.ends_with("_HOME") || name.ends_with("_DIR");
    (place && [":-", "-", ":=", "=", ":?", "?"].iter().any(|operator| rest.starts_with(operator)))
        .then_some(name)
}

/// Builtins that set variables by their arguments.
pub(crate) const DECLARE: [&str; 6] = ["export", "declare", "typeset", "readonly", "local", "setenv"];

/// A program's name without its directory.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
