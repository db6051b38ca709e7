//! Scripts that are made to keep the judging of them busy: how much of the world is asked, counted, and that a deadline is kept.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_policy::rules::ExampleWorld;
use amplihack_policy::{Event, Policy, World};
use amplihack_shell::Limits;
use amplihack_sys::thread_cpu_time;
use amplihack_testkit::hostile;
use amplihack_verdict::Decision;

/// A machine that counts what it is asked.
#[derive(Default)]
struct Counting {
    asked: Cell<usize>,
}

impl Counting {
    fn asked<T>(&self, answer: T) -> T {
        self.asked.set(self.asked.get() + 1);
        answer
    }
}

impl World for Counting {
    fn branch(&self, _: &Path) -> Option<String> {
        self.asked(Some("feature/x".to_owned()))
    }

    fn dirty(&self, _: &Path) -> Option<bool> {
        self.asked(Some(false))
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        self.asked(Some(path.to_path_buf()))
    }

    fn home(&self) -> Option<PathBuf> {
        Some(PathBuf::from("/home/u"))
    }

    fn state_directories(&self) -> Vec<PathBuf> {
        vec![PathBuf::from("/home/u/.amplihack")]
    }

    fn git_alias(&self, _: &Path, _: &str) -> Option<String> {
        self.asked(None)
    }
}

fn patient() -> Limits {
    Limits { deadline: Duration::from_mins(1), ..Limits::default() }
}

#[test]
fn the_world_is_asked_only_by_rules_that_need_it() {
    for (script, most) in [
        ("ls -la", 0),
        ("cargo test 2>&1 | tail -20", 0),
        ("curl -s https://example.com | jq .", 0),
        ("git status; git log; git diff", 0),
        ("git commit -m x", 1),
        ("rm -rf target", 4),
    ] {
        let world = Counting::default();
        let event = Event::Shell { script: script.as_bytes(), cwd: Path::new(ExampleWorld::CWD) };
        let verdict = Policy::with_builtin_rules().judge(&event, &world, &patient());
        assert_eq!(verdict.decision, Decision::None, "{script}");
        assert!(world.asked.get() <= most, "{script}: asked {} times", world.asked.get());
    }
}

#[test]
fn whatever_keeps_a_reader_busy_is_stopped_in_time() {
    // Without optimisation everything takes longer, so that the bound is wide; what does not look at the clock passes it by far.
    let limits = Limits { deadline: Duration::from_millis(50), ..Limits::default() };
    for (name, script) in hostile::scripts(64 << 10) {
        let event = Event::Shell { script: script.as_bytes(), cwd: Path::new(ExampleWorld::CWD) };
        let before = thread_cpu_time();
        let verdict = Policy::with_builtin_rules().judge(&event, &ExampleWorld::default(), &limits);
        let took = thread_cpu_time().saturating_sub(before);
        assert!(took < 10 * limits.deadline, "{name}: {took:?}, {}", verdict.decision);
        assert_eq!(verdict.decision == Decision::None, verdict.reason.is_empty(), "{name}");
    }
}

#[test]
fn a_deadline_that_is_over_ends_in_a_deny_with_its_reason() {
    let limits = Limits { deadline: Duration::ZERO, ..Limits::default() };
    for (name, script) in hostile::scripts(2000) {
        if name == "comments" {
            continue;
        }
        let event = Event::Shell { script: script.as_bytes(), cwd: Path::new(ExampleWorld::CWD) };
        let verdict = Policy::with_builtin_rules().judge(&event, &ExampleWorld::default(), &limits);
        assert_eq!(verdict.decision, Decision::Deny, "{name}");
        assert!(verdict.reason.starts_with("cannot tell what this would do: "), "{name}: {}", verdict.reason);
    }
}

#[test]
fn places_are_within_the_script() {
    for script in ["kill -9 $(x \"a|| b\"c<<{a,b}< '/' | xargs rm -fr)", "cat <<{a", "cat <<'"] {
        let verdict = Policy::with_builtin_rules().judge(
            &Event::Shell { script: script.as_bytes(), cwd: Path::new("/b/p") },
            &Counting::default(),
            &Limits::default(),
        );
        assert!(verdict.spans.iter().all(|span| span.end <= script.len()), "{script}: {:?}", verdict.spans);
    }
}
