//! Remote sessions when things break: clients that are killed, machines that are cut off, switched off, full or made anew, schedulers
//! that die. Real binaries at both ends; where this machine cannot have hosts, a line says so and nothing is claimed.

mod crowd;
mod kills;
mod outages;
mod questions;
mod scene;
mod scheduler;
