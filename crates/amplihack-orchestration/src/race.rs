//! A race of several agents on one task: the first verified result wins, and the others are given up.

use amplihack_agent::event::RunOutcome;
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use tokio::sync::watch::{Receiver, Sender};

use crate::drive::AutoRunSummary;
use crate::error::AutoError;

/// Status of a run in a race: whether it may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaceStatus {
    /// The run may continue.
    Open,
    /// Another run was verified first: it ends, and its worktree stays.
    Lost,
    /// All runs are ended.
    Closed,
}

/// Several runs, of which one may win. Each listens to a lane of its own.
#[derive(Debug)]
pub struct RunRace {
    lanes: Vec<Sender<RaceStatus>>,
}

impl RunRace {
    /// A race of so many runs.
    pub fn with_runs(runs: usize) -> Self {
        Self { lanes: (0..runs).map(|_| Sender::new(RaceStatus::Open)).collect() }
    }

    /// Receiver of the status of run `number`.
    pub fn status_receiver(&self, number: usize) -> Option<Receiver<RaceStatus>> {
        self.lanes.get(number).map(Sender::subscribe)
    }

    /// Run `number` has ended: if it is verified, the others are given up.
    pub fn record_end(&self, number: usize, end: RunOutcome) {
        if end != RunOutcome::Verified {
            return;
        }
        for (other, lane) in self.lanes.iter().enumerate() {
            if other != number {
                lane.send_replace(RaceStatus::Lost);
            }
        }
    }

    /// All runs are given up: those that have not begun do not.
    pub fn give_up(&self) {
        for lane in &self.lanes {
            lane.send_replace(RaceStatus::Closed);
        }
    }

    /// The winner among `ends`, which came in the order `arrived`: the first verified one, else the first that claims to be done.
    pub fn pick_winner(arrived: &[usize], end: impl Fn(usize) -> Option<RunOutcome>) -> Option<usize> {
        let first = |wanted| arrived.iter().copied().find(|number| end(*number) == Some(wanted));
        first(RunOutcome::Verified).or_else(|| first(RunOutcome::Claimed))
    }
}

/// The exit code of several runs: 0 if each is a success, 130 and its like if they were ended by a signal, 5 if a budget or a deadline
/// ended or held back each that is no success, else 1.
pub fn combined_exit_code<'a>(
    results: impl IntoIterator<Item = &'a Result<AutoRunSummary, AutoError>>,
) -> u8 {
    let mut code = 0;
    for result in results {
        let own = match result {
            Ok(summary) if summary.end.signal.is_some() => return summary.end.code(),
            Ok(summary) if summary.end.is_success() => continue,
            Ok(summary) => summary.end.code(),
            Err(error @ AutoError::Interrupted { .. }) => return error.exit_kind().code(),
            Err(error) => error.exit_kind().code(),
        };
        let is_bound = own == ExitKind::Budget.code() && (code == 0 || code == own);
        code = if is_bound { own } else { 1 };
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_verified_run_wins_and_the_others_are_given_up() {
        let race = RunRace::with_runs(3);
        let lanes: Vec<_> = (0..3).map(|number| race.status_receiver(number).unwrap()).collect();
        race.record_end(0, RunOutcome::Claimed);
        assert!(lanes.iter().all(|lane| *lane.borrow() == RaceStatus::Open));
        race.record_end(1, RunOutcome::Verified);
        assert_eq!(
            lanes.iter().map(|lane| *lane.borrow()).collect::<Vec<_>>(),
            [RaceStatus::Lost, RaceStatus::Open, RaceStatus::Lost]
        );
        let ends = [RunOutcome::Claimed, RunOutcome::Verified, RunOutcome::Failed];
        let end = |number: usize| ends.get(number).copied();
        assert_eq!(RunRace::pick_winner(&[0, 2, 1], end), Some(1));
        assert_eq!(RunRace::pick_winner(&[2, 0], end), Some(0));
        assert_eq!(RunRace::pick_winner(&[2], end), None);
    }
}
