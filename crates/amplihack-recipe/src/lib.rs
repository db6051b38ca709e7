//! Recipes: workflows of shell, agent and nested steps, as YAML files.

pub mod bridge;
