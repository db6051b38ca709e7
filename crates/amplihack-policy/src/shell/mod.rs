//! The one bash front end: which commands a script would run, as data. Shared with recipes.
//!
//! bytes → gate → here-documents out → two readers → words → what wrappers start, until nothing is new.

mod ansi;
mod assign;
mod braces;
mod brush;
mod editors;
mod effects;
mod env;
mod feeders;
mod follow;
mod gate;
mod heredoc;
mod interpreters;
mod items;
mod launchers;
mod lexer;
pub mod model;
pub(crate) mod oneliner;
mod output;
mod parameter;
mod places;
mod plain;
mod redirects;
mod simple;
mod slow;
#[cfg(test)]
mod tests;
mod tree;
mod union;
mod unwrap;
mod variables;
mod word;
mod wrappers;
mod written;

pub(crate) use model::LATE;
pub use model::{Command, Fed, Parsed, Piece, Redirect, RedirectKind, Undecided, Word};
pub use places::{Before, Place, Places, QuotedDocument, Quoting, places};

use amplihack_utils::sys::WorkLimit;

use crate::policy::Limits;

/// Programs that read commands as bash does, or nearly.
const SHELLS: [&str; 11] =
    ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "mksh", "rbash"];

/// Whether a program, by its bare name, is a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Everything that bash would run, were it given `src`.
///
/// What cannot be understood is in [`Parsed::undecided`], never left out in silence. Takes no longer than the limits' deadline,
/// and time linear in the script's length.
pub fn commands(src: &[u8], limits: &Limits) -> Parsed {
    commands_until(src, limits, WorkLimit::after(limits.deadline))
}

/// The same, with a deadline that others share.
pub(crate) fn commands_until(src: &[u8], limits: &Limits, deadline: WorkLimit) -> Parsed {
    match gate::admit(src, limits) {
        Ok(text) => union::Reader::new(limits, deadline).outermost(text),
        Err(undecided) => Parsed { commands: Vec::new(), undecided: vec![undecided] },
    }
}
