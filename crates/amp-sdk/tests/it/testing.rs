//! The fake CLI itself.

use std::time::{Duration, Instant};

use amp_sdk::testing::{FakeAmp, FakeReply};
use amp_sdk::{threads, usage};

#[test]
fn a_fake_notes_down_every_byte_that_it_was_told() {
    let fake = FakeAmp::new().build().unwrap();
    let mut amp = fake.amp_context();
    amp.options.env.insert("AMP_API_KEY".into(), "k  'ey\"".into());
    amp.options.cwd = Some(fake.home());
    amp.stdin = Some("line\n\n 'end".into());
    threads::blocking::rename(&amp, "T-1", "a  'b'\n\"$HOME\" \\ é").unwrap();
    let calls = fake.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].args, ["threads", "rename", "T-1", "a  'b'\n\"$HOME\" \\ é"]);
    assert_eq!(calls[0].stdin, "line\n\n 'end");
    assert_eq!(calls[0].env["AMP_API_KEY"], "k  'ey\"");
    assert_eq!(calls[0].cwd, fake.home().canonicalize().unwrap());
    let version = format!("rust-{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(calls[0].env["AMP_SDK_VERSION"], version);
}

#[test]
fn runs_are_answered_one_after_another_and_the_last_one_stays() {
    let said = |text: &str| FakeReply::new().text(text);
    let fake = FakeAmp::new().with_run(said("one")).with_run(said("two")).build().unwrap();
    let ask = || usage::blocking::usage(&fake.amp_context(), &usage::UsageRange::default()).unwrap();
    assert_eq!([ask(), ask(), ask()], ["one", "two", "two"]);
}

#[test]
fn many_fakes_are_made_and_called_at_the_same_time() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let fake = FakeAmp::new().build().unwrap();
                    assert_eq!(
                        threads::blocking::new(&fake.amp_context(), None).unwrap(),
                        amp_sdk::testing::THREAD
                    );
                    let dir = fake.path().parent().unwrap().to_owned();
                    drop(fake);
                    assert!(!dir.exists());
                }
            });
        }
    });
}

#[test]
fn a_fake_that_is_deaf_and_slow_is_both() {
    let fake = FakeAmp::new()
        .with_run(FakeReply::new().ignore_stdin().pause(Duration::from_millis(300)).text("x"))
        .build()
        .unwrap();
    let mut amp = fake.amp_context();
    amp.stdin = Some(vec![b'x'; 2_000_000]);
    let started = Instant::now();
    assert_eq!(usage::blocking::usage(&amp, &usage::UsageRange::default()).unwrap(), "x");
    assert!(started.elapsed() >= Duration::from_millis(300));
}
