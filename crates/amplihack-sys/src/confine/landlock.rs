//! Landlock: rights to files that hold whatever is mounted where.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope,
};

use super::{ConfineError, Confinement, PathAccess};

/// The rights that are asked for. Newer kernels mean the same by them.
const NEWEST: ABI = ABI::V6;

/// Gives up every right to files that `confinement` does not name.
pub(super) fn give_up_files(confinement: &Confinement) -> Result<(), ConfineError> {
    let failed = |error: &dyn std::fmt::Display| {
        ConfineError::at_step("restrict itself by Landlock")(io::Error::other(error.to_string()))
    };
    let (read, all) = (AccessFs::from_read(NEWEST), AccessFs::from_all(NEWEST));
    let mut rules = Ruleset::default()
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(|error| failed(&error))?;
    let mut allowed: Vec<(&Path, BitFlags<AccessFs>)> = Vec::new();
    for entry in &confinement.paths {
        match entry.access {
            PathAccess::Read => allowed.push((&entry.path, read)),
            PathAccess::Write | PathAccess::Overlay | PathAccess::Scratch => allowed.push((&entry.path, all)),
            PathAccess::Hidden | PathAccess::Link(_) => {}
        }
    }
    if confinement.layers.namespaces {
        // A tree of the confinement's own: only named directories, its own processes, harmless devices.
        let list = BitFlags::from(AccessFs::ReadDir);
        allowed.extend([(Path::new("/"), list), (Path::new("/proc"), all), (Path::new("/dev"), all)]);
    } else {
        allowed.extend([
            (Path::new("/proc"), read | AccessFs::WriteFile),
            (Path::new("/dev"), read | AccessFs::WriteFile | AccessFs::IoctlDev),
        ]);
    }
    for (path, access) in allowed {
        // What is not there needs no right.
        let Ok(place) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        rules = rules.add_rule(PathBeneath::new(place, access)).map_err(|error| failed(&error))?;
    }
    let status = rules.restrict_self().map_err(|error| failed(&error))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => {}
        RulesetStatus::PartiallyEnforced => {
            return Err(failed(&"the kernel's Landlock lacks a part; Linux 6.12 has all"));
        }
        RulesetStatus::NotEnforced => return Err(failed(&"the kernel has no Landlock")),
    }
    Ok(())
}
