//! Releases and their installer, as a user meets them.

mod installer;
mod interrupted;
mod page;
mod release;
mod server;
mod shipped;
