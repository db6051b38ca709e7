//! Command lines that cannot be read, for programs.

use crate::ui::CommandFailure;

/// Reports whether a command line that cannot be parsed asks for JSON, as far as can be told.
pub(crate) fn asks_for_json(args: &[std::ffi::OsString]) -> bool {
    let own: Vec<&str> = args.iter().map(|arg| arg.to_str().unwrap_or_default()).collect();
    let own = own.split(|arg| *arg == "--").next().unwrap_or_default();
    own.contains(&"--json")
        || own.iter().any(|arg| matches!(*arg, "--format=json" | "-fjson" | "-f=json"))
        || own.iter().any(|arg| matches!(*arg, "--output=json" | "--output=stream-json"))
        || own
            .windows(2)
            .any(|pair| matches!(pair, ["-f" | "--format", "json"] | ["--output", "json" | "stream-json"]))
}

/// Returns the failure that describes, for programs, what is wrong with a command line.
pub(crate) fn usage_failure(error: &clap::Error) -> CommandFailure {
    let text = error.to_string();
    let message = text.split("\n\n").next().unwrap_or_default().trim();
    CommandFailure::bad_usage(
        message.strip_prefix("error: ").unwrap_or(message),
        "`--help` shows what there is",
    )
}
