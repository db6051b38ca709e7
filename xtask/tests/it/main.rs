//! Releases and their installer, as a user meets them.
#![expect(clippy::unwrap_used, reason = "a test fails by panic; helpers outside of #[test] functions too")]

mod hook_build;
mod installer;
mod interrupted;
mod machine;
mod page;
mod release;
mod server;
mod shipped;
