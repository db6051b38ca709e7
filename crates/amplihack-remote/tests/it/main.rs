//! What the crate promises, from outside: files, processes, machines.

mod client;
mod collect;
mod ends;
mod far;
mod net;
mod package;
mod results;
mod scheduler;
mod seed_api;
mod sessions;
mod ssh;
mod state;
mod state_crowd;
mod support;
