//! The one-time yes as two sides see it: calls that are stopped, and the person who grants them.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;

use proptest::prelude::*;

use super::*;

const CWD: &str = "/home/u/proj";

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(500_000)
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn offered(home: &Path, script: &str) -> Id {
    offer(home, script.as_bytes(), Path::new(CWD), now()).unwrap()
}

fn taken(home: &Path, script: &str) -> bool {
    take(home, script.as_bytes(), Path::new(CWD), None, now())
}

#[test]
fn a_granted_call_goes_through_once_and_only_that_call() {
    let home = home();
    let home = home.path();
    assert!(!taken(home, "rm -rf /"), "nothing is granted");
    let id = offered(home, "rm -rf /");
    assert!(!taken(home, "rm -rf /"), "an offer is no grant");
    let pending = grant(home, id.as_str(), now()).unwrap();
    assert_eq!(
        (pending.command.as_str(), &*pending.cwd, pending.until),
        ("rm -rf /", Path::new(CWD), now() + GRANTED_FOR)
    );
    assert!(!taken(home, "rm -rf / "), "another command");
    assert!(!take(home, b"rm -rf /", Path::new("/home/u"), None, now()), "another directory");
    assert!(taken(home, "rm -rf /"));
    assert!(!taken(home, "rm -rf /"), "used up");
    assert!(!store::grants(home).exists(), "the next call looks once");
    assert!(matches!(grant(home, id.as_str(), now()), Err(OnceError::Unknown { .. })), "granted once");
}

#[test]
fn a_host_may_ask_twice_about_one_tool_call() {
    let home = home();
    let home = home.path();
    let asks = |session: &str, id: &str, now| {
        let asker = Asker::new(Some(session), Some(id)).unwrap();
        take(home, b"reboot", Path::new(CWD), Some(&asker), now)
    };
    let id = offered(home, "reboot");
    assert!(!asks("s", "call-1", now()), "an offer is no grant");
    grant(home, id.as_str(), now()).unwrap();
    assert!(asks("s", "call-1", now()) && asks("s", "call-1", now()));
    assert!(!asks("s", "call-2", now()), "another call");
    assert!(!asks("t", "call-1", now()), "another session");
    assert!(!taken(home, "reboot"), "a call without a name");
    assert!(!asks("s", "call-1", now() + GRANTED_FOR));
    assert!(!store::grants(home).exists(), "the next call looks once");
    for (session, id) in [(None, Some("c")), (Some("s"), None), (Some(""), Some("c"))] {
        assert_eq!(Asker::new(session, id), None);
    }
}

#[test]
fn time_ends_offers_and_grants() {
    let home = home();
    let home = home.path();
    let cwd = Path::new(CWD);
    let id = offered(home, "reboot");
    assert!(matches!(grant(home, id.as_str(), now() + OFFERED_FOR), Err(OnceError::Expired { .. })));
    let id = offered(home, "reboot");
    grant(home, id.as_str(), now()).unwrap();
    assert!(!take(home, b"reboot", cwd, None, now() + GRANTED_FOR));
    let id = offered(home, "reboot");
    grant(home, id.as_str(), now()).unwrap();
    assert!(
        !take(home, b"reboot", cwd, None, now() - Duration::from_secs(1)),
        "a clock that was set back gives nothing"
    );
    let id = offered(home, "reboot");
    grant(home, id.as_str(), now()).unwrap();
    assert!(take(home, b"reboot", cwd, None, now() + GRANTED_FOR - Duration::from_secs(1)));
}

