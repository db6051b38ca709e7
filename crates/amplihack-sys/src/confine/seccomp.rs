//! Seccomp: system calls that reach around the other layers. One table, with a reason for each line.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::ConfineError;

/// Calls that are refused whatever their arguments.
const REFUSED: &[(c_long, &str)] = &[
    (libc::SYS_ptrace, "reads and steers other processes"),
    (libc::SYS_process_vm_readv, "reads other processes' memory"),
    (libc::SYS_process_vm_writev, "writes other processes' memory"),
    (libc::SYS_mount, "changes what is where"),
    (libc::SYS_umount2, "changes what is where"),
    (libc::SYS_pivot_root, "changes what is where"),
    (libc::SYS_chroot, "changes what is where"),
    (libc::SYS_move_mount, "changes what is where"),
    (libc::SYS_open_tree, "changes what is where"),
    (libc::SYS_fsopen, "makes file systems"),
    (libc::SYS_fsconfig, "makes file systems"),
    (libc::SYS_fsmount, "makes file systems"),
    (libc::SYS_fspick, "changes file systems"),
    (libc::SYS_mount_setattr, "makes mounts writable"),
    (libc::SYS_setns, "enters namespaces"),
    (libc::SYS_io_uring_setup, "makes system calls that no filter sees"),
    (libc::SYS_io_uring_enter, "makes system calls that no filter sees"),
    (libc::SYS_io_uring_register, "makes system calls that no filter sees"),
    (libc::SYS_bpf, "runs code in the kernel"),
    (libc::SYS_perf_event_open, "watches other processes and the kernel"),
    (libc::SYS_keyctl, "the kernel's keys are the user's, not the program's"),
    (libc::SYS_add_key, "the kernel's keys are the user's, not the program's"),
    (libc::SYS_request_key, "the kernel's keys are the user's, not the program's"),
    (libc::SYS_userfaultfd, "stops the kernel in the middle of a call, which exploits need"),
    (libc::SYS_open_by_handle_at, "opens files by number, past every path"),
    (libc::SYS_kexec_load, "starts another kernel"),
    (libc::SYS_kexec_file_load, "starts another kernel"),
    (libc::SYS_init_module, "loads code into the kernel"),
    (libc::SYS_finit_module, "loads code into the kernel"),
    (libc::SYS_delete_module, "takes code out of the kernel"),
    (libc::SYS_swapon, "is the administrator's"),
    (libc::SYS_swapoff, "is the administrator's"),
    (libc::SYS_reboot, "is the administrator's"),
    (libc::SYS_acct, "is the administrator's"),
    (libc::SYS_quotactl, "is the administrator's"),
    (libc::SYS_syslog, "reads the kernel's log"),
    (libc::SYS_settimeofday, "is the administrator's"),
    (libc::SYS_clock_settime, "is the administrator's"),
    (libc::SYS_pidfd_getfd, "takes other processes' descriptors"),
    (libc::SYS_kcmp, "compares other processes"),
    (libc::SYS_process_madvise, "changes other processes' memory"),
];

/// Namespaces that no program makes: a new user namespace has every capability, and with it most of the kernel's faults.
const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Families of sockets beside those of files and of the internet: to the machine that hosts this one, to the wire, into the kernel.
const FAMILIES: [libc::c_int; 7] = [
    libc::AF_VSOCK,
    libc::AF_PACKET,
    libc::AF_ALG,
    libc::AF_BLUETOOTH,
    libc::AF_CAN,
    libc::AF_TIPC,
    libc::AF_RDS,
];

/// Requests that type into a terminal: what is typed there is run by the shell behind it.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// Numbers of the other way to make system calls, by programs for 32-bit pointers: no rule knows them.
const OTHER_NUMBERS: u32 = 0x4000_0000;

/// Refuses, for this thread and all that comes of it, what the table names.
pub(super) fn refuse_calls() -> Result<(), ConfineError> {
    let failed = |error: &dyn std::fmt::Display| {
        ConfineError::at_step("restrict its system calls")(io::Error::other(error.to_string()))
    };
    for program in filters().map_err(|error| failed(&error))? {
        apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// The filters: one refuses, the other says that the kernel has no such call, so that the C library asks in another way.
fn filters() -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let equals = |argument: u8, value: u64| {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
        SeccompRule::new(vec![condition])
    };
    let has_flag = |flag: u64| {
        let masked = SeccompCmpOp::MaskedEq(flag);
        SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, masked, flag)?])
    };
    let namespaces = || {
        let flags = (0..32).map(|bit| 1_u64 << bit);
        let wanted = u64::try_from(NAMESPACES).unwrap_or_default();
        flags.filter(|flag| wanted & flag != 0).map(has_flag).collect::<Result<Vec<_>, _>>()
    };
    let family = |family: &libc::c_int| equals(0, u64::try_from(*family).unwrap_or_default());
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|(call, _)| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_unshare, namespaces()?);
    rules.insert(libc::SYS_clone, namespaces()?);
    rules.insert(libc::SYS_socket, FAMILIES.iter().map(family).collect::<Result<Vec<_>, _>>()?);
    let typing = TERMINAL_INPUT.iter().map(|request| equals(1, *request));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<Vec<_>, _>>()?);
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let errno = |number: i32| SeccompAction::Errno(u32::try_from(number).unwrap_or_default());
    let refused: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, errno(libc::EPERM), arch)?.try_into()?;
    // Its flags are behind a pointer, where no filter can look.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let absent: BpfProgram =
        SeccompFilter::new(clone3, SeccompAction::Allow, errno(libc::ENOSYS), arch)?.try_into()?;
    Ok([without_other_numbers(refused), absent])
}

/// `program`, which begins by refusing the numbers that no rule knows.
fn without_other_numbers(program: BpfProgram) -> BpfProgram {
    let code = |code: u32| u16::try_from(code).unwrap_or_default();
    let load = sock_filter { code: code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS), jt: 0, jf: 0, k: 0 };
    let jump = sock_filter {
        code: code(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K),
        jt: 0,
        jf: 1,
        k: OTHER_NUMBERS,
    };
    let refusal = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::ENOSYS).unwrap_or_default();
    let answer = sock_filter { code: code(libc::BPF_RET | libc::BPF_K), jt: 0, jf: 0, k: refusal };
    [load, jump, answer].into_iter().chain(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_reason_and_stands_once() {
        let mut calls: Vec<_> = REFUSED.iter().map(|(call, _)| call).collect();
        assert!(REFUSED.iter().all(|(_, reason)| reason.len() > 10));
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), REFUSED.len());
    }

    #[test]
    fn the_filters_fit() {
        let [refused, absent] = filters().unwrap();
        assert!(refused.len() < 1_000, "{}", refused.len());
        assert!(absent.len() < 20);
        assert_eq!(refused[1].k, OTHER_NUMBERS);
    }
}
