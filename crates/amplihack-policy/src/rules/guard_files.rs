//! The guard's own files and those of hosts that decide about it: by their names below any directory, and by where they are on this
//! machine.

use std::cell::OnceCell;
use std::path::Path;

use super::call::CommandCall;
use super::change::{PathChange, PathChangeKind};
use super::links;
use super::marks::may_be;
use super::script::JudgedScript;
use super::target::{PathTarget, TargetCoverage, hides_dotfile, path_names};
use crate::event::World;

const REGISTRATION: &str = "the registration of hooks";
const CONFIGURATION: &str = "the configuration of this policy";
const PROGRAM: &str = "the guard's program";
const STATE: &str = "amplihack's own files";

const FILES: [(&[&str], &str); 24] = [
    (&[".claude", "settings.json"], REGISTRATION),
    (&[".claude", "settings.local.json"], REGISTRATION),
    (&[".codex", "hooks.json"], REGISTRATION),
    (&[".codex", "config.toml"], REGISTRATION),
    (&[".copilot", "config.json"], REGISTRATION),
    (&[".copilot", "settings.json"], REGISTRATION),
    (&[".gemini", "settings.json"], REGISTRATION),
    (&[".gemini", "trusted_hooks.json"], REGISTRATION),
    (&[".gemini", "trustedfolders.json"], "the folders that Gemini trusts"),
    (&[".gemini", "policies"], "the permissions of Gemini"),
    (&[".amplihack", "config.toml"], CONFIGURATION),
    (&[".amplihack", "policy.toml"], CONFIGURATION),
    (&[".config", "amplihack"], CONFIGURATION),
    (&[".claude", "tools", "amplihack", "hooks"], CONFIGURATION),
    (&[".config", "amp", "settings.json"], "the permissions of Amp"),
    (&[".config", "amp", "settings.jsonc"], "the permissions of Amp"),
    (&[".amp", "settings.json"], "the permissions of Amp"),
    (&[".amp", "settings.jsonc"], "the permissions of Amp"),
    (&[".claude", "logs", "xpia"], "the audit log"),
    (&[".github", "hooks"], REGISTRATION),
    (&[".github", "copilot", "settings.json"], REGISTRATION),
    (&[".github", "copilot", "settings.local.json"], REGISTRATION),
    (&[".copilot", "hooks"], REGISTRATION),
    (&[".claude", "tools", "xpia"], "the hooks themselves"),
];

/// Directories of hosts, which hold registrations and go with them.
const HOSTS: [&str; 6] = [".claude", ".codex", ".copilot", ".gemini", ".amp", ".amplihack"];

/// Directories without which a host runs no hooks: to be without them is enough.
const NEEDED: [&[&str]; 1] = [&[".claude", "plugins"]];

