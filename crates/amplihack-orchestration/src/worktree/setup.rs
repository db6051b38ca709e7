//! Preparation of a new worktree before its run begins, and what is reported of it.

use std::path::Path;

use amplihack_config::git;

use super::include::{self, IncludeReport};
use super::options::WorktreeOptions;
use super::uncommitted::{UncommittedFiles, count_phrase, join_paths};
use super::{RunWorktree, submodules};
use crate::error::AutoError;
use crate::process::RunProcesses;

/// Bytes that are kept of the setup's output.
const OUTPUT: usize = 64 * 1024;
/// Lines of it that are shown where it fails.
const LINES: usize = 10;

impl RunWorktree {
    /// Gives a new worktree what `options` ask for, and says to `tell` what it has and has not.
    ///
    /// # Errors
    /// A file that cannot be copied is said and no error; submodules that cannot be initialized, and a setup that fails, are.
    pub(crate) async fn set_up(
        &self,
        processes: &RunProcesses,
        options: &WorktreeOptions,
        scratch: &Path,
        tell: &dyn Fn(String),
    ) -> Result<(), AutoError> {
        let base = self.path.parent().unwrap_or(&self.path);
        let uncommitted = UncommittedFiles::find_in(processes, &self.repository, base).await?;
        let patterns = include::include_patterns(&self.repository, &options.include)?;
        let wanted = include::matching_files(processes, &self.repository, &patterns, scratch).await?;
        let (from, to, ignored) = (self.repository.clone(), self.path.clone(), uncommitted.ignored.clone());
        // It may be much, and other runs go on meanwhile.
        let interrupts = processes.interrupts();
        let copying = tokio::task::spawn_blocking(move || {
            include::copy_files(&from, &to, wanted, &ignored, &|| interrupts.pending_signal().is_some())
        });
        let IncludeReport { files, skipped } =
            copying.await.map_err(|error| AutoError::for_path(&self.path)(std::io::Error::other(error)))?;
        if let Some(signal) = processes.interrupts().pending_signal() {
            return Err(AutoError::Interrupted { signal });
        }
        if !files.is_empty() {
            let (count, are) = count_phrase(files.len(), "file", "files");
            tell(format!("{count} that git ignores {are} copied into the worktree: {}", join_paths(&files)));
        }
        for (path, why) in &skipped {
            tell(format!("{} is not copied into the worktree: {why}", join_paths(&[path])));
        }
        if options.submodules {
            let args = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
            let common =
                git::answer_path(&processes.run_git("find the repository", &self.path, &[], args).await?);
            submodules::initialize_submodules(processes, &self.path, &common).await?;
        }
        for line in uncommitted.missing_in(&self.path) {
            tell(line);
        }
        if let Some(line) = submodules::describe_missing(processes, &self.path).await? {
            tell(line);
        }
        let Some(command) = &options.setup else { return Ok(()) };
        tell(format!("the setup runs in the worktree: {command}"));
        let output = processes.run_shell(command, &self.path, options.setup_timeout, &[], OUTPUT).await?;
        if output.exit.is_success() && !output.late {
            return Ok(());
        }
        let how = if output.late {
            format!("took longer than {} s", options.setup_timeout.as_secs())
        } else {
            format!("ended with {}", output.exit)
        };
        let said = tail_lines(&[output.stdout, output.stderr].concat());
        Err(AutoError::Setup { command: command.clone(), how, said })
    }

    /// Removes a worktree whose run was refused before it began, and its branch.
    pub(crate) async fn discard_unused(&self, processes: &RunProcesses) -> Result<(), AutoError> {
        let _turn = super::ONE_AT_A_TIME.lock().await;
        let path = self.path.to_string_lossy();
        processes.run_git_unchecked(&self.repository, &[], ["worktree", "unlock", &*path]).await?;
        // No agent was there: what lies in it is the setup's.
        let remove = ["worktree", "remove", "--force", &*path];
        processes.run_git("remove a worktree", &self.repository, &[], remove).await?;
        processes.run_git_unchecked(&self.repository, &[], ["branch", "-d", &self.branch]).await.map(drop)
    }
}

/// The last lines of an output, in one line.
fn tail_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
    last.chars().map(|ch| if ch.is_control() { ' ' } else { ch }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_one() {
        assert_eq!(tail_lines(b""), "");
        assert_eq!(tail_lines(b"a\r\n\n  \nb\x1b[0m\n"), "a; b [0m");
        let many: Vec<String> = (0..30).map(|number| number.to_string()).collect();
        assert_eq!(tail_lines(many.join("\n").as_bytes()), "20; 21; 22; 23; 24; 25; 26; 27; 28; 29");
    }
}
