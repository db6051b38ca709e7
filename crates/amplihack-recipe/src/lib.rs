//! Recipes: workflows of shell, agent and nested steps, as YAML files.
//!
//! A file is read into typed steps ([`document`]), its conditions ([`condition`]), templates ([`template`]) and scripts ([`script`])
//! into trees, and everything that it can reach is resolved before the first step runs.

pub mod answer;
pub mod condition;
pub mod context;
pub mod diagnostic;
pub mod document;
pub mod find;
pub mod model;
pub mod plan;
pub mod script;
pub mod template;
pub mod value;
