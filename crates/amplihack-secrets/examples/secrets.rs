//! The scan of files for credentials: `cargo run --release -p amplihack-secrets --example secrets -- scan DIR`.
//!
//! `corpus NAME DIR` writes the test kit's corpus as files and says, a line each, where its credentials are; `scan DIR` says what is found
//! below a directory. For `cargo xtask bench`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use amplihack_secrets::scan_file;
use amplihack_testkit::secrets::{SecretCase, look_alikes, real, unseen};

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["corpus", name, directory] => corpus(name, Path::new(directory)),
        ["scan", directory] => below(Path::new(directory)),
        _ => Err(io::Error::other("usage: secrets corpus known|unseen DIR | secrets scan DIR")),
    }
}

/// Writes each case into a directory of its own, and a line for each: directory, first and last line of the credential (1 and 0 if there is none), kind.
fn corpus(name: &str, directory: &Path) -> io::Result<()> {
    let cases: Vec<SecretCase> = match name {
        "known" => real(1).into_iter().chain(look_alikes(1)).collect(),
        "unseen" => unseen(1),
        _ => return Err(io::Error::other(format!("there is no corpus {name:?}"))),
    };
    let mut out = io::stdout().lock();
    for (at, case) in cases.iter().enumerate() {
        let below = format!("{at:03}");
        let path = directory.join(&below).join(case.path);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        fs::write(path, &case.text)?;
        let (first, last) = case.lines().map_or((1, 0), std::ops::RangeInclusive::into_inner);
        writeln!(out, "{below}\t{first}\t{last}\t{}", case.kind)?;
    }
    Ok(())
}

/// A line for each finding: path, line, rule, what it is known by.
fn below(directory: &Path) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut bytes = 0;
    for path in files(directory)? {
        let content = fs::read(&path)?;
        bytes += content.len();
        let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy();
        for found in scan_file(&name, &content) {
            writeln!(
                out,
                "{}\t{}\t{}\t{}\t{}",
                found.path, found.line, found.rule, found.masked, found.fingerprint
            )?;
        }
    }
    writeln!(out, "{bytes} bytes")
}

/// The files below a directory, in order; links and what git keeps are none.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut open) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && entry.file_name() != ".git" {
                open.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    // Bytes are compared faster than parts of paths.
    files.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    Ok(files)
}
