//! What the crate promises, from outside: files, processes, machines.

mod seed_api;
mod seed_api;
mod state;
mod state_crowd;
