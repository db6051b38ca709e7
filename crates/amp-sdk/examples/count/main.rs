//! Number of messages of a run, and the time of the first one in microseconds: `count CLI [RUNS]`, with so many runs at once.
//!
//! `cargo xtask bench` measures it beside the other SDKs; `CLI` is a program that plays a recording.

use std::io::Write;
use std::time::{Duration, Instant};

use amp_sdk::{Options, execute};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let cli = words.next().ok_or("say which CLI")?;
    let runs: usize = words.next().map_or(Ok(1), |word| word.parse())?;
    let options = Options::default().with_cli_path(cli);
    let mut set = tokio::task::JoinSet::new();
    for _ in 0..runs {
        set.spawn(count(options.clone()));
    }
    let (mut messages, mut first) = (0, Duration::ZERO);
    while let Some(run) = set.join_next().await {
        let (count, came) = run??;
        messages += count;
        first = first.max(came);
    }
    writeln!(std::io::stdout(), "{messages} {}", first.as_micros())?;
    Ok(())
}

async fn count(options: Options) -> amp_sdk::Result<(usize, Duration)> {
    let started = Instant::now();
    let (mut count, mut first) = (0, None);
    let mut messages = execute("go", options);
    while let Some(message) = messages.next().await {
        message?;
        count += 1;
        first.get_or_insert_with(|| started.elapsed());
    }
    Ok((count, first.unwrap_or_default()))
}
