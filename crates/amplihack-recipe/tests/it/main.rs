//! The crate as its users see it: the real bash, and runners that are real programs.
#![expect(clippy::unwrap_used, reason = "a test fails by panic; helpers outside of #[test] functions too")]

mod bash;
mod naughty;
