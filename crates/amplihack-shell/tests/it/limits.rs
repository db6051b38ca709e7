//! Scripts that are made to keep a reader busy: how much work they are, counted.

use std::time::Duration;

use amplihack_shell::{Limits, commands};
use amplihack_testkit::hostile;

#[test]
fn work_grows_no_faster_than_the_script() {
    let limits = Limits { deadline: Duration::from_mins(1), ..Limits::default() };
    let words = |script: &str| {
        let parsed = commands(script.as_bytes(), &limits);
        parsed.commands.iter().map(|command| 1 + command.words.len() + command.redirects.len()).sum::<usize>()
    };
    for ((name, short), (_, long)) in hostile::scripts(1500).into_iter().zip(hostile::scripts(3000)) {
        let (before, after) = (words(&short), words(&long));
        // A wrapper's words are counted at each of at most 64 levels.
        assert!(
            after <= 3 * before + 64 * 3000 / 5,
            "{name}: {before} words of {}, {after} of {}",
            short.len(),
            long.len()
        );
        assert!(after <= 60_000, "{name}: {after} words");
    }
}
