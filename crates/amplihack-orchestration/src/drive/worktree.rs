//! The worktree of a driven run: made or found, moved from where no agent may write, and given what was asked for it.

use amplihack_hooks::guard::GuardMachine;

use super::AutoRunDriver;
use crate::error::AutoError;
use crate::journal::AutoJournalEntry;

impl AutoRunDriver<'_> {
    /// Makes the run's worktree, or finds it. Whether it is new.
    ///
    /// # Errors
    /// The worktree of a `resumed` run is gone with its branch, and it was not the run that removed it.
    pub(super) async fn open_worktree(&mut self, resumed: bool) -> Result<bool, AutoError> {
        self.leave_state().await?;
        let story = &self.journal.story;
        let Some(tree) = &story.worktree else { return Ok(false) };
        // A signal finds it made or not made, never half made.
        let processes = self.processes.for_closing();
        if resumed && story.base.is_some() && !story.worktree_removed {
            tree.require_available(&processes).await?;
        }
        let is_new = tree.make_or_lock(&processes).await?;
        if is_new {
            for filter in processes.own_filters(&tree.repository).await? {
                self.report_notice(format!("the repository's own filter {filter} is not run"));
            }
        }
        Ok(is_new)
    }

    /// Moves a worktree that lies in amplihack's own state, where earlier versions made it and the guard lets no agent write.
    async fn leave_state(&mut self) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let Some(tree) = story.worktree.as_ref().filter(|_| story.spec.guarded) else { return Ok(()) };
        let Some(state) = GuardMachine::new(self.place.env).state_around(&tree.path) else { return Ok(()) };
        let moved = tree.with_new_path(self.place.env, &story.spec, self.id.as_str())?;
        tree.move_to(&moved, &self.processes.for_closing()).await?;
        let (path, state) = (moved.path.display().to_string(), state.display().to_string());
        self.journal.write(AutoJournalEntry::Moved { worktree: moved })?;
        self.report_notice(format!(
            "the worktree lies in {path} now: in {state} the guard lets no agent write"
        ));
        Ok(())
    }

    /// Gives a worktree that is new, or was not given it before, what was asked for it.
    ///
    /// # Errors
    /// A setup that fails refuses a new run: nothing of it stays.
    pub(super) async fn prepare_worktree(&mut self, is_new: bool) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let Some(tree) = story.worktree.clone() else { return Ok(()) };
        // Runs of versions that wrote no such entry have it behind them.
        let is_prepared = story.prepared || story.base.is_some() || !story.turns.is_empty();
        if is_prepared && !is_new {
            return Ok(());
        }
        let tell = |line: String| self.report_notice(line);
        let options = &story.spec.worktree_options;
        match tree.set_up(&self.processes, options, &self.journal.directory, &tell).await {
            Ok(()) => self.journal.write(AutoJournalEntry::Prepared),
            Err(error @ AutoError::Interrupted { .. }) => Err(error),
            Err(error) => {
                if story.turns.is_empty() {
                    tree.discard_unused(&self.processes.for_closing()).await?;
                    // What stays would be a directory without a run.
                    let _ = std::fs::remove_dir_all(&self.journal.directory);
                }
                Err(error)
            }
        }
    }
}
