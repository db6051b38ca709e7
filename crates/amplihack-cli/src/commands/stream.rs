//! `amplihack stream`: recorded output of agents, as events.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_agent::decode::new_decoder;
use amplihack_agent::event::Envelope;
use amplihack_agent::reader::AgentStreamReader;
use clap::{Args, Subcommand};
use jiff::Timestamp;

use crate::ui::{self, CommandFailure, json_line};

/// As much as is read at once.
const CHUNK: usize = 64 * 1024;

/// Commands about recorded output.
#[derive(Debug, Subcommand)]
pub(crate) enum StreamCommand {
    /// Print the events of a recorded stream, one JSON object per line
    Decode(DecodeArgs),
}

// Options of `stream decode`.
#[derive(Debug, Args)]
pub(crate) struct DecodeArgs {
    /// The agent that wrote the recording
    #[arg(long, value_name = "AGENT", value_parser = crate::cli::parse_agent_name)]
    agent: AgentBinary,
    /// Include the agent's own line in each event
    #[arg(long)]
    include_raw: bool,
    /// The recording; - is stdin
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

/// Runs the command and returns the exit code.
pub(crate) fn run_stream_command(command: StreamCommand) -> Result<u8, CommandFailure> {
    let StreamCommand::Decode(args) = command;
    let mut input: Box<dyn Read> = if args.file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let open = File::open(&args.file);
        Box::new(open.map_err(|error| {
            CommandFailure::from_io_error(&format!("{} cannot be read", args.file.display()), &error)
        })?)
    };
    let mut reader = AgentStreamReader::new(new_decoder(args.agent), args.include_raw);
    let mut events = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = match input.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CommandFailure::from_io_error("the recording cannot be read", &error)),
        };
        if count == 0 {
            break;
        }
        reader.push(chunk.get(..count).unwrap_or_default(), Timestamp::now(), &mut events);
        print_events(&mut events)?;
    }
    // How its process ended, nobody knows.
    let end = reader.finish(None, Timestamp::now(), &mut events);
    let success = end.is_success();
    reader.number_end(end, Timestamp::now(), &mut events);
    print_events(&mut events)?;
    Ok(u8::from(!success))
}

fn print_events(events: &mut Vec<Envelope>) -> Result<(), CommandFailure> {
    let mut text = String::new();
    for event in events.drain(..) {
        text += &json_line(&event)?;
    }
    ui::print_data(&text)
}
