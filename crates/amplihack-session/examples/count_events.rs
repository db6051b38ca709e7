//! Number of events of a run of any agent, and the time of the first one in microseconds: `count_events AGENT PROGRAM ARGS…`.
//!
//! `cargo xtask bench` measures it beside the SDKs of agents; `PROGRAM` plays a recording.

use std::error::Error;
use std::io::Write;
use std::process::Command;
use std::time::Instant;

use amplihack_agent::AgentBinary;
use amplihack_agent::decode::new_decoder;
use amplihack_session::{ChildInput, EventReading, EventRun, RunSpec};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(agent), Some(program)) = (words.next(), words.next()) else {
        return Err("say which agent and which program".into());
    };
    let agent = agent.parse::<AgentBinary>()?;
    let mut command = Command::new(program);
    command.args(words);
    let spec = RunSpec { stdin: ChildInput::Bytes(b"go\n".to_vec()), ..RunSpec::new(command) };
    let started = Instant::now();
    let (mut count, mut first) = (0_usize, None);
    let mut run = EventRun::start(spec, EventReading::new(new_decoder(agent))).await?;
    while run.next().await?.is_some() {
        count += 1;
        first.get_or_insert_with(|| started.elapsed());
    }
    let end = run.wait().await?;
    if !end.is_success() {
        return Err(format!("it ended as {end:?}").into());
    }
    writeln!(std::io::stdout(), "{count} {}", first.unwrap_or_default().as_micros())?;
    Ok(())
}
