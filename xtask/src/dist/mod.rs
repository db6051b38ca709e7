//! `cargo xtask dist`: a release. A folder with the static binaries, completions, manual pages, the installer and sums of all of it,
//! and the same folder as an archive.

mod build;
mod link;
mod musl;
mod order;
mod pack;
mod symbols;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, man, shell, ui};
pub(crate) use build::place;
use build::{HOOKS, Order, SHIPPED, TARGET};
pub(crate) use link::{CHORE as LINK, run as link};
pub(crate) use musl::TARGET as MUSL_TARGET;

/// Completion scripts: the shell, and where it looks for the script below a `share` directory.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/amplihack"),
    ("zsh", "zsh/site-functions/_amplihack"),
    ("fish", "fish/vendor_completions.d/amplihack.fish"),
];
const INSTALLER: &str = "install.sh";

/// Makes a release of what is built here, or of given binaries.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if args == ["--hook-binary"] {
        ui::say(&format!("the hook binary: {}", hook_binary(Order::Needed)?.display()));
        return Ok(());
    }
    let (mut given, mut out) = (None, shell::root().join("dist"));
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--bins", Some(directory)) => given = Some(PathBuf::from(directory)),
            ("--out", Some(directory)) => out = PathBuf::from(directory),
            _ => {
                return Err(format!(
                    "cannot read {word:?}; try: cargo xtask dist [--bins DIR] [--out DIR] | --hook-binary"
                ));
            }
        }
    }
    let programs = match given {
        Some(directory) => {
            ui::say("the binaries are given: neither their linking nor their sizes are checked");
            SHIPPED.map(|program| directory.join(program.name)).to_vec()
        }
        None => built()?,
    };
    // What packs it runs in the workspace's root.
    let out = std::path::absolute(&out).map_err(|error| format!("{} is no path: {error}", out.display()))?;
    release(&programs, &out)
}

/// Reports whether the toolchain has the target of the hook binary.
pub(crate) fn musl_is_installed() -> bool {
    musl::target_is_installed()
}

/// The hook binary as it is shipped, to be measured.
pub(crate) fn hook_binary_in_order() -> Result<PathBuf, Failure> {
    hook_binary(Order::Needed)
}

/// The hook binary as it is shipped, to be tested: what it does is the same in any order of its functions.
pub(crate) fn hook_binary_for_tests() -> Result<PathBuf, Failure> {
    hook_binary(Order::Wanted)
}

/// Where the hook binary is put.
pub(crate) fn hook_directory() -> Result<PathBuf, Failure> {
    let directory = shell::target().join("hook-binary");
    make(&directory).map(|()| directory)
}

fn hook_binary(order: Order) -> Result<PathBuf, Failure> {
    let built = build::build(&[HOOKS], order)?;
    let placed = hook_directory()?.join(HOOKS.name);
    for path in &built {
        place(path, &placed)?;
    }
    Ok(placed)
}

/// Builds and checks everything that is shipped.
fn built() -> Result<Vec<PathBuf>, Failure> {
    let built = build::build(&SHIPPED, Order::Needed)?;
    let mut faults = Vec::new();
    for (program, path) in SHIPPED.iter().zip(&built) {
        let bytes = fs::read(path).map_err(|error| format!("failed to read {}: {error}", path.display()))?;
        ui::say(&format!("{}: {} KiB of at most {} MiB", program.name, bytes.len() >> 10, program.limit));
        faults.extend(build::fault(program, &bytes));
    }
    if faults.is_empty() { Ok(built) } else { Err(faults.join("; ")) }
}

/// The folder and the archive of `programs`, into `out`.
fn release(programs: &[PathBuf], out: &Path) -> Result<(), Failure> {
    let version = version(&programs[0])?;
    let name = format!("amplihack-{version}-{TARGET}");
    let folder = out.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .map_err(|error| format!("failed to remove {}: {error}", folder.display()))?;
    }
    make(&folder.join("bin"))?;
    for (program, from) in SHIPPED.iter().zip(programs) {
        place(from, &folder.join("bin").join(program.name))?;
    }
    let amplihack = folder.join("bin/amplihack");
    for (kind, place) in COMPLETIONS {
        let mut command = Command::new(&amplihack);
        write(&folder.join("share").join(place), &shell::read(command.args(["completions", kind]))?)?;
    }
    man::pages(&amplihack, &folder.join("share/man/man1"))?;
    for name in ["LICENSE", INSTALLER] {
        place(&shell::root().join(name), &folder.join(name))?;
    }
    // What an installer asks before it believes the programs.
    write(&folder.join("RELEASE"), &format!("amplihack {version} {TARGET}\n"))?;
    pack::seal(&folder)?;
    let archive = pack::archive(out, &name)?;
    place(&shell::root().join(INSTALLER), &out.join(INSTALLER))?;
    pack::list(out, &version, INSTALLER)?;
    let size = fs::metadata(&archive).map_or(0, |found| found.len());
    ui::say(&format!("{}: {} KiB", archive.display(), size >> 10));
    Ok(())
}

/// The version that `amplihack` says it has.
fn version(amplihack: &Path) -> Result<String, Failure> {
    let said = shell::read(Command::new(amplihack).arg("--version"))?;
    let version = said.trim().strip_prefix("amplihack ").unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    if version.is_empty() || !version.chars().all(plain) {
        return Err(format!("{} --version said {said:?}, which is no version", amplihack.display()));
    }
    Ok(version.to_owned())
}

fn make(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| format!("failed to make {}: {error}", directory.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    make(path.parent().unwrap_or(path))?;
    fs::write(path, text).map_err(|error| format!("failed to write {}: {error}", path.display()))
}
