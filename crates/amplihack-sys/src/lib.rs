//! Linux made safe: processes, terminals, files, locks and logs; the only crate of the workspace with `unsafe` code.
//!
//! It knows neither variables nor settings nor agents. What is about processes stands at the root; [`fs`], [`lock`], [`log`] and
//! [`form`] are about files, and [`error`] is what the errors of all crates have in common.
//!
//! Process ids are `u32`, as in [`std::process::id`]. A process id alone names a process only for as long as it lives;
//! together with its [`start_time`] it names one process of this boot.

mod capture;
mod child;
#[cfg(feature = "confine")]
pub mod confine;
mod descriptor;
pub mod entry;
pub mod error;
#[cfg(all(feature = "first-calls", target_arch = "x86_64"))]
pub mod first_calls;
pub mod form;
pub mod fs;
pub mod hex;
mod image;
pub mod interrupts;
mod keeper;
pub mod last_words;
mod limits;
pub mod lock;
pub mod log;
pub mod memory;
mod peer;
mod proc;
mod program;
mod raw;
pub mod sabotage;
mod signal;
mod stack;
mod terminal;
pub mod text;
mod work;

pub use capture::{ProgramOutput, capture_fed, capture_output};
pub use child::{
    ChildOptions, become_subreaper, ended_child, prepare_child, record_child, recorded_processes,
};
pub use descriptor::stdout_onto;
pub use keeper::{KeeperOptions, PreparedKeeper, StepKeeper, StepProgram, StepRecord, not_started};
pub use limits::{ArgLimits, arg_limits, check_open_files, exec_cost};
pub use peer::{PeerCredentials, peer_credentials};
pub use proc::{
    ProcessEntry, boot_id, environ_has, holds_terminal, is_main_thread, list_ancestors, list_children,
    list_processes, living_process, own_file, process_alive, start_time,
};
pub use program::{ProgramSurroundings, StartedProgram, can_start_program, start_program};
pub use rustix::process::Signal;
pub use signal::{
    ProcessExit, child_exit, has_stopped, ignores_signal, open_pidfd, reap_orphan, send_signal,
    send_to_group, send_to_process, stop_self,
};
pub use terminal::{SavedTerminal, is_terminal};
pub use work::{WorkLimit, thread_cpu_time};
