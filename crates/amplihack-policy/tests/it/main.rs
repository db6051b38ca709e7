//! The verdicts of the built-in policy: on recorded commands, in every spelling, and on scripts that are made to mislead or to take long.

mod cases;
mod command_files;
mod corpora;
mod limits;
mod misread;
mod outside;
mod page;
mod spellings;
