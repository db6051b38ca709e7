//! Places on a machine that rules guard: system directories, devices, files that run by themselves.

use std::path::Path;

use super::change::{PathChange, PathChangeKind};
use super::marks::{STAR, UNKNOWN, is_glob, may_be};
use super::target::{PathTarget, TargetCoverage, path_names};
use crate::command_files::STARTUP;

/// Directories without which a machine is lost.
const SYSTEM: [&[&str]; 30] = [
    &["bin"],
    &["boot"],
    &["dev"],
    &["etc"],
    &["home"],
    &["lib"],
    &["lib64"],
    &["opt"],
    &["proc"],
    &["root"],
    &["run"],
    &["sbin"],
    &["srv"],
    &["sys"],
    &["usr"],
    &["usr", "bin"],
    &["usr", "lib"],
    &["usr", "local"],
    &["usr", "sbin"],
    &["usr", "share"],
    &["usr", "include"],
    &["var"],
    &["var", "log"],
    &["var", "lib"],
    &["var", "spool"],
    &["var", "mail"],
    &["Users"],
    &["System"],
    &["Library"],
    &["Applications"],
];

/// Directories of which every part counts.
const CORE: [&[&str]; 11] = [
    &["bin"],
    &["boot"],
    &["dev"],
    &["etc"],
    &["lib"],
    &["lib64"],
    &["sbin"],
    &["usr", "bin"],
    &["usr", "lib"],
    &["usr", "sbin"],
    &["sys"],
];

/// The loss if `target` and everything below it went; `Maybe` if an unknown part decides.
pub(crate) fn system_loss(
    target: &PathTarget,
    home: Option<&Path>,
) -> Option<(&'static str, TargetCoverage)> {
    if !target.rooted {
        return None;
    }
    if target.parts.is_empty() {
        return Some(("the whole file system", TargetCoverage::Yes));
    }
    let certain = |covers: TargetCoverage| (covers != TargetCoverage::No).then_some(covers);
    if let Some(covers) = SYSTEM.iter().filter_map(|place| certain(target.coverage_of(place))).max() {
        return Some(("a system directory", covers));
    }
    if CORE.iter().any(|place| target.is_inside(place))
        // Everyday commands write to these two, and nothing in them is of the system.
        && !target.is_place(&["dev", "null"])
        && !target.is_inside(&["dev", "shm"])
    {
        return Some(("a part of the system", TargetCoverage::Yes));
    }
    // `/etc/*` and `~/.*` name only what is inside, which is no smaller loss than the directory.
    let all_below = |parts: &[String]| {
        parts.last().is_some_and(|last| !last.is_empty() && last.chars().all(|ch| ch == STAR || ch == '.'))
    };
    if all_below(&target.parts) {
        let above = PathTarget { parts: target.parts[..target.parts.len() - 1].to_vec(), ..target.clone() };
        let home_itself = home.is_some_and(|home| above.parts == path_names(home));
        if home_itself || SYSTEM.iter().any(|place| above.is_place(place)) {
            return Some(("everything in a system or home directory", TargetCoverage::Yes));
        }
    }
    if let Some(home) = home
        && let Some(covers) = certain(target.coverage_of(&path_names(home)))
    {
        return Some(("the home directory", covers));
    }
    let other_home = target.parts.len() == 2 && matches!(target.parts[0].as_str(), "home" | "Users");
    other_home.then(|| {
        (
            "a home directory",
            if target.parts[1].contains(UNKNOWN) { TargetCoverage::Maybe } else { TargetCoverage::Yes },
        )
    })
}

/// Reports whether this is a disk, a partition or memory.
pub(crate) fn is_device(target: &PathTarget) -> bool {
    const DISKS: [&str; 13] =
        ["sd", "nvme", "hd", "vd", "xvd", "mmcblk", "disk", "rdisk", "md", "dm-", "loop", "mapper", "mem"];
    let Some(rest) = target.parts.strip_prefix(&["dev".to_owned()]) else { return false };
    let Some(first) = rest.first().filter(|_| target.rooted) else { return false };
    let disk = |name: &&str| {
        first.strip_prefix(*name).is_some_and(|rest| {
            name.len() > 2
                || rest.is_empty()
                || rest.chars().all(|ch| ch.is_alphanumeric() || is_glob(&ch.to_string()) || ch == UNKNOWN)
        })
    };
    DISKS.iter().any(disk) || matches!(first.as_str(), "kmem" | "port")
}

/// A file that runs something by itself or lets somebody in: writing it outlives the session.
pub(crate) struct SensitiveFile {
    /// The file's effect, for a person.
    pub(crate) what: &'static str,
    /// True if writing it is refused; else a person is asked.
    pub(crate) refused: bool,
}

const RUNS: [&[&str]; 5] = [
    &[".config", "systemd", "user"],
    &[".config", "autostart"],
    &["Library", "LaunchAgents"],
    &["usr", "lib", "systemd"],
    &["lib", "systemd"],
];

