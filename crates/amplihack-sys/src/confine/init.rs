//! The first process of a confinement's PID namespace: it starts the program, reaps, passes signals on, and is the end of all that is left.
#![expect(unsafe_code, reason = "`fork`, `_exit` and the signal mask have no safe counterparts")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, set_dumpable_behavior,
    set_parent_process_death_signal, wait,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use super::stage::{StageMessage, WatchedSignals, await_either};
use super::{ConfineError, ConfinedNetwork, Confinement, landlock, namespaces, root, seccomp};

/// The program of a confinement.
#[derive(Clone, Copy)]
pub(super) struct ConfinedProgram<'a> {
    pub(super) name: &'a OsStr,
    pub(super) arguments: &'a [OsString],
}

/// Channels between the first process and its stage.
pub(super) struct InitChannels {
    /// Messages to the stage.
    pub(super) reports: File,
    /// Numbers of signals that are passed on to the program.
    pub(super) signals: File,
}

/// Runs the first process. It ends with the program, and all that is left ends with it.
pub(super) fn run_init(
    confinement: &Confinement,
    program: ConfinedProgram<'_>,
    watched: &WatchedSignals,
    mut channels: InitChannels,
) -> ! {
    let outcome = start_program(confinement, program, watched, &mut channels);
    let failure = match outcome {
        Ok(program) => pass_on(program, watched, &mut channels).err(),
        Err(error) => Some(error),
    };
    if let Some(error) = failure {
        // Nobody else could be told.
        let _ = channels.reports.write_all(&StageMessage::Failed(error).encode());
    }
    // SAFETY: nothing of this process is left to be put in order.
    unsafe { libc::_exit(0) }
}

/// Builds the border and starts the program behind it. Returns its id.
fn start_program(
    confinement: &Confinement,
    program: ConfinedProgram<'_>,
    watched: &WatchedSignals,
    channels: &mut InitChannels,
) -> Result<Pid, ConfineError> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(ConfineError::at_step("end with its stage"))?;
    // A stage that ended before that is told by the end of its channel.
    let mut ready = [0];
    channels.signals.read_exact(&mut ready).map_err(ConfineError::at_step("hear from its stage"))?;
    if confinement.network == ConfinedNetwork::None {
        namespaces::raise_loopback()?;
    }
    root::enter_root(confinement)?;
    let directory = confinement.directory.as_path();
    std::env::set_current_dir(directory).map_err(ConfineError::at_path("enter", directory))?;
    // SAFETY: this process has one thread.
    let child = unsafe { libc::fork() };
    match child {
        0 => {
            let error = become_program(confinement, program, watched);
            // Nobody else could be told.
            let _ = channels.reports.write_all(&StageMessage::Failed(error).encode());
            // SAFETY: as above.
            unsafe { libc::_exit(127) }
        }
        child => {
            let child = Pid::from_raw(child).filter(|_| child > 0);
            let child =
                child.ok_or_else(|| ConfineError::at_step("make a process")(io::Error::last_os_error()))?;
            set_dumpable_behavior(DumpableBehavior::NotDumpable)
                .map_err(ConfineError::at_step("hide its memory"))?;
            give_up_capabilities()?;
            Ok(child)
        }
    }
}

/// Gives up every right that the program is not to have, and becomes it. Returns only if that failed.
pub(super) fn become_program(
    confinement: &Confinement,
    program: ConfinedProgram<'_>,
    watched: &WatchedSignals,
) -> ConfineError {
    let restricted = || {
        give_up_capabilities()?;
        set_no_new_privs(true).map_err(ConfineError::at_step("give up new rights"))?;
        if confinement.layers.landlock {
            landlock::give_up_files(confinement)?;
        }
        watched.restore_mask();
        if confinement.layers.seccomp {
            seccomp::refuse_calls()?;
        }
        Ok(())
    };
    match restricted() {
        Ok(()) => {
            let error = Command::new(program.name).args(program.arguments).exec();
            ConfineError::at_path("start", program.name.as_ref())(error)
        }
        Err(error) => error,
    }
}

/// Gives up all capabilities, for this process and all that comes of it.
fn give_up_capabilities() -> Result<(), ConfineError> {
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // One that this kernel does not know, or a process that had none to give up.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(error) => return Err(ConfineError::at_step("give up capabilities")(error)),
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    clear_ambient_capability_set()
        .and_then(|()| set_capabilities(None, none))
        .map_err(ConfineError::at_step("give up capabilities"))
}

/// Reaps, reports stops of the program and passes signals on, until the program has ended.
fn pass_on(program: Pid, watched: &WatchedSignals, channels: &mut InitChannels) -> Result<(), ConfineError> {
    loop {
        if reap(program, channels).map_err(ConfineError::at_step("watch the program"))? {
            return Ok(());
        }
        let [children, signals] = await_either(watched.descriptor(), channels.signals.as_fd())?;
        if children {
            watched.take();
        }
        if signals {
            let mut number = [0];
            match channels.signals.read(&mut number) {
                // The stage has ended, and with it the reason to go on.
                Ok(0) => return Ok(()),
                Ok(_) => send(program, number[0]),
                Err(error) => return Err(ConfineError::at_step("hear from its stage")(error)),
            }
        }
    }
}

fn send(program: Pid, number: u8) {
    if let Some(signal) = Signal::from_named_raw(i32::from(number)) {
        // A program that has ended meanwhile is reaped next.
        let _ = rustix::process::kill_process(program, signal);
    }
}

/// Reaps what has ended. True once the program has.
fn reap(program: Pid, channels: &mut InitChannels) -> io::Result<bool> {
    loop {
        match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some((pid, status))) if pid == program => {
                channels.reports.write_all(&StageMessage::of_status(status).encode())?;
                if !status.stopped() {
                    return Ok(true);
                }
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

impl StageMessage {
    fn of_status(status: WaitStatus) -> Self {
        if status.stopped() {
            Self::Stopped
        } else if let Some(signal) = status.terminating_signal() {
            Self::Ended(crate::ProcessExit::Signal(signal))
        } else {
            Self::Ended(crate::ProcessExit::Code(status.exit_status().unwrap_or_default()))
        }
    }
}
