//! What the chores say, on stderr; stdout is left to what they run.

use std::io::Write;

/// Says what happens now.
pub(crate) fn say(line: &str) {
    // Nothing is left to tell if stderr itself is gone.
    let _ = writeln!(std::io::stderr(), "xtask: {line}");
}

/// Says something that must not be overlooked.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
