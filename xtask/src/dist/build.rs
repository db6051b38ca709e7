//! What is shipped, built for release without a dynamic loader, which starts fastest.

use std::fs;
use std::path::{Path, PathBuf};

use super::link;
use super::musl::{self, Musl};
use crate::{Failure, shell, ui};

/// The one platform of releases.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A program that is shipped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shipped {
    /// Its name.
    pub(crate) name: &'static str,
    package: &'static str,
    /// The hook binary is small and starts for every call of a tool; the others unwind, so that a panic still ends what they started.
    profile: &'static str,
    /// The most that it may weigh, in MiB.
    pub(crate) limit: usize,
}

/// The binary that answers hooks.
pub(crate) const HOOKS: Shipped =
    Shipped { name: "amplihack-hooks", package: "amplihack-hooks", profile: "hook", limit: 5 };

/// All of them. The last two are the commands of the predecessors, over this policy and these recipes.
pub(crate) const SHIPPED: [Shipped; 4] = [
    Shipped { name: "amplihack", package: "amplihack-cli", profile: "dist", limit: 20 },
    HOOKS,
    Shipped { name: "recipe-runner-rs", package: "amplihack-cli", profile: "dist", limit: 20 },
    Shipped { name: "xpia-defend", package: "amplihack-cli", profile: "dist", limit: 20 },
];

/// Whether the hook binary's functions have to be in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// A release without it would be slower than its documentation says.
    Needed,
    /// Without it one line says so.
    Wanted,
}

/// Builds `programs`, each package and profile at once, and returns where each of them is.
pub(crate) fn build(programs: &[Shipped], order: Order) -> Result<Vec<PathBuf>, Failure> {
    let mut begun: Vec<(&str, &str)> = Vec::new();
    for group in programs.iter().map(|program| (program.package, program.profile)) {
        if begun.contains(&group) {
            continue;
        }
        begun.push(group);
        if group.0 == HOOKS.package && Musl::find().is_ok() {
            continue;
        }
        let mut cargo = shell::cargo();
        // With an explicit target the flags reach only what is shipped: static procedural macros cannot be loaded.
        cargo.args(["build", "--profile", group.1, "--target", TARGET, "--package", group.0]);
        for program in programs.iter().filter(|program| (program.package, program.profile) == group) {
            cargo.args(["--bin", program.name]);
        }
        let own = if group.0 == HOOKS.package { OF_THE_HOOK } else { "" };
        cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", format!("{} {own}", flags_of_all()));
        // The grammar and its parser are C.
        cargo.env("CFLAGS_x86_64_unknown_linux_gnu", renamed("-ffile-prefix-map="));
        shell::run(&mut cargo)?;
    }
    programs.iter().map(|program| path(program, order)).collect()
}

/// Where a program that was built is. The hook binary is built here where it can be linked with musl.
fn path(program: &Shipped, order: Order) -> Result<PathBuf, Failure> {
    if program.package == HOOKS.package {
        match Musl::find() {
            Ok(musl) => return hook_for_musl(&musl, order),
            Err(why) => {
                ui::warn(&format!("{}: built for {TARGET}, and so starts more slowly: {why}", HOOKS.name));
            }
        }
    }
    Ok(shell::target().join(TARGET).join(program.profile).join(program.name))
}

/// Builds the hook binary for musl, its functions in the order of their use.
fn hook_for_musl(musl: &Musl, order: Order) -> Result<PathBuf, Failure> {
    let linker = link::linker()?;
    let build = |key: &str| {
        let mut cargo = match order {
            Order::Needed => shell::cargo(),
            // Beside it, tests run whose time counts.
            Order::Wanted => shell::behind_others(shell::cargo()),
        };
        cargo.args(["rustc", "--quiet", "--profile", HOOKS.profile, "--target", musl::TARGET]);
        cargo.args(["--package", HOOKS.package, "--bin", HOOKS.name, "--", "-C", &format!("link-arg={key}")]);
        cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER", &linker);
        cargo.env(
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS",
            format!("{} {} {}", flags_of_all(), musl.linker(), OF_THE_HOOK),
        );
        cargo.env("CC_x86_64_unknown_linux_musl", musl::COMPILER);
        cargo.env("CFLAGS_x86_64_unknown_linux_musl", renamed("-ffile-prefix-map="));
        shell::run(&mut cargo)
    };
    if let Err(why) = build(&link::key()) {
        if order == Order::Needed {
            return Err(why);
        }
        ui::warn(&format!("MISSING: the functions of {} are in no order: {why}", HOOKS.name));
        build(link::IN_NO_ORDER)?;
    }
    Ok(shell::target().join(musl::TARGET).join(HOOKS.profile).join(HOOKS.name))
}