#[test]
fn what_cannot_be_read_is_a_newer_versions_until_its_time_is_over() {
    let home = home();
    let home = home.path();
    let now = SystemTime::now();
    let later = |lasts: Duration| now + lasts + Duration::from_secs(2);
    let id = offer(home, b"reboot", Path::new(CWD), now).unwrap();
    let newer = store::offer(home, &id);
    fs::write(&newer, r#"{"schema_version":2,"call":{}}"#).unwrap();
    offer(home, b"halt", Path::new(CWD), now).unwrap();
    assert!(newer.exists(), "another call is stopped");
    assert!(matches!(grant(home, id.as_str(), now), Err(OnceError::Unknown { .. })));
    assert!(newer.exists(), "it cannot be granted, and stays");
    offer(home, b"halt", Path::new(CWD), later(OFFERED_FOR));
    assert!(!newer.exists(), "its day is over");

    let used = store::grants(home).join("0123.s");
    fs::create_dir_all(store::grants(home)).unwrap();
    fs::write(&used, "[]").unwrap();
    let asker = Asker::new(Some("s"), Some("c"));
    take(home, b"ls", Path::new(CWD), asker.as_ref(), now);
    assert!(used.exists());
    take(home, b"ls", Path::new(CWD), asker.as_ref(), later(GRANTED_FOR));
    assert!(!used.exists());
}

#[test]
fn offers_are_private_few_and_without_credentials() {
    let home = home();
    let home = home.path();
    let token = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let id = offered(home, &format!("curl -H 'Authorization: Bearer {token}' https://x.example"));
    let path = store::offer(home, &id);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!fs::read_to_string(&path).unwrap().contains(&token));
    assert_eq!(offered(home, "reboot"), offered(home, "reboot"), "a call that is tried again keeps its id");
    for number in 0..OFFERS as u64 * 2 {
        let at = now() + Duration::from_secs(number);
        offer(home, format!("kill {number}").as_bytes(), Path::new(CWD), at).unwrap();
    }
    let last = format!("kill {}", OFFERS * 2 - 1);
    assert_eq!(store::offers(home, now() + Duration::from_hours(1)).len(), OFFERS);
    assert!(grant(home, offered_at(home, &last).as_str(), now() + Duration::from_hours(1)).is_ok());
    // All but what is made now is over.
    offer(home, b"reboot", Path::new(CWD), now() + OFFERED_FOR * 2).unwrap();
    assert_eq!(
        fs::read_dir(home.join("once"))
            .unwrap()
            .filter(|item| item.as_ref().unwrap().path().is_file())
            .count(),
        1
    );
}

fn offered_at(home: &Path, script: &str) -> Id {
    offer(home, script.as_bytes(), Path::new(CWD), now() + Duration::from_hours(1)).unwrap()
}

#[test]
fn of_many_equal_calls_at_the_same_time_one_gets_the_grant() {
    let home = home();
    let home = home.path();
    for _ in 0..20 {
        let id = offered(home, "reboot");
        let start = Barrier::new(8);
        let grants = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        grant(home, id.as_str(), now()).is_ok()
                    })
                })
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).filter(|done| *done).count()
        });
        assert_eq!(grants, 1);
        let takers = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        taken(home, "reboot")
                    })
                })
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).filter(|done| *done).count()
        });
        assert_eq!(takers, 1);
    }
}

#[test]
fn what_is_no_id_leads_nowhere() {
    let home = home();
    for text in ["", "../../x", "7f", "0123456789ab", "01234567-89AB", "01234567-89ab.claimed", "granted"] {
        assert!(matches!(grant(home.path(), text, now()), Err(OnceError::NoId { .. })), "{text}");
    }
    assert!(matches!(grant(home.path(), "01234567-89ab", now()), Err(OnceError::Unknown { .. })));
    assert!(!home.path().join("once").exists());
    // A home that cannot hold anything keeps the call stopped.
    assert_eq!(offer(Path::new("/dev/null"), b"x", Path::new(CWD), now()), None);
}

#[test]
fn a_session_is_known_by_its_marks() {
    for name in [
        "AMPLIHACK_SESSION_ID",
        "CLAUDECODE",
        "CLAUDE_CODE_SESSION_ID",
        "CODEX_MANAGED_BY_NPM",
        "CODEX_SANDBOX",
        "COPILOT_CLI",
        "COPILOT_AGENT_SESSION_ID",
    ] {
        assert_eq!(
            session_mark(&Env::empty().with("HOME", "/h").with(name, "1")).as_deref(),
            Some(name.as_ref()),
            "{name}"
        );
    }
    let free = Env::empty()
        .with("HOME", "/h")
        .with("CODEX_HOME", "/c")
        .with("COPILOT_MODEL", "m")
        .with("AMPLIHACK_AGENT_BINARY", "codex");
    assert_eq!(session_mark(&free), None);
}

proptest! {
    #[test]
    fn a_grant_is_for_one_command_in_one_directory(a in "[a-z /]{0,12}", b in "[a-z /]{0,12}", dir in "/[a-z/]{0,8}", other in "/[a-z/]{0,8}") {
        let same = (&a, &dir) == (&b, &other);
        prop_assert_eq!(store::hash(a.as_bytes(), Path::new(&dir)) == store::hash(b.as_bytes(), Path::new(&other)), same);
    }
}
