//! What the crate promises, from outside: files, processes, machines.

#[cfg(test)]
mod state;
#[cfg(test)]
mod state_crowd;
