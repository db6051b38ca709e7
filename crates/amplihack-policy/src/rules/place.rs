//! Places on a machine that rules guard: system directories, devices, this plane's own files, files that run by themselves.

use std::path::Path;

use super::change::{Change, Kind};
use super::marks::{STAR, UNKNOWN, is_glob, may_be};
use super::target::{Covers, Target, names};

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

/// What would be lost with `target` and everything below it; `Maybe` if an unknown part decides.
pub(crate) fn system(target: &Target, home: Option<&Path>) -> Option<(&'static str, Covers)> {
    if !target.rooted {
        return None;
    }
    if target.parts.is_empty() {
        return Some(("the whole file system", Covers::Yes));
    }
    let certain = |covers: Covers| (covers != Covers::No).then_some(covers);
    if let Some(covers) = SYSTEM.iter().filter_map(|place| certain(target.covers(place))).max() {
        return Some(("a system directory", covers));
    }
    if CORE.iter().any(|place| target.is_inside(place))
        && !target.is(&["dev", "null"])
        && !target.is_inside(&["dev", "shm"])
    {
        return Some(("a part of the system", Covers::Yes));
    }
    let all_below = |parts: &[String]| {
        parts.last().is_some_and(|last| !last.is_empty() && last.chars().all(|ch| ch == STAR || ch == '.'))
    };
    if all_below(&target.parts) {
        let above = Target { parts: target.parts[..target.parts.len() - 1].to_vec(), ..target.clone() };
        let home_itself = home.is_some_and(|home| above.parts == names(home));
        if home_itself || SYSTEM.iter().any(|place| above.is(place)) {
            return Some(("everything in a system or home directory", Covers::Yes));
        }
    }
    if let Some(home) = home
        && let Some(covers) = certain(target.covers(&names(home)))
    {
        return Some(("the home directory", covers));
    }
    let other_home = target.parts.len() == 2 && matches!(target.parts[0].as_str(), "home" | "Users");
    other_home.then(|| {
        ("a home directory", if target.parts[1].contains(UNKNOWN) { Covers::Maybe } else { Covers::Yes })
    })
}

/// Whether this is a disk, a partition or memory.
pub(crate) fn device(target: &Target) -> bool {
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

const FILES: [(&[&str], &str); 20] = [
    (&[".claude", "settings.json"], "the registration of hooks"),
    (&[".claude", "settings.local.json"], "the registration of hooks"),
    (&[".codex", "hooks.json"], "the registration of hooks"),
    (&[".codex", "config.toml"], "the registration of hooks"),
    (&[".copilot", "config.json"], "the registration of hooks"),
    (&[".copilot", "settings.json"], "the registration of hooks"),
    (&[".gemini", "settings.json"], "the registration of hooks"),
    (&[".gemini", "trusted_hooks.json"], "the registration of hooks"),
    (&[".gemini", "trustedfolders.json"], "the folders that Gemini trusts"),
    (&[".gemini", "policies"], "the permissions of Gemini"),
    (&[".amplihack", "config.toml"], "the configuration of this policy"),
    (&[".amplihack", "policy.toml"], "the configuration of this policy"),
    (&[".config", "amp", "settings.json"], "the permissions of Amp"),
    (&[".config", "amp", "settings.jsonc"], "the permissions of Amp"),
    (&[".amp", "settings.json"], "the permissions of Amp"),
    (&[".amp", "settings.jsonc"], "the permissions of Amp"),
    (&[".claude", "logs", "xpia"], "the audit log"),
    (&[".github", "hooks"], "the registration of hooks"),
    (&[".copilot", "hooks"], "the registration of hooks"),
    (&[".claude", "tools", "xpia"], "the hooks themselves"),
];

/// Whether this is one of this plane's own files, or holds them. `state` are the names of the directories that hold its state, in lower
/// case.
pub(crate) fn plane(change: &Change, state: &[Vec<String>]) -> Option<&'static str> {
    // Some file systems know no letter case.
    let lower = |part: &String| part.to_lowercase();
    let target = &Target { parts: change.target.parts.iter().map(lower).collect(), ..change.target.clone() };
    for (names, what) in FILES {
        if target.behind(names).is_some() {
            return Some(what);
        }
    }
    if target.behind(&[".config", "amplihack"]).is_some()
        || target.behind(&[".claude", "tools", "amplihack", "hooks"]).is_some()
    {
        return Some("the configuration of this policy");
    }
    if state.iter().any(|own| is_state(change, target, own)) {
        return Some("this plane's own state");
    }
    // With a directory goes what is in it.
    if change.takes_away() && change.recursive && !change.narrowed {
        let last = target.name();
        if matches!(last, ".claude" | ".codex" | ".copilot" | ".gemini" | ".amp" | ".amplihack") {
            return Some("the registration of hooks");
        }
    }
    let built = target.parts.iter().any(|part| part == "target");
    (matches!(target.name(), "amplihack-hooks" | "xpia-defend") && !built).then_some("the guard's program")
}

