//! `cargo xtask build`: the release binaries without a dynamic loader, which start fastest, into `dist/`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Failure, shell, ui};

/// Package and binary of everything that is shipped. A package that the workspace does not have is passed over.
const SHIPPED: &[(&str, &str)] = &[("amplihack-cli", "amplihack"), ("amplihack-hooks", "amplihack-hooks")];
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// No loader; fixed addresses, so that no table has to be relocated and copied at each start; hashing without asking the processor what
/// it can, which costs more on a virtual machine than the few hundred bytes of an audit line.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static --cfg sha2_backend=\"soft\"";

/// Builds each shipped binary in the profile `hook` and shows that it needs no loader.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(format!("unknown arguments {args:?}; try: cargo xtask build"));
    }
    for (package, binary) in SHIPPED {
        if !shell::root().join("crates").join(package).exists() {
            ui::say(&format!("there is no {package} here; {binary} is passed over"));
            continue;
        }
        build(package, binary)?;
    }
    Ok(())
}

/// Builds one of them into `dist/`, and says where it is.
pub(crate) fn build(package: &str, binary: &str) -> Result<PathBuf, Failure> {
    let mut cargo = shell::cargo();
    // With an explicit target the flags reach only what is shipped: static procedural macros cannot be loaded.
    cargo.args(["build", "--profile", "hook", "--target", TARGET, "--package", package, "--bin", binary]);
    shell::run(cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", FLAGS))?;
    let built = shell::target().join(TARGET).join("hook").join(binary);
    let bytes = fs::read(&built).map_err(|error| format!("failed to read {}: {error}", built.display()))?;
    if needs_loader(&bytes) {
        return Err(format!("{} is not static: it names a dynamic loader", built.display()));
    }
    let dist = shell::root().join("dist");
    fs::create_dir_all(&dist).map_err(|error| format!("failed to make {}: {error}", dist.display()))?;
    let placed = dist.join(binary);
    place(&built, &placed)?;
    ui::say(&format!("dist/{binary}: static, {} KiB", bytes.len() / 1024));
    Ok(placed)
}

/// Copies a program. The copy also starts faster than what the linker wrote: written in one go, it lies in the page cache in large
/// pieces, and mapping them costs a third less.
fn place(from: &Path, to: &Path) -> Result<(), Failure> {
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
    use super::needs_loader;

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
}
