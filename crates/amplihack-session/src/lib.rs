//! A single agent run: its process tree, its pipes, its deadlines, and its end.
//!
//! A run owns every process that comes of it. [`AgentRun::start`] spawns the child from a thread that never ends,
//! [`AgentRun::wait`] moves stdin, stdout and stderr at the same time, passes signals on, keeps the deadlines, and
//! answers only when nothing of the run is left, or says what is. What to do when is decided by [`EscalationMachine`], which
//! knows no process and no clock; the rest carries it out. Dropping a run ends it.
//!
//! A [`step`] is a program whose end is written down even when this process is dead; what a dead runner left is ended by
//! [`leftovers`].
//!
//! [`EventRun`] is the same run as a stream of typed events, with a [`journal`] on disk.
//!
//! This crate knows nothing of agents' command lines.

mod block;
mod child_stream;
mod error;
mod escalation;
pub mod journal;
pub mod leftovers;
mod output;
mod pipes;
mod report;
mod run;
mod run_end;
mod signals;
mod spawner;
mod spec;
pub mod step;
mod stopper;
mod stream;
mod timekeeper;
mod tree;

pub use amplihack_agent::event::RunOutcome;
pub use amplihack_sys::ProcessExit;
pub use block::{ProbeOutput, become_program, block_on_thread, build_runtime, probe_program, run_blocking};
pub use error::RunError;
pub use escalation::{EscalationAction, EscalationGraces, EscalationInput, EscalationMachine, SignalTarget};
pub use journal::{Journal, RunRecord};
pub use output::{CapturedOutput, DeadlineKind, EndCause, NamedProcess, ProcessOutput};
pub use report::RunReport;
pub use run::{AgentRun, RunStep, run_to_end};
pub use run_end::{EndEvidence, GuardDenials, RunEnd, describe_duration};
pub use signals::{InterruptSignals, InterruptStream};
pub use spec::{ChildInput, ChildOutput, Deadlines, RunSpec, SESSION_ID, TerminalMode};
pub use stopper::RunStopper;
pub use stream::{EndCompleter, EventObserver, EventReading, EventRun};
