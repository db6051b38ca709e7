//! The one bash front end: which commands a script would run, as data. Shared with recipes.

pub mod model;

pub use model::{Command, Fed, Parsed, Piece, Redirect, RedirectKind, Undecided, Word};
