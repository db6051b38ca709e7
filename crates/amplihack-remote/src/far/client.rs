//! One machine's far side, asked in its own verbs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use amplihack_utils::secret::Secret;

use crate::error::{ErrorContext, RemoteError};
use crate::package::Artefact;
use crate::protocol::{Chunk, Claim, Collected, Observed, Probe, SessionSpec};
use crate::runner::{CommandOutput, RemoteCommandRunner};
use crate::session::is_session_id;
use crate::transport::{fault, quoted};

use super::{answer, encode, install};

/// The most that one `read` brings.
const CHUNK: u64 = 4 << 20;
/// The most that is taken of what making a work tree said.
const SETUP: u64 = 16 << 20;
/// The most that a login may say before an answer.
const GREETING: u64 = 64 << 10;
/// How often an answer that comes into a file is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// The far side of one machine. Each call is one command there; the script is brought with the first that misses it.
///
/// Errors name the machine (fact `host`). [`RemoteError::Transfer`] with a `reason` means that the machine could not be asked, and
/// nothing is known; [`RemoteError::SessionNotFound`] that it answered, and has no such session.
#[derive(Clone)]
pub struct Far {
    runner: Arc<dyn RemoteCommandRunner>,
    machine: String,
    root: Option<String>,
    native: bool,
}

impl Far {
    /// The far side of `machine`, reached by `runner`.
    pub fn new(runner: Arc<dyn RemoteCommandRunner>, machine: impl Into<String>) -> Self {
        Self { runner, machine: machine.into(), root: None, native: false }
    }

    /// The same, with its sessions below `root` there, an absolute path, instead of the usual place.
    #[must_use]
    pub fn at(self, root: Option<String>) -> Self {
        Self { root, ..self }
    }

    /// The same, served by the `amplihack` that is installed there instead of the script, where there is one of this protocol.
    #[must_use]
    pub fn native(self, native: bool) -> Self {
        Self { native, ..self }
    }

    /// Puts `program` there as `~/.local/bin/NAME`, whole or not at all.
    pub async fn install(&self, program: &Path, name: &str) -> Result<(), RemoteError> {
        let answer = self.give(&install::program(name), Some(program), None).await?;
        if answer.status == 0 { Ok(()) } else { Err(self.failed("install", None, &answer)) }
    }

    /// The machine's name.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// What the machine has, and what `programs` say of their versions.
    pub async fn probe(&self, programs: &[&str]) -> Result<Probe, RemoteError> {
        let plain = |word: &str| {
            !word.is_empty()
                && !word.starts_with('-')
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+/-".contains(&byte))
        };
        if let Some(word) = programs.iter().find(|word| !plain(word)) {
            return Err(RemoteError::Validation(format!("'{word}' is no program's name").into()));
        }
        let text = self.ask("probe", programs).await?;
        answer::probe(&text).map_err(|what| self.strange(what))
    }

    /// Which of `digests` are stored there.
    pub async fn has(&self, digests: &[&str]) -> Result<BTreeSet<String>, RemoteError> {
        for digest in digests {
            check_digest(digest)?;
        }
        let text = self.ask("has", digests).await?;
        let stored: BTreeSet<String> = text.lines().map(str::to_owned).collect();
        match stored.iter().find(|digest| !digests.contains(&digest.as_str())) {
            Some(other) => Err(self.strange(format!("the runner's answer has an unknown line '{other}'"))),
            None => Ok(stored),
        }
    }

    /// Stores `file` under its SHA-256, which the machine compares; nothing is sent if it is there.
    pub async fn put(&self, file: &Path, digest: &str) -> Result<(), RemoteError> {
        if amplihack_utils::sabotage::active("remote-transfer") || self.has(&[digest]).await?.contains(digest)
        {
            return Ok(());
        }
        self.expect("put", &[digest], Some(file), &["stored"]).await.map(drop)
    }

    /// Starts a session, once. Its key is exported as [`SessionSpec::key_name`].
    pub async fn start(&self, spec: &SessionSpec, key: Option<&Secret>) -> Result<Claim, RemoteError> {
        self.begin("start", "started", spec, key).await
    }

    /// Claims a session and stores it, for [`Far::submit`].
    pub async fn prepare(&self, spec: &SessionSpec, key: Option<&Secret>) -> Result<Claim, RemoteError> {
        self.begin("prepare", "prepared", spec, key).await
    }