/// No loader; fixed addresses, so that no table has to be relocated and copied at each start; no path of the machine that builds.
fn flags_of_all() -> String {
    format!("-C target-feature=+crt-static -C relocation-model=static{}", renamed("--remap-path-prefix="))
}

/// Hashing without asking the processor what it can, which costs more on a virtual machine than the few hundred bytes of an audit line.
/// A launch hashes the hook binary, and so asks.
const OF_THE_HOOK: &str = "--cfg sha2_backend=\"soft\"";

/// The flags of a compiler, of the form that `flag` begins, by which it writes no place of this machine down.
fn renamed(flag: &str) -> String {
    let mut flags = String::new();
    for (path, name) in own_paths() {
        // Blanks separate flags.
        if !path.contains(' ') {
            flags.extend([" ", flag, &path, "=", name]);
        }
    }
    flags
}

/// Places of this machine that a compiler could write down, and what stands for them; the narrower ones last, which win.
fn own_paths() -> Vec<(String, &'static str)> {
    let home = shell::variable("HOME").map(PathBuf::from);
    let cargo = shell::variable("CARGO_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".cargo")));
    [(cargo, "/cargo"), (Some(shell::root().to_owned()), "/amplihack")]
        .into_iter()
        .filter_map(|(path, name)| Some((path?.to_str()?.to_owned(), name)))
        .collect()
}

/// What is wrong with a program that was built to be shipped.
pub(crate) fn fault(program: &Shipped, elf: &[u8]) -> Option<String> {
    let name = program.name;
    if needs_loader(elf) {
        return Some(format!("{name} is not static: it names a dynamic loader"));
    }
    if elf.len() > program.limit << 20 {
        return Some(format!("{name} has {} bytes, more than {} MiB", elf.len(), program.limit));
    }
    let named = own_paths().into_iter().find(|(path, _)| holds(elf, path.as_bytes()));
    named.map(|(path, _)| format!("{name} names a path of this machine, {path}"))
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Copies a program. The copy also starts faster than what the linker wrote: written in one go, it lies in the page cache in large
/// pieces, and mapping them costs a third less.
pub(crate) fn place(from: &Path, to: &Path) -> Result<(), Failure> {
    // A running binary cannot be written to, but its name can be taken away.
    let _ = fs::remove_file(to);
    fs::copy(from, to).map(drop).map_err(|error| format!("failed to write {}: {error}", to.display()))
}

/// Whether a 64-bit little-endian ELF file has a program header of type `PT_INTERP`, or is no such file.
fn needs_loader(elf: &[u8]) -> bool {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, width: usize| {
        let bytes = elf.get(at..at + width)?;
        Some(bytes.iter().rev().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte)))
    };
    let header = || {
        let table = usize::try_from(number(0x20, 8)?).ok()?;
        let size = usize::try_from(number(0x36, 2)?).ok()?;
        let count = usize::try_from(number(0x38, 2)?).ok()?;
        (0..count).map(|index| number(table + index * size, 4)).collect::<Option<Vec<u64>>>()
    };
    !elf.starts_with(b"\x7fELF\x02\x01") || header().is_none_or(|types| types.contains(&PT_INTERP))
}

#[cfg(test)]
mod tests {
    use super::{HOOKS, fault, needs_loader, own_paths};

    #[test]
    fn a_test_program_needs_a_loader_and_a_text_is_refused() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(needs_loader(&own));
        assert!(needs_loader(b"#!/bin/sh\n"));
        assert!(needs_loader(&own[..0x30]));
    }

    #[test]
    fn program_headers_without_a_loader_are_static() {
        let mut elf = vec![0; 0x40 + 2 * 0x38];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (elf[0x20], elf[0x36], elf[0x38]) = (0x40, 0x38, 2);
        (elf[0x40], elf[0x78]) = (1, 2);
        assert!(!needs_loader(&elf));
        elf[0x78] = 3;
        assert!(needs_loader(&elf));
    }

    #[test]
    fn what_is_too_heavy_or_names_this_machine_is_not_shipped() {
        let mut elf = vec![0; 0x40];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(fault(&HOOKS, &elf), None);
        assert_eq!(
            fault(&HOOKS, b"#!/bin/sh\n").unwrap(),
            "amplihack-hooks is not static: it names a dynamic loader"
        );
        let (path, _) = own_paths().pop().unwrap();
        let telling = [&elf[..], path.as_bytes(), b"/src/lib.rs"].concat();
        assert_eq!(
            fault(&HOOKS, &telling).unwrap(),
            format!("amplihack-hooks names a path of this machine, {path}")
        );
        elf.resize((5 << 20) + 1, 0);
        assert_eq!(fault(&HOOKS, &elf).unwrap(), "amplihack-hooks has 5242881 bytes, more than 5 MiB");
    }
}
