//! The one bash front end: the commands that a script would run, as data, and the quoting around a place in a script.
//!
//! bytes → gate → here-documents out → plain, or parser and lexer → words → what wrappers start, until nothing is new.
//!
//! Pure: no file is read and nothing is run. Nothing here knows whether a command may run: the policy judges what [`commands`] finds, recipes
//! ask [`find_quoting`] where a value may stand, and unattended runs look for the files that a command uses.

mod ansi;
mod assign;
mod braces;
mod counted;
mod editors;
mod effects;
mod env;
mod feeders;
mod follow;
mod foreign;
mod gate;
mod heredoc;
mod interpreters;
mod items;
mod launchers;
mod lexer;
mod limits;
mod mask;
mod model;
mod oneliner;
mod outline;
mod output;
mod parameter;
mod parse_cost;
mod plain;
mod quoting;
mod redirects;
mod runners;
mod script_reader;
mod simple;
#[cfg(test)]
mod tests;
mod tree;
mod unwrap;
mod variables;
mod word;
mod wrappers;
mod written_files;

pub use editors::sed_writes;
pub use limits::{BashReaders, Limits};
pub use model::{
    CommandInput, OUT_OF_TIME, Parsed, RedirectKind, ShellCommand, ShellRedirect, ShellWord, UndecidedPart,
    WordPiece,
};
pub use oneliner::timed_code;
pub use output::printed_text;
pub use quoting::{PrecedingSign, QuotedDocument, Quoting, QuotingReport, ScriptPosition, find_quoting};

use amplihack_sys::WorkLimit;

/// Programs that read commands as bash does, or nearly.
const SHELLS: [&str; 11] =
    ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "mksh", "rbash"];

/// Reports whether a program, by its bare name, is a shell.
pub fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Everything that bash would run, were it given `src`.
///
/// What cannot be understood is in [`Parsed::undecided`], never left out in silence. Takes no longer than the limits' deadline,
/// and time linear in the script's length.
pub fn commands(src: &[u8], limits: &Limits) -> Parsed {
    commands_until(src, limits, WorkLimit::from_now(limits.deadline))
}

/// Everything that bash would run, as [`commands`], with a deadline that others share.
pub fn commands_until(src: &[u8], limits: &Limits, deadline: WorkLimit) -> Parsed {
    match gate::admit_script(src, limits) {
        Ok(text) => script_reader::ScriptReader::new(limits, deadline).read_outermost(text),
        Err(undecided) => Parsed { commands: Vec::new(), undecided: vec![undecided] },
    }
}
