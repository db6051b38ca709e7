//! The SDK from outside: what the shared cases, the recordings of the real CLI and the guides say.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

mod argv;
mod discovery;
mod environment;
mod errors;
mod evidence;
mod fake;
mod held;
mod killed;
mod kinds;
mod manage;
mod messages;
mod models;
mod options;
mod parse;
mod permissions;
mod programs;
mod rules;
mod runs;
mod settings;
mod several;
mod spans;
mod sshd;
mod stream;
mod surfaces;
mod testing;
mod threads;
mod wire;
