//! Functions that a program calls, in the order of their first calls: what a linker needs to lay them side by side.
//!
//! Each function's first byte is replaced by a breakpoint before the program begins. The first call traps, is written down, and finds the
//! byte restored: all further ones cost nothing, so that no deadline of the program's is reached.
#![expect(unsafe_code, reason = "nobody wraps ptrace")]

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

use libc::{c_int, c_long, c_void, pid_t};

/// The instruction that traps.
const BREAKPOINT: u8 = 0xcc;
/// Offset of the instruction's address in the registers of a stopped process, as the kernel keeps them.
const ADDRESS: usize = 16 * size_of::<u64>();

/// Runs `command` to its end, and returns those of the addresses `functions` that it reached, in the order of their first calls.
///
/// The program must be linked for fixed addresses, and each address must be that of an instruction.
///
/// # Errors
///
/// The program cannot be started or may not be traced, or a signal ended it.
pub fn first_calls(mut command: Command, functions: &[u64]) -> io::Result<Vec<u64>> {
    // SAFETY: the call between fork and exec makes one system call.
    unsafe { command.pre_exec(|| trace_request(libc::PTRACE_TRACEME, 0, 0, 0).map(drop)) };
    let child = command.spawn()?;
    let process = pid_t::try_from(child.id()).map_err(io::Error::other)?;
    // The program has been replaced, and stands before its first instruction.
    wait_for_stop(process)?;
    let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/mem"))?;
    let mut replaced = HashMap::new();
    for &function in functions {
        if let std::collections::hash_map::Entry::Vacant(entry) = replaced.entry(function) {
            entry.insert(exchange_byte(&memory, function, BREAKPOINT)?);
        }
    }
    let mut calls = Vec::new();
    let mut signal = 0;
    loop {
        trace_request(libc::PTRACE_CONT, process, 0, signal.into())?;
        let Some(stopped) = wait_for_stop(process)? else { return Ok(calls) };
        signal = stopped;
        if stopped == libc::SIGTRAP {
            let address =
                trace_request(libc::PTRACE_PEEKUSER, process, ADDRESS, 0)?.cast_unsigned().wrapping_sub(1);
            if let Some(byte) = replaced.remove(&address) {
                exchange_byte(&memory, address, byte)?;
                trace_request(libc::PTRACE_POKEUSER, process, ADDRESS, address.cast_signed())?;
                calls.push(address);
                signal = 0;
            }
        }
    }
}

/// Writes `byte` at `address`, and returns the one that was there.
fn exchange_byte(memory: &File, address: u64, byte: u8) -> io::Result<u8> {
    let mut before = [0];
    memory.read_exact_at(&mut before, address)?;
    memory.write_all_at(&[byte], address)?;
    Ok(before[0])
}

/// The signal that a traced process is stopped by; `None` once it has ended.
fn wait_for_stop(process: pid_t) -> io::Result<Option<c_int>> {
    let mut status = 0;
    // SAFETY: `status` is a number of this frame.
    if unsafe { libc::waitpid(process, &raw mut status, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    if libc::WIFSTOPPED(status) {
        return Ok(Some(libc::WSTOPSIG(status)));
    }
    if libc::WIFSIGNALED(status) {
        return Err(io::Error::other(format!("signal {} ended it", libc::WTERMSIG(status))));
    }
    Ok(None)
}

fn trace_request(request: libc::c_uint, process: pid_t, address: usize, data: c_long) -> io::Result<c_long> {
    let data = ptr::without_provenance_mut::<c_void>(data.cast_unsigned().try_into().unwrap_or_default());
    // SAFETY: none of the requests above touches memory of this process.
    unsafe {
        *libc::__errno_location() = 0;
        let result = libc::ptrace(request, process, ptr::without_provenance_mut::<c_void>(address), data);
        // A word that was read may be -1.
        match *libc::__errno_location() {
            0 => Ok(result),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}
