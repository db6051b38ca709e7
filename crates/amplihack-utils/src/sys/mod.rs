//! What Linux knows of processes, pipes' budgets and terminals: the only module of the workspace with `unsafe` code.
//!
//! Process ids are `u32`, as in [`std::process::id`]. A process id alone names a process only for as long as it lives;
//! together with its [`start_time`] it names one process of this boot.

mod capture;
mod child;
pub mod entry;
pub mod interrupts;
mod keeper;
pub mod last_words;
mod limits;
mod proc;
mod raw;
mod signal;
mod terminal;
mod work;

pub use capture::{Captured, capture, capture_fed};
pub use child::{ChildOptions, become_subreaper, ended_child, prepare_child, record_child, recorded};
pub use keeper::{Keep, Keeper, PreparedKeeper, StepProgram, StepRecord, not_started};
pub use limits::{ArgLimits, arg_limits, exec_cost};
pub use proc::{
    Proc, ancestors, boot_id, children, environ_has, is_main_thread, living, own_file, process_alive,
    processes, start_time,
};
pub use rustix::process::Signal;
pub use signal::{
    Exit, ended, ignores, open_pidfd, reap, send, send_to_group, send_to_process, stop_self, stopped,
};
pub use terminal::{SavedTerminal, is_terminal};
pub use work::{WorkLimit, worked};
