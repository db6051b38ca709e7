//! What the hook binary is linked with where it can be had: musl, whose start asks the processor nothing, and a linker that lays
//! functions in a given order.

use std::path::{Path, PathBuf};

use crate::shell;

/// The platform of the hook binary.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-musl";
/// Compiles C against musl's headers.
pub(crate) const COMPILER: &str = "musl-gcc";
const PACKAGE: &str = "musl-tools";

/// The tools of a build for musl.
pub(crate) struct Musl {
    /// The directory that makes a C compiler's `-fuse-ld=lld` find Rust's own linker.
    linkers: PathBuf,
}

impl Musl {
    /// What is installed; the reason, if something is missing.
    pub(crate) fn find() -> Result<Self, String> {
        Self::find_in(shell::find(COMPILER).is_some(), libraries)
    }

    /// What is installed where `has_compiler`, and `libraries` are those of each target.
    fn find_in(has_compiler: bool, libraries: impl Fn(&str) -> Option<PathBuf>) -> Result<Self, String> {
        if !has_compiler {
            return Err(format!("{COMPILER} is missing: apt-get install {PACKAGE}"));
        }
        if !has_libraries(&libraries) {
            return Err(format!("Rust's target is missing: rustup target add {TARGET}"));
        }
        let linkers = libraries(super::build::TARGET)
            .and_then(|directory| Some(directory.parent()?.join("bin/gcc-ld")))
            .filter(|directory| directory.join("ld.lld").is_file());
        linkers.map(|linkers| Self { linkers }).ok_or_else(|| "Rust's linker is missing, rust-lld".to_owned())
    }

    /// Flags that name the linker: gcc's own on this target reads no order of functions.
    pub(crate) fn linker(&self) -> String {
        format!("-C link-arg=-fuse-ld=lld -C link-arg=-B{}", self.linkers.display())
    }
}

/// Reports whether the toolchain has the target.
pub(crate) fn target_is_installed() -> bool {
    has_libraries(libraries)
}

fn has_libraries(libraries: impl Fn(&str) -> Option<PathBuf>) -> bool {
    libraries(TARGET).is_some_and(|directory| directory.is_dir())
}

/// Where the compiler has the libraries of a target, or would have them.
fn libraries(target: &str) -> Option<PathBuf> {
    let compiler = shell::variable("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut rustc = shell::program(compiler);
    let text = shell::read(rustc.args(["--print", "target-libdir", "--target", target])).ok()?;
    Some(Path::new(text.trim()).to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_brings_it() {
        let root = std::env::temp_dir().join(format!("xtask-musl-{}", std::process::id()));
        let libraries = |target: &str| Some(root.join(target).join("lib"));
        let missing = |has_compiler| Musl::find_in(has_compiler, libraries).err().unwrap_or_default();
        assert_eq!(missing(false), "musl-gcc is missing: apt-get install musl-tools");
        assert_eq!(missing(true), "Rust's target is missing: rustup target add x86_64-unknown-linux-musl");
        fs::create_dir_all(root.join(TARGET).join("lib")).unwrap();
        assert_eq!(missing(true), "Rust's linker is missing, rust-lld");
        let linkers = root.join(super::super::build::TARGET).join("bin/gcc-ld");
        fs::create_dir_all(&linkers).unwrap();
        fs::write(linkers.join("ld.lld"), "").unwrap();
        let found = Musl::find_in(true, libraries).unwrap();
        assert!(found.linker().ends_with(&format!("-B{}", linkers.display())));
        fs::remove_dir_all(root).unwrap();
    }
}
