//! Threads by the functions of the document.

use amp_sdk::testing::{FakeAmp, FakeReply};
use amp_sdk::{blocking, threads};

const ID: &str = "T-abc123-def456";

#[test]
fn a_new_thread_is_its_id() {
    for printed in
        [format!("{ID}\n"), format!("https://ampcode.com/threads/{ID}\n"), format!("Created {ID}.\n")]
    {
        let fake = FakeAmp::new()
            .with_command(&["threads", "new"], FakeReply::new().text(&*printed))
            .build()
            .unwrap();
        assert_eq!(threads::blocking::new(&fake.amp_context(), None).unwrap(), ID, "{printed}");
        assert_eq!(fake.calls()[0].args, ["threads", "new"]);
    }
    let fake =
        FakeAmp::new().with_command(&["threads", "new"], FakeReply::new().text("no id")).build().unwrap();
    assert_eq!(threads::blocking::new(&fake.amp_context(), None).unwrap_err().kind(), "parse_error");
}

#[test]
fn a_new_thread_may_be_private() {
    let fake = FakeAmp::new().build().unwrap();
    threads::blocking::new(&fake.amp_context(), Some(amp_sdk::visibility::PRIVATE)).unwrap();
    assert_eq!(fake.calls()[0].args, ["threads", "new", "--visibility", "private"]);
}

#[test]
fn a_thread_is_exported_as_markdown() {
    let reply = FakeReply::new().text("# Title\n\n  text\n");
    let fake = FakeAmp::new().with_command(&["threads", "markdown"], reply).build().unwrap();
    assert_eq!(threads::blocking::markdown(&fake.amp_context(), ID).unwrap(), "# Title\n\n  text");
    assert_eq!(fake.calls()[0].args, ["threads", "markdown", ID]);
}

#[test]
fn a_new_thread_is_run_against_and_goes_on() {
    let fake = FakeAmp::new().build().unwrap();
    let thread = threads::blocking::new(&fake.amp_context(), Some("private")).unwrap();
    for prompt in ["Analyze the codebase", "Now implement the changes we discussed"] {
        blocking::run(prompt, fake.options().with_continue_thread(thread.clone())).unwrap();
    }
    for call in &fake.calls()[1..] {
        assert_eq!(call.args[..3], ["threads", "continue", &*thread]);
    }
}
