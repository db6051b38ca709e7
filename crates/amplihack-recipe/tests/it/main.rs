//! Recipes against the real bash.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panic")]

mod bash;
mod naughty;
