//! The SDK from outside: what the shared cases, the recordings of the real CLI and the guides say.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

mod argv;
mod errors;
mod fake;
mod killed;
mod kinds;
mod manage;
mod messages;
mod parse;
mod permissions;
mod runs;
mod settings;
mod sshd;
mod surfaces;
mod testing;
