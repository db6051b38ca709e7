//! Speed of decoding a recorded stream: `decode_speed AGENT FILE [PASSES]`, in MB/s by the clock, best of five passes unless told otherwise.

use std::error::Error;
use std::fs::File;
use std::io::{Read as _, Write as _};

use amplihack_agent::AgentBinary;
use amplihack_agent::decode::new_decoder;
use amplihack_agent::framer::{Framer, StreamFrame};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(agent), Some(file)) = (words.next(), words.next()) else {
        return Err("say which agent and which file".into());
    };
    let agent = agent.parse::<AgentBinary>()?;
    let passes: usize = words.next().map_or(Ok(5), |word| word.parse())?;
    let mut best = f64::INFINITY;
    let (mut bytes, mut events) = (0, 0);
    for _ in 0..passes {
        let started = std::time::Instant::now();
        (bytes, events) = run(agent, &file)?;
        best = best.min(started.elapsed().as_secs_f64());
    }
    #[expect(clippy::cast_precision_loss, reason = "a file is smaller than that")]
    let speed = bytes as f64 / 1e6 / best;
    writeln!(std::io::stdout(), "{bytes} bytes, {events} events, {best:.3} s, {speed:.0} MB/s")?;
    Ok(())
}

fn run(agent: AgentBinary, file: &str) -> Result<(usize, usize), Box<dyn Error>> {
    let (mut framer, mut decoder) = (Framer::default(), new_decoder(agent));
    let (mut file, mut chunk) = (File::open(file)?, vec![0; 64 * 1024]);
    let (mut bytes, mut count, mut events) = (0, 0, Vec::new());
    let mut take = |frame: StreamFrame<'_>| {
        if let StreamFrame::Line(line) = frame {
            decoder.decode_line(line, &mut events);
            count += events.len();
            events.clear();
        }
    };
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        bytes += read;
        framer.push(chunk.get(..read).unwrap_or_default(), &mut take);
    }
    framer.finish(&mut take);
    let _ = decoder.finish(None);
    Ok((bytes, count))
}
