//! Surfaces of the predecessor, for programs that know them: left out of a build without the feature `compat` of `amplihack-cli`.

pub mod bridge;
pub mod recipe_runner;
pub mod xpia_defend;