/// The guard's files on this machine. All names are in lower case: some file systems know no letter case.
pub(crate) struct MachineGuardFiles {
    /// Directories that hold the state of amplihack.
    state: Vec<Vec<String>>,
    /// Directories of hosts and of configuration, with the names that they have by default.
    directories: Vec<(Vec<String>, Vec<&'static str>)>,
    /// The guard's programs, found where a change may be to one of them.
    programs: OnceCell<Vec<Vec<String>>>,
}

/// The kind of guard file that a change reaches, and the certainty of that.
pub(crate) type ReachedGuardFile = (&'static str, TargetCoverage);

impl MachineGuardFiles {
    pub(super) fn from_world(world: &dyn World, home: Option<&Path>) -> Self {
        let directories = world.guard_directories();
        let default = |name: &'static str| Some((lower_names(&home?.join(name)), vec![name]));
        let named = directories.iter().map(|(path, name)| (lower_names(path), name.split('/').collect()));
        Self {
            state: world.state_directories().iter().map(|path| lower_names(path)).collect(),
            directories: named.chain(HOSTS.into_iter().chain([".config"]).filter_map(default)).collect(),
            programs: OnceCell::new(),
        }
    }

    fn programs(&self, script: &JudgedScript<'_>) -> &[Vec<String>] {
        self.programs
            .get_or_init(|| script.world.guard_programs().iter().map(|path| lower_names(path)).collect())
    }

    /// Returns the guard file that a change reaches, where it happens and where links lead. `call` is the command that makes it.
    pub(crate) fn find_reached(
        &self,
        script: &JudgedScript<'_>,
        call: Option<&CommandCall<'_>>,
        change: &PathChange,
    ) -> Option<ReachedGuardFile> {
        let here = self.reached_directly(script, change);
        if matches!(here, Some((_, TargetCoverage::Yes))) {
            return here;
        }
        // A link leads elsewhere: both places count.
        let behind = || self.reached_directly(script, &script.behind_links(change)?);
        let mut found = here.or_else(behind);
        for target in links::linked_targets(script, call.map(|call| call.index), change) {
            let change = PathChange { target, ..change.clone() };
            found = found.max_by_certainty(self.reached_directly(script, &change));
            found = found.max_by_certainty(
                script.behind_links(&change).and_then(|real| self.reached_directly(script, &real)),
            );
        }
        found
    }

    fn reached_directly(&self, script: &JudgedScript<'_>, change: &PathChange) -> Option<ReachedGuardFile> {
        let lower = |part: &String| part.to_lowercase();
        let parts: Vec<String> = change.target.parts.iter().map(lower).collect();
        let target = &PathTarget { parts, ..change.target.clone() };
        let certain = |what| Some((what, TargetCoverage::Yes));
        if let Some(what) = by_name(change, target) {
            return certain(what);
        }
        for (directory, name) in self.directories.iter().filter(|(dir, name)| !dir.ends_with_names(name)) {
            // As if it stood where it stands by default.
            let Some(rest) = names_below(target, directory) else { continue };
            let parts = name.iter().map(|name| (*name).to_owned()).chain(rest.iter().cloned()).collect();
            let renamed = PathTarget { rooted: false, parts, raw: String::new() };
            if let Some(what) = by_name(change, &renamed) {
                return certain(what);
            }
        }
        if self.state.iter().any(|own| names_below(target, own).is_some()) {
            return certain(STATE);
        }
        if target.rooted && target.name() == "amplihack" && self.programs(script).contains(&target.parts) {
            return certain(PROGRAM);
        }
        self.reached_within(script, change, target)
    }

    /// The files that go with a directory that holds them, or are written with it.
    fn reached_within(
        &self,
        script: &JudgedScript<'_>,
        change: &PathChange,
        target: &PathTarget,
    ) -> Option<ReachedGuardFile> {
        if !change.recursive || !target.rooted {
            return None;
        }
        if change.spreads_tree() {
            return self.reached_by_tree(script, change, target);
        }
        if change.narrowed && change.named.is_empty() {
            return None;
        }
        for own in self.state.iter().chain(self.programs(script)) {
            if change_reaches(change, target, own) {
                return Some((STATE, TargetCoverage::Yes));
            }
        }
        for (directory, name) in &self.directories {
            // Permissions of a home are its owner's; a directory of a host is named where it is meant.
            let counts = change.takes_away() || names_below(target, directory).is_some();
            let files = files_below(name).map(|rest| [directory.as_slice(), &rest].concat());
            let itself = HOSTS.contains(&name[0]).then(|| directory.clone());
            if counts && files.chain(itself).any(|own| change_reaches(change, target, &own)) {
                return Some((REGISTRATION, TargetCoverage::Yes));
            }
        }
        None
    }

    /// The files that a tree copied or unpacked below `target` may hold.
    fn reached_by_tree(
        &self,
        script: &JudgedScript<'_>,
        change: &PathChange,
        target: &PathTarget,
    ) -> Option<ReachedGuardFile> {
        let files = self.directories.iter().flat_map(|(directory, name)| {
            let what = |rest: &[String]| if rest.is_empty() { STATE } else { REGISTRATION };
            files_below(name).map(move |rest| ([directory.as_slice(), &rest].concat(), what(&rest)))
        });
        let state = self.state.iter().map(|own| (own.clone(), STATE));
        let programs = self.programs(script).iter().map(|own| (own.clone(), PROGRAM));
        let mut maybe = None;
        for (own, what) in files.chain(state).chain(programs) {
            if target.coverage_of(&own) != TargetCoverage::Yes {
                continue;
            }
            match change
                .source
                .as_ref()
                .map(|source| directory_holds(script, source, &own[target.parts.len()..]))
            {
                Some(Some(true)) => return Some((what, TargetCoverage::Yes)),
                Some(Some(false)) => {}
                Some(None) | None => maybe = maybe.or(Some((what, TargetCoverage::Maybe))),
            }
        }
        maybe
    }
}

/// Reports whether the directory `source` has something at `rest`. `None`: unknown, or the script itself may put it there.
fn directory_holds(script: &JudgedScript<'_>, source: &PathTarget, rest: &[String]) -> Option<bool> {
    let directory = source.path()?;
    let changed = script.calls.iter().flat_map(|call| super::path_changes(script, call)).any(|change| {
        change.kind == PathChangeKind::Write && change.target.parts.starts_with(&source.parts)
            || change.spreads_tree() && change.target.coverage_of(&source.parts) != TargetCoverage::No
    });
    let path = directory.join(rest.iter().collect::<std::path::PathBuf>());
    if script.world.path_exists(&path)? {
        return Some(true);
    }
    // What is not there when it is copied is not copied.
    (!changed).then_some(false)
}

/// The files of a host or of the configuration, below its directory.
fn files_below<'n>(name: &'n [&'static str]) -> impl Iterator<Item = Vec<String>> + 'n {
    let files = FILES.iter().map(|(file, _)| *file).chain(NEEDED);
    files.filter_map(move |file| {
        let rest = file.strip_prefix(name).filter(|rest| !rest.is_empty())?;
        Some(rest.iter().map(|name| (*name).to_owned()).collect())
    })
}

/// The kind of a changed file by its names, wherever they stand.
fn by_name(change: &PathChange, target: &PathTarget) -> Option<&'static str> {
    for (names, what) in FILES {
        if target.names_behind(names).is_some() {
            return Some(what);
        }
    }
    let whole = change.takes_away() && change.recursive && !change.narrowed;
    // With a directory goes what is in it.
    let needed = |names: &&[&str]| target.names_behind(names).is_some_and(<[String]>::is_empty);
    if whole && HOSTS.contains(&target.name()) || change.takes_away() && NEEDED.iter().any(needed) {
        return Some(REGISTRATION);
    }
    let built = target.parts.iter().any(|part| part == "target");
    (matches!(target.name(), "amplihack-hooks" | "xpia-defend") && !built).then_some(PROGRAM)
}

/// The names behind `directory` in a place in it.
fn names_below<'t>(target: &'t PathTarget, directory: &[String]) -> Option<&'t [String]> {
    let inside = target.rooted
        && target.parts.len() >= directory.len()
        && directory.iter().zip(&target.parts).all(|(name, part)| may_be(part, name));
    inside.then(|| &target.parts[directory.len()..])
}

