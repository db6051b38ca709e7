//! Exported pages in a real browser: it shows them, says nothing, asks for nothing, and runs nothing out of them.

use std::fs;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Browser, Look, Sandbox};

use crate::auto;
use crate::export::{exported, hostile, recorded};

/// Where pictures are left for people.
fn pictures() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export");
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// What `browser` makes of the page of the session `id`; a picture of it is left as `name`.
fn seen(browser: &Browser, sandbox: &Sandbox, id: &str, name: &str) -> Look {
    let page = exported(sandbox, id, &["--html"]);
    let html = page.with_extension("html");
    fs::rename(page, &html).unwrap();
    let scratch = sandbox.root().join("browser");
    fs::create_dir(&scratch).unwrap();
    for (dark, suffix) in [(false, "light"), (true, "dark")] {
        let picture = pictures().join(format!("{name}-{suffix}.png"));
        browser.picture(&html, &scratch, &picture, dark);
        assert!(fs::read(picture).unwrap().starts_with(b"\x89PNG"));
    }
    browser.look(&html, &scratch)
}

fn count(look: &Look, element: &str) -> usize {
    let open = |end: &str| look.dom.matches(&format!("<{element}{end}")).count();
    open(">") + open(" ")
}

#[test]
fn a_browser_shows_the_page_and_says_nothing() {
    let Some(browser) = Browser::find() else { return };
    for (agent, name) in [
        ("claude", "claude-2.1.332.jsonl"),
        ("codex", "codex-0.171.0.jsonl"),
        ("copilot", "copilot-1.0.102.jsonl"),
    ] {
        let sandbox = recorded(agent, name);
        let look = seen(&browser, &sandbox, "latest", agent);
        assert_eq!((&look.console[..], &look.requests[..]), (&[][..], &[][..]), "{agent}");
        assert!(look.dom.contains(&format!("<title>Session of {agent}: success</title>")), "{}", look.dom);
        let events = fs::read_dir(sandbox.home().join(".amplihack/sessions"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path()
            .join("events.jsonl");
        let events = fs::read_to_string(events).unwrap().lines().count();
        assert!(look.dom.contains(&format!("<dt>Events</dt><dd>{events}</dd>")), "{events}: {}", look.dom);
        assert_eq!((count(&look, "main"), count(&look, "h1"), count(&look, "style")), (1, 1, 1));
    }
}

#[test]
fn nothing_of_a_hostile_run_runs_or_is_loaded() {
    let Some(browser) = Browser::find() else { return };
    let look = seen(&browser, &hostile(), "latest", "hostile");
    assert_eq!((&look.console[..], &look.requests[..]), (&[][..], &[][..]));
    assert!(look.dom.contains("<title>Session of claude: success</title>"), "{}", look.dom);
    assert_eq!(["script", "img", "iframe"].map(|element| count(&look, element)), [0, 0, 0], "{}", look.dom);
    assert_eq!(["style", "main"].map(|element| count(&look, element)), [1, 1], "{}", look.dom);
}

#[test]
fn a_browser_shows_an_unattended_run() {
    let Some(browser) = Browser::find() else { return };
    let sandbox = auto::claude(
        "say working; printf 'one\\ntwo\\n' > new.txt; call x 'cargo test --workspace' false; call y 'ls /nowhere' true; say 'I wrote the file and looked at it.' b; result done",
    );
    auto::auto(&sandbox, &["--verify", "test -f new.txt", "--permissions", "edit"]).output().assert_code(0);
    let id = auto::directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    let look = seen(&browser, &sandbox, &id, "auto");
    assert_eq!((&look.console[..], &look.requests[..]), (&[][..], &[][..]));
    assert_eq!(count(&look, "ins"), 2, "{}", look.dom);
}

/// The checks above can fail.
#[test]
fn a_browser_tells_what_a_bad_page_does() {
    let Some(browser) = Browser::find() else { return };
    let sandbox = Sandbox::new();
    let page = sandbox.write(
        "bad.html",
        "<!doctype html><title>good</title><img src=http://127.0.0.1:9/x.png><script>document.title='pwned';console.log('hello')</script>",
    );
    let scratch = sandbox.root().join("browser");
    fs::create_dir(&scratch).unwrap();
    let look = browser.look(&page, &scratch);
    assert!(look.dom.contains("<title>pwned</title>"), "{}", look.dom);
    assert_eq!(look.console.len(), 1, "{look:?}");
    assert_eq!(look.requests, ["http://127.0.0.1:9/x.png"]);
}
