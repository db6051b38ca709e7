//! The crate as its users see it, with runners that are real programs.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

mod bridge;
