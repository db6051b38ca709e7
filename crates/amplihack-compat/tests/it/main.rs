//! The predecessor's surfaces, with runners that are real programs.
#![expect(clippy::unwrap_used, reason = "a test fails by panic; helpers outside of #[test] functions too")]

mod bridge;
