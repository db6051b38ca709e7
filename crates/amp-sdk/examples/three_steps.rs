//! Three steps on one thread: analyse, implement, test. The thread is made first, so that each step names it.

mod common;

use amp_sdk::testing::{FakeAmp, FakeReply};
use amp_sdk::{AmpContext, ContinueThread, run, threads, visibility};
use common::{cli, say};

#[tokio::main(flavor = "current_thread")]
async fn main() -> amp_sdk::Result<()> {
    let steps = FakeAmp::new()
        .with_run(FakeReply::success("The parser accepts empty names."))
        .with_run(FakeReply::success("Empty names are refused now."))
        .with_run(FakeReply::success("Two tests added; both pass."));
    let (given, fake) = cli(steps)?;
    let thread = threads::new(&AmpContext::from(given.clone()), Some(visibility::PRIVATE)).await?;
    say(format_args!("thread {thread}\n"));
    for step in [
        "Analyse src/auth.rs for improvements",
        "Implement the improvements you identified",
        "Write tests for the changes you made",
    ] {
        let options = given.clone().with_continue_thread(ContinueThread::Id(thread.clone()));
        say(format_args!("\n> {step}\n{}\n", run(step, options).await?));
    }
    // The fake noted down how it was called.
    for call in fake.iter().flat_map(amp_sdk::testing::InstalledFake::calls).skip(1) {
        say(format_args!("amp {}\n", call.args.join(" ")));
    }
    Ok(())
}
