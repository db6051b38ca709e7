//! What the crate does, seen from outside.

mod far;
mod package;
mod results;
