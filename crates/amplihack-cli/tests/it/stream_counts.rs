//! The streams of the real agents come out in named fields: a bound over all recordings, which `docs/reference/streams.md` shows.

use crate::reference::pages::streams::{RECORDED, StreamCount, recordings};

/// The least part of the lines, and of the kinds of lines, in percent.
const LEAST: usize = 95;

#[test]
fn nearly_every_line_of_a_recording_is_typed() {
    let recordings = recordings();
    let mut short = Vec::new();
    for agent in RECORDED {
        let count = StreamCount::new(agent, &recordings);
        for (what, counted) in [("lines", count.lines()), ("kinds of lines", count.kinds())] {
            assert!(counted.all > 0, "{agent} has no recording");
            if counted.typed * 100 < counted.all * LEAST {
                short.push(format!("{agent}: {} of {} {what}", counted.typed, counted.all));
            }
        }
    }
    assert!(
        short.is_empty(),
        "less than {LEAST} % typed; docs/reference/streams.md shows the rest: {short:#?}"
    );
}

/// Counts are of what the decoders do, so a line that no decoder knows must lower them.
#[test]
fn a_line_that_nobody_knows_is_not_typed() {
    let mut recordings = recordings();
    for agent in RECORDED {
        let before = StreamCount::new(agent, &recordings);
        let recording = recordings.iter_mut().find(|recording| recording.agent == agent).unwrap();
        recording.text.push_str("{\"type\":\"nobody.knows\"}\n");
        let after = StreamCount::new(agent, &recordings);
        assert_eq!(after.lines().typed, before.lines().typed, "{agent}");
        assert_eq!(after.lines().all, before.lines().all + 1, "{agent}");
        assert_eq!(after.kinds().all, before.kinds().all + 1, "{agent}");
        assert_eq!(after.kinds().typed, before.kinds().typed, "{agent}");
    }
}
