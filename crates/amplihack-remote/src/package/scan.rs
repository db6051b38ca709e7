//! The search for secrets in what is sent: in every blob and message of the history, and in every extra file.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Number of bytes scanned at once, and of bytes scanned again with the next part.
const CHUNK: usize = 8 * 1024 * 1024;
const OVERLAP: usize = 64 * 1024;

/// A secret that would be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageSecret {
    /// The file, below the repository's root; `commit <id>` for a commit's message.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The rule that found the secret, named by the kind of secret.
    pub rule: String,
    /// Enough of it to be recognised by who knows it.
    pub masked: String,
    /// Identifies rule, value and path; what `--allow-secret` takes.
    pub fingerprint: String,
    /// The commit that brought it; `None`: it is not committed, or nobody looked.
    pub commit: Option<String>,
}

impl fmt::Display for PackageSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, masked, fingerprint, commit } = self;
        write!(f, "{}:{line} {rule} {masked} {fingerprint}", path.display())?;
        match commit {
            Some(commit) => write!(f, " (commit {})", &commit[..commit.len().min(12)]),
            None => Ok(()),
        }
    }
}

/// Secrets found so far: each secret of a file once, however many versions of the file have it.
pub(super) struct PackageSecrets<'a> {
    allow: &'a HashSet<String>,
    seen: HashSet<String>,
    /// Secrets that must not be sent, each with the object that holds it.
    pub refused: Vec<(PackageSecret, Option<String>)>,
    /// Secrets that the user allowed.
    pub allowed: Vec<PackageSecret>,
}

impl<'a> PackageSecrets<'a> {
    pub(super) fn new(allow: &'a HashSet<String>) -> Self {
        Self { allow, seen: HashSet::new(), refused: Vec::new(), allowed: Vec::new() }
    }

    /// Looks at the whole of a file.
    pub(super) fn scan_file(&mut self, path: &Path, bytes: &[u8], object: Option<&str>) {
        self.scan_part(path, bytes, 0, object, true);
    }

    /// Looks at a file that is too large for memory.
    pub(super) fn scan_large_file(
        &mut self,
        path: &Path,
        mut file: &File,
        object: Option<&str>,
    ) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(CHUNK + OVERLAP);
        let mut lines = 0;
        loop {
            let last = file.by_ref().take(CHUNK as u64).read_to_end(&mut bytes)? < CHUNK;
            self.scan_part(path, &bytes, lines, object, last);
            if last {
                return Ok(());
            }
            let done = bytes.len().saturating_sub(OVERLAP);
            lines += count_newlines(&bytes[..done]);
            bytes.drain(..done);
        }
    }

    /// A part of a file, after so many lines. What reaches its end, if it is not the last, is looked at again with the next.
    fn scan_part(&mut self, path: &Path, bytes: &[u8], lines: usize, object: Option<&str>, last: bool) {
        let again = if last { usize::MAX } else { bytes.len().saturating_sub(OVERLAP) };
        for mut finding in find_secrets(path, bytes, again) {
            if !self.seen.insert(finding.fingerprint.clone()) {
                continue;
            }
            finding.line += lines;
            if self.allow.contains(&finding.fingerprint) {
                self.allowed.push(finding);
            } else {
                self.refused.push((finding, object.map(str::to_owned)));
            }
        }
    }
}

/// The secrets in one text, without one from `again` on that reaches the end.
fn find_secrets(path: &Path, bytes: &[u8], again: usize) -> impl Iterator<Item = PackageSecret> {
    amplihack_secrets::scan_part(&path.to_string_lossy(), bytes, again).into_iter().map(|found| {
        PackageSecret {
            path: path.to_owned(),
            line: found.line,
            rule: found.rule.to_string(),
            masked: found.masked,
            fingerprint: found.fingerprint,
            commit: None,
        }
    })
}

fn count_newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    /// A token that no scanner finds in this file.
    fn token() -> String {
        format!("{}{}", "ghp_", "a8Kd03LmQpX7vRt2NwZc5YbHs1GfUe9JiTo4")
    }

    #[test]
    fn a_finding_says_where_and_shows_nearly_nothing() {
        let none = HashSet::new();
        let mut findings = PackageSecrets::new(&none);
        findings.scan_file(Path::new("a/b"), format!("x\ny {}\n", token()).as_bytes(), None);
        findings.scan_file(Path::new("a/b"), format!("{}\n", token()).as_bytes(), None);
        findings.scan_file(Path::new("c"), format!("{}\n", token()).as_bytes(), None);
        let shown: Vec<String> = findings.refused.iter().map(|(finding, _)| finding.to_string()).collect();
        assert_eq!(shown.len(), 2, "a file's secret is told once: {shown:?}");
        assert!(shown[0].starts_with("a/b:2 github-token ghp_… (40 bytes) "), "{shown:?}");
        assert!(shown.iter().all(|shown| !shown.contains("a8K")), "{shown:?}");
        assert_ne!(findings.refused[0].0.fingerprint, findings.refused[1].0.fingerprint);

        let allow = HashSet::from([findings.refused[0].0.fingerprint.clone()]);
        let mut again = PackageSecrets::new(&allow);
        again.scan_file(Path::new("a/b"), token().as_bytes(), None);
        again.scan_file(Path::new("c"), token().as_bytes(), None);
        assert_eq!((again.allowed.len(), again.refused.len()), (1, 1));
    }

    #[test]
    fn a_secret_across_two_parts_of_a_large_file_is_found_in_its_line() {
        let none = HashSet::new();
        let mut file = tempfile::tempfile().unwrap();
        let filler = format!("{}\n", "x".repeat(1023)).repeat(CHUNK / 1024);
        file.write_all(&filler.as_bytes()[..CHUNK - 10]).unwrap();
        file.write_all(format!("\n{}\n{filler}", token()).as_bytes()).unwrap();
        file.rewind().unwrap();
        let mut findings = PackageSecrets::new(&none);
        findings.scan_large_file(Path::new("large"), &file, None).unwrap();
        let lines: Vec<usize> = findings.refused.iter().map(|(finding, _)| finding.line).collect();
        assert_eq!(lines, [CHUNK / 1024 + 1]);
    }
}
