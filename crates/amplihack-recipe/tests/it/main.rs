//! Recipes against the real bash.

mod bash;
mod naughty;
