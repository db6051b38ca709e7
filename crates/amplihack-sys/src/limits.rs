//! Limits of this machine and this process: the text that one exec takes, and the files that may be open.

use std::ffi::OsStr;
use std::io;

use rustix::process::{Resource, getrlimit};

const KIB: u64 = 1024;
/// Linux: a pointer for each argument and each variable counts as well.
const POINTER: u64 = 8;

/// Limits of one exec in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgLimits {
    /// Bytes of one argument, or of one `NAME=VALUE`, without its NUL.
    pub one_string: u64,
    /// Bytes of all arguments and variables together, as counted by [`exec_cost`].
    pub total: u64,
}

/// The limits of a child of this process. They follow the soft limit of the stack size.
pub fn arg_limits() -> ArgLimits {
    limits_for_stack(getrlimit(Resource::Stack).current)
}

fn limits_for_stack(stack: Option<u64>) -> ArgLimits {
    let quarter = stack.map_or(u64::MAX, |bytes| bytes / 4);
    ArgLimits { one_string: 128 * KIB - 1, total: quarter.clamp(128 * KIB, 6 * 1024 * KIB) }
}

/// Returns what an exec of `program` with `args` (without the program's own name) and exactly `env` costs of
/// [`ArgLimits::total`].
///
/// Each string costs its bytes, a NUL and a pointer; a variable also its `=`; the program's path is there twice, as file
/// name and as argument 0. A script costs its interpreter's path on top, which is not counted here.
pub fn exec_cost<'a>(
    program: &OsStr,
    args: impl IntoIterator<Item = &'a OsStr>,
    env: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
) -> u64 {
    let string = |bytes: usize| bytes as u64 + 1;
    let program = 2 * string(program.len()) + POINTER;
    let args: u64 = args.into_iter().map(|arg| string(arg.len()) + POINTER).sum();
    let env: u64 = env.into_iter().map(|(name, value)| string(name.len() + 1 + value.len()) + POINTER).sum();
    program + args + env
}

/// Number of files that a process may usually have open.
const USUAL_OPEN_FILES: u64 = 1024;

/// Checks that this process may have `needed` files open at once.
///
/// # Errors
/// An error that names the limit, and the command that raises it.
pub fn check_open_files(needed: u64) -> io::Result<()> {
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed => Err(io::Error::other(format!(
            "only {limit} files may be open at once, and {needed} are needed; raise it: ulimit -n {}",
            needed.max(USUAL_OPEN_FILES)
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::process::Command;

    use super::{ArgLimits, KIB, arg_limits, exec_cost, limits_for_stack};

    #[test]
    fn the_total_is_a_quarter_of_the_stack_within_the_kernels_bounds() {
        let total = |stack| limits_for_stack(stack).total;
        assert_eq!(total(Some(8 * 1024 * KIB)), 2 * 1024 * KIB);
        assert_eq!(total(Some(64 * KIB)), 128 * KIB);
        assert_eq!(total(Some(1 << 40)), 6 * 1024 * KIB);
        assert_eq!(total(None), 6 * 1024 * KIB);
    }

    #[test]
    fn the_kernel_agrees_with_the_limit_of_one_string() {
        let ArgLimits { one_string, .. } = arg_limits();
        let run = |bytes: u64| Command::new("true").arg("x".repeat(usize::try_from(bytes).unwrap())).status();
        assert!(run(one_string).is_ok());
        assert!(run(one_string + 1).is_err());
    }

    #[test]
    fn the_kernel_agrees_with_the_limit_of_all_strings() {
        let ArgLimits { total, .. } = arg_limits();
        let program = OsStr::new("/bin/true");
        let fits = |spare: i64| {
            let mut args = vec!["x".repeat(100_000)];
            let cost = |args: &[String]| exec_cost(program, args.iter().map(OsStr::new), []);
            while cost(&args) + 200_000 < total {
                args.push("x".repeat(100_000));
            }
            let rest = total.checked_add_signed(-spare).unwrap() - cost(&args) - 9;
            args.push("x".repeat(usize::try_from(rest / 2).unwrap()));
            args.push("x".repeat(
                usize::try_from(total.checked_add_signed(-spare).unwrap() - cost(&args) - 9).unwrap(),
            ));
            Command::new(program).args(&args).env_clear().status().is_ok()
        };
        assert!(fits(64));
        assert!(!fits(-64));
    }
}
