//! Installations on a machine, for sessions that are started without `amplihack`, and the state of the machine.
//!
//! [`install`] puts hooks into agents' settings and takes them out, [`shim`] stands in Copilot's place on PATH, and [`doctor`] tells what
//! is there and what is broken.

pub mod doctor;
pub mod install;
pub mod shim;