    /// Gives prepared sessions to the machine's scheduler as one job of this name, once; its number.
    pub async fn submit(&self, name: &str, ids: &[&str], options: &[String]) -> Result<String, RemoteError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || name.len() > 64 || name.starts_with(['-', '.']) || !name.bytes().all(plain) {
            return Err(RemoteError::Validation(format!("'{name}' is no name of a job").into()));
        }
        if let Some(option) =
            options.iter().find(|option| !option.starts_with('-') || option.contains(['\n', '\0']))
        {
            return Err(RemoteError::Validation(format!("'{option}' is no option of a scheduler").into()));
        }
        for id in ids {
            check_id(id)?;
        }
        let mut file = self.scratch()?;
        for option in options {
            writeln!(file, "{option}").map_err(|error| self.local("the scheduler's options", &error))?;
        }
        let words: Vec<&str> = std::iter::once(name).chain(ids.iter().copied()).collect();
        let text = self.text("submit", &words, Some(file.path())).await?;
        let number = answer::only_line(&text).map_err(|what| self.strange(what))?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.strange(format!("the scheduler's answer is '{number}'")));
        }
        Ok(number.to_owned())
    }

    /// How sessions stand; all that the machine has if none is named.
    pub async fn observe(&self, ids: &[&str]) -> Result<Vec<Observed>, RemoteError> {
        for id in ids {
            check_id(id)?;
        }
        let text = self.ask("observe", ids).await?;
        answer::observed(&text).map_err(|what| self.strange(what))
    }

    /// The log from the offset `from`, at most a few megabytes. Waits up to `wait` for a first byte or the session's end.
    pub async fn read(&self, id: &str, from: u64, wait: Duration) -> Result<Chunk, RemoteError> {
        check_id(id)?;
        let id = if amplihack_utils::sabotage::active("remote-block-execution") {
            "sess-20260101-000000-ffff"
        } else {
            id
        };
        let words = [id, &from.to_string(), &wait.as_secs().to_string(), &CHUNK.to_string()];
        let bytes = self.bytes("read", &words, CHUNK).await?;
        Ok(Chunk { from, bytes })
    }

    /// What making the session's work tree said.
    pub async fn setup(&self, id: &str) -> Result<Vec<u8>, RemoteError> {
        check_id(id)?;
        self.bytes("setup", &[id], SETUP).await
    }

    /// Ends everything of a session, with force after `grace`. How many processes would not end.
    pub async fn end(&self, id: &str, grace: Duration) -> Result<u32, RemoteError> {
        check_id(id)?;
        let text = self.ask("end", &[id, &grace.as_secs().to_string()]).await?;
        let line = answer::only_line(&text).map_err(|what| self.strange(what))?;
        let count = line.strip_prefix("ended ").and_then(|count| count.parse().ok());
        count.ok_or_else(|| self.strange(format!("the runner's answer is '{line}'")))
    }

    /// Gathers a session's results into a bundle there; nothing of the session changes.
    pub async fn collect(&self, id: &str) -> Result<Collected, RemoteError> {
        check_id(id)?;
        let text = self.ask("collect", &[id]).await?;
        let (collected, warnings) = answer::collected(&text).map_err(|what| self.strange(what))?;
        let warnings = warnings.iter().chain(&collected.left);
        for warning in warnings {
            tracing::warn!(session = id, host = self.machine, warning, "results may not be whole");
        }
        Ok(collected)
    }

    /// Brings what was collected to the file `to`, going on where an earlier try ended, and compares its digest.
    pub async fn fetch(&self, id: &str, collected: &Collected, to: &Path) -> Result<(), RemoteError> {
        check_id(id)?;
        let here = std::fs::metadata(to).map_or(0, |found| found.len());
        let from = if here < collected.bytes { here } else { 0 };
        if self.fetch_from(id, from, collected, to).await?
            || (from > 0 && self.fetch_from(id, 0, collected, to).await?)
        {
            return Ok(());
        }
        // Nothing of it can be trusted.
        let _ = std::fs::remove_file(to);
        let context =
            ErrorContext::new(format!("the results of {id} arrived with other bytes; collect them again"));
        Err(self.placed(RemoteError::Transfer(context.with("reason", "digest"))))
    }

    /// Brings what was collected from an offset on; whether the file is what was collected then.
    async fn fetch_from(
        &self,
        id: &str,
        from: u64,
        collected: &Collected,
        to: &Path,
    ) -> Result<bool, RemoteError> {
        let output = self.scratch()?;
        let most = collected.bytes - from;
        let done = self.run_into("fetch", &[id, &from.to_string()], output.path(), most).await;
        if done.as_ref().is_err_and(|error| error.fact("reason") == Some("answer")) {
            return done.map(|()| false);
        }
        // What came before a connection was cut is kept for the next try.
        let kept = self.append(output.as_file(), to, from);
        done?;
        kept?;
        Ok(Artefact::of(to).is_ok_and(|there| there.sha256 == collected.sha256))
    }

    /// Removes a session that does not run, and all of it.
    pub async fn remove(&self, id: &str) -> Result<(), RemoteError> {
        check_id(id)?;
        self.expect("remove", &[id], None, &["removed"]).await.map(drop)
    }

    async fn begin(
        &self,
        verb: &str,
        done: &str,
        spec: &SessionSpec,
        key: Option<&Secret>,
    ) -> Result<Claim, RemoteError> {
        let session = encode::encode(spec, key)?;
        let said = self.expect(verb, &[&spec.id], Some(&session.path()), &[done, "already"]).await?;
        Ok(if said == done { Claim::Started } else { Claim::Already })
    }

    async fn expect(
        &self,
        verb: &str,
        words: &[&str],
        input: Option<&Path>,
        known: &[&str],
    ) -> Result<String, RemoteError> {
        let text = self.text(verb, words, input).await?;
        match answer::only_line(&text) {
            Ok(line) if known.contains(&line) => Ok(line.to_owned()),
            Ok(line) => Err(self.strange(format!("the runner's answer is '{line}'"))),
            Err(what) => Err(self.strange(what)),
        }
    }

    async fn ask(&self, verb: &str, words: &[&str]) -> Result<String, RemoteError> {
        self.text(verb, words, None).await
    }

    /// A verb whose answer is text.
    async fn text(&self, verb: &str, words: &[&str], input: Option<&Path>) -> Result<String, RemoteError> {
        let answer = self.run(verb, words, input, None).await?;
        let at = answer::body(answer.stdout.as_bytes()).map_err(|what| self.strange(what))?;
        Ok(answer.stdout.get(at..).unwrap_or_default().to_owned())
    }

    /// A verb whose answer is bytes, at most so many.
    async fn bytes(&self, verb: &str, words: &[&str], most: u64) -> Result<Vec<u8>, RemoteError> {
        let output = self.scratch()?;
        self.run_into(verb, words, output.path(), most).await?;
        let mut bytes = std::fs::read(output.path()).map_err(|error| self.local("the answer", &error))?;
        let at = answer::body(&bytes).map_err(|what| self.strange(what))?;
        bytes.drain(..at);
        Ok(bytes)
    }

    /// Runs a verb with its answer in the file `output`. A machine that sends more than `most` bytes and a greeting is not listened to
    /// any longer: it would fill the disk here.
    async fn run_into(
        &self,
        verb: &str,
        words: &[&str],
        output: &Path,
        most: u64,
    ) -> Result<(), RemoteError> {
        let most = most.saturating_add(GREETING);
        let length = || std::fs::metadata(output).map_or(0, |found| found.len());
        let too_long = async {
            while length() <= most {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            biased;
            done = self.run(verb, words, None, Some(output)) => {
                done?;
                if length() <= most {
                    return Ok(());
                }
            }
            () = too_long => {}
        }
        Err(self.strange(format!("{} sends more than was asked for, and was not listened to", self.machine)))
    }

    /// Runs a verb; brings the script if it is missing.
    async fn run(
        &self,
        verb: &str,
        words: &[&str],
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<CommandOutput, RemoteError> {
        let words: Vec<&str> = std::iter::once(verb).chain(words.iter().copied()).collect();
        let line = install::call(&words, self.native);
        let mut answer = self.give(&line, input, output).await?;
        if answer.status == install::MISSING {
            self.bring().await?;
            answer = self.give(&line, input, output).await?;
        }
        match answer.status {
            0 => Ok(answer),
            _ => Err(self.failed(verb, words.get(1).copied(), &answer)),
        }
    }

    async fn bring(&self) -> Result<(), RemoteError> {
        let mut file = self.scratch()?;
        file.write_all(super::SCRIPT.as_bytes()).map_err(|error| self.local("the runner", &error))?;
        let answer = self.give(&install::bring(), Some(file.path()), None).await?;
        if answer.status == 0 { Ok(()) } else { Err(self.failed("install", None, &answer)) }
    }

    async fn give(
        &self,
        line: &str,
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<CommandOutput, RemoteError> {
        let placed =
            self.root.as_ref().map(|root| format!("env AMPLIHACK_REMOTE_ROOT={} {line}", quoted(root)));
        let line = placed.as_deref().unwrap_or(line);
        let answer = match (input, output) {
            (None, None) => self.runner.connect(&self.machine, line).await,
            _ => self.runner.pipe(&self.machine, line, input, output).await,
        };
        let answer = answer.map_err(|error| self.placed(error))?;
        match answer.status {
            // No verb ends so; ssh does when it could not ask.
            255 => Err(self.placed(fault::unasked(&answer.stderr))),
            _ => Ok(answer),
        }
    }

    /// The error of a verb that failed.
    fn failed(&self, verb: &str, subject: Option<&str>, answer: &CommandOutput) -> RemoteError {
        if let (66, Some(id)) = (answer.status, subject.filter(|id| is_session_id(id))) {
            return RemoteError::SessionNotFound { session_id: id.to_owned() };
        }
        let lines = || answer.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
        let own = lines().find_map(|line| line.strip_prefix("amplihack-runner: "));
        let said = own.or_else(|| lines().next_back()).unwrap_or("it said nothing");
        let context =
            ErrorContext::new(format!("{verb} on {}: {said}", self.machine)).with("status", answer.status);
        self.placed(match answer.status {
            65 => RemoteError::Transfer(context.with("reason", "digest")),
            74 => RemoteError::Execution(
                context
                    .with("reason", "disk")
                    .with("hint", "make room in ~/.amplihack/remote there, and try again"),
            ),
            75 => RemoteError::Execution(context.with("reason", "busy")),
            126 | 127 => RemoteError::Execution(
                context
                    .with("reason", "missing")
                    .with("hint", "sessions need sh, coreutils, util-linux, grep, git, tar and gzip there"),
            ),
            _ => RemoteError::Execution(context),
        })
    }

    fn strange(&self, what: String) -> RemoteError {
        let hint = format!("run 'ssh {}' to see what its login says", self.machine);
        self.placed(RemoteError::Execution(
            ErrorContext::new(what).with("reason", "answer").with("hint", hint),
        ))
    }

    fn placed(&self, error: RemoteError) -> RemoteError {
        if error.fact("host").is_some() { error } else { error.with("host", &self.machine) }
    }

    fn local(&self, what: &str, error: &std::io::Error) -> RemoteError {
        self.placed(RemoteError::Transfer(
            format!("{what} cannot be kept in a temporary file here: {error}").into(),
        ))
    }

    fn scratch(&self) -> Result<tempfile::NamedTempFile, RemoteError> {
        tempfile::NamedTempFile::new().map_err(|error| self.local("an answer", &error))
    }

    /// Appends the answer's bytes to `to`, which has `from` bytes already.
    fn append(&self, mut answer: &File, to: &Path, from: u64) -> Result<(), RemoteError> {
        let wrong = |error: std::io::Error| {
            self.placed(RemoteError::Transfer(format!("{} cannot be written: {error}", to.display()).into()))
        };
        let mut head = vec![0; 64 << 10];
        answer.seek(SeekFrom::Start(0)).map_err(wrong)?;
        let read = answer.read(&mut head).map_err(wrong)?;
        let at = answer::body(head.get(..read).unwrap_or_default()).map_err(|what| self.strange(what))?;
        answer.seek(SeekFrom::Start(at as u64)).map_err(wrong)?;
        let mut out = File::options().write(true).create(true).truncate(false).open(to).map_err(wrong)?;
        out.set_len(from).and_then(|()| out.seek(SeekFrom::End(0))).map_err(wrong)?;
        std::io::copy(&mut answer, &mut out).map_err(wrong)?;
        Ok(())
    }
}

impl std::fmt::Debug for Far {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Far").field("machine", &self.machine).finish_non_exhaustive()
    }
}

fn check_id(id: &str) -> Result<(), RemoteError> {
    if is_session_id(id) { Ok(()) } else { Err(RemoteError::SessionNotFound { session_id: id.to_owned() }) }
}

fn check_digest(digest: &str) -> Result<(), RemoteError> {
    if answer::is_digest(digest) {
        Ok(())
    } else {
        Err(RemoteError::Validation(format!("'{digest}' is no SHA-256").into()))
    }
}
