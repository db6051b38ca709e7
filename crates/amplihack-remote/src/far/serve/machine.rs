//! Objects, and what the machine has.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::process::Command;
use std::time::Duration;

use amplihack_session::{RunError, probe_program as ask};
use amplihack_sys::fs::create_private_dir;
use amplihack_sys::hex::to_hex;
use sha2::{Digest, Sha256};

use super::super::answer::is_digest;
use super::context::{RunnerContext, RunnerFault, RunnerResult, fail_verb};
use crate::protocol::VERSION;

/// Time for a program to report its version.
const VERSION_TIME: Duration = Duration::from_secs(10);

pub(super) fn store_object(
    ground: &RunnerContext,
    words: &[&str],
    stdin: &mut dyn Read,
) -> RunnerResult<String> {
    let Some(digest) = words.first().filter(|word| is_digest(word)) else {
        return fail_verb(64, "put needs a digest");
    };
    let objects = ground.objects_directory();
    let disk = RunnerFault::disk_fault(&objects);
    create_private_dir(&objects).map_err(&disk)?;
    let place = objects.join(digest);
    if !place.is_file() {
        let mut new = tempfile::Builder::new().prefix(".new.").tempfile_in(&objects).map_err(&disk)?;
        let mut hash = Sha256::new();
        copy_hashed(stdin, &mut hash, new.as_file_mut()).map_err(&disk)?;
        let found = to_hex(hash.finalize());
        if found != **digest {
            return fail_verb(65, format!("the bytes are those of {found}"));
        }
        new.persist(place).map_err(|error| disk(error.error))?;
    }
    Ok("stored\n".to_owned())
}

fn copy_hashed(from: &mut dyn Read, hash: &mut Sha256, to: &mut fs::File) -> io::Result<()> {
    let mut buffer = vec![0; 128 << 10];
    loop {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else { return Ok(()) };
        hash.update(part);
        to.write_all(part)?;
    }
}

pub(super) fn list_stored(ground: &RunnerContext, words: &[&str]) -> RunnerResult<String> {
    let mut text = String::new();
    for digest in words {
        if !is_digest(digest) {
            return fail_verb(64, format!("'{digest}' is no digest"));
        }
        if ground.objects_directory().join(digest).is_file() {
            text = text + digest + "\n";
        }
    }
    Ok(text)
}

pub(super) fn probe_machine(ground: &RunnerContext, words: &[&str]) -> RunnerResult<String> {
    let free = rustix::fs::statvfs(ground.root()).map_err(|error| {
        RunnerFault::new(74, format!("{} cannot be looked at: {error}", ground.root().display()))
    })?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!(
        "protocol {VERSION}\nmachine {}\nboot {}\ncores {cores}\nmemory_mb {}\nfree_mb {}\nhome {}\n",
        std::env::consts::ARCH,
        ground.boot,
        memory_mb(),
        (free.f_bavail * free.f_frsize) >> 20,
        ground.env.get("HOME").unwrap_or_default().display(),
    );
    for word in words {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+/-".contains(&byte);
        if word.is_empty() || word.starts_with('-') || !word.bytes().all(plain) {
            return fail_verb(64, "this is no program");
        }
        // Writing to a string does not fail.
        let _ = match program_version(ground, word) {
            Some(line) => writeln!(text, "program {word} {line}"),
            None => writeln!(text, "missing {word}"),
        };
    }
    Ok(text)
}

fn memory_mb() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok());
    total.unwrap_or(0_u64) / 1024
}

/// The first line of what a program says of its version; `None` if there is no such program. Some say it on the other output, some
/// say nothing, and some wait for an answer.
fn program_version(ground: &RunnerContext, word: &str) -> Option<String> {
    let mut command = Command::new(word);
    command.arg("--version").env_clear().envs(ground.env.iter());
    let said = match ask(command, VERSION_TIME) {
        Ok(said) => [said.stdout, said.stderr].concat(),
        Err(RunError::Spawn { .. }) => return None,
        Err(_) => Vec::new(),
    };
    Some(String::from_utf8_lossy(&said).lines().next().unwrap_or_default().to_owned())
}
