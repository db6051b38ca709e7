//! One task for several agents: the first verified result wins, and the others are given up.

use amplihack_agent::event::RunOutcome;
use amplihack_utils::error::{ExitKind, Explain};
use tokio::sync::watch::{Receiver, Sender};

use crate::drive::Summary;
use crate::error::AutoError;

/// Whether a run may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// It may.
    Open,
    /// Another run was verified first: it ends, and its worktree stays.
    Lost,
    /// All runs are ended.
    Closed,
}

/// Several runs, of which one may win. Each listens to a lane of its own.
#[derive(Debug)]
pub struct Race {
    lanes: Vec<Sender<Lane>>,
}

impl Race {
    /// A race of so many runs.
    pub fn of(runs: usize) -> Self {
        Self { lanes: (0..runs).map(|_| Sender::new(Lane::Open)).collect() }
    }

    /// What run `number` listens to.
    pub fn lane(&self, number: usize) -> Option<Receiver<Lane>> {
        self.lanes.get(number).map(Sender::subscribe)
    }

    /// Run `number` has ended: if it is verified, the others are given up.
    pub fn ended(&self, number: usize, end: RunOutcome) {
        if end != RunOutcome::Verified {
            return;
        }
        for (other, lane) in self.lanes.iter().enumerate() {
            if other != number {
                lane.send_replace(Lane::Lost);
            }
        }
    }

    /// All runs are given up: those that have not begun do not.
    pub fn give_up(&self) {
        for lane in &self.lanes {
            lane.send_replace(Lane::Closed);
        }
    }

    /// The winner among `ends`, which came in the order `arrived`: the first verified one, else the first that claims to be done.
    pub fn winner(arrived: &[usize], end: impl Fn(usize) -> Option<RunOutcome>) -> Option<usize> {
        let first = |wanted| arrived.iter().copied().find(|number| end(*number) == Some(wanted));
        first(RunOutcome::Verified).or_else(|| first(RunOutcome::Claimed))
    }
}

/// The exit code of several runs: 0 if each is a success, 130 and its like if they were ended by a signal, 5 if a budget or a deadline
/// ended or held back each that is no success, else 1.
pub fn code<'a>(results: impl IntoIterator<Item = &'a Result<Summary, AutoError>>) -> u8 {
    let mut code = 0;
    for result in results {
        let own = match result {
            Ok(summary) if summary.end.signal.is_some() => return summary.end.code(),
            Ok(summary) if summary.end.is_success() => continue,
            Ok(summary) => summary.end.code(),
            Err(error @ AutoError::Interrupted { .. }) => return error.exit().code(),
            Err(error) => error.exit().code(),
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
        let race = Race::of(3);
        let lanes: Vec<_> = (0..3).map(|number| race.lane(number).unwrap()).collect();
        race.ended(0, RunOutcome::Claimed);
        assert!(lanes.iter().all(|lane| *lane.borrow() == Lane::Open));
        race.ended(1, RunOutcome::Verified);
        assert_eq!(
            lanes.iter().map(|lane| *lane.borrow()).collect::<Vec<_>>(),
            [Lane::Lost, Lane::Open, Lane::Lost]
        );
        let ends = [RunOutcome::Claimed, RunOutcome::Verified, RunOutcome::Failed];
        let end = |number: usize| ends.get(number).copied();
        assert_eq!(Race::winner(&[0, 2, 1], end), Some(1));
        assert_eq!(Race::winner(&[2, 0], end), Some(0));
        assert_eq!(Race::winner(&[2], end), None);
    }
}
