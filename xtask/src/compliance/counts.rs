//! The figures of `cargo xtask compliance`.

use std::fmt;

use super::page::{Breach, Row};

/// How many promises there are, and what became of them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    promises: usize,
    superseded: usize,
    structure: usize,
    argued: usize,
    open: usize,
    with_fault: usize,
    /// `None`: nothing was run.
    held: Option<usize>,
    pub(crate) caught: usize,
}

impl Counts {
    /// What the page alone says.
    pub(crate) fn of(rows: &[Row]) -> Self {
        let count = |breach: &Breach| rows.iter().filter(|row| row.breach == *breach).count();
        Self {
            promises: rows.len(),
            superseded: count(&Breach::Superseded),
            structure: count(&Breach::Structure),
            argued: count(&Breach::Argued),
            open: count(&Breach::Open),
            with_fault: rows.iter().filter(|row| row.fault().is_some()).count(),
            held: None,
            caught: 0,
        }
    }

    /// Counts the rows whose tests passed, but for those that a contract superseded.
    pub(crate) fn hold(&mut self, rows: &[&Row]) {
        self.held = Some(
            rows.iter().filter(|row| !matches!(row.breach, Breach::Superseded | Breach::Argued)).count(),
        );
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "promises              {:>4}", self.promises)?;
        match self.held {
            Some(held) => writeln!(to, "held                  {held:>4}")?,
            None => writeln!(to, "held                     not run")?,
        }
        writeln!(to, "superseded            {:>4}", self.superseded)?;
        writeln!(to, "argued                {:>4}", self.argued)?;
        writeln!(to, "kept by structure     {:>4}", self.structure)?;
        if self.open > 0 {
            writeln!(to, "nothing breaks them   {:>4}", self.open)?;
        }
        match self.held {
            Some(_) => write!(to, "sabotaged and caught  {:>4} of {}", self.caught, self.with_fault),
            None => write!(to, "with a fault          {:>4}, not run", self.with_fault),
        }
    }
}

#[test]
fn figures_say_what_was_run() {
    let text = "## A\n| A | one | `a::b` | `amp-one` |\n| A | two | `a::b` | structure |\n| A | three | superseded: contract 1 | |\n";
    let rows = super::page::rows(text).expect("rows");
    let mut counts = Counts::of(&rows);
    assert_eq!(
        counts.to_string(),
        "promises                 3\nheld                     not run\nsuperseded               1\nargued                   0\n\
         kept by structure        1\nwith a fault             1, not run"
    );
    counts.hold(&rows.iter().collect::<Vec<_>>());
    counts.caught = 1;
    assert!(counts.to_string().contains("held                     2\n"), "{counts}");
    assert!(counts.to_string().ends_with("sabotaged and caught     1 of 1"), "{counts}");
}