/// Reports whether a change to all below `target`, or to files of certain names there, is made to `own`.
fn change_reaches(change: &PathChange, target: &PathTarget, own: &[String]) -> bool {
    let hidden = target.parts.iter().zip(own).any(|(part, name)| hides_dotfile(part, name));
    if hidden || target.coverage_of(own) != TargetCoverage::Yes {
        return false;
    }
    if !change.narrowed {
        return true;
    }
    let below = own.get(target.parts.len()..).unwrap_or_default();
    below.iter().any(|name| change.named.iter().all(|pattern| may_be(&pattern.to_lowercase(), name)))
}

trait EndsWithNames {
    fn ends_with_names(&self, names: &[&str]) -> bool;
}

impl EndsWithNames for Vec<String> {
    fn ends_with_names(&self, names: &[&str]) -> bool {
        self.len() >= names.len() && self[self.len() - names.len()..].iter().zip(names).all(|(a, b)| a == b)
    }
}

trait ByCertainty {
    fn max_by_certainty(self, other: Self) -> Self;
}

impl ByCertainty for Option<ReachedGuardFile> {
    fn max_by_certainty(self, other: Self) -> Self {
        match (self, other) {
            (Some(one), Some(two)) if two.1 > one.1 => Some(two),
            (Some(one), _) => Some(one),
            (None, other) => other,
        }
    }
}

fn lower_names(path: &Path) -> Vec<String> {
    path_names(path).iter().map(|name| name.to_lowercase()).collect()
}
