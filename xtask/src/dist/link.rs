//! The linker of the hook binary: it links twice, to see in which order the functions are used, and then in that order.
//!
//! Between the two nothing is compiled, and compiling the whole program as one is what takes minutes.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::order;
use crate::{Failure, shell};

/// The chore of `xtask` that a linker is.
pub(crate) const CHORE: &str = "link-in-order";

/// The linker that is called, as Rust's compiler calls it for this target.
const LINKER: &str = "cc";

/// What else decides the order than the program: a change of it has to link anew.
const DECIDES: &[&str] = &[include_str!("link.rs"), include_str!("order.rs"), order::LAUNCH];

/// The argument that makes cargo link anew where [`DECIDES`] has changed.
const KEY: &str = "--order-key=";
/// The argument of a link that is to be as the linker likes.
pub(crate) const IN_NO_ORDER: &str = "--order-key=none";

/// A program that stands for a linker: `xtask` itself, with a tracer that is built already, since the linker runs inside of a build.
pub(crate) fn linker() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|error| format!("failed to find xtask: {error}"))?;
    let tracer = order::tracer()?;
    let path = shell::target().join("hook-order/linker");
    let text = format!("#!/bin/sh\nexec '{}' {CHORE} '{}' \"$@\"\n", own.display(), tracer.display());
    super::make(path.parent().unwrap_or(&path))?;
    fs::write(&path, text)
        .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
        .map_err(|error| format!("failed to write {}: {error}", path.display()))?;
    Ok(path)
}

/// The argument of a link that is to be in order.
pub(crate) fn key() -> String {
    let mut hasher = DefaultHasher::new();
    DECIDES.hash(&mut hasher);
    format!("{KEY}{:x}", hasher.finish())
}

/// Links with the linker's arguments behind the tracer.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (tracer, given) = args.split_first().ok_or("no tracer is named")?;
    let args: Vec<&str> = given.iter().map(String::as_str).filter(|arg| !arg.starts_with(KEY)).collect();
    if given.iter().any(|arg| arg == IN_NO_ORDER) {
        return shell::run(shell::program(LINKER).args(&args));
    }
    let out = args.iter().position(|arg| *arg == "-o").and_then(|at| args.get(at + 1));
    let out = out.ok_or_else(|| format!("the compiler names no output: {args:?}"))?;
    let with_names = format!("{out}.traced");
    shell::run(shell::program(LINKER).args(with_symbols(&args, out, &with_names)))?;
    let names = order::of(Path::new(&with_names), Path::new(tracer));
    let _ = fs::remove_file(&with_names);
    let path = shell::target().join("hook-order/functions");
    fs::write(&path, names?).map_err(|error| format!("failed to write {}: {error}", path.display()))?;
    let order = format!("-Wl,--no-warn-symbol-ordering,--symbol-ordering-file={}", path.display());
    shell::run(shell::program(LINKER).args(&args).arg(order))
}

/// `args` of a link to `out` as those of a link to `traced` that keeps the names of functions.
fn with_symbols<'a>(args: &[&'a str], out: &str, traced: &'a str) -> Vec<&'a str> {
    let strips = ["-s", "-Wl,--strip-all", "-Wl,--strip-debug"];
    args.iter()
        .filter(|arg| !strips.contains(arg))
        .map(|arg| if *arg == out { traced } else { arg })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_link_keeps_names_and_has_another_output() {
        let args = ["-m64", "a.o", "-o", "/t/hooks", "-Wl,--strip-all", "-static"];
        let expected = ["-m64", "a.o", "-o", "/t/hooks.traced", "-static"];
        assert_eq!(with_symbols(&args, "/t/hooks", "/t/hooks.traced"), expected);
    }

    #[test]
    fn a_link_without_a_tracer_or_an_output_fails() {
        run(&[]).unwrap_err();
        assert!(run(&["/t".to_owned(), "a.o".to_owned()]).unwrap_err().contains("names no output"));
    }

    #[test]
    fn the_key_is_one_argument() {
        assert!(key().starts_with(KEY) && key() != IN_NO_ORDER && !key().contains(' '));
        assert_eq!(key(), key());
    }
}
