//! What the crate promises, from outside: files, processes, machines.

mod state;
mod state_crowd;
