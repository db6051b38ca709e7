//! Sessions on machines that are real: shells, processes, disks and ssh servers of this one.

mod collect;
mod ends;
mod scheduler;
mod sessions;
mod ssh;
mod support;