/// Directories of shells' settings below a home.
const SHELLS: [&[&str]; 2] = [&[".config", "fish"], &[".config", "zsh"]];

/// Files here start with every fish, whatever their names are.
const CONF_D: &[&str] = &[".config", "fish", "conf.d"];

/// The effect of a changed file that keeps something running or changes who may do what; `None` for any other.
pub(crate) fn sensitive_file(change: &PathChange, home: Option<&Path>) -> Option<SensitiveFile> {
    let target = &change.target;
    let deny = |what| Some(SensitiveFile { what, refused: true });
    let ask = |what| Some(SensitiveFile { what, refused: false });
    if let Some(rest) = target.names_behind(&[".ssh"]) {
        return match rest.first().map(String::as_str) {
            Some("authorized_keys" | "authorized_keys2" | "rc") => deny("who may log in with which key"),
            Some("known_hosts") => None,
            Some(_) if change.kind == PathChangeKind::Mode => None,
            _ => ask("keys and settings of SSH"),
        };
    }
    if target.rooted && target.parts.is_empty() && change.kind == PathChangeKind::Write {
        return ask("files anywhere in the system");
    }
    if target.rooted && target.parts.first().is_some_and(|first| first == "etc") {
        return sensitive_etc(change);
    }
    if target.is_inside(&["var", "spool", "cron"]) || target.is_inside(&["Library", "LaunchDaemons"]) {
        return deny("jobs that run by themselves");
    }
    if RUNS.iter().any(|names| target.names_behind(names).is_some()) && change.kind != PathChangeKind::Mode {
        return ask("programs that start by themselves");
    }
    if let Some(rest) = target.names_behind(&[".git", "hooks"]) {
        return match change.kind {
            PathChangeKind::Remove | PathChangeKind::Move | PathChangeKind::Mode => {
                deny("the repository's git hooks")
            }
            PathChangeKind::Write if rest.first().is_some_and(|name| name.ends_with(".sample")) => None,
            PathChangeKind::Write => ask("the repository's git hooks"),
        };
    }
    if let Some(rest) = target.names_behind(&[".git"])
        && change.kind != PathChangeKind::Mode
        && matches!(rest.first().map(String::as_str), Some("config" | "info"))
        && rest.last().is_some_and(|name| name == "config" || name == "attributes")
    {
        return ask("git's own settings, by which it runs commands");
    }
    let at_home = home.is_some_and(|home| {
        target.rooted
            && target.parts.len() == path_names(home).len() + 1
            && target.parts.starts_with(&path_names(home))
    });
    let unplaced = !target.rooted && target.parts.len() <= 2;
    // The line editor's settings bind keys to commands.
    let starts = STARTUP.contains(&target.name()) || target.name() == ".inputrc";
    let configured = SHELLS.iter().any(|names| below_home(target, names, home).is_some_and(|rest| rest > 0));
    let in_conf_d = || below_home(target, CONF_D, home).is_some();
    if ((at_home || unplaced) && starts || configured && (starts || in_conf_d()))
        && change.kind != PathChangeKind::Mode
    {
        return ask("what every new shell runs");
    }
    None
}

/// Number of names behind `place` where it lies directly below a home, or below a directory that is not known.
fn below_home(target: &PathTarget, place: &[&str], home: Option<&Path>) -> Option<usize> {
    let behind = target.names_behind(place)?.len();
    let before = &target.parts[..target.parts.len() - behind - place.len()];
    let is_home = match before {
        [above, _] if target.rooted => above == "home" || above == "Users",
        [only] if target.rooted => only == "root",
        before => !target.rooted && before.len() <= 1,
    };
    (is_home || target.rooted && home.is_some_and(|home| before == path_names(home))).then_some(behind)
}

fn sensitive_etc(change: &PathChange) -> Option<SensitiveFile> {
    const LOCKED: [&str; 25] = [
        "passwd",
        "shadow",
        "group",
        "gshadow",
        "sudoers",
        "sudoers.d",
        "pam.d",
        "ld.so.preload",
        "profile",
        "profile.d",
        "crontab",
        "cron.d",
        "cron.daily",
        "cron.hourly",
        "cron.weekly",
        "cron.monthly",
        "init.d",
        "rc.local",
        "systemd",
        "ssh",
        "environment",
        "bash.bashrc",
        "fstab",
        "doas.conf",
        "polkit-1",
    ];
    let second = change.target.parts.get(1)?;
    if LOCKED.iter().any(|name| may_be(second, name)) {
        return Some(SensitiveFile { what: "accounts, rights or services of the system", refused: true });
    }
    let free = matches!(second.as_str(), "hosts" | "apt" | "hostname" | "nginx" | "docker" | "motd")
        || change.edited
        || change.kind == PathChangeKind::Mode;
    (!free).then_some(SensitiveFile { what: "the system's configuration", refused: false })
}
