//! The machine and its processes.

use super::super::options::Options;
use super::super::{Arg, Call, Ctx, Hit, is_known};
use crate::shell::Fed;

/// A function that pipes itself into itself; functions are not in the list, so three bare calls of one unknown name tell.
pub(super) fn fork_bomb(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let bare = |other: &Call<'_>| other.program == call.program && other.args.is_empty();
    if !call.args.is_empty() || call.program.is_empty() || (call.program != ":" && is_known(&call.program)) {
        return None;
    }
    let fed_by_itself = match ctx.script.fed(call) {
        Some(Fed::Commands(feeders)) => {
            feeders.iter().any(|index| ctx.script.call_of(*index).is_some_and(bare))
        }
        // `:` prints nothing, and the front end knows that.
        Some(Fed::Text(text)) => {
            text.is_empty()
                && call.program == ":"
                && ctx.script.calls.iter().filter(|other| bare(other)).count() > 2
        }
        None => false,
    };
    fed_by_itself.then(|| ctx.deny("would start endless copies of itself and stop the machine"))?
}

pub(super) fn machine(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    if call.redirects.iter().any(|(_, arg)| arg.text() == "/proc/sysrq-trigger") {
        return ctx.deny("would tell the kernel to stop or to kill; name the process by its id");
    }
    let stops = match call.program.as_str() {
        "kill" => {
            let mut rest = call.args.iter().map(Arg::text).peekable();
            // The first word with a dash is the signal; behind it, or behind `--`, a dash means a group.
            match rest.peek().copied() {
                Some("-l" | "-L" | "-h") => return None,
                Some("-s" | "-n" | "--signal") => drop((rest.next(), rest.next())),
                Some(first) if first.starts_with('-') => drop(rest.next()),
                _ => {}
            }
            rest.any(|pid| matches!(pid, "1" | "-1"))
        }
        "reboot" | "shutdown" | "poweroff" | "halt" | "killall5" => !call.has(&["--help", "-c", "--version"]),
        "init" | "telinit" => call.has(&["0", "6", "1"]),
        "systemctl" | "loginctl" => {
            call.has(&["poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate"])
        }
        "pkill" | "killall" => {
            Options::read(&call.args, "sgPtGU", &["signal"]).has('u') && call.has(&["root"])
        }
        _ => false,
    };
    stops.then(|| ctx.ask("would stop the machine, its first process or every process of the user; name the process by its id"))?
}
