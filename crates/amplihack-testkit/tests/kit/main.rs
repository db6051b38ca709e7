//! The test kit's own tests: what other tests stand on must hold.

mod azlin;
mod fake_agent;
mod hosts;
mod network;
mod runs;
mod slurm;
mod stand_in;
