//! Objects, and what the machine has.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::process::Command;
use std::time::Duration;

use amplihack_session::{RunError, probe as ask};
use amplihack_utils::fs::create_private_dir;
use amplihack_utils::hex::hex;
use sha2::{Digest, Sha256};

use super::super::answer::is_digest;
use super::ground::{Done, Fault, Ground, fail};
use crate::protocol::VERSION;

/// How long a program may take to say its version.
const VERSION_TIME: Duration = Duration::from_secs(10);

pub(super) fn put(ground: &Ground, words: &[&str], stdin: &mut dyn Read) -> Done<String> {
    let Some(digest) = words.first().filter(|word| is_digest(word)) else {
        return fail(64, "put needs a digest");
    };
    let objects = ground.objects();
    let disk = Fault::disk(&objects);
    create_private_dir(&objects).map_err(&disk)?;
    let place = objects.join(digest);
    if !place.is_file() {
        let mut new = tempfile::Builder::new().prefix(".new.").tempfile_in(&objects).map_err(&disk)?;
        let mut hash = Sha256::new();
        copy(stdin, &mut hash, new.as_file_mut()).map_err(&disk)?;
        let found = hex(hash.finalize());
        if found != **digest {
            return fail(65, format!("the bytes are those of {found}"));
        }
        new.persist(place).map_err(|error| disk(error.error))?;
    }
    Ok("stored\n".to_owned())
}

fn copy(from: &mut dyn Read, hash: &mut Sha256, to: &mut fs::File) -> io::Result<()> {
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

pub(super) fn has(ground: &Ground, words: &[&str]) -> Done<String> {
    let mut text = String::new();
    for digest in words {
        if !is_digest(digest) {
            return fail(64, format!("'{digest}' is no digest"));
        }
        if ground.objects().join(digest).is_file() {
            text = text + digest + "\n";
        }
    }
    Ok(text)
}

pub(super) fn probe(ground: &Ground, words: &[&str]) -> Done<String> {
    let free = rustix::fs::statvfs(ground.root()).map_err(|error| {
        Fault::new(74, format!("{} cannot be looked at: {error}", ground.root().display()))
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
            return fail(64, "this is no program");
        }
        // Writing to a string does not fail.
        let _ = match version(ground, word) {
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
fn version(ground: &Ground, word: &str) -> Option<String> {
    let mut command = Command::new(word);
    command.arg("--version").env_clear().envs(ground.env.iter());
    let said = match ask(command, VERSION_TIME) {
        Ok(said) => [said.stdout, said.stderr].concat(),
        Err(RunError::Spawn { .. }) => return None,
        Err(_) => Vec::new(),
    };
    Some(String::from_utf8_lossy(&said).lines().next().unwrap_or_default().to_owned())
}
