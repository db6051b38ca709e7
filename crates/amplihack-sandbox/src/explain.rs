//! Reason for an access, and the option that changes it.

use std::path::{Path, PathBuf};

use amplihack_sys::confine::PathAccess;

use crate::compile::{CompiledSandbox, SandboxRule, nearest_entry};

/// Access of a program to a path, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathExplanation {
    /// The path, as far as it leads without links.
    pub path: PathBuf,
    /// `write`, `read`, `scratch`, or `none`.
    pub access: &'static str,
    /// The reason.
    pub reason: &'static str,
    /// The option that would allow more; `None` if all is allowed.
    pub option: Option<String>,
}

/// Explains what a program in `sandbox` may do with `path`.
pub fn explain_path(sandbox: &CompiledSandbox, path: &Path) -> PathExplanation {
    let real = real_path(path);
    let (access, rule) = match nearest_entry(&sandbox.entries, &real) {
        None => ("none", None),
        Some(entry) => (
            match entry.access {
                PathAccess::Read | PathAccess::Link(_) => "read",
                PathAccess::Write => "write",
                PathAccess::Scratch | PathAccess::Overlay => "scratch",
                PathAccess::Hidden => "none",
            },
            Some(entry.rule),
        ),
    };
    let reason = rule.map_or(ABSENT, rule_reason);
    let is_free = sandbox.watched.iter().any(|name| real.starts_with(&name.path)) && access == "write";
    let (access, reason) = match own_place(&real) {
        Some(reason) => ("scratch", reason),
        None if is_free => {
            (access, "it is set aside at the end: whoever opens the work tree next would run or obey it")
        }
        None => (access, reason),
    };
    let option = match access {
        "write" | "scratch" => None,
        "read" => Some(format!("--write {}", real.display())),
        _ => Some(format!("--read {}", real.display())),
    };
    PathExplanation { path: real, access, reason, option }
}

/// The reason for what is the program's own in every sandbox.
fn own_place(path: &Path) -> Option<&'static str> {
    let is_below = |place: &str| path.starts_with(place);
    if is_below("/proc") {
        return Some("the program sees its own processes, and may not change the kernel's settings");
    }
    is_below("/dev").then_some("the program has harmless devices and terminals of its own")
}

/// The reason for what has no entry.
const ABSENT: &str = "it is neither in the workspace nor part of the home, the system or a program";

const fn rule_reason(rule: SandboxRule) -> &'static str {
    match rule {
        SandboxRule::System => "the system may be read",
        SandboxRule::Scratch => "the program has an empty directory of its own here, which is gone with it",
        SandboxRule::Programs => "programs on PATH may be read",
        SandboxRule::Cache => "packages may be read, and changed for the program alone",
        SandboxRule::Home => "the home may be read, but for keys",
        SandboxRule::Workspace => "the workspace may change",
        SandboxRule::Git => "the repository of the workspace may change",
        SandboxRule::Protected => "whoever opens the work tree next runs or obeys it",
        SandboxRule::Keys => "keys and tokens are hidden",
        SandboxRule::Private => "histories and browsers are hidden",
        SandboxRule::Records => "records of other sessions are hidden",
        SandboxRule::Sockets => "sockets of other programs are hidden",
        SandboxRule::OpenedToRead => "--read opens it",
        SandboxRule::OpenedToWrite => "--write opens it",
    }
}

/// `path` without the links of the part that exists.
fn real_path(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match found {
        // Joined with nothing, a path would end with a slash.
        Some((above, real)) if above == path => real,
        Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(Path::new(""))),
        None => path.to_owned(),
    }
}
