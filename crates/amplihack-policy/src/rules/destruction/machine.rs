//! The machine and its processes.

use amplihack_shell::CommandInput;

use super::super::options::CommandOptions;
use super::super::{CallArg, CommandCall, RuleContext, RuleHit, is_known};

/// A function that pipes itself into itself; functions are not in the list, so three bare calls of one unknown name tell.
pub(super) fn fork_bomb(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let bare = |other: &CommandCall<'_>| other.program == call.program && other.args.is_empty();
    if !call.args.is_empty() || call.program.is_empty() || (call.program != ":" && is_known(&call.program)) {
        return None;
    }
    let fed_by_itself = match ctx.script.direct_feed(call) {
        Some(CommandInput::Commands(feeders)) => {
            feeders.iter().any(|index| ctx.script.call_of(*index).is_some_and(bare))
        }
        // `:` prints nothing, and the front end knows that.
        Some(CommandInput::Text(text)) => {
            text.is_empty()
                && call.program == ":"
                && ctx.script.calls.iter().filter(|other| bare(other)).count() > 2
        }
        None => false,
    };
    fed_by_itself.then(|| ctx.deny("would start copies of itself without end (a fork bomb)"))?
}

pub(super) fn check_machine(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    if call.redirects.iter().any(|(_, arg)| arg.text() == "/proc/sysrq-trigger") {
        return ctx.deny("would tell the kernel to stop or to kill; name the process by its id");
    }
    let stops = match call.program.as_str() {
        "kill" => {
            let mut rest = call.args.iter().map(CallArg::text).peekable();
            // The first word with a dash is the signal; behind it, or behind `--`, a dash means a group.
            match rest.peek().copied() {
                Some("-l" | "-L" | "-h") => return None,
                Some("-s" | "-n" | "--signal") => drop((rest.next(), rest.next())),
                Some(first) if first.starts_with('-') => drop(rest.next()),
                _ => {}
            }
            rest.any(|pid| matches!(pid, "1" | "-1"))
        }
        "reboot" | "shutdown" | "poweroff" | "halt" | "killall5" => {
            !call.has_any(&["--help", "-c", "--version"])
        }
        "init" | "telinit" => call.has_any(&["0", "6", "1"]),
        "systemctl" | "loginctl" => call.has_any(&[
            "poweroff",
            "reboot",
            "halt",
            "kexec",
            "rescue",
            "emergency",
            "suspend",
            "hibernate",
        ]),
        "pkill" | "killall" => {
            CommandOptions::read(&call.args, "sgPtGU", &["signal"]).has_short('u') && call.has_any(&["root"])
        }
        _ => false,
    };
    stops.then(|| ctx.ask("would stop the machine, its first process or every process of the user; name the process by its id"))?
}
