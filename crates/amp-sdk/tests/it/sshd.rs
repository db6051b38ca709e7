//! The ssh surface against a real ssh server on loopback.

use std::time::Duration;

use amp_sdk::testing::{FakeAmp, FakeReply, InstalledFake};
use amp_sdk::{ExecutionSurface, Options, SshSurface, execute};
use amplihack_testkit::Sshd;
use amplihack_testkit::procs::{assert_none_soon, with_marker};

use crate::fake::block_on;

/// Options that lead to `fake` through a server; `None` where there is none.
fn through(fake: &InstalledFake) -> Option<(Sshd, Options)> {
    let bin = fake.path().parent().unwrap().display();
    let server = Sshd::start(&[("PATH", &format!("{bin}:/usr/bin:/bin")), ("HOME", &format!("{bin}/home"))])?;
    let ssh = SshSurface::new("127.0.0.1")
        .with_port(server.port())
        .with_identity_file(server.key())
        .with_options(server.options());
    let mut options = fake.options().with_execution_surface(ExecutionSurface::Ssh(ssh));
    options.cli_path = None;
    Some((server, options))
}

/// A word that every process of the fake has in its environment or its command line.
fn marker(fake: &InstalledFake) -> String {
    fake.path().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_prompt_reaches_another_machine_byte_for_byte() {
    let fake = FakeAmp::new().with_run(FakeReply::success("over there")).build().unwrap();
    let Some((_server, options)) = through(&fake) else { return };
    let prompt = "--it's \"quoted\" $(touch /nowhere) `id` \\ \\n $HOME\n\n  two lines\u{e9}\u{1f980}\t\n";
    let options = options
        .with_labels(["a-label"])
        .with_mode("o'dd \"$(id)\"")
        .with_env([("AMP_API_KEY", "key with 'quotes' $HOME")]);
    assert_eq!(block_on(amp_sdk::run(prompt, options)).unwrap(), "over there");
    let calls = fake.calls();
    let [call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(call.stdin, prompt);
    assert_eq!(call.args, ["--execute", "--stream-json", "--mode", "o'dd \"$(id)\"", "--label", "a-label"]);
    assert_eq!(call.env["AMP_API_KEY"], "key with 'quotes' $HOME");
    assert_none_soon(&marker(&fake), Duration::from_secs(10));
}

#[test]
fn codes_and_words_of_the_other_machine_come_back() {
    let reply = FakeReply::new().stderr("Error: Not authenticated.\n").exit(1);
    let fake = FakeAmp::new().with_run(reply).build().unwrap();
    let Some((server, options)) = through(&fake) else { return };
    let error = block_on(amp_sdk::run("x", options.clone())).unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), ("auth_error", Some(1)), "{error:?}");
    std::fs::remove_file(fake.path()).unwrap();
    let error = block_on(amp_sdk::run("x", options.clone())).unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), ("cli_not_found", Some(127)), "{error:?}");
    drop(server);
    let error = block_on(amp_sdk::run("x", options)).unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), ("transport_exit", Some(255)), "{error:?}");
}

/// Without a terminal, a server tells a command nothing when its connection is gone.
#[test]
fn a_dropped_stream_leaves_nothing_on_the_other_machine() {
    let silent = FakeReply::new().init().pause(Duration::from_mins(1));
    let fake = FakeAmp::new().with_run(silent).build().unwrap();
    let Some((_server, options)) = through(&fake) else { return };
    block_on(async {
        let mut stream = execute("x", options);
        stream.next().await.unwrap().unwrap();
        let marker = marker(&fake);
        let sleeps = |argv: &[amplihack_testkit::Bytes]| argv.first().is_some_and(|word| *word == *"sleep");
        assert!(with_marker(&marker).iter().any(|process| sleeps(&process.argv)), "it does not run there");
        drop(stream);
    });
    assert_none_soon(&marker(&fake), Duration::from_secs(20));
}