/// Whether a change reaches into the directory `own`, or is made to everything below a directory that holds it.
fn is_state(change: &Change, target: &Target, own: &[String]) -> bool {
    let inside = target.rooted
        && target.parts.len() >= own.len()
        && own.iter().zip(&target.parts).all(|(name, part)| may_be(part, name));
    let all_below = change.recursive && !change.narrowed && change.kind != Kind::Write;
    inside || all_below && target.covers(own) == Covers::Yes
}

/// What a file runs by itself or whom it lets in: writing it outlives the session.
pub(crate) struct Sensitive {
    /// What it is.
    pub(crate) what: &'static str,
    /// Whether writing it is refused; else a person is asked.
    pub(crate) refused: bool,
}

const RUNS: [&[&str]; 5] = [
    &[".config", "systemd", "user"],
    &[".config", "autostart"],
    &["Library", "LaunchAgents"],
    &["usr", "lib", "systemd"],
    &["lib", "systemd"],
];

const STARTUP: [&str; 13] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".cshrc",
    ".inputrc",
    ".bash_logout",
    ".xprofile",
];

/// Whether a changed file keeps something running or changes who may do what.
pub(crate) fn sensitive(change: &Change, home: Option<&Path>) -> Option<Sensitive> {
    let target = &change.target;
    let deny = |what| Some(Sensitive { what, refused: true });
    let ask = |what| Some(Sensitive { what, refused: false });
    if let Some(rest) = target.behind(&[".ssh"]) {
        return match rest.first().map(String::as_str) {
            Some("authorized_keys" | "authorized_keys2" | "rc") => deny("who may log in with which key"),
            Some("known_hosts") => None,
            Some(_) if change.kind == Kind::Mode => None,
            _ => ask("keys and settings of SSH"),
        };
    }
    if target.rooted && target.parts.is_empty() && change.kind == Kind::Write {
        return ask("files anywhere in the system");
    }
    if target.rooted && target.parts.first().is_some_and(|first| first == "etc") {
        return etc(change);
    }
    if target.is_inside(&["var", "spool", "cron"]) || target.is_inside(&["Library", "LaunchDaemons"]) {
        return deny("jobs that run by themselves");
    }
    if RUNS.iter().any(|names| target.behind(names).is_some()) && change.kind != Kind::Mode {
        return ask("programs that start by themselves");
    }
    if let Some(rest) = target.behind(&[".git", "hooks"]) {
        return match change.kind {
            Kind::Remove | Kind::Move | Kind::Mode => deny("the repository's git hooks"),
            Kind::Write if rest.first().is_some_and(|name| name.ends_with(".sample")) => None,
            Kind::Write => ask("the repository's git hooks"),
        };
    }
    if let Some(rest) = target.behind(&[".git"])
        && change.kind != Kind::Mode
        && matches!(rest.first().map(String::as_str), Some("config" | "info"))
        && rest.last().is_some_and(|name| name == "config" || name == "attributes")
    {
        return ask("git's own settings, by which it runs commands");
    }
    let at_home = home.is_some_and(|home| {
        target.rooted && target.parts.len() == names(home).len() + 1 && target.parts.starts_with(&names(home))
    });
    let unplaced = !target.rooted && target.parts.len() <= 2;
    if (at_home || unplaced) && STARTUP.contains(&target.name()) && change.kind != Kind::Mode {
        return ask("what every new shell runs");
    }
    (target.behind(&[".config", "fish", "config.fish"]).is_some())
        .then_some(Sensitive { what: "what every new shell runs", refused: false })
}

fn etc(change: &Change) -> Option<Sensitive> {
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
        return Some(Sensitive { what: "accounts, rights or services of the system", refused: true });
    }
    let free = matches!(second.as_str(), "hosts" | "apt" | "hostname" | "nginx" | "docker" | "motd")
        || change.edited
        || change.kind == Kind::Mode;
    (!free).then_some(Sensitive { what: "the system's configuration", refused: false })
}
