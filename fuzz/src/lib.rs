//! Random mutation: seeds from the repository's test data, changed again and again, each given to one reader.
//!
//! The same `--seed` gives the same inputs. An input on which the reader panics or takes too long is written to `artifacts/`.

use std::fs;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use amplihack_sys::thread_cpu_time;

mod mutate;
mod scratch;
pub mod seeds;
pub mod words;

pub use mutate::Random;
pub use scratch::Scratch;

/// So many microseconds for each byte, and `first` milliseconds for each input.
pub fn linear(first: u64, each: u64, len: usize) -> Duration {
    Duration::from_millis(first) + Duration::from_micros(each) * u32::try_from(len).unwrap_or(u32::MAX)
}

/// What the command line asks for.
struct Options {
    seconds: u64,
    seed: u64,
    /// Inputs to run once, instead of random ones.
    files: Vec<PathBuf>,
}

/// One reader under test.
pub struct Target {
    /// Its name, for artifacts.
    pub name: &'static str,
    /// Inputs to begin with.
    pub seeds: Vec<Vec<u8>>,
    /// Pieces that mean something to it.
    pub dictionary: &'static [&'static str],
    /// Longest input.
    pub longest: usize,
    /// The most time that an input of this many bytes may take.
    pub most: fn(usize) -> Duration,
}

/// Runs `target` until the time is over; the exit code is 1 if anything was found.
pub fn run(mut target: Target, read: impl Fn(&[u8])) -> ExitCode {
    let options = options();
    let mut found = 0;
    if options.files.is_empty() {
        found = random(&mut target, &options, &read);
    }
    for file in &options.files {
        let input =
            fs::read(file).unwrap_or_else(|error| panic!("failed to read {}: {error}", file.display()));
        let why = attempt(&target, &input, &read);
        say(&format!("{}: {}", file.display(), why.as_deref().unwrap_or("fine")));
        found += usize::from(why.is_some());
    }
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn random(target: &mut Target, options: &Options, read: &impl Fn(&[u8])) -> usize {
    let artifacts = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(target.name);
    fs::create_dir_all(&artifacts).expect("the directory for artifacts can be made");
    let mut current = fs::File::create(artifacts.join("current")).expect("a file in it, too");
    let mut random = Random::new(options.seed);
    let (began, mut inputs, mut found, mut slowest) = (Instant::now(), 0_u64, 0, Duration::ZERO);
    while began.elapsed() < Duration::from_secs(options.seconds) {
        let input = random.input(&target.seeds, target.dictionary, target.longest);
        // If the process dies, this is what it died of.
        let _ =
            current.set_len(0).and_then(|()| std::os::unix::fs::FileExt::write_all_at(&current, &input, 0));
        let start = thread_cpu_time();
        let why = attempt(target, &input, read);
        slowest = slowest.max(thread_cpu_time().saturating_sub(start));
        inputs += 1;
        if let Some(why) = why {
            found += 1;
            let file = artifacts.join(format!("{found:03}"));
            fs::write(&file, &input).expect("an artifact can be written");
            say(&format!("{}: {why}", file.display()));
            if found >= 50 {
                break;
            }
        } else if input.len() < target.longest / 4 && random.below(64) == 0 {
            // What was read without harm is changed further.
            let at = random.below(target.seeds.len() * 2);
            if at < target.seeds.len() && target.seeds.len() > 2000 {
                target.seeds[at] = input;
            } else {
                target.seeds.push(input);
            }
        }
    }
    let _ = current.flush();
    say(&format!(
        "{}: {inputs} inputs in {:.0?}, {found} found, the slowest took {slowest:.1?}",
        target.name,
        began.elapsed()
    ));
    found
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Why an input is a find. The time is the processor's, and four times too slow is too slow: a busy machine may be so once.
fn attempt(target: &Target, input: &[u8], read: &impl Fn(&[u8])) -> Option<String> {
    let once = || {
        let start = thread_cpu_time();
        catch_unwind(AssertUnwindSafe(|| read(input))).map(|()| thread_cpu_time().saturating_sub(start))
    };
    let most = (target.most)(input.len());
    let mut took = once().map_err(|_| "panics".to_owned());
    for _ in 0..3 {
        if matches!(took, Ok(took) if took > most) {
            took = once().map_err(|_| "panics".to_owned());
        }
    }
    match took {
        Err(why) => Some(why),
        Ok(took) => (took > most).then(|| format!("{} bytes take {took:?}, more than {most:?}", input.len())),
    }
}

fn options() -> Options {
    let mut options = Options { seconds: 60, seed: 1, files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            words
                .next()
                .and_then(|value| value.parse().ok())
                .unwrap_or_else(|| panic!("{word} needs a number"))
        };
        match word.as_str() {
            "--seconds" => options.seconds = number(),
            "--seed" => options.seed = number(),
            _ => options.files.push(word.into()),
        }
    }
    options
}
