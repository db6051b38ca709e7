//! Recipes: workflows of shell, agent and nested steps, as YAML files.
//!
//! A file is read into typed steps ([`document`]), its conditions ([`condition`]), templates ([`template`]) and scripts ([`script`])
//! into trees, and everything that it can reach is resolved before the first step runs.
//!
//! A [`run`] is a machine without processes and a thin shell around it. What it does is in its [`journal`] before anybody sees it,
//! and a [`resume`] goes on from there.

pub mod answer;
pub mod audit;
pub mod bundled;
pub mod condition;
pub mod context;
pub mod diagnostic;
pub mod document;
pub mod find;
pub mod inputs;
pub mod journal;
pub mod model;
mod path_json;
pub mod plan;
pub mod progress;
pub mod result;
pub mod resume;
pub mod run;
mod schema;
pub mod script;
pub mod signal;
pub mod spill;
pub mod template;
pub mod value;
