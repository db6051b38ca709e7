//! Text made in pieces: formatted to the end of a string, which takes everything.

use std::fmt::{Arguments, Write as _};

/// The end of a text, for [`push_text!`](crate::push_text) and [`push_line!`](crate::push_line).
pub trait PushText {
    /// Appends `pieces`.
    fn push_pieces(&mut self, pieces: Arguments<'_>);
    /// Appends `pieces` and a line break.
    fn push_piece_line(&mut self, pieces: Arguments<'_>);
}

impl PushText for String {
    fn push_pieces(&mut self, pieces: Arguments<'_>) {
        // A string takes everything.
        let _ = self.write_fmt(pieces);
    }

    fn push_piece_line(&mut self, pieces: Arguments<'_>) {
        self.push_pieces(pieces);
        self.push('\n');
    }
}

/// Appends to a `String` what the other arguments say in the form of [`format!`].
#[macro_export]
macro_rules! push_text {
    ($text:expr, $($pieces:tt)+) => {{
        use $crate::text::PushText as _;
        $text.push_pieces(::std::format_args!($($pieces)+));
    }};
}

/// Appends a line to a `String`: what the other arguments say in the form of [`format!`].
#[macro_export]
macro_rules! push_line {
    ($text:expr) => { $text.push('\n') };
    ($text:expr, $($pieces:tt)+) => {{
        use $crate::text::PushText as _;
        $text.push_piece_line(::std::format_args!($($pieces)+));
    }};
}
