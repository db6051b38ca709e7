//! The audit of a run: a file for each recipe, a line for each step that was begun.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::journal::RecipeRunEntry;
use crate::progress::file_name_part;

/// The audit of one run.
#[derive(Debug)]
pub struct RecipeAudit {
    directory: PathBuf,
    /// A part of files' names that no other run has.
    run: String,
    files: BTreeMap<String, File>,
    number: u32,
}

impl RecipeAudit {
    /// The audit of the run `run_id` in `directory`, which is made if it is missing.
    pub fn new(directory: &Path, run_id: &str) -> io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        let run: String = run_id.chars().filter(char::is_ascii_alphanumeric).collect();
        Ok(Self { directory: directory.to_owned(), run, files: BTreeMap::new(), number: 0 })
    }

    /// Writes what it has to say of `entry`.
    pub fn record_entry(&mut self, entry: &RecipeRunEntry) -> io::Result<()> {
        match entry {
            RecipeRunEntry::Recipe { path, name } => {
                self.number += 1;
                let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                let file = format!("{}-{seconds}-{}-{}.jsonl", file_name_part(name), self.run, self.number);
                let mut options = OpenOptions::new();
                options.append(true).create_new(true).mode(0o600);
                self.files.insert(path.clone(), options.open(self.directory.join(file))?);
            }
            RecipeRunEntry::End { path, result, .. } => {
                let recipe = path.rsplit_once('.').map_or("", |(recipe, _)| recipe);
                let Some(file) = self.files.get_mut(recipe) else { return Ok(()) };
                let error = (!result.error.is_empty()).then_some(&result.error);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "milliseconds of one run"
                )]
                let duration = (result.duration.unwrap_or_default() * 1000.0) as u64;
                let line = json!({
                    "step_id": result.step_id,
                    "status": result.status,
                    "duration_ms": duration,
                    "error": error,
                    "output_len": result.output.len(),
                });
                file.write_all(format!("{line}\n").as_bytes())?;
            }
            RecipeRunEntry::RecipeEnd { path, .. } => {
                self.files.remove(path);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::StepResult;

    #[test]
    fn each_recipe_has_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let mut audit = RecipeAudit::new(&dir.path().join("new"), "run-1").unwrap();
        let recipe = |path: &str| RecipeRunEntry::Recipe { path: path.into(), name: "../a b".into() };
        let end = |path: &str| RecipeRunEntry::End {
            path: path.into(),
            result: StepResult::from_failure("s", "bash", "no"),
            fatal: false,
            file: None,
        };
        for entry in [recipe(""), recipe("0"), end("0.0"), end("0.1"), recipe("1"), end("1.0"), end("0")] {
            audit.record_entry(&entry).unwrap();
        }
        let mut counts: Vec<usize> = std::fs::read_dir(dir.path().join("new"))
            .unwrap()
            .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap().lines().count())
            .collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 2]);
    }
}
