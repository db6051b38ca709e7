//! A session as the far side reads it on stdin.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use amplihack_config::secret::Secret;

use crate::error::RemoteError;
use crate::git::is_object_id;
use crate::protocol::SessionSpec;
use crate::session::is_session_id;

use super::answer::is_digest;

/// A session in memory, under a name that other programs of this user can open. It is on no disk, and gone with this value.
pub(super) struct EncodedSession {
    file: File,
}

impl EncodedSession {
    /// Path of the session in memory, valid as long as this value lives.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }
}

/// Checks and writes a session, with its key.
pub(super) fn encode_session(
    spec: &SessionSpec,
    key: Option<&Secret>,
) -> Result<EncodedSession, RemoteError> {
    check_spec(spec, key)?;
    let memory =
        rustix::fs::memfd_create("session", rustix::fs::MemfdFlags::CLOEXEC).map_err(io::Error::from);
    let written = memory.and_then(|memory| {
        let mut file = File::from(memory);
        write_session(&mut file, spec, key)?;
        Ok(EncodedSession { file })
    });
    written.map_err(|error| {
        RemoteError::Packaging(format!("the session cannot be held in memory: {error}").into())
    })
}

fn write_session(out: &mut File, spec: &SessionSpec, key: Option<&Secret>) -> io::Result<()> {
    let mut head = Vec::new();
    let mut line = |name: &str, value: &str| head.extend_from_slice(format!("{name} {value}\n").as_bytes());
    if let Some(name) = &spec.key_name {
        line("key_name", name);
    }
    for bundle in spec.bases.iter().chain([&spec.bundle]) {
        line("bundle", bundle);
    }
    if let Some(extra) = &spec.extra {
        line("extra", extra);
    }
    line("base", &spec.base);
    line("branch", &spec.branch);
    if let Some(seconds) = spec.timeout_seconds {
        line("timeout", &seconds.to_string());
    }
    out.write_all(key.map_or("", Secret::expose).as_bytes())?;
    out.write_all(b"\n")?;
    out.write_all(&head)?;
    for arg in &spec.argv {
        out.write_all(format!("arg {}\n{arg}\n", arg.len()).as_bytes())?;
    }
    for (name, value) in &spec.env {
        out.write_all(format!("env {} {name}\n", value.expose().len()).as_bytes())?;
        out.write_all(value.expose().as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.write_all(b"prompt\n")?;
    out.write_all(&spec.prompt)
}

/// Refuses everything that the far side would refuse, with the name of the wrong part.
fn check_spec(spec: &SessionSpec, key: Option<&Secret>) -> Result<(), RemoteError> {
    let refuse = |what: String| Err(RemoteError::Validation(what.as_str().into()));
    if !is_session_id(&spec.id) {
        return refuse(format!("'{}' is no session's id", spec.id));
    }
    let bundles = spec.bases.iter().chain([&spec.bundle]).map(|digest| ("bundle", digest));
    for (what, digest) in bundles.chain(spec.extra.iter().map(|digest| ("extra", digest))) {
        if !is_digest(digest) {
            return refuse(format!("the session's {what} is named by no SHA-256"));
        }
    }
    if !is_object_id(&spec.base) {
        return refuse(format!("the session's base '{}' is no commit", spec.base));
    }
    if spec.branch.is_empty()
        || spec.branch.starts_with('-')
        || spec.branch.contains(|sign: char| sign.is_ascii_whitespace() || sign.is_control())
    {
        return refuse(format!("the session's branch '{}' is no name of a branch", spec.branch));
    }
    if spec.argv.first().is_none_or(|program| program.is_empty() || program.starts_with('-')) {
        return refuse("the session has no program".to_owned());
    }
    if spec.argv.iter().any(|arg| arg.contains('\0')) || spec.prompt.contains(&0) {
        return refuse("a NUL byte can be in no prompt and no argument".to_owned());
    }
    if spec.timeout_seconds == Some(0) {
        return refuse("the session's longest time is 0 s".to_owned());
    }
    for (name, value) in &spec.env {
        if !is_variable(name) || value.expose().contains('\0') {
            return refuse(format!(
                "'{name}' cannot be exported to the session: use a name of letters, digits and _"
            ));
        }
    }
    // The key is the first line of what is sent: behind a line break, the rest of it would be read as a field.
    if key.is_some_and(|key| key.expose().contains(['\n', '\0'])) {
        return refuse("the key has a line break: check how it was set".to_owned());
    }
    match &spec.key_name {
        Some(name) if !is_variable(name) => refuse(format!("'{name}' is no name of a variable")),
        None if key.is_some() => refuse("the session's key has no variable".to_owned()),
        _ => Ok(()),
    }
}

/// Reports whether `name` can be a variable of a shell.
fn is_variable(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
